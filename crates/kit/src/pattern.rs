//! Content of any size that nobody has to keep: it can be made, and recognised, piece by piece.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const BLOCK: usize = 64 * 1024;

/// A reader of so many bytes that repeat only after the file has ended: each block carries its number.
#[derive(Debug, Clone)]
pub struct Pattern {
    at: u64,
    size: u64,
    block: Vec<u8>,
}

impl Pattern {
    /// The first `size` bytes of the pattern.
    pub fn new(size: u64) -> Self {
        let mut block = vec![0; BLOCK];
        StdRng::seed_from_u64(7).fill_bytes(&mut block);
        Self { at: 0, size, block }
    }

    /// What comes next, at most to the end of a block.
    fn next(&mut self, at_most: usize) -> &[u8] {
        let within = usize::try_from(self.at % BLOCK as u64).expect("a block fits into memory");
        let left = usize::try_from(self.size - self.at).unwrap_or(usize::MAX);
        let length = at_most.min(BLOCK - within).min(left);
        self.block[..8].copy_from_slice(&(self.at / BLOCK as u64).to_le_bytes());
        self.at += length as u64;
        &self.block[within..within + length]
    }
}

impl AsyncRead for Pattern {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buf.remaining();
        buf.put_slice(self.next(room));
        Poll::Ready(Ok(()))
    }
}

/// A writer that takes the pattern and nothing else.
#[derive(Debug)]
pub struct PatternCheck(Pattern);

impl PatternCheck {
    /// Takes the first `size` bytes of the pattern.
    pub fn new(size: u64) -> Self {
        Self(Pattern::new(size))
    }

    /// Whether all of it came.
    pub fn is_complete(&self) -> bool {
        self.0.at == self.0.size
    }
}

impl AsyncWrite for PatternCheck {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let at = self.0.at;
        let expected = self.0.next(buf.len());
        Poll::Ready(if !expected.is_empty() && buf.starts_with(expected) {
            Ok(expected.len())
        } else {
            Err(io::Error::other(format!("other bytes than were sent, near {at}")))
        })
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
