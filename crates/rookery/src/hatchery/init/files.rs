//! The files that are written: settings, key, passwords and tokens. Nothing is written before all of it is known.

use std::fs::Metadata;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context as _, bail};
use rookery_cds::HatcheryKey;
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::NamedTempFile;

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
        if !is_there(&file) {
            let key = HatcheryKey::generate_pem().context(
                "no RSA key could be made; `openssl genrsa -out FILE 4096` makes one for --key-file",
            )?;
            self.plan(file.clone(), key)?;
        }
        Ok(file)
    }

    fn plan(&mut self, file: PathBuf, content: SecretString) -> anyhow::Result<()> {
        if is_there(&file) && !self.force {
            bail!("{} is there already: --force overwrites it, and -c names another place", file.display());
        }
        self.files.push((file, content));
        Ok(())
    }

    /// The content of a file that is not written yet.
    pub(super) fn planned(&self, file: &Path) -> Option<SecretString> {
        self.files.iter().find(|(path, _)| path == file).map(|(_, content)| content.clone())
    }

    /// Writes all files, the settings last; only their owner may read them. Gives those beside the settings. What stands
    /// in the way of one keeps all of them from being written.
    pub(super) fn write(&self, settings: &str) -> anyhow::Result<Vec<PathBuf>> {
        let texts = self.files.iter().map(|(file, content)| (file, content.expose_secret()));
        let texts = texts.chain([(&self.settings, settings)]);
        let named = |file: &Path| format!("{} cannot be written", file.display());
        let prepared = texts.map(|(file, text)| {
            let prepared = prepare(file, text.trim_end(), self.force).with_context(|| named(file))?;
            anyhow::Ok((file, prepared))
        });
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        for (file, prepared) in prepared {
            // A link that stands there is replaced itself, or in the way: nothing is written where it leads to.
            let placed = if self.force { prepared.persist(file) } else { prepared.persist_noclobber(file) };
            placed.map_err(|error| error.error).with_context(|| named(file))?;
        }
        Ok(self.files.iter().map(|(file, _)| file.clone()).collect())
    }
}

/// Whether something has that name, be it a link that leads nowhere.
pub(super) fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

/// The whole content, beside the file that it becomes; it goes with this value.
fn prepare(file: &Path, text: &str, force: bool) -> io::Result<NamedTempFile> {
    let taken = file.symlink_metadata().ok();
    if taken.as_ref().is_some_and(Metadata::is_dir) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if taken.is_some() && !force {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut prepared = tempfile::Builder::new().prefix(".rookery-").tempfile_in(folder)?;
    writeln!(prepared, "{text}")?;
    prepared.as_file().sync_all()?;
    Ok(prepared)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

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

    // Of several files some were written, and links were followed: what they led to was overwritten, or made.
    #[test]
    fn what_stands_in_the_way_of_one_keeps_all_from_being_written_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (settings, elsewhere) = (folder.path().join("h.toml"), folder.path().join("elsewhere"));
        let files = || {
            let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        let write = |force| {
            let mut keeper = Keeper::new(&settings, false, force);
            keeper.keep("token", "secret".into())?;
            keeper.write("a = 1")
        };
        symlink(&elsewhere, &settings).unwrap();
        assert!(write(false).is_err());
        assert_eq!(files(), ["h.toml"], "the link leads nowhere still");
        fs::write(&elsewhere, "precious").unwrap();
        write(true).unwrap();
        assert_eq!(files(), ["elsewhere", "h.token", "h.toml"]);
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
        assert!(!settings.symlink_metadata().unwrap().is_symlink());

        for file in ["h.token", "h.toml"] {
            fs::remove_file(folder.path().join(file)).unwrap();
        }
        fs::create_dir(&settings).unwrap();
        assert!(write(true).is_err());
        assert_eq!(files(), ["elsewhere", "h.toml"]);
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
