//! The socket itself.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rookery_daemon::Supervisor;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tracing::{debug, warn};

use super::{Answer, Desk, LONGEST_QUESTION, Request, line_of, path, read_line};

/// How long a question and its answer may take.
const CONVERSATION: Duration = Duration::from_secs(25);
/// The user who may do everything.
const ROOT: u32 = 0;

/// The control socket of a hatchery; it goes with this value.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    owner: u32,
}

impl Socket {
    /// Opens the socket of a name. Whoever does holds the lock of that name: what is left of another one is replaced.
    pub fn open(folder: &Path, name: &str) -> io::Result<Self> {
        let path = path(folder, name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
        let owner = fs::metadata(&path)?.uid();
        Ok(Self { listener, path, owner })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Answers until the supervisor stops.
    pub async fn serve(self, desk: Desk, supervisor: Supervisor) {
        let stop = supervisor.token();
        loop {
            let accepted = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if self.may_ask(&stream) => {
                    let (desk, stop) = (desk.clone(), stop.clone());
                    supervisor.spawn("control conversation", async move {
                        tokio::select! {
                            biased;
                            () = stop.cancelled() => {}
                            () = converse(stream, async |request| desk.answer(request).await) => {}
                        }
                    });
                }
                Ok(_) => warn!("somebody else's attempt to control this hatchery was refused"),
                Err(error) => {
                    warn!(%error, "the control socket cannot be reached for a moment");
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
                    converse(stream, async |_| Answer::Refused(why.to_owned())).await;
                }
                Ok(_) => warn!("somebody else's attempt to control this hatchery was refused"),
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

async fn converse(stream: UnixStream, answer: impl AsyncFnOnce(Request) -> Answer) {
    let (reader, mut writer) = stream.into_split();
    let conversation = async {
        let line = read_line(BufReader::new(reader), LONGEST_QUESTION).await?;
        let answer = match serde_json::from_str(&line) {
            Ok(request) => answer(request).await,
            Err(error) => Answer::Refused(format!("the question is not understood: {error}")),
        };
        writer.write_all(&line_of(&answer)?).await
    };
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    if let Err(error) = timeout(CONVERSATION, conversation).await.map_err(late).flatten() {
        debug!(%error, "a control conversation ended early");
    }
}
