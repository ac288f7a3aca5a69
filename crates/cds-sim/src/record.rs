//! The record of requests, without tokens and passwords.

use std::collections::VecDeque;

use jiff::Timestamp;
use rookery_sim::Request;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Larger bodies are not remembered.
const LONGEST_BODY: usize = 64 << 10;

/// A request that came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Entry {
    pub at: Timestamp,
    /// `GET`, `POST`, …
    pub method: String,
    /// The path, still encoded.
    pub path: String,
    /// What followed the question mark.
    pub query: String,
    /// The status of the answer; 0 if nothing was done.
    pub status: u16,
    /// Whether the answer never went out.
    pub cut: bool,
    /// Who asked: a hatchery, or a worker by name.
    pub by: Option<String>,
    /// What they said, if it was JSON: without tokens.
    pub body: Value,
}

impl Entry {
    pub(crate) fn new(at: Timestamp, request: &Request, by: Option<String>) -> Self {
        let body = request.body.get(..).filter(|body| body.len() <= LONGEST_BODY).unwrap_or_default();
        let mut body = serde_json::from_slice(body).unwrap_or_default();
        hide(&mut body);
        let (method, path, query) = (request.method.clone(), request.path.clone(), request.query.clone());
        Self { at, method, path, query, status: 0, cut: false, by, body }
    }
}

/// Tokens are left out, wherever they are.
fn hide(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if matches!(key.as_str(), "token" | "api_token" | "password") {
                    *value = "…".into();
                } else {
                    hide(value);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(hide),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The last requests; older ones are forgotten.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    most: usize,
    entries: VecDeque<Entry>,
}

impl Record {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, entries: VecDeque::new() }
    }

    pub(crate) fn add(&mut self, entry: Entry) {
        self.entries.push_back(entry);
        while self.entries.len() > self.most {
            self.entries.pop_front();
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }
}
