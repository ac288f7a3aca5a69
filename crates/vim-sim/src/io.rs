//! What goes into the world and what comes out of it.

use std::fmt;

use jiff::Timestamp;
use rookery_sim::{Request, RequestId};

use crate::control::Control;
use crate::guests::{FileAnswer, FileJob, FileTrouble, GuestPower, Start};

/// What happens to the world.
#[derive(Debug, Clone)]
pub enum Input {
    /// A client asks. The answer may come at once or from a later step.
    Request(RequestId, Request),
    /// A client sends a file.
    Upload(RequestId, Request, Upload),
    /// More of an upload has arrived: it has that many bytes now. Only if it is whole is the request answered.
    Content { request: RequestId, size: u64, whole: bool },
    /// The time that an earlier step asked for has come.
    Timer,
    /// A client no longer waits for its answer, and sends nothing more.
    Gone(RequestId),
    /// A call of the control API. The answer is JSON, and comes at once.
    Control(RequestId, Control),
    /// A program that an effect started under that number has ended.
    Exited { process: u64, code: i32 },
    /// A file operation that an effect asked for is done.
    File { request: RequestId, result: Result<FileAnswer, FileTrouble> },
    /// A program has told its machine to go down.
    GuestPower { vm: crate::Id, what: GuestPower },
}

/// A body that the shell keeps in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upload {
    /// What has arrived so far.
    pub content: BlobRef,
    /// Whether more is still to come.
    pub coming: bool,
}

/// A blob that the shell keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobRef {
    /// The number that the shell gave it.
    pub blob: u64,
    pub size: u64,
}

/// What one step leads to.
pub type Output = rookery_sim::Output<Body, Effect>;

pub type Reply = rookery_sim::Reply<Body>;

/// What an answer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Text(String),
    Bytes(Vec<u8>),
    /// The head of a file alone: the answer to `HEAD`.
    Head(u64),
    /// A blob that the shell keeps.
    Blob(BlobRef),
    /// Nothing: the connection ends without an answer.
    Cut,
    /// This text, no faster than that.
    Slow(String, u64),
}

/// What the world asks of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Forget a blob.
    Discard(u64),
    /// Start a program for a guest.
    Start(Box<Start>),
    /// End a program of a guest, as the start numbered it.
    Stop { vm: crate::Id, process: u64 },
    /// End all programs of a guest.
    StopAll(crate::Id),
    /// End all connections: the vCenter starts again. Answers of this step go out first.
    CutConnections,
    /// Set the clock forward: the control API advanced the time.
    Advance(Timestamp),
    /// A guest is no more, nor are its files.
    Erase(crate::Id),
    /// Perform an operation on the files of a guest, and report its result.
    File(Box<FileJob>),
    /// Tell whoever listens.
    Notice(Notice),
}

/// Something that other simulators may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A VM has started, or started again, with that in its drive, such as `[fast] iso/setup.iso`.
    Booted { vm: crate::Id, name: String, iso: Option<String> },
    /// A program has started that a player in this process has to end, by a [`ProgramRule`](crate::ProgramRule).
    Program(Box<Announced>),
    /// Such a program was ended, or its VM went off, before its player ended it.
    Ended { vm: crate::Id, pid: i64 },
}

/// A program whose end a player in this process decides.
#[derive(Clone, PartialEq, Eq)]
pub struct Announced {
    pub vm: crate::Id,
    /// What that VM is called.
    pub name: String,
    pub pid: i64,
    pub path: String,
    /// Its arguments, as one text.
    pub arguments: String,
    pub environment: Vec<String>,
}

/// Arguments and environments may hold secrets.
impl fmt::Debug for Announced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announced")
            .field("name", &self.name)
            .field("pid", &self.pid)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(text) | Self::Slow(text, _) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            Self::Head(_) | Self::Blob(_) | Self::Cut => &[],
        }
    }
}

/// The connection ends without a reply.
pub(crate) fn cut() -> Reply {
    Reply { status: 503, headers: Vec::new(), body: Body::Cut }
}

pub(crate) fn xml(status: u16, text: String) -> Reply {
    Reply::new(status, "text/xml; charset=utf-8", text)
}
