//! The control socket: what people ask of a hatchery that runs, and tell it. Only who owns it may open it; the pages
//! that everybody may read change nothing.
//!
//! One line of JSON asks, one line of JSON answers:
//!
//! ```text
//! {"do":"status"}   {"do":"explain","job":"4711"}   {"do":"drain"}   {"do":"resume"}   {"do":"look"}
//! {"status":{…}}    {"explained":{…}}               {"done":"…"}                       {"refused":"…"}
//!
//! {"do":"hold","of":{"model":"debian12"},"count":1,"for":14400,"within":86400,"reason":"…"}
//! {"do":"release","of":{"machine":"brave-curie"}}
//! {"do":"adopt","model":"group/name"}
//! {"do":"adopt-vm","vm":"vm-63"}   {"do":"unmark","vm":"vm-63"}
//! {"do":"confirm","list":[{"machine":"vm-7"},{"worker":"w"},{"lost":"vm-8"}]}
//! ```

mod answer;
mod socket;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::braked::Subject;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::holds::{Order, Target};
use crate::report::Status;

pub use answer::{Desk, Explained};
pub use socket::Socket;

/// Questions are short.
const LONGEST_QUESTION: u64 = 64 << 10;
/// Many jobs may wait.
const LONGEST_ANSWER: u64 = 64 << 20;
/// How long whoever asks waits for the answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// How it is.
    Status,
    /// What becomes of a job.
    Explain {
        /// Its number or UUID.
        job: String,
    },
    /// Take no new jobs.
    Drain,
    /// Take jobs again.
    Resume,
    /// Look at the queues now.
    Look,
    /// Let through what the brake holds back, as far as it is in this list.
    Confirm {
        /// What.
        list: Vec<Subject>,
    },
    /// Keep a machine, or those of the next workers that fail.
    Hold(Order),
    /// Let a machine go, or withdraw a wish and let go whom it kept.
    Release {
        /// What.
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
        /// Its reference or its name.
        vm: String,
    },
}

/// What is answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// How it is.
    Status(Box<Status>),
    /// What becomes of the job.
    Explained(Explained),
    /// It is done; the text says what.
    Done(String),
    /// It is not; the text says why.
    Refused(String),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nobody listens.
    #[error("no hatchery {name:?} runs here under this user: nobody listens on {}", path.display())]
    Nobody {
        /// Its name.
        name: String,
        /// The socket.
        path: PathBuf,
    },
    /// The socket is somebody else's.
    #[error("the control socket {} belongs to another user", path.display())]
    Forbidden {
        /// The socket.
        path: PathBuf,
    },
    /// It listens and does not answer.
    #[error("the hatchery does not answer on {}", path.display())]
    Broken {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The name of a hatchery as a part of file names.
pub(crate) fn file_name(name: &str, ending: &str) -> String {
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    format!("rookery-hatchery-{safe}.{ending}")
}

/// Where the hatchery of a name listens, in its folder.
pub fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(file_name(name, "sock"))
}

/// Asks the hatchery of a name.
pub async fn ask(folder: &Path, name: &str, request: &Request) -> Result<Answer, AskError> {
    let path = path(folder, name);
    let broken = |source| AskError::Broken { path: path.clone(), source };
    let stream = UnixStream::connect(&path).await.map_err(|error| {
        let kind = error.kind();
        if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) {
            AskError::Nobody { name: name.to_owned(), path: path.clone() }
        } else if kind == io::ErrorKind::PermissionDenied {
            AskError::Forbidden { path: path.clone() }
        } else {
            broken(error)
        }
    })?;
    let asking = async {
        let (reader, mut writer) = stream.into_split();
        writer.write_all(&line_of(request)?).await?;
        let line = read_line(BufReader::new(reader), LONGEST_ANSWER).await?;
        serde_json::from_str(&line).map_err(io::Error::other)
    };
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    timeout(PATIENCE, asking).await.map_err(late).flatten().map_err(broken)
}

fn line_of(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok(line)
}

async fn read_line(reader: impl AsyncBufRead + Unpin, most: u64) -> io::Result<String> {
    let mut line = String::new();
    reader.take(most).read_line(&mut line).await?;
    if line.ends_with('\n') { Ok(line) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_written_as_the_document_says() {
        for (request, text) in [
            (Request::Status, r#"{"do":"status"}"#),
            (Request::Explain { job: "4711".to_owned() }, r#"{"do":"explain","job":"4711"}"#),
            (Request::Drain, r#"{"do":"drain"}"#),
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
        let first = Socket::open(folder.path(), "h/1").unwrap();
        let second = Socket::open(folder.path(), "h/1").unwrap();
        assert_eq!(first.path(), folder.path().join("rookery-hatchery-h_1.sock"));
        drop(second);
        assert!(matches!(ask().await, Err(AskError::Nobody { .. })));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_or_cut_off_is_no_question() {
        for text in ["", "{\"do\":\"status\"}", "{\"do\":\"status\"                    }\n"] {
            assert!(read_line(text.as_bytes(), 20).await.is_err(), "{text}");
        }
        assert_eq!(read_line("{}\nrest".as_bytes(), 20).await.unwrap(), "{}\n");
    }
}
