//! What goes into the world and what comes out of it.

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::control::Control;
use crate::job::Status;

/// One request, as the shell numbered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// One websocket, as the world numbered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u64);

/// What happens to the world.
#[derive(Debug, Clone)]
pub enum Input {
    /// A client asks. The answer comes at once, or later if a fault delays it.
    Request(RequestId, Request),
    /// Whoever runs the simulator asks for something. The answer is JSON, and comes at once.
    Control(RequestId, Control),
    /// A client says something on its websocket.
    Text(SocketId, String),
    /// A websocket is no more.
    Gone(SocketId),
    /// The time that an earlier step asked for has come.
    Timer,
}

/// An HTTP request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path, still encoded.
    pub path: String,
    /// What follows the question mark, still encoded.
    pub query: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// Whether it came from this machine.
    pub local: bool,
}

impl Request {
    /// The first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// What follows `Bearer`.
    pub(crate) fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ").map(str::trim)
    }
}

/// What one step leads to.
#[derive(Debug, Default)]
pub struct Output {
    /// Answers, in the order in which they were given.
    pub replies: Vec<(RequestId, Reply)>,
    /// What the shell has to do, after the answers have gone out.
    pub effects: Vec<Effect>,
    /// When the world wants to be woken, if nothing happens before.
    pub wake_at: Option<Timestamp>,
}

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Body,
}

/// What an answer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    Empty,
    /// This content.
    Content(Bytes),
    /// The connection becomes this websocket.
    Socket(SocketId),
    /// The connection ends without an answer.
    Cut,
}

/// What the world asks of the shell.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Say this on a websocket.
    Send(SocketId, String),
    /// End a websocket: with a closing message, or just so.
    Close {
        /// Which.
        socket: SocketId,
        /// Whether the other side is told.
        politely: bool,
    },
    /// End all connections: the server starts again.
    CutConnections,
    /// It is that late now. The clock must show it from now on.
    Advance(Timestamp),
    /// Tell whoever wants to know.
    Notice(Notice),
}

/// Something that whoever runs the simulator may wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "notice")]
pub enum Notice {
    /// A job has another status now.
    Job {
        /// Which.
        id: String,
        /// What it is now.
        status: Status,
    },
    /// A worker has signed in, moved on or gone.
    Worker {
        /// What it is called.
        name: String,
        /// What it does now; none once it has been deleted.
        status: Option<crate::workers::Status>,
    },
}

impl Reply {
    pub(crate) fn empty(status: u16) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status, headers, body: Body::Empty }
    }

    pub(crate) fn cut() -> Self {
        Self { status: 0, headers: Vec::new(), body: Body::Cut }
    }

    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::of(status, "application/json", value.to_string().into())
    }

    pub(crate) fn of(status: u16, kind: &str, content: Bytes) -> Self {
        Self { status, headers: vec![("content-type", kind.to_owned())], body: Body::Content(content) }
    }

    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// What it says, if that is JSON; null otherwise.
    pub fn value(&self) -> Value {
        match &self.body {
            Body::Content(content) => serde_json::from_slice(content).unwrap_or_default(),
            Body::Empty | Body::Socket(_) | Body::Cut => Value::Null,
        }
    }
}
