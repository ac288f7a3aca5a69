//! One websocket.

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tracing::debug;

/// What is sent to the client.
#[derive(Debug)]
pub(super) enum Outgoing {
    Text(String),
    /// The closing message; nothing follows.
    Close,
}

/// Carries texts both ways until either side ends. `heard` says whether anybody still listens.
pub(super) async fn carry(
    upgrade: OnUpgrade,
    mut outgoing: mpsc::Receiver<Outgoing>,
    heard: impl Fn(String) -> bool,
) {
    let upgraded = match upgrade.await {
        Ok(upgraded) => TokioIo::new(upgraded),
        Err(error) => {
            debug!(%error, "websocket handshake failed");
            return;
        }
    };
    let mut socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, None).await;
    loop {
        let next = tokio::select! {
            biased;
            next = outgoing.recv() => next,
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) if heard(text.as_str().to_owned()) => continue,
                // Pings are answered by themselves.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => continue,
                Some(Ok(Message::Text(_) | Message::Close(_) | Message::Frame(_)) | Err(_)) | None => return,
            },
        };
        let sent = match next {
            Some(Outgoing::Text(text)) => socket.send(Message::text(text)).await,
            Some(Outgoing::Close) => {
                let frame = CloseFrame { code: CloseCode::Away, reason: "".into() };
                socket.close(Some(frame)).await
            }
            // Ended without a word.
            None => return,
        };
        if sent.is_err() {
            return;
        }
    }
}
