//! Where a hatchery keeps what only makes sense while it runs, its lock and its control socket; and what must outlive it.

use std::env;
use std::fs::{DirBuilder, metadata};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// Names the folder if it is to be another one.
const VARIABLE: &str = "ROOKERY_RUNTIME_DIR";
/// The same for what must outlive the process.
const STATE_VARIABLE: &str = "ROOKERY_STATE_DIR";

/// `$ROOKERY_RUNTIME_DIR`, `$XDG_RUNTIME_DIR`, `/run` if it is ours, or a folder of our own among the temporary files.
pub(crate) fn runtime() -> anyhow::Result<PathBuf> {
    let given = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = given(VARIABLE).or_else(|| given("XDG_RUNTIME_DIR").filter(|path| path.is_dir())) {
        return Ok(folder);
    }
    let own = metadata("/proc/self").context("the user of this process could not be read")?.uid();
    let run = PathBuf::from("/run");
    if metadata(&run).is_ok_and(|run| run.uid() == own) {
        return Ok(run);
    }
    let folder = env::temp_dir().join(format!("rookery-{own}"));
    private(&folder, own)?;
    Ok(folder)
}

/// For what must outlive the process: `$ROOKERY_STATE_DIR`, the `$STATE_DIRECTORY` of systemd, or the same as [`runtime`].
pub(super) fn state() -> anyhow::Result<PathBuf> {
    let given = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = given(STATE_VARIABLE) {
        return Ok(folder.into());
    }
    // There may be several; the first is ours.
    let of_systemd = given("STATE_DIRECTORY").and_then(|folders| env::split_paths(&folders).next());
    of_systemd.map_or_else(runtime, Ok)
}

/// Everybody may write where temporary files are: somebody else's folder of that name is not trusted.
fn private(folder: &Path, own: u32) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| format!("{} cannot be made; {VARIABLE} names another folder", folder.display()))?;
    let found = folder.symlink_metadata().with_context(|| format!("{} cannot be read", folder.display()))?;
    if !found.is_dir() || found.uid() != own || found.mode() & 0o077 != 0 {
        bail!(
            "{} is not a folder that only its owner, this user, may open; {VARIABLE} names another folder",
            folder.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_others_may_open_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let own = metadata(place.path()).unwrap().uid();
        let folder = place.path().join("rookery");
        private(&folder, own).unwrap();
        private(&folder, own).unwrap();
        assert!(private(&folder, own + 1).is_err());
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(private(&folder, own).is_err());
        let link = place.path().join("link");
        std::os::unix::fs::symlink(place.path(), &link).unwrap();
        assert!(private(&link, own).is_err());
    }
}
