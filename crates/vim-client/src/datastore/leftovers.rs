//! Temporary files of uploads that were broken off with nobody left to remove them.

use std::time::Duration;

use jiff::Timestamp;

use super::{DatastoreError, DatastoreFiles, FileEntry, FileKind, FilePath};

const PREFIX: &str = ".rookery-upload-";
/// No upload takes longer; a younger one may be somebody's who still sends.
const OLD: Duration = Duration::from_hours(24);

/// What a file is called until all of it is there.
pub(super) fn temporary_name(random: u128) -> String {
    format!("{PREFIX}{random:032x}")
}

impl DatastoreFiles {
    /// Removes what uploads to a folder left behind a day ago or earlier; what was removed.
    pub async fn remove_leftovers(
        &self,
        folder: Option<&FilePath>,
        now: Timestamp,
    ) -> Result<Vec<FilePath>, DatastoreError> {
        let mut removed = Vec::new();
        for entry in self.list(folder).await?.into_iter().filter(|entry| is_leftover(entry, now)) {
            // The prefix alone makes a name that can be in a path; anything else behind it is not ours.
            let Ok(file) = FilePath::inside(folder, &entry.name) else { continue };
            self.delete(&file).await?;
            removed.push(file);
        }
        Ok(removed)
    }
}

/// One whose age is not known stays.
fn is_leftover(entry: &FileEntry, now: Timestamp) -> bool {
    let random = entry.name.strip_prefix(PREFIX);
    let is_ours = random.is_some_and(|r| r.len() == 32 && r.bytes().all(|b| b.is_ascii_hexdigit()));
    let is_old = entry.modified.is_some_and(|at| Duration::try_from(now - at).is_ok_and(|age| age >= OLD));
    entry.kind == FileKind::File && is_ours && is_old
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_temporary_files_of_our_own_are_leftovers() {
        let now: Timestamp = "2031-02-03T04:05:06Z".parse().unwrap();
        let ours = temporary_name(7);
        for (name, kind, modified, expected) in [
            (ours.as_str(), FileKind::File, Some("2031-02-02T04:05:06Z"), true),
            (&ours, FileKind::File, Some("2031-02-02T04:05:07Z"), false),
            (&ours, FileKind::File, Some("2031-02-04T04:05:06Z"), false),
            (&ours, FileKind::File, None, false),
            (&ours, FileKind::Folder, Some("2031-01-01T00:00:00Z"), false),
            (".rookery-upload-notes.txt", FileKind::File, Some("2031-01-01T00:00:00Z"), false),
            ("abc.iso", FileKind::File, Some("2031-01-01T00:00:00Z"), false),
        ] {
            let modified = modified.map(|at| at.parse().unwrap());
            let entry = FileEntry { name: name.to_owned(), kind, size: Some(1), modified };
            assert_eq!(is_leftover(&entry, now), expected, "{entry:?}");
        }
    }
}
