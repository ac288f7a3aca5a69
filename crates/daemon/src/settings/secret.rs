//! Secrets that live in a file of their own.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

/// Beyond this a file is no password, token or key; reading stops, so `/dev/zero` is harmless.
const LONGEST: u64 = 64 * 1024;

/// Why a secret cannot be had from its file.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// It is missing, or may not be read.
    #[error("cannot read the secret from {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// Nobody has a secret of that length.
    #[error("{} is longer than {LONGEST} bytes", path.display())]
    TooLong { path: PathBuf },
    /// It holds something else than text.
    #[error("{} is not UTF-8 text", path.display())]
    NotText { path: PathBuf },
    #[error("{} is empty", path.display())]
    Empty { path: PathBuf },
}

/// The secret in a file, without the line break that editors leave at its end.
pub fn read_secret(path: &Path) -> Result<SecretString, SecretFileError> {
    let path = path.to_owned();
    let mut bytes = Vec::new();
    let outcome = File::open(&path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
    if let Err(source) = outcome {
        return Err(SecretFileError::Unreadable { path, source });
    }
    if bytes.len() as u64 > LONGEST {
        return Err(SecretFileError::TooLong { path });
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(SecretFileError::NotText { path });
    };
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(SecretFileError::Empty { path }),
        secret => Ok(secret.into()),
    }
}

/// A warning if others than the owner may read a file that holds a secret.
pub fn exposure(path: &Path) -> Option<String> {
    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    let exposed = mode & 0o044 != 0;
    exposed.then(|| format!("{} holds a secret and others may read it (mode {mode:03o})", path.display()))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;
    use crate::telemetry::chain;

    fn holding(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        std::fs::write(&path, content).unwrap();
        (dir, path)
    }

    #[test]
    fn only_line_breaks_at_the_end_are_trimmed() {
        let check = |content: &[u8], expected| {
            let (_dir, path) = holding(content);
            assert_eq!(read_secret(&path).unwrap().expose_secret(), expected);
        };
        check(b"pass word", "pass word");
        check(b" spaced \n", " spaced ");
        check(b"windows\r\n", "windows");
        check(b"two\nlines\n\n", "two\nlines");
    }

    #[test]
    fn a_file_that_holds_no_secret_is_refused_without_showing_it() {
        let check = |content: &[u8], expected: &str| {
            let (_dir, path) = holding(content);
            assert_eq!(chain(&read_secret(&path).unwrap_err()), format!("{} {expected}", path.display()));
        };
        check(b"", "is empty");
        check(b"\n", "is empty");
        check(b"\xff\xfe", "is not UTF-8 text");
        check(&vec![b'x'; 65 * 1024], "is longer than 65536 bytes");
        let error = read_secret(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "/dev/zero is longer than 65536 bytes");
        let error = read_secret(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(chain(&error).starts_with("cannot read the secret from /nowhere/at/all: No such file"));
    }

    #[test]
    fn a_file_that_others_may_read_is_warned_about() {
        let (_dir, path) = holding(b"x");
        let check = |mode, expected: bool| {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(exposure(&path).is_some(), expected, "{mode:o}");
        };
        check(0o600, false);
        check(0o400, false);
        check(0o640, true);
        check(0o604, true);
    }
}
