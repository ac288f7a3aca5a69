//! The places that VMs live in: datacenters, folders, clusters, hosts, pools, datastores and networks, by name or path.
//!
//! They change rarely and are few beside VMs, so all of them are read in one call and then looked up in memory. The
//! rules are pure functions of [`Places`].

use std::collections::BTreeMap;

use rookery_vim::inventory_name::{escape, unescape};
use rookery_vim::methods::DestroyView;
use rookery_vim::objects::ObjectContent;
use rookery_vim::{MoRef, Wire as _};

use crate::client::Client;
use crate::error::CallError;
use crate::properties::{container_view, members_of, retrieve};

/// What kind of place is meant. Each covers the classes that can stand for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Datacenter,
    /// A folder, of whatever.
    Folder,
    /// A cluster, or a host that stands alone.
    Compute,
    Host,
    /// A resource pool or vApp.
    Pool,
    /// A datastore, or a cluster of them.
    Datastore,
    /// A standard, distributed or opaque network.
    Network,
}

impl Kind {
    fn classes(self) -> &'static [&'static str] {
        match self {
            Self::Datacenter => &["Datacenter"],
            Self::Folder => &["Folder"],
            Self::Compute => &["ComputeResource", "ClusterComputeResource"],
            Self::Host => &["HostSystem"],
            Self::Pool => &["ResourcePool", "VirtualApp"],
            Self::Datastore => &["Datastore", "StoragePod"],
            Self::Network => &["Network", "DistributedVirtualPortgroup", "OpaqueNetwork"],
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Datacenter => "datacenter",
            Self::Folder => "folder",
            Self::Compute => "cluster or host",
            Self::Host => "host",
            Self::Pool => "resource pool",
            Self::Datastore => "datastore",
            Self::Network => "network",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub id: MoRef,
    /// Its name as people write it.
    pub name: String,
    /// What it is in; only the root is in nothing.
    pub parent: Option<MoRef>,
}

/// All places of a vCenter.
#[derive(Debug, Clone, Default)]
pub struct Places(BTreeMap<MoRef, Place>);

/// Why a name does not lead to one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// There is none of that name.
    #[error("there is no {} {name:?}; there are: {}", kind.as_str(), listed(existing))]
    Missing { kind: Kind, name: String, existing: Vec<String> },
    /// The name fits several.
    #[error("{name:?} may mean several things, give the path of one {}: {}", kind.as_str(), candidates.join(", "))]
    Ambiguous { kind: Kind, name: String, candidates: Vec<String> },
    /// None was named, and there is not exactly one.
    #[error("name a {}, there is no obvious one: {}", kind.as_str(), listed(candidates))]
    NoDefault { kind: Kind, candidates: Vec<String> },
}

fn listed(paths: &[String]) -> String {
    if paths.is_empty() { "none".to_owned() } else { paths.join(", ") }
}

impl Places {
    pub async fn load(client: &Client) -> Result<Self, CallError> {
        let classes: Vec<&str> = ALL.iter().flat_map(|kind| kind.classes()).copied().collect();
        let root = client.content().root_folder.clone();
        let view = container_view(client, root.clone(), &classes).await?;
        let spec = members_of(&view, "ManagedEntity", &["name", "parent"]);
        let found = retrieve(client, spec).await;
        // The view goes with the session anyway: failing to remove it now is not worth an error.
        client.call(&DestroyView { this: view }).await.ok();
        let mut places = Self::new(found?.into_iter().map(place));
        places.0.insert(root.clone(), Place { id: root, name: String::new(), parent: None });
        Ok(places)
    }

    fn new(places: impl IntoIterator<Item = Place>) -> Self {
        Self(places.into_iter().map(|place| (place.id.clone(), place)).collect())
    }

    pub fn get(&self, id: &MoRef) -> Option<&Place> {
        self.0.get(id)
    }

    /// The path from the root, as people write it: `/DC0/host/DC0_C0`. A slash inside a name stands as `%2f`.
    pub fn path(&self, id: &MoRef) -> String {
        let mut names = Vec::new();
        let mut next = Some(id);
        // Bounded, should a server ever answer with a circle.
        while let Some(place) = next.and_then(|id| self.0.get(id)).filter(|_| names.len() < 64) {
            names.push(escape(&place.name));
            next = place.parent.as_ref();
        }
        names.reverse();
        // The root has no name; alone it is the slash that begins all paths.
        if names.len() == 1 { "/".to_owned() } else { names.join("/") }
    }

    /// The place that a name or path means, among those inside `within`. Without a name: the only one there is.
    pub fn find(&self, kind: Kind, wanted: Option<&str>, within: &MoRef) -> Result<&Place, FindError> {
        let inside: Vec<&Place> = self.0.values().filter(|p| self.is_inside(p, within)).collect();
        let of_kind: Vec<&Place> =
            inside.into_iter().filter(|p| kind.classes().contains(&p.id.kind())).collect();
        let paths = |places: &[&Place]| {
            let mut paths: Vec<_> = places.iter().map(|p| self.path(&p.id)).collect();
            paths.sort();
            paths
        };
        let Some(name) = wanted else {
            return match self.defaults(kind, &of_kind).as_slice() {
                [only] => Ok(only),
                several => Err(FindError::NoDefault { kind, candidates: paths(several) }),
            };
        };
        let meant: Vec<&Place> = of_kind.iter().copied().filter(|p| self.answers_to(p, name)).collect();
        match meant.as_slice() {
            [only] => Ok(only),
            [] => Err(FindError::Missing { kind, name: name.to_owned(), existing: paths(&of_kind) }),
            several => Err(FindError::Ambiguous { kind, name: name.to_owned(), candidates: paths(several) }),
        }
    }

    /// A pool inside another one is nobody's default, nor is a datastore inside a cluster of them.
    fn defaults<'a>(&self, kind: Kind, places: &[&'a Place]) -> Vec<&'a Place> {
        let nested = |place: &&&Place| {
            let parent = place.parent.as_ref().and_then(|id| self.0.get(id));
            parent.is_some_and(|parent| kind.classes().contains(&parent.id.kind()))
        };
        places.iter().filter(|place| !nested(place)).copied().collect()
    }

    fn answers_to(&self, place: &Place, name: &str) -> bool {
        if place.name == name {
            return true;
        }
        let path = self.path(&place.id);
        let wanted = name.trim_matches('/');
        // A path may leave out its beginning, but not a part of a name.
        name.contains('/') && path.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('/'))
    }

    /// The nearest place of a class that one is in.
    pub(crate) fn ancestor(&self, id: &MoRef, class: &str) -> Option<&Place> {
        let parent = |place: &&Place| place.parent.as_ref().and_then(|id| self.0.get(id));
        std::iter::successors(self.0.get(id), parent).take(64).find(|place| place.id.kind() == class)
    }

    fn is_inside(&self, place: &Place, container: &MoRef) -> bool {
        let mut next = Some(&place.id);
        for _ in 0..64 {
            match next {
                Some(id) if id == container => return true,
                Some(id) => next = self.0.get(id).and_then(|place| place.parent.as_ref()),
                None => return false,
            }
        }
        false
    }
}

const ALL: [Kind; 7] =
    [Kind::Datacenter, Kind::Folder, Kind::Compute, Kind::Host, Kind::Pool, Kind::Datastore, Kind::Network];

fn place(object: ObjectContent) -> Place {
    let (mut name, mut parent) = (String::new(), None);
    for property in object.prop_set {
        match property.name.as_str() {
            "name" => name = String::from_node(property.val).unwrap_or_default(),
            "parent" => parent = MoRef::from_node(property.val).ok(),
            _ => {}
        }
    }
    Place { id: object.obj, name: unescape(&name), parent }
}

#[cfg(test)]
mod tests;
