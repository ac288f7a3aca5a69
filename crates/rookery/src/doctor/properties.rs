//! Some properties of one object, once. What the server does not tell, or not in a form that is understood, is `None`.

use std::collections::{BTreeMap, BTreeSet};

use rookery_vim::{MoRef, Node, Wire};
use rookery_vim_client::{CallError, Client, read_object};

/// Properties by their paths.
#[derive(Debug, Default)]
pub(super) struct Properties {
    values: BTreeMap<String, Node>,
    /// Refused by the server.
    unreadable: BTreeSet<String>,
}

impl Properties {
    pub(super) async fn read(client: &Client, object: &MoRef, paths: &[&str]) -> Result<Self, CallError> {
        let Some(read) = read_object(client, object, paths).await? else { return Ok(Self::default()) };
        Ok(Self {
            values: read.prop_set.into_iter().map(|property| (property.name, property.val)).collect(),
            unreadable: read.missing_set.into_iter().map(|property| property.path).collect(),
        })
    }

    pub(super) fn node(&self, path: &str) -> Option<&Node> {
        self.values.get(path)
    }

    /// Whether it is set; `None` if that may not be known.
    pub(super) fn is_set(&self, path: &str) -> Option<bool> {
        (!self.unreadable.contains(path)).then(|| self.node(path).is_some_and(|node| !node.is_empty()))
    }

    pub(super) fn value<T: Wire>(&self, path: &str) -> Option<T> {
        T::from_node(self.node(path)?.clone()).ok()
    }

    /// Also of enumerations, whatever their values are.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.node(path).map(|node| node.text.clone()).filter(|text| !text.is_empty())
    }

    /// Of a list; an unset one is empty.
    pub(super) fn items<T: Wire>(&self, path: &str) -> Option<Vec<T>> {
        if self.unreadable.contains(path) {
            return None;
        }
        self.node(path).map_or_else(|| Some(Vec::new()), |node| node.clone().items().ok())
    }
}
