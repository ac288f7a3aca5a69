//! Blobs: content that is too large for the world, kept in numbered files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

use super::scratch::Scratch;
use crate::io::BlobRef;

/// A folder of content. It goes when this goes.
#[derive(Debug)]
pub struct Blobs {
    folder: PathBuf,
    last: AtomicU64,
    _scratch: Option<Scratch>,
}

impl Blobs {
    /// Keeps content in a folder, which is made here and removed in the end.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        Self::new(folder.to_owned(), None)
    }

    /// Keeps content among the temporary files. What a process that was killed left there goes now.
    pub fn temporary() -> io::Result<Self> {
        let scratch = Scratch::new()?;
        Self::new(scratch.path().join("blobs"), Some(scratch))
    }

    fn new(folder: PathBuf, scratch: Option<Scratch>) -> io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder, last: AtomicU64::new(0), _scratch: scratch })
    }

    fn path(&self, blob: u64) -> PathBuf {
        self.folder.join(blob.to_string())
    }

    /// A new file for content that is still to come. At once: whoever sends it may ask for it next.
    pub(super) fn create(&self) -> io::Result<(u64, File)> {
        let blob = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let file = std::fs::File::create(self.path(blob))?;
        Ok((blob, File::from_std(file)))
    }

    /// Writes a body to the disk as it comes. What is broken off is not kept.
    pub(super) async fn receive(&self, mut body: Incoming) -> io::Result<BlobRef> {
        let (blob, mut file) = self.create()?;
        let mut partial = Partial { blobs: self, blob, whole: false };
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                file.write_all(&data).await?;
                size += data.len() as u64;
            }
        }
        file.flush().await?;
        partial.whole = true;
        Ok(BlobRef { blob, size })
    }

    pub(super) async fn open(&self, blob: u64) -> io::Result<File> {
        File::open(self.path(blob)).await
    }

    pub(super) fn discard(&self, blob: u64) {
        // What is gone already need not go.
        std::fs::remove_file(self.path(blob)).ok();
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// A file that is being written. It goes if its sender does.
struct Partial<'b> {
    blobs: &'b Blobs,
    blob: u64,
    whole: bool,
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        if !self.whole {
            self.blobs.discard(self.blob);
        }
    }
}
