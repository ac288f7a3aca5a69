//! The bodies of answers: at once, from a file, slowly, or not at all.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::Frame;
use rookery_sim::Cut;
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::blobs::Blobs;
use crate::io::Body;

pub(super) type OutBody = UnsyncBoxBody<Bytes, io::Error>;

/// Files go out in pieces of this size.
const PIECE: usize = 128 << 10;
/// The interval between pieces of a slow answer.
const TICK: Duration = Duration::from_millis(50);

pub(super) fn nothing() -> OutBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// What is sent, and its length where that is not plain from it.
pub(super) async fn of(body: Body, blobs: &Blobs) -> Result<(OutBody, Option<u64>), Cut> {
    match body {
        Body::Text(text) => Ok((whole(text.into()), None)),
        Body::Bytes(bytes) => Ok((whole(bytes.into()), None)),
        Body::Head(size) => Ok((nothing(), Some(size))),
        Body::Blob(stored) => match blobs.open(stored.blob).await {
            Ok(file) => Ok((from_file(file, stored.size), Some(stored.size))),
            Err(_) => Err(Cut),
        },
        Body::Cut => Err(Cut),
        Body::Slow(text, per_second) => Ok((slowly(text, per_second), None)),
    }
}

fn whole(content: Bytes) -> OutBody {
    Full::new(content).map_err(|never| match never {}).boxed_unsync()
}

/// The file up to that size: more may arrive.
fn from_file(file: File, size: u64) -> OutBody {
    let pieces = stream::try_unfold(file.take(size), |mut file| async move {
        let mut piece = Vec::with_capacity(PIECE);
        (&mut file).take(PIECE as u64).read_to_end(&mut piece).await?;
        Ok((!piece.is_empty()).then(|| (Frame::data(Bytes::from(piece)), file)))
    });
    StreamBody::new(pieces).boxed_unsync()
}

fn slowly(text: String, per_second: u64) -> OutBody {
    let per_tick = usize::try_from(per_second / 20).unwrap_or(usize::MAX).max(1);
    let bytes = Bytes::from(text);
    let pieces = stream::unfold(bytes, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(TICK).await;
        let piece = rest.split_to(per_tick.min(rest.len()));
        Some((Ok::<_, io::Error>(Frame::data(piece)), rest))
    });
    StreamBody::new(pieces.boxed()).boxed_unsync()
}
