//! The file that wishes are written to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::plan::hold::HoldRequest;
use serde::{Deserialize, Serialize};
use tracing::error;

use crate::surface::control::process;

/// Far more than so many wishes take.
const LARGEST: u64 = 1 << 20;
/// How many wishes there may be at once.
pub(crate) const MOST_WISHES: usize = 64;

/// Where wishes are kept over a restart.
#[derive(Debug, Clone, Default)]
pub struct Book {
    path: Option<PathBuf>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Page {
    wishes: Vec<HoldRequest>,
}

impl Book {
    /// The book of the hatchery of a name in this folder; without a folder wishes end with the process.
    pub fn new(folder: Option<&Path>, name: &str) -> Self {
        Self { path: folder.map(|folder| process(name).file(folder, "holds")) }
    }

    /// What was wished for. A book that cannot be read is set aside: that nobody is kept is no reason not to start.
    pub fn read(&self) -> Vec<HoldRequest> {
        let Some(path) = &self.path else { return Vec::new() };
        match read(path) {
            Ok(page) => page.wishes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let aside = path.with_extension("holds-unreadable");
                error!(%error, file = %path.display(), aside = %aside.display(), "stored requests to keep VMs cannot be read; make them again");
                fs::rename(path, aside).ok();
                Vec::new()
            }
        }
    }

    /// Writes down what is wished for, whole or not at all.
    pub fn write(&self, wishes: &[HoldRequest]) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let text = serde_json::to_vec(&Page { wishes: wishes.to_vec() }).map_err(io::Error::other)?;
        let draft = path.with_extension("holds-new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        // Without this a crash of the machine may undo the renaming.
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

fn read(path: &Path) -> io::Result<Page> {
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::PermissionsExt as _;

    use crate::plan::hold::Subject;
    use jiff::{SignedDuration, Timestamp};
    use rookery_fleet::MachineId;

    use super::*;

    fn wish() -> HoldRequest {
        HoldRequest {
            id: "7f".to_owned(),
            of: Subject::Model("debian".to_owned()),
            count: 2,
            keep: SignedDuration::from_hours(4),
            until: Timestamp::UNIX_EPOCH,
            reason: "why".to_owned(),
            taken: BTreeSet::from([MachineId::new("vm-7")]),
        }
    }

    #[test]
    fn what_was_written_is_read_again_by_the_next_one_of_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let book = Book::new(Some(folder.path()), "h/1");
        assert_eq!(book.read(), []);
        book.write(&[wish()]).unwrap();
        let file = folder.path().join("rookery-hatchery-h_1.holds");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Book::new(Some(folder.path()), "h/1").read(), [wish()]);
        assert_eq!(Book::new(Some(folder.path()), "another").read(), []);
        book.write(&[]).unwrap();
        assert_eq!(book.read(), []);
    }

    #[test]
    fn a_book_that_cannot_be_read_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let book = Book::new(Some(folder.path()), "h");
        for text in ["", "{", "{\"wishes\":[{\"id\":7}]}"] {
            fs::write(folder.path().join("rookery-hatchery-h.holds"), text).unwrap();
            assert_eq!(book.read(), [], "{text}");
            let aside = folder.path().join("rookery-hatchery-h.holds-unreadable");
            assert_eq!(fs::read_to_string(aside).unwrap(), text);
            book.write(&[wish()]).unwrap();
            assert_eq!(book.read(), [wish()]);
        }
    }

    #[test]
    fn without_a_folder_nothing_is_written_and_a_folder_that_is_gone_is_told() {
        let nowhere = Book::new(None, "h");
        nowhere.write(&[wish()]).unwrap();
        assert_eq!(nowhere.read(), []);
        let folder = tempfile::tempdir().unwrap();
        let gone = Book::new(Some(&folder.path().join("gone")), "h");
        assert!(gone.write(&[wish()]).is_err());
    }
}
