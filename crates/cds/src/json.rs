//! CDS's JSON: whatever is null is absent, a null list is an empty one, and the zero time is no time.

use std::sync::Arc;

use jiff::Timestamp;
use secrecy::SecretString;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// How the server writes "no time".
pub(crate) const ZERO_TIME: &str = "0001-01-01T00:00:00Z";
/// The zero time, and what a time zone can make of it.
const FIRST_TIME: i64 = -62_135_596_800 + 86_400;

pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    let mut value: Value = serde_json::from_slice(body)?;
    drop_nulls(&mut value);
    serde_json::from_value(value)
}

/// Reads a list. An empty body is not a list: it may be an answer that was cut off.
pub(crate) fn read_list<T: DeserializeOwned>(body: &[u8]) -> Result<Vec<T>, serde_json::Error> {
    let list: Option<Value> = serde_json::from_slice(body)?;
    let Some(mut list) = list else { return Ok(vec![]) };
    drop_nulls(&mut list);
    serde_json::from_value(list)
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(drop_nulls);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A time, unless it is the zero time.
pub(crate) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    let text = String::deserialize(from)?;
    let time: Timestamp = text.parse().map_err(|_| D::Error::custom(format!("{text:?} is not a time")))?;
    Ok((time.as_second() > FIRST_TIME).then_some(time))
}

/// A list that is cheap to clone.
pub(crate) fn shared<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Arc<[T]>, D::Error> {
    Vec::deserialize(from).map(Arc::from)
}

/// A text that must not be shown; an empty one is none.
pub(crate) fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SecretString>, D::Error> {
    let text = String::deserialize(from)?;
    Ok((!text.is_empty()).then(|| SecretString::from(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Sample {
        name: String,
        #[serde(deserialize_with = "time")]
        at: Option<Timestamp>,
        items: Vec<i64>,
    }

    #[test]
    fn null_is_absent_everywhere() {
        let sample: Sample = read(br#"{"name":null,"at":null,"items":null,"unknown":{"a":null}}"#).unwrap();
        assert_eq!(sample, Sample::default());
        assert_eq!(read_list::<Sample>(b"null").unwrap(), []);
        assert_eq!(read_list::<Sample>(b"[{\"name\":null}]").unwrap(), [Sample::default()]);
    }

    #[test]
    fn an_empty_answer_is_no_list() {
        for cut_off in ["", "[", "{}", "\"\"", "<html>"] {
            assert!(read_list::<Sample>(cut_off.as_bytes()).is_err(), "{cut_off}");
        }
    }

    #[test]
    fn the_zero_time_is_no_time() {
        let at =
            |text: &str| read::<Sample>(format!("{{\"at\":{text:?}}}").as_bytes()).map(|sample| sample.at);
        assert_eq!(at(ZERO_TIME).unwrap(), None);
        assert_eq!(at("0001-01-01T01:00:00+01:00").unwrap(), None);
        let summer = at("2026-06-23T09:12:03.123456789+02:00").unwrap();
        assert_eq!(summer, Some("2026-06-23T07:12:03.123456789Z".parse().unwrap()));
        assert!(at("yesterday").is_err());
    }
}
