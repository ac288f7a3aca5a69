//! The control socket: what people ask of a hatchery that runs, and tell it. Only who owns it may open it; the pages
//! that everybody may read change nothing.
//!
//! One line of JSON asks, one line of JSON answers:
//!
//! ```text
//! {"do":"status"}   {"do":"jobs"}   {"do":"known-jobs"}   {"do":"explain","job":"4711"}   {"do":"drain"}   {"do":"resume"}   {"do":"look"}
//! {"status":{…}}    {"jobs":[…]}    {"explained":{…}}   {"done":"…"}   {"refused":"…"}   {"unclear":"…"}
//!
//! {"do":"hold","of":{"model":"debian12"},"count":1,"for":14400,"within":86400,"reason":"…"}
//! {"do":"release","of":{"machine":"brave-curie"}}
//! {"do":"adopt","model":"group/name"}
//! {"do":"adopt-vm","vm":"vm-63"}   {"do":"unmark","vm":"vm-63"}
//! {"do":"confirm","list":[{"machine":"vm-7"},{"worker":"w"},{"lost":"vm-8"}]}
//! {"do":"dry-run","request":{"do":"drain"}}
//! ```

mod answer;
mod explained;
mod naming;

use crate::plan::braked::Subject;
use crate::surface::holds::{Order, Target};
use crate::surface::report::{JobLine, Status};
pub use answer::ControlState;
pub use explained::{Ends, Explained};
use rookery_daemon::ProcessName;
use rookery_daemon::control::{self, AskError, Socket};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    Status,
    /// What becomes of a job.
    Explain {
        job: String,
    },
    /// The jobs that wait, that are served, and that ended last.
    Jobs,
    /// The same without asking CDS how they ended.
    KnownJobs,
    Drain,
    Resume,
    Look,
    /// Let through what the brake holds back, as far as it is in this list.
    Confirm {
        list: Vec<Subject>,
    },
    /// Keep a machine, or those of the next workers that fail.
    Hold(Order),
    /// Let a machine go, or withdraw a wish and let go whom it kept.
    Release {
        of: Target,
    },
    /// Set a template of another hatchery aside that stands in the way of a model.
    Adopt {
        /// The path of the V1 model.
        model: String,
    },
    /// Make a copy of a machine of ours ours.
    AdoptVm {
        /// Its reference or its name.
        vm: String,
    },
    /// Make a copy of a machine of ours nobody's.
    Unmark {
        vm: String,
    },
    /// Say what would be done, and do nothing.
    DryRun {
        request: Box<Request>,
    },
}

impl Request {
    /// What is asked for, in a word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Explain { .. } => "explain",
            Self::Jobs | Self::KnownJobs => "jobs",
            Self::Drain => "drain",
            Self::Resume => "resume",
            Self::Look => "look",
            Self::Confirm { .. } => "confirm",
            Self::Hold(_) => "hold",
            Self::Release { .. } => "release",
            Self::Adopt { .. } => "adopt",
            Self::AdoptVm { .. } => "adopt_vm",
            Self::Unmark { .. } => "unmark",
            Self::DryRun { request } => request.as_str(),
        }
    }

    /// To say what it would do, and to do nothing.
    #[must_use]
    pub fn dry(self) -> Self {
        Self::DryRun { request: Box::new(self) }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Status(Box<Status>),
    Explained(Box<Explained>),
    Jobs(Vec<JobLine>),
    /// It is done; the text says what.
    Done(String),
    /// It is not; the text says why.
    Refused(String),
    /// What was named does not exist, or may mean several things.
    Unclear(String),
}

const FRONT: &str = "hatchery";

/// What the hatchery of a name is called on its machine.
pub(crate) fn process(name: &str) -> ProcessName {
    ProcessName::new(FRONT, name)
}

/// Asks the hatchery of a name.
pub async fn ask(folder: &Path, name: &str, request: &Request) -> Result<Answer, AskError> {
    control::ask(folder, &process(name), request).await
}

/// The hatcheries that run on this machine and whose sockets are in this folder.
pub async fn running(folder: &Path) -> io::Result<Vec<String>> {
    control::listening(folder, FRONT).await
}

/// Opens the control socket of a name; it goes with this value. Whoever opens it holds the lock of that name.
pub fn open(folder: &Path, name: &str) -> io::Result<Socket> {
    Socket::open(folder, &process(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_written_as_the_document_says() {
        for (request, text) in [
            (Request::Status, r#"{"do":"status"}"#),
            (Request::Explain { job: "4711".to_owned() }, r#"{"do":"explain","job":"4711"}"#),
            (Request::Jobs, r#"{"do":"jobs"}"#),
            (Request::KnownJobs, r#"{"do":"known-jobs"}"#),
            (Request::Drain, r#"{"do":"drain"}"#),
            (
                Request::DryRun { request: Box::new(Request::Unmark { vm: "vm-63".to_owned() }) },
                r#"{"do":"dry-run","request":{"do":"unmark","vm":"vm-63"}}"#,
            ),
            (Request::Resume, r#"{"do":"resume"}"#),
            (Request::Look, r#"{"do":"look"}"#),
            (
                Request::Hold(Order {
                    of: Target::Model("debian12".to_owned()),
                    count: 1,
                    seconds: 14_400,
                    within: 86_400,
                    reason: "why".to_owned(),
                }),
                r#"{"do":"hold","of":{"model":"debian12"},"count":1,"for":14400,"within":86400,"reason":"why"}"#,
            ),
            (
                Request::Confirm {
                    list: vec![
                        Subject::Worker("w".to_owned()),
                        Subject::Lost(rookery_fleet::MachineId::new("vm-8")),
                    ],
                },
                r#"{"do":"confirm","list":[{"worker":"w"},{"lost":"vm-8"}]}"#,
            ),
            (
                Request::Release { of: Target::Machine("w".to_owned()) },
                r#"{"do":"release","of":{"machine":"w"}}"#,
            ),
            (Request::Adopt { model: "g/m".to_owned() }, r#"{"do":"adopt","model":"g/m"}"#),
            (Request::AdoptVm { vm: "vm-63".to_owned() }, r#"{"do":"adopt-vm","vm":"vm-63"}"#),
            (Request::Unmark { vm: "vm-63".to_owned() }, r#"{"do":"unmark","vm":"vm-63"}"#),
        ] {
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), request);
        }
        let done = Answer::Done("x".to_owned());
        assert_eq!(serde_json::to_string(&done).unwrap(), r#"{"done":"x"}"#);
    }

    #[tokio::test]
    async fn a_socket_that_nobody_listens_on_is_told_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let ask = async || ask(folder.path(), "h/1", &Request::Status).await;
        assert!(matches!(ask().await, Err(AskError::Nobody { .. })));
        let first = open(folder.path(), "h/1").unwrap();
        let second = open(folder.path(), "h/1").unwrap();
        assert_eq!(first.path(), folder.path().join("rookery-hatchery-h_1.sock"));
        drop(second);
        assert!(matches!(ask().await, Err(AskError::Nobody { .. })));
    }
}
