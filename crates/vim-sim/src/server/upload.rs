//! Uploads to datastores: the world follows them while they arrive.

use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use rookery_sim::{Cut, Request, RequestId};
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;

use super::{Message, Running};
use crate::io::{BlobRef, Body, Input, Reply, Upload};

/// The world is told whenever the sender pauses, and at least whenever so many bytes have come.
const NEWS: u64 = 4 << 20;

/// The part of a file that has arrived.
struct Arrival {
    id: RequestId,
    file: File,
    size: u64,
    told: u64,
}

impl Running {
    /// Takes a file, as long as the world wants it.
    pub(super) async fn receive(&self, request: Request, mut body: Incoming) -> Result<Reply, Cut> {
        let (blob, file) = self.blobs.create().map_err(|_| Cut)?;
        let upload = Upload { content: BlobRef { blob, size: 0 }, coming: true };
        let (mut waiting, mut answer) = self.ask(|id| Input::Upload(id, request, upload))?;
        let mut arrival = Arrival { id: waiting.id, file, size: 0, told: 0 };
        let early = tokio::select! {
            biased;
            reply = &mut answer => Some(reply.map_err(|_| Cut)?),
            taken = self.take(&mut body, &mut arrival) => { taken?; None }
        };
        let reply = match early {
            None => answer.await.map_err(|_| Cut)?,
            Some(reply) => {
                // The sender reads an answer only once all is sent.
                if reply.body != Body::Cut {
                    drain(body).await?;
                }
                reply
            }
        };
        waiting.inbox = None;
        Ok(reply)
    }

    /// Writes all that comes to the disk, and tells the world. What came before the sender went is kept.
    async fn take(&self, body: &mut Incoming, arrival: &mut Arrival) -> Result<(), Cut> {
        loop {
            let at_once = body.frame().now_or_never();
            let frame = if let Some(frame) = at_once {
                frame
            } else {
                self.tell(arrival, false).await?;
                body.frame().await
            };
            match frame {
                None => return self.tell(arrival, true).await,
                Some(Err(_)) => {
                    self.tell(arrival, false).await?;
                    return Err(Cut);
                }
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    arrival.file.write_all(&data).await.map_err(|_| Cut)?;
                    arrival.size += data.len() as u64;
                }
            }
            if arrival.size >= arrival.told + NEWS {
                self.tell(arrival, false).await?;
            }
        }
    }

    /// Tells the world what is on the disk, and waits until it knows: it is told of one size at a time.
    async fn tell(&self, arrival: &mut Arrival, whole: bool) -> Result<(), Cut> {
        if arrival.size == arrival.told && !whole {
            return Ok(());
        }
        arrival.file.flush().await.map_err(|_| Cut)?;
        let (taken, known) = oneshot::channel();
        let content = Message::Content { request: arrival.id, size: arrival.size, whole, taken };
        self.inbox.send(content).map_err(|_| Cut)?;
        arrival.told = arrival.size;
        known.await.map_err(|_| Cut)
    }
}

async fn drain(mut body: Incoming) -> Result<(), Cut> {
    while let Some(frame) = body.frame().await {
        frame.map_err(|_| Cut)?;
    }
    Ok(())
}
