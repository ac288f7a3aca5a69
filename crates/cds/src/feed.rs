//! News of jobs over a websocket. It only saves time: whoever listens lists the queue as well, so news may come late,
//! twice or never.
//!
//! A connection can die without a word, and the server itself never pings. So we ping, and a connection on which
//! nothing is heard for a while is given up. What ends a connection does not matter: a new one is made.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::header::{AUTHORIZATION, DATE, HeaderValue};
use rookery_daemon::telemetry::chain;
use rookery_daemon::{Backoff, Supervisor};
use rookery_dial::{DialError, Stream};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::api::{REMOTE_TIME, bearer, date};
use crate::error::CdsError;
use crate::session::{Protocol, Session};

/// Connecting, TLS and the websocket's handshake together.
const HANDSHAKE: Duration = Duration::from_secs(20);
/// How often we ask whether the server is still there.
const PING: Duration = Duration::from_secs(25);
/// How long nothing may be heard: two pings went unanswered.
const SILENCE: Duration = Duration::from_secs(60);
/// How long the server may take to accept what we send.
const SEND: Duration = Duration::from_secs(10);
/// How long a shutdown waits for a connection to be closed politely.
const GOODBYE: Duration = Duration::from_secs(1);
/// Between connections. One that lived for a while begins the series anew.
const RECONNECT: Backoff =
    Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(60), attempts: None };
/// News that nobody has asked for yet. Beyond this it is dropped: the queue still has the jobs.
const UNREAD: usize = 256;
/// A message names one job; anything larger is an error.
const MAX_MESSAGE: usize = 1 << 20;

/// What one of the two protocols tells about jobs.
pub(crate) trait Feed: Protocol {
    /// What names a job.
    type Job: Send + 'static;
    /// The path of the websocket.
    const ROUTE: &'static str;
    /// What is sent first on each connection.
    fn filters() -> Option<String>;
    /// What a message says.
    fn hear(text: &[u8]) -> Result<Heard<Self::Job>, serde_json::Error>;
}

/// What a message says.
#[derive(Debug)]
pub(crate) enum Heard<J> {
    Job(J),
    Other,
    /// The server did not understand our filters.
    Complaint(String),
}

/// Why a connection ended or could not be opened.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    SignIn(#[from] CdsError),
    #[error("could not connect")]
    Dial(#[from] DialError),
    #[error("the websocket broke")]
    Broken(#[from] tungstenite::Error),
    #[error("the server did not answer in time")]
    TimedOut,
    #[error("the server closed the websocket")]
    Closed,
    #[error("the server sent nothing for {} s", SILENCE.as_secs())]
    Silent,
}

/// Listens until the supervisor stops or the receiver is dropped.
pub(crate) fn watch<P: Feed>(
    session: &Arc<Session<P>>,
    name: &'static str,
    supervisor: &Supervisor,
) -> mpsc::Receiver<P::Job> {
    let (sender, receiver) = mpsc::channel(UNREAD);
    let (session, stop) = (Arc::clone(session), supervisor.token());
    supervisor.spawn(name, async move { listen(&session, &sender, &stop).await });
    receiver
}

async fn listen<P: Feed>(session: &Session<P>, sender: &mpsc::Sender<P::Job>, stop: &CancellationToken) {
    let again = || RECONNECT.delays(session.fork_random());
    let mut delays = again();
    // An outage may last for hours: that it goes on is no news.
    let mut told = false;
    loop {
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sender.closed() => return,
            connected = connect(session) => match connected {
                Ok(mut socket) => {
                    if std::mem::replace(&mut told, false) {
                        info!(protocol = P::NAME, "CDS pushes jobs again");
                    }
                    let begun = Instant::now();
                    let ended = hear_all::<P>(&mut socket, sender, stop).await;
                    if begun.elapsed() >= SILENCE {
                        delays = again();
                    }
                    ended
                }
                Err(ended) => Err(ended),
            },
        };
        let Err(ended) = ended else { return };
        if std::mem::replace(&mut told, true) {
            debug!(protocol = P::NAME, error = %chain(&ended), "CDS does not push jobs yet; they are polled");
        } else {
            warn!(protocol = P::NAME, error = %chain(&ended), "CDS stopped pushing jobs; they are polled");
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = sender.closed() => return,
            () = sleep(delays.next().unwrap_or(RECONNECT.cap)) => {}
        }
    }
}

type Socket = WebSocketStream<Box<dyn Stream>>;

async fn connect<P: Feed>(session: &Session<P>) -> Result<Socket, Ended> {
    let grant = session.grant("listen for jobs").await?;
    let opening = async {
        let stream = session.api.dial.dial().await?;
        let address = &session.api.address;
        // TLS happens inside the dialer: to this layer every server speaks plainly.
        let url = format!("ws://{}{}", address.endpoint().authority(), address.route(P::ROUTE));
        let mut request = url.into_client_request()?;
        let date = date(session.api.clock.now());
        let value = |text: &str| {
            HeaderValue::from_str(text)
                .map_err(|error| tungstenite::Error::from(tungstenite::http::Error::from(error)))
        };
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, value(&bearer(&grant.token))?);
        headers.insert(DATE, value(&date)?);
        headers.insert(REMOTE_TIME, value(&date)?);
        let limits =
            WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
        let (mut socket, _) = client_async_with_config(request, stream, Some(limits)).await?;
        if let Some(filters) = P::filters() {
            socket.send(Message::text(filters)).await?;
        }
        Ok(socket)
    };
    let opened = timeout(HANDSHAKE, opening).await.unwrap_or(Err(Ended::TimedOut));
    if let Err(Ended::Broken(tungstenite::Error::Http(answer))) = &opened
        && answer.status() == hyper::StatusCode::UNAUTHORIZED
    {
        session.forget(&grant);
    }
    opened
}

/// Passes on what is heard, until the connection ends; fine if it is we who end it.
async fn hear_all<P: Feed>(
    socket: &mut Socket,
    sender: &mpsc::Sender<P::Job>,
    stop: &CancellationToken,
) -> Result<(), Ended> {
    debug!(protocol = P::NAME, "listening for jobs");
    let mut pings = interval_at(Instant::now() + PING, PING);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = sender.closed() => break,
            message = socket.next() => {
                heard = Instant::now();
                match message.ok_or(Ended::Closed)?? {
                    Message::Text(text) => pass_on::<P>(text.as_bytes(), sender),
                    Message::Binary(bytes) => pass_on::<P>(&bytes, sender),
                    Message::Close(_) => return Err(Ended::Closed),
                    Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                }
            }
            () = sleep_until(heard + SILENCE) => return Err(Ended::Silent),
            _ = pings.tick() => {
                timeout(SEND, socket.send(Message::Ping(vec![].into()))).await.map_err(|_| Ended::TimedOut)??;
            }
        }
    }
    // A courtesy: the server finds out by itself.
    timeout(GOODBYE, socket.close(None)).await.ok();
    Ok(())
}

fn pass_on<P: Feed>(text: &[u8], sender: &mpsc::Sender<P::Job>) {
    match P::hear(text) {
        Ok(Heard::Job(job)) => match sender.try_send(job) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => {
                debug!(protocol = P::NAME, "dropped a pushed job: too many are unread");
            }
        },
        Ok(Heard::Other) => {}
        Ok(Heard::Complaint(error)) => warn!(protocol = P::NAME, error, "CDS refuses to push jobs"),
        Err(error) => debug!(protocol = P::NAME, %error, "pushed message not understood"),
    }
}
