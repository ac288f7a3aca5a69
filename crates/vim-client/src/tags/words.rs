//! Paths, bodies and refusals of the tagging service. Pure.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rookery_vim::MoRef;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{Refusal, TagError, TagId};
use crate::client::Reply;

/// Of many reasons the first ones are told; the rest is counted.
const REASONS: usize = 3;

/// `/rest/…/tagging/<collection>[/id:<id>][?~action=<action>]`
pub(super) fn path(collection: &str, id: Option<&str>, action: Option<&str>) -> String {
    let id = id.map(|id| format!("/id:{}", escaped(id))).unwrap_or_default();
    let action = action.map(|action| format!("?~action={action}")).unwrap_or_default();
    format!("/rest/com/vmware/cis/tagging/{collection}{id}{action}")
}

/// An identifier is the server's word, and must not lead anywhere else.
fn escaped(id: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b':').remove(b'-').remove(b'_').remove(b'.');
    utf8_percent_encode(id, ESCAPED).to_string()
}

/// An object as this service names it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ObjectId {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

impl ObjectId {
    pub(super) fn of(object: &MoRef) -> Self {
        Self { kind: object.kind().to_owned(), id: object.id().to_owned() }
    }

    /// A body about several.
    pub(super) fn list(objects: &[MoRef]) -> Value {
        json!({ "object_ids": objects.iter().map(Self::of).collect::<Vec<_>>() })
    }

    pub(super) fn reference(&self) -> MoRef {
        MoRef::new(&self.kind, &self.id)
    }
}

/// The tags of one object.
#[derive(Debug, Deserialize)]
pub(super) struct AttachedTags {
    pub(super) object_id: ObjectId,
    #[serde(default, deserialize_with = "list")]
    pub(super) tag_ids: Vec<TagId>,
}

/// A list that some servers write as nothing when it is empty.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct List<T>(Option<Vec<T>>);

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.unwrap_or_default().into_iter()
    }
}

/// The same as a member.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// What became of a request about several objects.
#[derive(Debug, Deserialize)]
pub(super) struct Batch {
    success: bool,
    #[serde(default, deserialize_with = "list")]
    error_messages: Vec<Value>,
}

impl Batch {
    pub(super) fn into_result(self, what: &'static str) -> Result<(), TagError> {
        if self.success {
            return Ok(());
        }
        Err(TagError::Partial { what, why: reasons(&self.error_messages) })
    }
}

/// What an answer says; nothing if it is empty.
pub(super) fn understand<T: DeserializeOwned>(
    what: &'static str,
    answer: &Reply,
) -> Result<Option<T>, TagError> {
    let Reply { status, body, .. } = answer;
    if !status.is_success() {
        let said: Value = serde_json::from_slice(body).unwrap_or_default();
        let (kind, why) = refusal(status.as_u16(), &said);
        return Err(TagError::Refused { what, status: *status, kind, why });
    }
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let wrapped: Result<Wrapped<T>, _> = serde_json::from_slice(body);
    match wrapped {
        Ok(Wrapped { value }) => Ok(Some(value)),
        Err(error) => Err(TagError::NotUnderstood { what, why: error.to_string() }),
    }
}

#[derive(Deserialize)]
struct Wrapped<T> {
    value: T,
}

fn refusal(status: u16, said: &Value) -> (Refusal, String) {
    let class = said["type"].as_str().and_then(|class| class.rsplit('.').next());
    let kind = match (class, status) {
        (Some("already_exists"), _) => Refusal::AlreadyExists,
        (Some("not_found"), _) | (None, 404) => Refusal::NotFound,
        (Some("unauthorized"), _) | (None, 403) => Refusal::Permission,
        (other, _) => Refusal::Other(other.unwrap_or("no reason").to_owned()),
    };
    let messages = said["value"]["messages"].as_array();
    let why = match messages {
        Some(messages) if !messages.is_empty() => reasons(messages),
        Some(_) | None => class.unwrap_or("it gave no reason").to_owned(),
    };
    (kind, why)
}

fn reasons(messages: &[Value]) -> String {
    let text = |message: &Value| {
        let text =
            message["default_message"].as_str().or(message.as_str()).unwrap_or("a reason without words");
        text.to_owned()
    };
    let mut told: Vec<String> = messages.iter().take(REASONS).map(text).collect();
    match messages.len().saturating_sub(REASONS) {
        0 if told.is_empty() => "it gave no reason".to_owned(),
        0 => told.join("; "),
        more => {
            told.push(format!("and {more} more"));
            told.join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;

    use super::*;

    fn answer(status: u16, body: &str) -> Reply {
        let status = StatusCode::from_u16(status).expect("a status");
        Reply { status, cookie: None, body: body.to_owned().into() }
    }

    #[test]
    fn identifiers_stay_inside_their_place_in_the_path() {
        let tagging = "/rest/com/vmware/cis/tagging";
        assert_eq!(path("tag", None, None), format!("{tagging}/tag"));
        let urn = "urn:vmomi:InventoryServiceTag:1-2:GLOBAL";
        assert_eq!(path("tag", Some(urn), None), format!("{tagging}/tag/id:{urn}"));
        let odd = path("tag-association", Some("a/../b?c d\u{e9}"), Some("attach"));
        assert_eq!(odd, format!("{tagging}/tag-association/id:a%2F..%2Fb%3Fc%20d%C3%A9?~action=attach"));
    }

    #[test]
    fn an_empty_list_comes_in_several_ways_and_silence_is_none_of_them() {
        let ids = |body: &str| {
            let list: Option<List<String>> = understand("x", &answer(200, body)).expect("an answer");
            list.map(|list| list.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(ids(r#"{"value":["a","b"]}"#), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(ids(r#"{"value":[]}"#), Some(vec![]));
        assert_eq!(ids(r#"{"value":null}"#), Some(vec![]));
        assert_eq!(ids(" \r\n"), None);
        for wrong in ["<html>", "[]", r#"{"value":"a"}"#, r#"{"value":[1]}"#] {
            let list: Result<Option<List<String>>, _> = understand("x", &answer(200, wrong));
            assert!(matches!(list, Err(TagError::NotUnderstood { .. })), "{wrong}: {list:?}");
        }
    }

    #[test]
    fn a_no_is_known_by_its_class_or_by_its_status() {
        let check = |status: u16, body: &str, kind: Refusal, text: &str| {
            let refused = understand::<Value>("the attaching of a tag", &answer(status, body));
            let Err(error @ TagError::Refused { .. }) = refused else { panic!("{body}: {refused:?}") };
            let TagError::Refused { kind: found, .. } = &error else { unreachable!() };
            assert_eq!(*found, kind, "{body}");
            assert_eq!(
                error.to_string(),
                format!("vCenter refused the attaching of a tag (HTTP status {text}")
            );
            assert!(!error.is_transient() && !error.may_have_happened());
        };
        let said = |class: &str, messages: &str| {
            format!(r#"{{"type":"com.vmware.vapi.std.errors.{class}","value":{{"messages":[{messages}]}}}}"#)
        };
        let words = r#"{"id":"x","default_message":"Tag t exists","args":[]}"#;
        check(400, &said("already_exists", words), Refusal::AlreadyExists, "400 Bad Request): Tag t exists");
        check(400, &said("already_exists", ""), Refusal::AlreadyExists, "400 Bad Request): already_exists");
        check(404, &said("not_found", ""), Refusal::NotFound, "404 Not Found): not_found");
        check(404, "404 page not found", Refusal::NotFound, "404 Not Found): it gave no reason");
        check(403, "", Refusal::Permission, "403 Forbidden): it gave no reason");
        let odd = Refusal::Other("invalid_argument".to_owned());
        check(400, &said("invalid_argument", r#""words""#), odd, "400 Bad Request): words");
    }

    #[test]
    fn a_batch_that_did_not_succeed_says_why_in_a_few_words() {
        let batch = |body: &str| {
            let batch: Option<Batch> = understand("x", &answer(200, body)).expect("an answer");
            batch.expect("not empty").into_result("the attaching of a tag").map_err(|error| error.to_string())
        };
        assert_eq!(batch(r#"{"value":{"success":true,"error_messages":[]}}"#), Ok(()));
        let reason = r#"{"id":"x","default_message":"vm-1 is gone","args":[]}"#;
        let five = [reason; 5].join(",");
        let told = batch(&format!(r#"{{"value":{{"success":false,"error_messages":[{five}]}}}}"#));
        let expected = "vCenter did only a part of the attaching of a tag: \
             vm-1 is gone; vm-1 is gone; vm-1 is gone; and 2 more";
        assert_eq!(told, Err(expected.to_owned()));
        assert!(batch(r#"{"value":{"success":false}}"#).is_err());
    }
}
