//! The files of a guest, kept by the world: what is in them is only known if a program of the simulator wrote it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use jiff::Timestamp;

use super::files::{Attributes, Content, FileAnswer, FileKind, FileOp, FileSeen, FileTrouble};

/// What every guest has from the beginning.
const FIRST: [&str; 12] =
    ["/", "/bin", "/etc", "/home", "/opt", "/root", "/run", "/tmp", "/usr", "/usr/local", "/var", "/var/log"];
/// Directories and empty files count for this much.
const LEAST: u64 = 4096;

#[derive(Debug, Clone)]
pub(crate) struct Tree {
    entries: BTreeMap<String, Entry>,
    used: u64,
    limit: u64,
    /// Blobs that nothing refers to any more, since they were last asked for.
    unused: Vec<u64>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// None is a directory.
    content: Option<FileContent>,
    attributes: Attributes,
    modified: Timestamp,
    accessed: Timestamp,
}

/// Clones of a guest share blobs; the last one to drop a blob reports it as unused.
#[derive(Debug, Clone)]
enum FileContent {
    Inline(Arc<[u8]>),
    Blob(Arc<crate::io::BlobRef>),
}

impl FileContent {
    fn size(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::Blob(stored) => stored.size,
        }
    }

    fn content(&self) -> Content {
        match self {
            Self::Inline(bytes) => Content::Inline(bytes.to_vec()),
            Self::Blob(stored) => Content::Blob(**stored),
        }
    }
}

impl Tree {
    pub(crate) fn new(limit: u64, now: Timestamp) -> Self {
        let directory = |mode| Entry {
            content: None,
            attributes: Attributes { permissions: Some(mode), ..Attributes::default() },
            modified: now,
            accessed: now,
        };
        let entries =
            FIRST.map(|path| (path.to_owned(), directory(if path == "/tmp" { 0o1777 } else { 0o755 })));
        // What is there from the beginning takes no room from anything else.
        let used = FIRST.len() as u64 * LEAST;
        Self { entries: entries.into(), used, limit: limit.saturating_add(used), unused: Vec::new() }
    }

    /// What a file holds, as far as the world knows.
    pub(crate) fn known(&self, path: &str) -> Option<&[u8]> {
        match self.entries.get(path)?.content.as_ref()? {
            FileContent::Inline(bytes) => Some(bytes),
            FileContent::Blob(_) => Some(&[]),
        }
    }

    pub(crate) fn has_directory(&self, path: &str) -> bool {
        self.entries.get(path).is_some_and(|entry| entry.content.is_none())
    }

    /// The blobs that are no longer needed after what was done to it.
    pub(crate) fn unused(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.unused)
    }

    /// Removes everything; the blobs that are then no longer needed.
    pub(crate) fn clear(mut self) -> Vec<u64> {
        for (_, entry) in std::mem::take(&mut self.entries) {
            self.release(entry);
        }
        self.unused
    }

    pub(crate) fn run(&mut self, op: &FileOp, now: Timestamp) -> Result<FileAnswer, FileTrouble> {
        match op {
            FileOp::MakeDirectory { path, parents } => {
                if *parents {
                    for parent in ancestors(path) {
                        if !self.entries.contains_key(&parent) {
                            self.add(&parent, None, &Attributes::default(), now)?;
                        }
                    }
                }
                self.expect_free(path)?;
                self.add(path, None, &Attributes::default(), now)?;
            }
            FileOp::Temporary { directory, path } => {
                self.expect_free(path)?;
                let content = (!directory).then(|| FileContent::Inline(Arc::from([])));
                let mode = if *directory { 0o700 } else { 0o600 };
                let attributes = Attributes { permissions: Some(mode), ..Attributes::default() };
                self.add(path, content, &attributes, now)?;
                return Ok(FileAnswer::Path(path.clone()));
            }
            FileOp::DeleteFile { path } => {
                self.entry(path, false)?;
                self.remove(path);
            }
            FileOp::DeleteDirectory { path, recursive } => {
                self.entry(path, true)?;
                if path == "/" {
                    return Err(FileTrouble::Denied(path.clone()));
                }
                let below: Vec<String> = self.below(path).map(|(path, _)| path.clone()).collect();
                if !below.is_empty() && !recursive {
                    return Err(FileTrouble::NotEmpty(path.clone()));
                }
                for path in below.iter().chain([path]) {
                    self.remove(path);
                }
            }
            FileOp::Move { from, to, overwrite, directory } => {
                self.rename(from, to, *overwrite, *directory)?;
            }
            FileOp::List { path } => return self.list(path).map(FileAnswer::Listing),
            FileOp::Stat { path } => {
                let entry = self.entry(path, false)?;
                return Ok(FileAnswer::Listing(vec![seen(path, entry)]));
            }
            FileOp::Read { path } => {
                let content = self.entry(path, false)?.content.as_ref().map(FileContent::content);
                return content.map(FileAnswer::Content).ok_or_else(|| FileTrouble::NotAFile(path.clone()));
            }
            FileOp::Change { path, attributes, modified, accessed } => {
                let entry = self.entries.get_mut(path).ok_or_else(|| FileTrouble::NotFound(path.clone()))?;
                entry.attributes = attributes.or(&entry.attributes);
                entry.modified = modified.unwrap_or(entry.modified);
                entry.accessed = accessed.unwrap_or(entry.accessed);
            }
            FileOp::Expect { path, overwrite, size } => self.expect(path, *overwrite, *size)?,
            FileOp::Write { path, overwrite, attributes, content } => {
                let kept = match content {
                    Content::Inline(bytes) => FileContent::Inline(Arc::from(bytes.as_slice())),
                    Content::Blob(stored) => FileContent::Blob(Arc::new(*stored)),
                };
                if let Err(trouble) = self.expect(path, *overwrite, kept.size()) {
                    self.let_go(kept);
                    return Err(trouble);
                }
                self.add(path, Some(kept), attributes, now)?;
            }
        }
        Ok(FileAnswer::Done)
    }

    /// Whether a file of that size could be written.
    fn expect(&self, path: &str, overwrite: bool, size: u64) -> Result<(), FileTrouble> {
        self.parent(path)?;
        let before = match self.entries.get(path) {
            Some(Entry { content: None, .. }) => return Err(FileTrouble::NotAFile(path.to_owned())),
            Some(_) if !overwrite => return Err(FileTrouble::Exists(path.to_owned())),
            Some(entry) => weight(entry.content.as_ref()),
            None => 0,
        };
        if self.used - before + size.max(LEAST) > self.limit {
            return Err(FileTrouble::NoSpace(path.to_owned()));
        }
        Ok(())
    }

    fn expect_free(&self, path: &str) -> Result<(), FileTrouble> {
        self.parent(path)?;
        if self.entries.contains_key(path) { Err(FileTrouble::Exists(path.to_owned())) } else { Ok(()) }
    }

    fn parent(&self, path: &str) -> Result<(), FileTrouble> {
        let parent = path.rsplit_once('/').map_or("/", |(parent, _)| parent);
        self.entry(if parent.is_empty() { "/" } else { parent }, true).map(drop)
    }

    /// A directory, or a file.
    fn entry(&self, path: &str, directory: bool) -> Result<&Entry, FileTrouble> {
        match self.entries.get(path) {
            None => Err(FileTrouble::NotFound(path.to_owned())),
            Some(entry) if entry.content.is_none() == directory => Ok(entry),
            Some(_) if directory => Err(FileTrouble::NotADirectory(path.to_owned())),
            Some(_) => Err(FileTrouble::NotAFile(path.to_owned())),
        }
    }

    fn below(&self, path: &str) -> impl Iterator<Item = (&String, &Entry)> {
        let inside = if path == "/" { "/".to_owned() } else { format!("{path}/") };
        let range = (Bound::Excluded(inside.clone()), Bound::Unbounded);
        self.entries.range::<String, _>(range).take_while(move |(path, _)| path.starts_with(&inside))
    }

    fn list(&self, path: &str) -> Result<Vec<FileSeen>, FileTrouble> {
        let entry = self.entries.get(path).ok_or_else(|| FileTrouble::NotFound(path.to_owned()))?;
        if entry.content.is_some() {
            return Ok(vec![seen(path, entry)]);
        }
        let skipped = if path == "/" { 1 } else { path.len() + 1 };
        let inside = self.below(path).filter_map(|(path, entry)| {
            let name = path.get(skipped..)?;
            (!name.contains('/')).then(|| seen(name, entry))
        });
        Ok(inside.collect())
    }

    fn rename(&mut self, from: &str, to: &str, overwrite: bool, directory: bool) -> Result<(), FileTrouble> {
        self.entry(from, directory)?;
        self.parent(to)?;
        let inside = format!("{from}/");
        if from == "/" || to.starts_with(&inside) {
            return Err(FileTrouble::Denied(from.to_owned()));
        }
        if from == to {
            return Ok(());
        }
        match self.entries.get(to) {
            Some(entry) if directory || entry.content.is_none() || !overwrite => {
                return Err(FileTrouble::Exists(to.to_owned()));
            }
            Some(_) => self.remove(to),
            None => {}
        }
        let below: Vec<String> = self.below(from).map(|(path, _)| path.clone()).collect();
        for path in below.iter().map(String::as_str).chain([from]) {
            if let Some(entry) = self.entries.remove(path) {
                let rest = path.strip_prefix(from).unwrap_or_default();
                self.entries.insert(format!("{to}{rest}"), entry);
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        path: &str,
        content: Option<FileContent>,
        attributes: &Attributes,
        now: Timestamp,
    ) -> Result<(), FileTrouble> {
        let weight = weight(content.as_ref());
        let before = self.entries.get(path).map_or(0, |entry| self::weight(entry.content.as_ref()));
        if self.used - before + weight > self.limit {
            return Err(FileTrouble::NoSpace(path.to_owned()));
        }
        let mode = if content.is_some() { 0o644 } else { 0o755 };
        let usual = Attributes { owner: Some(0), group: Some(0), permissions: Some(mode) };
        self.remove(path);
        self.used += weight;
        let entry = Entry { content, attributes: attributes.or(&usual), modified: now, accessed: now };
        self.entries.insert(path.to_owned(), entry);
        Ok(())
    }

    fn remove(&mut self, path: &str) {
        if let Some(entry) = self.entries.remove(path) {
            self.release(entry);
        }
    }

    fn let_go(&mut self, content: FileContent) {
        if let FileContent::Blob(stored) = content {
            self.unused.extend(Arc::into_inner(stored).map(|stored| stored.blob));
        }
    }

    fn release(&mut self, entry: Entry) {
        self.used = self.used.saturating_sub(weight(entry.content.as_ref()));
        if let Some(kept) = entry.content {
            self.let_go(kept);
        }
    }
}

fn weight(content: Option<&FileContent>) -> u64 {
    content.map_or(0, FileContent::size).max(LEAST)
}

fn ancestors(path: &str) -> Vec<String> {
    path.match_indices('/').skip(1).map(|(at, _)| path.get(..at).unwrap_or_default().to_owned()).collect()
}

fn seen(path: &str, entry: &Entry) -> FileSeen {
    FileSeen {
        path: path.to_owned(),
        kind: if entry.content.is_some() { FileKind::File } else { FileKind::Directory },
        size: entry.content.as_ref().map_or(LEAST, FileContent::size),
        attributes: entry.attributes,
        modified: entry.modified,
        accessed: entry.accessed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::BlobRef;

    fn write(path: &str, content: Content) -> FileOp {
        FileOp::Write { path: path.to_owned(), overwrite: true, attributes: Attributes::default(), content }
    }

    fn run(tree: &mut Tree, op: &FileOp) -> Result<FileAnswer, FileTrouble> {
        tree.run(op, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn what_does_not_fit_is_refused_and_leaves_no_trace() {
        let mut tree = Tree::new(3 * LEAST, Timestamp::UNIX_EPOCH);
        run(&mut tree, &write("/tmp/a", Content::Inline(vec![1; 8000]))).unwrap();
        let refused = run(&mut tree, &write("/tmp/b", Content::Blob(BlobRef { blob: 7, size: 9000 })));
        assert_eq!(refused, Err(FileTrouble::NoSpace("/tmp/b".into())));
        assert_eq!(tree.unused(), [7]);
        // What is overwritten makes room for what replaces it.
        run(&mut tree, &write("/tmp/a", Content::Inline(vec![1; 12000]))).unwrap();
        run(&mut tree, &FileOp::DeleteFile { path: "/tmp/a".into() }).unwrap();
        assert_eq!(tree.used, Tree::new(0, Timestamp::UNIX_EPOCH).used);
    }

    #[test]
    fn content_that_two_guests_share_goes_with_the_last() {
        let mut first = Tree::new(1 << 20, Timestamp::UNIX_EPOCH);
        run(&mut first, &write("/tmp/a", Content::Blob(BlobRef { blob: 7, size: 9 }))).unwrap();
        let second = first.clone();
        assert!(first.clear().is_empty());
        assert_eq!(second.clear(), [7]);
    }

    #[test]
    fn a_directory_moves_with_all_that_is_in_it() {
        let mut tree = Tree::new(1 << 20, Timestamp::UNIX_EPOCH);
        run(&mut tree, &FileOp::MakeDirectory { path: "/tmp/a/b".into(), parents: true }).unwrap();
        run(&mut tree, &write("/tmp/a/b/c", Content::Inline(b"x".to_vec()))).unwrap();
        let op = |from: &str, to: &str| FileOp::Move {
            from: from.into(),
            to: to.into(),
            overwrite: false,
            directory: true,
        };
        assert_eq!(run(&mut tree, &op("/tmp/a", "/tmp/a/b/d")), Err(FileTrouble::Denied("/tmp/a".into())));
        run(&mut tree, &op("/tmp/a", "/opt/z")).unwrap();
        assert_eq!(tree.known("/opt/z/b/c"), Some(&b"x"[..]));
        assert_eq!(
            run(&mut tree, &FileOp::List { path: "/tmp/a".into() }),
            Err(FileTrouble::NotFound("/tmp/a".into()))
        );
    }
}
