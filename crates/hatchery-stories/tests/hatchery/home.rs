//! A folder in which the real program is run as a hatchery.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rookery_hatchery_stories::Lab;
use rookery_kit::{Program, Running};
use tempfile::TempDir;

/// A folder with a settings file, and with all that the program keeps while it runs.
pub(super) struct Home {
    folder: TempDir,
    file: PathBuf,
}

impl Home {
    pub(super) fn of(lab: &Lab) -> Self {
        Self::with(&lab.settings_text())
    }

    pub(super) fn with(text: &str) -> Self {
        let home = Self::without_settings();
        home.write(text);
        home
    }

    pub(super) fn without_settings() -> Self {
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join("hatchery.toml");
        Self { folder, file }
    }

    pub(super) fn write(&self, text: &str) {
        self.keep("hatchery.toml", text);
    }

    /// A file in the folder that only its owner may read; its path.
    pub(super) fn keep(&self, name: &str, text: &str) -> String {
        let file = self.folder().join(name);
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("a private file");
        file.to_string_lossy().into_owned()
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The settings file.
    pub(super) fn path(&self) -> String {
        self.file.to_string_lossy().into_owned()
    }

    /// A command that works with the file and the folder.
    pub(super) fn program(&self, arguments: &[&str]) -> Program {
        self.nameless(arguments).and(&["-c", &self.path()])
    }

    /// A command that works with the folder alone.
    pub(super) fn nameless(&self, arguments: &[&str]) -> Program {
        Program::new(arguments).with("ROOKERY_RUNTIME_DIR", self.folder().to_string_lossy())
    }

    pub(super) fn run(&self) -> Program {
        self.program(&["hatchery", "run", "--listen", "127.0.0.1:0"])
    }

    /// Starts the daemon and waits until it serves.
    pub(super) async fn started(&self) -> Running {
        let mut running = self.run().start();
        let line = running.line().await;
        assert!(line.starts_with("hatchery \"hatchery-lab\" serves http://127.0.0.1:"), "{line}");
        running
    }
}
