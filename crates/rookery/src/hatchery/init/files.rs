//! The files that are written: settings, key, passwords and tokens. Nothing is written before all of it is known.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context as _, bail};
use rookery_cds::HatcheryKey;
use secrecy::{ExposeSecret as _, SecretString};

/// Where a secret is.
#[derive(Debug, Clone)]
pub(super) enum Held {
    InFile(PathBuf),
    /// In the settings themselves, because somebody asked for it.
    Clear(SecretString),
}

/// What will be written.
#[derive(Debug)]
pub(super) struct Keeper {
    settings: PathBuf,
    in_settings: bool,
    force: bool,
    files: Vec<(PathBuf, SecretString)>,
}

impl Keeper {
    pub(super) fn new(settings: &Path, in_settings: bool, force: bool) -> Self {
        Self { settings: settings.to_owned(), in_settings, force, files: Vec::new() }
    }

    /// A secret goes into a file beside the settings.
    pub(super) fn keep(&mut self, name: &str, secret: SecretString) -> anyhow::Result<Held> {
        if self.in_settings {
            return Ok(Held::Clear(secret));
        }
        let file = self.settings.with_extension(name);
        self.plan(file.clone(), secret)?;
        Ok(Held::InFile(file))
    }

    /// The RSA key: the file if it is there, else a new key.
    pub(super) fn key(&mut self, given: Option<&Path>) -> anyhow::Result<PathBuf> {
        let beside = || Ok(self.settings.with_extension("key.pem"));
        let file = given.map_or_else(beside, absolute)?;
        if !file.exists() {
            let key = HatcheryKey::generate_pem().context(
                "no RSA key could be made; `openssl genrsa -out FILE 4096` makes one for --key-file",
            )?;
            self.plan(file.clone(), key)?;
        }
        Ok(file)
    }

    fn plan(&mut self, file: PathBuf, content: SecretString) -> anyhow::Result<()> {
        if file.exists() && !self.force {
            bail!("{} is there already: --force overwrites it, and -c names another place", file.display());
        }
        self.files.push((file, content));
        Ok(())
    }

    /// The content of a file that is not written yet.
    pub(super) fn planned(&self, file: &Path) -> Option<SecretString> {
        self.files.iter().find(|(path, _)| path == file).map(|(_, content)| content.clone())
    }

    /// Writes all files, the settings last; only their owner may read them. Gives those beside the settings.
    pub(super) fn write(&self, settings: &str) -> anyhow::Result<Vec<PathBuf>> {
        let texts = self.files.iter().map(|(file, content)| (file, content.expose_secret()));
        for (file, text) in texts.chain([(&self.settings, settings)]) {
            let text = text.trim_end();
            write(file, &format!("{text}\n"), self.force)
                .with_context(|| format!("{} cannot be written", file.display()))?;
        }
        Ok(self.files.iter().map(|(file, _)| file.clone()).collect())
    }
}

fn write(file: &Path, text: &str, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if force {
        options.create(true).truncate(false);
    } else {
        options.create_new(true);
    }
    let mut opened = options.open(file)?;
    // One that was there may be open to others: it is closed to them before it holds a secret.
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    opened.set_len(0)?;
    opened.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(file: &Path) -> u32 {
        fs::metadata(file).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_the_owner_may_read_what_is_written_and_nothing_is_overwritten_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("h.toml");
        let mut keeper = Keeper::new(&settings, false, false);
        let Held::InFile(token) = keeper.keep("token", "secret".into()).unwrap() else {
            panic!("it is a file")
        };
        assert_eq!(token, folder.path().join("h.token"));
        assert_eq!(keeper.write("a = 1").unwrap(), std::slice::from_ref(&token));
        assert_eq!(fs::read_to_string(&token).unwrap(), "secret\n");
        assert_eq!((mode(&token), mode(&settings)), (0o600, 0o600));

        assert!(Keeper::new(&settings, false, false).keep("token", "other".into()).is_err());
        assert!(Keeper::new(&settings, false, false).write("b = 1").is_err());
        fs::set_permissions(&settings, fs::Permissions::from_mode(0o644)).unwrap();
        Keeper::new(&settings, false, true).write("b = 1").unwrap();
        assert_eq!((fs::read_to_string(&settings).unwrap().as_str(), mode(&settings)), ("b = 1\n", 0o600));
    }

    #[test]
    fn a_key_is_made_if_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("h.toml");
        let mut keeper = Keeper::new(&settings, true, false);
        let key = keeper.key(None).unwrap();
        HatcheryKey::from_pem(&keeper.planned(&key).unwrap()).unwrap();
        fs::write(&key, "somebody's").unwrap();
        let mut keeper = Keeper::new(&settings, true, false);
        assert_eq!(keeper.key(None).unwrap(), key);
        assert!(keeper.planned(&key).is_none(), "it is used as it is");
    }
}
