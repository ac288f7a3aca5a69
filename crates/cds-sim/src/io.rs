//! What goes into the world and what comes out of it.

use bytes::Bytes;
use jiff::Timestamp;
use rookery_sim::{Request, RequestId};
use serde::Serialize;

use crate::control::Control;
use crate::job::Status;

/// One websocket, as the world numbered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u64);

/// What happens to the world.
#[derive(Debug, Clone)]
pub enum Input {
    /// A client asks. The answer comes at once, or later if a fault delays it.
    Request(RequestId, Request),
    /// A call of the control API. The answer is JSON, and comes at once.
    Control(RequestId, Control),
    /// A client says something on its websocket.
    Text(SocketId, String),
    /// A websocket is no more.
    Gone(SocketId),
    /// The time that an earlier step asked for has come.
    Timer,
}

/// What one step leads to.
pub type Output = rookery_sim::Output<Body, Effect>;

pub type Reply = rookery_sim::Reply<Body>;

/// What an answer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Empty,
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
        socket: SocketId,
        /// Whether the other side is told.
        politely: bool,
    },
    /// End all connections: the server starts again.
    CutConnections,
    /// Set the clock forward: the control API advanced the time.
    Advance(Timestamp),
    Notice(Notice),
}

/// A change that the process around the simulator may wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "notice")]
pub enum Notice {
    /// A job has another status now.
    Job {
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

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::Content(text.into())
    }
}

impl From<Bytes> for Body {
    fn from(content: Bytes) -> Self {
        Self::Content(content)
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Content(content) => content,
            Self::Empty | Self::Socket(_) | Self::Cut => &[],
        }
    }
}

/// CDS calls empty replies JSON, too.
pub(crate) fn empty(status: u16) -> Reply {
    Reply::new(status, "application/json", Body::Empty)
}

/// The connection ends without a reply.
pub(crate) fn cut() -> Reply {
    Reply { status: 0, headers: Vec::new(), body: Body::Cut }
}
