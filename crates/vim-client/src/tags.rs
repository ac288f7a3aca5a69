//! Tags: what people and programs stick on objects, in categories. They live in vCenter's REST service.
//!
//! Everything here may be done twice: what exists already, is attached already or is detached already is a success. A
//! category or tag whose making was answered too late, or not at all, is found again.

mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures_util::future::try_join_all;
use hyper::{Method, StatusCode};
use rookery_daemon::telemetry::chain;
use rookery_vim::MoRef;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::debug;

use crate::client::{Client, RETRIES};
use crate::error::CallError;
use crate::rest::Request;
use words::{AttachedTags, Batch, List, ObjectId, path};

/// Objects in one request: enough to be few, and an answer of bounded size.
const BATCH: usize = 500;
/// Requests at once where the service only answers about one thing at a time.
const AT_ONCE: usize = 8;

/// The tags of one vCenter. Clones share its session.
#[derive(Debug, Clone)]
pub struct Tags {
    client: Client,
}

/// What identifies a category.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CategoryId(String);

/// What identifies a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TagId(String);

impl fmt::Display for CategoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TagId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How many tags of a category an object may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Cardinality {
    /// One at most.
    Single,
    /// Any number.
    Multiple,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Category {
    pub id: CategoryId,
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// How many of its tags an object may have.
    pub cardinality: Cardinality,
    /// The classes of objects that its tags fit; all if empty.
    #[serde(default, deserialize_with = "words::list")]
    pub associable_types: Vec<String>,
}

/// A category to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewCategory {
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How many of its tags an object may have.
    pub cardinality: Cardinality,
    /// The classes of objects that its tags fit; all if empty.
    pub associable_types: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Tag {
    pub id: TagId,
    /// Its name, which is its own only within its category.
    pub name: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
    #[serde(rename = "category_id")]
    pub category: CategoryId,
}

/// Why something about tags was not seen to succeed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TagError {
    #[error(transparent)]
    Call(#[from] CallError),
    /// vCenter understood and refused.
    #[error("vCenter refused {what} (HTTP status {status}): {why}")]
    Refused { what: &'static str, status: StatusCode, kind: Refusal, why: String },
    /// Only a part was done.
    #[error("vCenter did only a part of {what}: {why}")]
    Partial { what: &'static str, why: String },
    /// An answer that is not in the vocabulary.
    #[error("vCenter's answer to {what} was not understood: {why}")]
    NotUnderstood { what: &'static str, why: String },
    /// vCenter says that there is one of that name, and does not show it.
    #[error(
        "vCenter says that {name:?} exists already, but does not show it: another one may have this name in other \
         letters, or the user may not read it"
    )]
    Hidden { name: String },
}

/// Why vCenter refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is one of that name.
    AlreadyExists,
    /// There is no such thing.
    NotFound,
    /// The user's role lacks a privilege.
    Permission,
    /// In vCenter's words.
    Other(String),
}

impl TagError {
    /// Whether the same may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_transient())
    }

    /// Whether the role of the user is too small, or the credentials are wrong.
    pub fn is_permission(&self) -> bool {
        matches!(self, Self::Refused { kind: Refusal::Permission, .. })
            || matches!(self, Self::Call(error) if error.is_permission())
    }

    /// Whether what it was about is gone.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { kind: Refusal::NotFound, .. })
    }

    /// Whether it may have been done, in whole or in part.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Call(error) => error.may_have_happened(),
            Self::Partial { .. } | Self::NotUnderstood { .. } => true,
            Self::Refused { .. } | Self::Hidden { .. } => false,
        }
    }

    fn already_exists(&self) -> bool {
        matches!(self, Self::Refused { kind: Refusal::AlreadyExists, .. })
    }
}

impl Tags {
    /// The tags that this client's user may see.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The category of that name.
    pub async fn category(&self, name: &str) -> Result<Option<Category>, TagError> {
        let list = get("the list of tag categories", path("category", None, None));
        let ids: List<CategoryId> = self.need(&list).await?;
        let each = ids.into_iter().map(|id| get("a tag category", path("category", Some(&id.0), None)));
        self.first_of(each.collect(), |category: &Category| category.name == name).await
    }

    /// The category of that name; it is made if there is none. One that exists stays as it is.
    pub async fn ensure_category(&self, wanted: &NewCategory) -> Result<Category, TagError> {
        if let Some(found) = self.category(&wanted.name).await? {
            return Ok(found);
        }
        let body = json!({ "create_spec": wanted });
        let request = post("the making of a tag category", path("category", None, None), &body);
        let made = |id| Category {
            id,
            name: wanted.name.clone(),
            description: wanted.description.clone(),
            cardinality: wanted.cardinality,
            associable_types: wanted.associable_types.clone(),
        };
        self.make(&request, &wanted.name, made, self.category(&wanted.name)).await
    }

    /// The tag of that name in a category.
    pub async fn tag(&self, category: &CategoryId, name: &str) -> Result<Option<Tag>, TagError> {
        let list = path("tag", Some(&category.0), Some("list-tags-for-category"));
        let ids: List<TagId> = self.need(&post("the list of tags", list, &json!({}))).await?;
        self.first_of(ids.into_iter().map(|id| get_tag(&id)).collect(), |tag: &Tag| tag.name == name).await
    }

    /// The tag behind an identifier.
    pub async fn tag_by_id(&self, id: &TagId) -> Result<Option<Tag>, TagError> {
        self.find(&get_tag(id)).await
    }

    /// The tag of that name in a category; it is made if there is none. One that exists stays as it is.
    pub async fn ensure_tag(
        &self,
        category: &CategoryId,
        name: &str,
        description: &str,
    ) -> Result<Tag, TagError> {
        if let Some(found) = self.tag(category, name).await? {
            return Ok(found);
        }
        let wanted = json!({ "name": name, "description": description, "category_id": category });
        let body = json!({ "create_spec": wanted });
        let request = post("the making of a tag", path("tag", None, None), &body);
        let made = |id| Tag {
            id,
            name: name.to_owned(),
            description: description.to_owned(),
            category: category.clone(),
        };
        self.make(&request, name, made, self.tag(category, name)).await
    }

    /// Sticks a tag on all of these objects.
    pub async fn attach(&self, tag: &TagId, to: &[MoRef]) -> Result<(), TagError> {
        let what = "the attaching of a tag";
        for objects in to.chunks(BATCH) {
            let path = path("tag-association", Some(&tag.0), Some("attach-tag-to-multiple-objects"));
            let outcome: Option<Batch> = self.ask(&post(what, path, &ObjectId::list(objects))).await?;
            outcome.map_or(Ok(()), |batch| batch.into_result(what))?;
        }
        Ok(())
    }

    /// Takes a tag off all of these objects. A tag that is gone is on none of them. One by one: a server that cannot do
    /// it in bulk may say that it did.
    pub async fn detach(&self, tag: &TagId, from: &[MoRef]) -> Result<(), TagError> {
        for objects in from.chunks(AT_ONCE) {
            try_join_all(objects.iter().map(|object| self.detach_one(tag, object))).await?;
        }
        Ok(())
    }

    async fn detach_one(&self, tag: &TagId, from: &MoRef) -> Result<(), TagError> {
        let path = path("tag-association", Some(&tag.0), Some("detach"));
        let body = json!({ "object_id": ObjectId::of(from) });
        match self.ask::<Value>(&post("the detaching of a tag", path, &body)).await {
            Err(error) if error.is_not_found() => Ok(()),
            result => result.map(drop),
        }
    }

    /// Which tags these objects have, as far as the user may see them. Each of the objects is in the answer.
    pub async fn attached(&self, to: &[MoRef]) -> Result<BTreeMap<MoRef, BTreeSet<TagId>>, TagError> {
        let mut attached: BTreeMap<_, BTreeSet<_>> =
            to.iter().map(|object| (object.clone(), BTreeSet::new())).collect();
        for objects in to.chunks(BATCH) {
            let path = path("tag-association", None, Some("list-attached-tags-on-objects"));
            let list = post("the list of attached tags", path, &ObjectId::list(objects));
            let found: List<AttachedTags> = self.need(&list).await?;
            for AttachedTags { object_id, tag_ids } in found {
                attached.entry(object_id.reference()).or_default().extend(tag_ids);
            }
        }
        Ok(attached)
    }

    /// The service cannot search: all are read until one fits. One that goes away meanwhile did not fit.
    async fn first_of<T: DeserializeOwned>(
        &self,
        each: Vec<Request>,
        fits: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, TagError> {
        for requests in each.chunks(AT_ONCE) {
            let found = try_join_all(requests.iter().map(|request| self.find::<T>(request))).await?;
            if let Some(found) = found.into_iter().flatten().find(&fits) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Makes something, once. If another one was faster, or the answer was lost, it is looked for.
    async fn make<I: DeserializeOwned, T>(
        &self,
        request: &Request,
        name: &str,
        made: impl FnOnce(I) -> T,
        look: impl Future<Output = Result<Option<T>, TagError>>,
    ) -> Result<T, TagError> {
        let outcome = self.ask_once(request).await.and_then(|id| id.ok_or(nothing(request)));
        match outcome {
            Ok(id) => Ok(made(id)),
            Err(error) if error.already_exists() => {
                look.await?.ok_or_else(|| TagError::Hidden { name: name.to_owned() })
            }
            Err(error) if error.may_have_happened() => look.await?.ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// Something that may be gone.
    async fn find<T: DeserializeOwned>(&self, request: &Request) -> Result<Option<T>, TagError> {
        match self.need(request).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Silence is no answer to a question.
    async fn need<T: DeserializeOwned>(&self, request: &Request) -> Result<T, TagError> {
        self.ask(request).await?.ok_or_else(|| nothing(request))
    }

    /// Asks what may be asked twice, and repeats it after transient failures.
    async fn ask<T: DeserializeOwned>(&self, request: &Request) -> Result<Option<T>, TagError> {
        let mut delays = RETRIES.delays(self.client.fork_random());
        loop {
            match self.ask_once(request).await {
                Err(error) if error.is_transient() => match delays.next() {
                    Some(delay) => {
                        debug!(what = request.what, error = %chain(&error), "repeating a request");
                        tokio::time::sleep(delay).await;
                    }
                    None => return Err(error),
                },
                result => return result,
            }
        }
    }

    async fn ask_once<T: DeserializeOwned>(&self, request: &Request) -> Result<Option<T>, TagError> {
        words::understand(request.what, &self.client.rest(request).await?)
    }
}

fn nothing(request: &Request) -> TagError {
    TagError::NotUnderstood { what: request.what, why: "it is empty".to_owned() }
}

fn get_tag(id: &TagId) -> Request {
    get("a tag", path("tag", Some(&id.0), None))
}

fn get(what: &'static str, path: String) -> Request {
    Request { what, method: Method::GET, path, body: None }
}

fn post(what: &'static str, path: String, body: &Value) -> Request {
    Request { what, method: Method::POST, path, body: Some(body.to_string()) }
}
