//! What goes into a world over HTTP, and what comes out of one step.

use std::net::SocketAddr;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::url;

/// The number of a request, unique for one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path, still encoded.
    pub path: String,
    /// What follows the question mark, still encoded.
    pub query: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// The address of the client.
    pub peer: Option<SocketAddr>,
}

impl Request {
    /// A request without its body, and the body that is still to be read.
    pub fn split<B>(request: hyper::Request<B>, peer: SocketAddr) -> (Self, B) {
        let (head, body) = request.into_parts();
        let headers = head.headers.iter();
        let headers =
            headers.map(|(n, v)| (n.as_str().to_owned(), String::from_utf8_lossy(v.as_bytes()).into_owned()));
        let request = Self {
            method: head.method.as_str().to_owned(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: headers.collect(),
            body: Bytes::new(),
            peer: Some(peer),
        };
        (request, body)
    }

    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The token of `Authorization: Bearer TOKEN`.
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ").map(str::trim)
    }

    /// The names and values of the query, decoded.
    pub fn parameters(&self) -> Vec<(String, String)> {
        url::parameters(&self.query)
    }

    /// The first parameter of that name in the query, decoded.
    pub fn parameter(&self, name: &str) -> Option<String> {
        self.parameters().into_iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// Whether the client runs on this machine.
    pub fn is_local(&self) -> bool {
        self.peer.is_some_and(|peer| peer.ip().is_loopback())
    }
}

/// An HTTP reply; `B` is what a server can send as a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<B> {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(&'static str, String)>,
    pub body: B,
}

impl<B> Reply<B> {
    /// A reply of that content type.
    pub fn new(status: u16, content_type: &str, body: impl Into<B>) -> Self {
        Self { status, headers: vec![("content-type", content_type.to_owned())], body: body.into() }
    }

    /// The same with one header more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl<B: From<String>> Reply<B> {
    /// A text for people.
    pub fn plain(status: u16, text: &str) -> Self {
        Self::new(status, "text/plain", text.to_owned())
    }

    /// A value as JSON.
    pub fn json(status: u16, value: &impl Serialize) -> Self {
        match serde_json::to_string(value) {
            Ok(text) => Self::new(status, "application/json", text),
            Err(error) => Self::error(500, &error.to_string()),
        }
    }

    /// `{"error": …}`, which is how the simulators themselves refuse.
    pub fn error(status: u16, why: &str) -> Self {
        Self::new(status, "application/json", json!({ "error": why }).to_string())
    }
}

impl<B: AsRef<[u8]>> Reply<B> {
    /// The body, if it is JSON; null otherwise.
    pub fn value(&self) -> Value {
        serde_json::from_slice(self.body.as_ref()).unwrap_or_default()
    }
}

impl<B> From<Reply<B>> for Response<B> {
    fn from(reply: Reply<B>) -> Self {
        let mut response = Self::new(reply.body);
        *response.status_mut() =
            StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in reply.headers {
            if let Ok(value) = value.parse() {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

/// What one step of a world yields.
#[derive(Debug)]
pub struct Output<B, E> {
    /// In the order in which they were given.
    pub replies: Vec<(RequestId, Reply<B>)>,
    /// What the shell has to do, after the replies are on their way.
    pub effects: Vec<E>,
    /// When the world has to be woken, if nothing happens before.
    pub wake_at: Option<Timestamp>,
}
