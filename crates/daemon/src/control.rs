//! The control socket: what people ask of a process that runs, and tell it. Only who owns it may open it; the pages that
//! everybody may read change nothing.
//!
//! One line of JSON asks, one line of JSON answers. Both are the front's, but for `{"refused":"…"}`, which answers what is
//! not understood and everything before the process has started.

mod socket;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::ProcessName;

pub use socket::Socket;

const LONGEST_QUESTION: u64 = 64 << 10;
/// A whole status may be long.
const LONGEST_ANSWER: u64 = 64 << 20;
/// How long whoever asks waits for the answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("no {process} runs here under this user: nobody listens on {}", path.display())]
    Nobody { process: ProcessName, path: PathBuf },
    /// The socket is somebody else's.
    #[error("the control socket {} belongs to another user", path.display())]
    Forbidden { path: PathBuf },
    /// It listens and does not answer.
    #[error("{process} does not answer on {}", path.display())]
    Broken { process: ProcessName, path: PathBuf, source: io::Error },
}

/// Asks a process whose socket is in this folder.
pub async fn ask<A: DeserializeOwned>(
    folder: &Path,
    process: &ProcessName,
    request: &impl Serialize,
) -> Result<A, AskError> {
    let path = path(folder, process);
    let broken = |source| AskError::Broken { process: process.clone(), path: path.clone(), source };
    let stream = UnixStream::connect(&path).await.map_err(|error| {
        let kind = error.kind();
        if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) {
            AskError::Nobody { process: process.clone(), path: path.clone() }
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

/// The processes of a front whose sockets are in this folder and that listen there, by the names that lead to them.
pub async fn listening(folder: &Path, front: &'static str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.file_name();
        let name = file.to_str().and_then(|file| ProcessName::of_file(front, file, "sock"));
        if let Some(name) = name
            && UnixStream::connect(folder.join(&file)).await.is_ok()
        {
            found.push(name.to_owned());
        }
    }
    found.sort();
    Ok(found)
}

fn path(folder: &Path, process: &ProcessName) -> PathBuf {
    process.file(folder, "sock")
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
    use serde_json::{Value, json};

    use super::*;
    use crate::Supervisor;

    #[tokio::test]
    async fn a_process_that_starts_refuses_and_one_that_runs_answers_what_it_understands() {
        let (folder, supervisor) = (tempfile::tempdir().unwrap(), Supervisor::new());
        let process = ProcessName::new("front", "f/1");
        let ask = async |question: Value| ask::<Value>(folder.path(), &process, &question).await.unwrap();
        let socket = Socket::open(folder.path(), &process).unwrap();
        assert_eq!(socket.path(), folder.path().join("rookery-front-f_1.sock"));
        tokio::select! {
            biased;
            () = socket.turn_away("it is starting") => {}
            answer = ask(json!(1)) => assert_eq!(answer, json!({ "refused": "it is starting" })),
        }
        let double = |number: u32| async move { 2 * number };
        supervisor.spawn("control socket", socket.serve(supervisor.clone(), double));
        assert_eq!(ask(json!(21)).await, json!(42));
        let refused = ask(json!("x")).await;
        let why = refused["refused"].as_str().unwrap();
        assert!(why.starts_with("the question is not understood: "), "{why}");
        supervisor.shutdown(PATIENCE).await.unwrap();
    }

    #[tokio::test]
    async fn those_that_listen_are_found_by_the_names_that_lead_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let open = |front, name| Socket::open(folder.path(), &ProcessName::new(front, name)).unwrap();
        let running = [open("front", "f/1"), open("front", "a"), open("other", "x"), open("front-2", "y")];
        drop(open("front", "gone"));
        std::fs::write(folder.path().join("rookery-front-file.sock"), "").unwrap();
        let found = listening(folder.path(), "front").await.unwrap();
        assert_eq!(found, ["2-y", "a", "f_1"]);
        assert_eq!(path(folder.path(), &ProcessName::new("front", "f_1")), running[0].path());
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_or_cut_off_is_no_question() {
        for text in ["", "{\"do\":\"status\"}", "{\"do\":\"status\"                    }\n"] {
            assert!(read_line(text.as_bytes(), 20).await.is_err(), "{text}");
        }
        assert_eq!(read_line("{}\nrest".as_bytes(), 20).await.unwrap(), "{}\n");
    }
}
