//! The socket itself.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::{LONGEST_QUESTION, line_of, path, read_line};
use crate::{ProcessName, Supervisor};

/// How long a question and its answer may take.
const CONVERSATION: Duration = Duration::from_secs(25);
/// The user who may do everything.
const ROOT: u32 = 0;

/// The control socket of a process; it goes with this value.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    owner: u32,
}

impl Socket {
    /// Opens the socket of a process. Whoever does holds the lock of its name: what is left of another one is replaced.
    pub fn open(folder: &Path, process: &ProcessName) -> io::Result<Self> {
        let path = path(folder, process);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
        let owner = fs::metadata(&path)?.uid();
        Ok(Self { listener, path, owner })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers until the supervisor stops.
    pub async fn serve<R, A, F>(
        self,
        supervisor: Supervisor,
        answer: impl Fn(R) -> F + Clone + Send + Sync + 'static,
    ) where
        R: DeserializeOwned + Send,
        A: Serialize,
        F: Future<Output = A> + Send,
    {
        let stop = supervisor.token();
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if self.may_ask(&stream) => {
                    let answer = answer.clone();
                    let conversation =
                        converse(stream, async move |question| match serde_json::from_str(&question) {
                            Ok(request) => line_of(&answer(request).await),
                            Err(error) => refused(&format!("the question is not understood: {error}")),
                        });
                    supervisor.spawn_until_stopped("control conversation", conversation);
                }
                Ok(_) => warn!("refused a control connection of another user"),
                Err(error) => {
                    warn!(%error, "cannot accept a control connection; retrying");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Tells everybody why there is no answer yet, until it is dropped.
    pub async fn turn_away(&self, why: &str) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) if self.may_ask(&stream) => {
                    converse(stream, async |_| refused(why)).await;
                }
                Ok(_) => warn!("refused a control connection of another user"),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Between its birth and its mode a socket may be open to all.
    fn may_ask(&self, stream: &UnixStream) -> bool {
        stream.peer_cred().is_ok_and(|peer| peer.uid() == self.owner || peer.uid() == ROOT)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

async fn converse(stream: UnixStream, answer: impl AsyncFnOnce(String) -> io::Result<Vec<u8>>) {
    let (reader, mut writer) = stream.into_split();
    let conversation = async {
        let question = read_line(BufReader::new(reader), LONGEST_QUESTION).await?;
        writer.write_all(&answer(question).await?).await
    };
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    if let Err(error) = timeout(CONVERSATION, conversation).await.map_err(late).flatten() {
        debug!(%error, "a control conversation ended early");
    }
}

fn refused(why: &str) -> io::Result<Vec<u8>> {
    line_of(&json!({ "refused": why }))
}
