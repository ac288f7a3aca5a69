//! The REST interface: sessions of its own, and tags.
//!
//! There are two spellings of it. The older one, below `/rest/com/vmware`, wraps what it answers and puts `id:` before
//! identifiers; the newer one, below `/api`, does neither.

mod association;
mod category;
mod model;
mod session;
mod tag;

use std::collections::{BTreeMap, BTreeSet};

use rookery_sim::{Request, percent_decode};
use serde_json::{Value, json};

use crate::id::Id;
use crate::io::Reply;
use crate::world::World;
use category::Category;
pub(crate) use model::apply_model;
pub use model::{CategoryModel, TagModel};
pub(crate) use session::RestSessions;
use tag::Tag;

/// All tags, and what has them.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    categories: BTreeMap<String, Category>,
    all: BTreeMap<String, Tag>,
    /// By tag. An object that has gone has no tags, whatever stands here.
    attached: BTreeSet<(String, Id)>,
    /// How many of them were there after the last tidying.
    tidied: usize,
}

/// How a client spells paths and reads answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Rest,
    Api,
}

/// What became of a request.
type Answer = Result<Value, RestError>;

/// Why a call is refused, as the REST interface reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RestError {
    status: u16,
    class: &'static str,
    message: String,
}

/// One request, taken apart.
#[derive(Debug)]
struct RestCall<'r> {
    method: &'r str,
    /// What is behind the identifier of a collection, if anything.
    id: Option<String>,
    action: Option<String>,
    body: Value,
    user: String,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collection {
    Session,
    Category,
    Tag,
    Association,
}

pub(crate) fn serve(world: &mut World, request: &Request) -> Reply {
    let Some((style, collection, id)) = route(&request.path) else {
        return Reply::plain(404, "there is nothing here");
    };
    let answer = match collection {
        Collection::Session => session::answer(world, request, action(request).as_deref()),
        Collection::Category | Collection::Tag | Collection::Association => {
            tagging(world, request, style, collection, id)
        }
    };
    let made = matches!(&answer, Ok(Value::String(_))) && request.method == "POST";
    let mut reply = write(style, made, answer);
    if collection == Collection::Session && made && reply.status < 300 {
        reply.headers.extend(session::cookie(&reply.value()));
    }
    reply
}

fn tagging(
    world: &mut World,
    request: &Request,
    style: Style,
    collection: Collection,
    id: Option<String>,
) -> Answer {
    let user = session::user(world, request)?;
    let body = match &*request.body {
        [] => Value::Null,
        body => serde_json::from_slice(body)
            .map_err(|error| RestError::invalid(format!("the body of the request is not JSON: {error}")))?,
    };
    let call = RestCall { method: &request.method, id, action: action(request), body, user };
    match collection {
        Collection::Category => category::answer(world, &call, style),
        Collection::Tag => tag::answer(world, &call, style),
        Collection::Association => association::answer(world, &call),
        Collection::Session => Err(RestError::unknown()),
    }
}

fn route(path: &str) -> Option<(Style, Collection, Option<String>)> {
    let older = path.strip_prefix("/rest/com/vmware/cis/").map(|rest| (Style::Rest, rest));
    let newer = || {
        let rest = path.strip_prefix("/api/")?;
        Some((Style::Api, rest.strip_prefix("cis/").unwrap_or(rest)))
    };
    let (style, rest) = older.or_else(newer)?;
    if rest == "session" {
        return Some((style, Collection::Session, None));
    }
    let rest = rest.strip_prefix("tagging/")?;
    let (name, id) = rest.split_once('/').map_or((rest, None), |(name, id)| (name, Some(id)));
    let collection = match name {
        "category" => Collection::Category,
        "tag" => Collection::Tag,
        "tag-association" => Collection::Association,
        _ => return None,
    };
    let id = match (style, id) {
        (Style::Rest, Some(id)) => Some(id.strip_prefix("id:").or_else(|| id.strip_prefix("id%3A"))?),
        (_, id) => id,
    };
    Some((style, collection, id.map(percent_decode)))
}

fn action(request: &Request) -> Option<String> {
    request.parameter("~action").or_else(|| request.parameter("action"))
}

fn write(style: Style, made: bool, answer: Answer) -> Reply {
    match (answer, style) {
        (Ok(Value::Null), Style::Rest) => Reply::new(200, "application/json", String::new()),
        (Ok(Value::Null), Style::Api) => Reply::new(204, "application/json", String::new()),
        (Ok(value), Style::Rest) => Reply::json(200, &json!({ "value": value })),
        (Ok(value), Style::Api) => Reply::json(if made { 201 } else { 200 }, &value),
        (Err(no), style) => {
            let messages = [no.words()];
            let body = match style {
                Style::Rest => json!({
                    "type": format!("com.vmware.vapi.std.errors.{}", no.class),
                    "value": { "messages": messages },
                }),
                Style::Api => json!({ "error_type": no.class.to_uppercase(), "messages": messages }),
            };
            Reply::json(no.status, &body)
        }
    }
}

impl RestError {
    fn new(status: u16, class: &'static str, message: impl Into<String>) -> Self {
        Self { status, class, message: message.into() }
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_argument", message)
    }

    fn not_found(what: &str, id: &str) -> Self {
        Self::new(404, "not_found", format!("The {what} with identifier {id} was not found."))
    }

    fn exists(what: &str, name: &str) -> Self {
        Self::new(400, "already_exists", format!("The {what} with name {name} already exists."))
    }

    fn unauthenticated() -> Self {
        Self::new(401, "unauthenticated", "Authentication required.")
    }

    fn unauthorized(privilege: &str) -> Self {
        Self::new(403, "unauthorized", format!("Unable to authorize user: {privilege} is needed."))
    }

    fn unknown() -> Self {
        Self::new(404, "operation_not_found", "There is no such operation.")
    }

    fn words(&self) -> Value {
        let id = format!("com.vmware.vapi.std.errors.{}", self.class);
        json!({ "args": [], "default_message": self.message, "id": id })
    }
}

impl RestCall<'_> {
    fn id(&self) -> Result<&str, RestError> {
        self.id.as_deref().ok_or_else(|| RestError::invalid("the identifier is missing"))
    }

    /// What is to be made or changed: the older spelling wraps it.
    fn spec(&self, style: Style, wrapper: &str) -> Result<&Value, RestError> {
        let spec = match style {
            Style::Rest => &self.body[wrapper],
            Style::Api => &self.body,
        };
        if spec.is_object() { Ok(spec) } else { Err(RestError::invalid(format!("{wrapper} is missing"))) }
    }
}

fn text<'v>(of: &'v Value, name: &str) -> Result<&'v str, RestError> {
    of[name].as_str().ok_or_else(|| RestError::invalid(format!("{name} is missing")))
}

fn texts<'v>(of: &'v Value, name: &str) -> Result<Vec<&'v str>, RestError> {
    let list = of[name].as_array().ok_or_else(|| RestError::invalid(format!("{name} is missing")))?;
    let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    texts.ok_or_else(|| RestError::invalid(format!("{name} holds something else than text")))
}

/// A name that may be given to a category or a tag.
fn check_name(name: &str) -> Result<(), RestError> {
    if name.is_empty() || name.chars().count() > 256 {
        return Err(RestError::invalid("a name has between 1 and 256 characters"));
    }
    Ok(())
}

/// Whether the user may do it to an object, or to all of vCenter.
fn need(world: &World, user: &str, on: Id, privilege: &'static str) -> Result<(), RestError> {
    if crate::privileges::holds(world, user, on, privilege) {
        Ok(())
    } else {
        Err(RestError::unauthorized(privilege))
    }
}

#[cfg(test)]
mod tests;
