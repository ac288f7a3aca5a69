//! Errors as the CDS API reports them: a number, a status, and where they came from.

use serde_json::{Value, json};

use crate::io::Reply;
use crate::render::is_time;

/// What a call is answered.
pub(crate) type Answer = Result<Reply, Refusal>;

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: u16,
    id: i64,
    message: &'static str,
    from: String,
}

impl Refusal {
    const fn kind(status: u16, id: i64, message: &'static str) -> Self {
        Self { status, id, message, from: String::new() }
    }

    pub(crate) const UNAUTHORIZED: Self = Self::kind(401, 10, "not authenticated");
    pub(crate) const FORBIDDEN: Self = Self::kind(403, 11, "forbidden");
    pub(crate) const NO_MODEL: Self = Self::kind(404, 29, "worker model does not exist");
    pub(crate) const NOT_FOUND: Self = Self::kind(404, 38, "resource not found");
    pub(crate) const UNAVAILABLE: Self =
        Self::kind(503, 60, "service currently unavailable or down for maintenance");
    pub(crate) const WRONG_REQUEST: Self = Self::kind(400, 74, "wrong request");
    pub(crate) const ALREADY_BOOKED: Self = Self::kind(403, 89, "job already booked");
    pub(crate) const ALREADY_TAKEN: Self = Self::kind(410, 91, "this job is already taken by another worker");
    pub(crate) const MODEL_BOOKED: Self = Self::kind(403, 115, "worker model already booked");
    pub(crate) const BAD_OS: Self = Self::kind(400, 117, "os is invalid");
    pub(crate) const BAD_ARCH: Self = Self::kind(400, 118, "arch is invalid");
    pub(crate) const NOT_BOOKED: Self = Self::kind(400, 135, "job is not booked");
    pub(crate) const LOCKED: Self = Self::kind(409, 147, "job is locked");
    pub(crate) const INVALID_DATA: Self = Self::kind(400, 149, "cannot validate given data");

    /// What exactly was wrong.
    pub(crate) fn from(mut self, why: impl Into<String>) -> Self {
        self.from = why.into();
        self
    }

    /// Refuses what was said if one of its times is there and cannot be read as one.
    pub(crate) fn of_times(said: &Value, names: &[&str]) -> Result<(), Self> {
        let bad = names.iter().find(|name| {
            let time = &said[**name];
            !time.is_null() && !time.as_str().is_some_and(is_time)
        });
        match bad {
            Some(name) => Err(Self::WRONG_REQUEST.from(format!("{name} {} is not a time", said[*name]))),
            None => Ok(()),
        }
    }

    /// The answer that says so.
    pub(crate) fn reply(&self, request_id: &str) -> Reply {
        error(self.status, self.id, self.message, &self.from, request_id)
    }
}

pub(crate) fn error(status: u16, id: i64, message: &str, from: &str, request_id: &str) -> Reply {
    let mut body = json!({
        "id": id,
        "message": format!("{message} (from: {from}, request_id: {request_id})"),
        "request_id": request_id,
    });
    if from.is_empty() {
        body["message"] = format!("{message} (request_id: {request_id})").into();
    } else {
        body["from"] = from.into();
    }
    Reply::json(status, &body)
}
