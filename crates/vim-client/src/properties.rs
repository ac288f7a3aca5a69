//! Reading properties once, all pages of them.

use std::collections::BTreeMap;

use rookery_vim::methods::{ContinueRetrievePropertiesEx, CreateContainerView, RetrievePropertiesEx};
use rookery_vim::objects::{
    ObjectContent, ObjectSpec, PropertyFilterSpec, PropertySpec, RetrieveOptions, Selection, TraversalSpec,
};
use rookery_vim::{MoRef, Node};

use crate::client::Client;
use crate::error::CallError;

/// Small enough that a page is parsed while the next one is made, large enough that pages are few.
const PAGE: i32 = 500;

/// All objects that a filter finds, with their properties.
pub async fn retrieve(client: &Client, spec: PropertyFilterSpec) -> Result<Vec<ObjectContent>, CallError> {
    let this = client.content().property_collector.clone();
    let page = client.deadlines().page;
    let first = RetrievePropertiesEx {
        this: this.clone(),
        spec_set: vec![spec],
        options: RetrieveOptions { max_objects: Some(PAGE) },
    };
    let Some(mut result) = client.call_within(&first, page).await? else { return Ok(Vec::new()) };
    let mut objects = result.objects;
    while let Some(token) = result.token.take().filter(|t| !t.is_empty()) {
        result =
            client.call_within(&ContinueRetrievePropertiesEx { this: this.clone(), token }, page).await?;
        objects.append(&mut result.objects);
    }
    Ok(objects)
}

/// A live list of all objects of some classes below a container.
pub(crate) async fn container_view(
    client: &Client,
    container: MoRef,
    kinds: &[&str],
) -> Result<MoRef, CallError> {
    let this = view_manager(client);
    let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    client.call(&CreateContainerView { this, container, kinds, recursive: true }).await
}

/// A server without views cannot be used; it answers calls to them with a fault that says so.
pub(crate) fn view_manager(client: &Client) -> MoRef {
    client.content().view_manager.clone().unwrap_or_else(|| MoRef::new("ViewManager", "ViewManager"))
}

/// These properties of objects of one class.
pub fn properties(kind: &str, paths: &[impl AsRef<str>]) -> PropertySpec {
    let path_set = paths.iter().map(|path| path.as_ref().to_owned()).collect();
    PropertySpec { kind: kind.to_owned(), all: None, path_set }
}

/// An object itself.
pub fn itself(obj: MoRef) -> ObjectSpec {
    ObjectSpec { obj, skip: None, select_set: Vec::new() }
}

/// What a property of an object leads to.
pub fn through(obj: MoRef, path: &str) -> ObjectSpec {
    let step = TraversalSpec {
        name: None,
        kind: obj.kind().into(),
        path: path.into(),
        skip: Some(false),
        select_set: Vec::new(),
    };
    ObjectSpec { obj, skip: Some(true), select_set: vec![Selection::TraversalSpec(step)] }
}

/// Properties of all members of a view.
pub(crate) fn members_of(view: &MoRef, kind: &str, paths: &[impl AsRef<str>]) -> PropertyFilterSpec {
    PropertyFilterSpec {
        prop_set: vec![properties(kind, paths)],
        object_set: vec![through(view.clone(), "view")],
        report_missing_objects: None,
    }
}

/// Some properties of one object; unset ones are absent.
pub async fn properties_of(
    client: &Client,
    object: &MoRef,
    paths: &[&str],
) -> Result<BTreeMap<String, Node>, CallError> {
    let found = read_object(client, object, paths).await?.into_iter().flat_map(|object| object.prop_set);
    Ok(found.map(|property| (property.name, property.val)).collect())
}

/// The only property that is asked for.
pub(crate) async fn property_of(
    client: &Client,
    object: &MoRef,
    path: &str,
) -> Result<Option<Node>, CallError> {
    Ok(properties_of(client, object, &[path]).await?.into_values().next())
}

/// Some properties of one object, with what the server says of those that it does not show.
pub async fn read_object(
    client: &Client,
    object: &MoRef,
    paths: &[impl AsRef<str>],
) -> Result<Option<ObjectContent>, CallError> {
    let spec = PropertyFilterSpec {
        prop_set: vec![properties(object.kind(), paths)],
        object_set: vec![itself(object.clone())],
        report_missing_objects: None,
    };
    Ok(retrieve(client, spec).await?.into_iter().next())
}
