//! The file by which `ctl` finds a simulated vCenter, and proves that it may change it. Only its owner can read it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// What stands in it.
#[derive(Serialize, Deserialize)]
pub(super) struct ControlFile {
    pub(super) address: String,
    /// Of the certificate that it shows, if it speaks TLS.
    pub(super) thumbprint: Option<String>,
    pub(super) token: String,
}

impl ControlFile {
    pub(super) fn read(file: &Path) -> anyhow::Result<Self> {
        let what = || format!("{} is not the control file of a simulator that runs", file.display());
        serde_json::from_slice(&std::fs::read(file).with_context(what)?).with_context(what)
    }

    /// Writes it; it goes when what is returned goes.
    pub(super) fn write(&self, file: &Path) -> anyhow::Result<Written> {
        let what = || format!("{} cannot be written", file.display());
        // Not over a file of somebody else, who might read what comes next.
        std::fs::remove_file(file).ok();
        let mut opened =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).with_context(what)?;
        opened.write_all(serde_json::to_string(self)?.as_bytes()).with_context(what)?;
        Ok(Written(file.to_owned()))
    }
}

/// A control file on the disk.
#[derive(Debug)]
pub(super) struct Written(PathBuf);

impl Drop for Written {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}
