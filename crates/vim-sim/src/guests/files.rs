//! What can be done to the files of a guest. The world does it to its own [`Tree`], or the shell does it for real.

use jiff::Timestamp;
use rookery_sim::RequestId;

use super::tree::Tree;
use crate::id::Id;
use crate::io::{BlobRef, Effect};
use crate::refusal::Refusal;
use crate::world::World;

/// An operation. Paths are absolute and clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOp {
    /// Makes a directory, and those above it if `parents`.
    MakeDirectory { path: String, parents: bool },
    /// Makes an empty file or directory for its maker alone.
    Temporary { directory: bool, path: String },
    /// Removes a file.
    DeleteFile { path: String },
    /// Removes a directory, with all that is in it if `recursive`.
    DeleteDirectory { path: String, recursive: bool },
    /// Moves a directory, or a file, which may take the place of another if `overwrite`.
    Move { from: String, to: String, overwrite: bool, directory: bool },
    /// What is in a directory, or a file itself.
    List { path: String },
    /// Reads the attributes of a file.
    Stat { path: String },
    /// Reads what is in a file.
    Read { path: String },
    /// Changes attributes, those that are given.
    Change { path: String, attributes: Attributes, modified: Option<Timestamp>, accessed: Option<Timestamp> },
    /// Only whether a file of that size could be written. It may be there if `overwrite`.
    Expect { path: String, overwrite: bool, size: u64 },
    /// Writes a file. It may be there if `overwrite`.
    Write { path: String, overwrite: bool, attributes: Attributes, content: Content },
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Inline(Vec<u8>),
    /// What the shell keeps.
    Blob(BlobRef),
}

/// Whose a file is and who may do what with it; what is not given stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The number of its user.
    pub owner: Option<i32>,
    /// The number of its group.
    pub group: Option<i32>,
    /// The permission bits.
    pub permissions: Option<u32>,
}

impl Attributes {
    pub(super) fn or(&self, other: &Self) -> Self {
        Self {
            owner: self.owner.or(other.owner),
            group: self.group.or(other.group),
            permissions: self.permissions.or(other.permissions),
        }
    }
}

/// What came of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAnswer {
    Done,
    /// The path of what was made.
    Path(String),
    /// What a directory holds.
    Listing(Vec<FileSeen>),
    /// This is in it.
    Content(Content),
}

/// A file, as it looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSeen {
    /// Its path, or its name in the directory that was listed.
    pub path: String,
    pub kind: FileKind,
    pub size: u64,
    pub attributes: Attributes,
    pub modified: Timestamp,
    pub accessed: Timestamp,
}

/// What something in a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    /// A link to something.
    Link,
}

/// Why an operation was not done, and on which path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTrouble {
    /// Nothing is at this path.
    NotFound(String),
    /// Something is at this path already.
    Exists(String),
    /// It is no directory.
    NotADirectory(String),
    /// It is a directory.
    NotAFile(String),
    /// Something is in it.
    NotEmpty(String),
    /// The guest's user may not.
    Denied(String),
    /// It does not fit.
    NoSpace(String),
    /// Something else, in words.
    Other(String),
}

impl From<FileTrouble> for Refusal {
    fn from(trouble: FileTrouble) -> Self {
        let about = |class: &'static str, file: String, why: &str| {
            Self::new(class, format!("File {file} {why}")).with("file", file)
        };
        match trouble {
            FileTrouble::NotFound(file) => Self::file_not_found(file),
            FileTrouble::Exists(file) => Self::file_exists(file),
            FileTrouble::NotADirectory(file) => about("NotADirectory", file, "is not a directory"),
            FileTrouble::NotAFile(file) => about("NotAFile", file, "is not a file"),
            FileTrouble::NotEmpty(file) => {
                about("DirectoryNotEmpty", file, "is a directory that is not empty")
            }
            FileTrouble::NoSpace(file) => {
                about("NoDiskSpace", file, "does not fit on the guest's disk").with("datastore", "guest")
            }
            FileTrouble::Denied(_) => Self::new(
                "GuestPermissionDenied",
                "The guest operating system refused the operation: the user has no permission for it.",
            ),
            FileTrouble::Other(why) => Self::new("FileFault", why).with("file", ""),
        }
    }
}

/// An absolute path without `.`, `..` and doubled slashes.
pub(crate) fn clean(path: &str) -> Result<String, Refusal> {
    if !path.starts_with('/') || path.contains('\0') {
        return Err(FileTrouble::NotFound(path.to_owned()).into());
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Ok(format!("/{}", parts.join("/")))
}

/// Does an operation, or has it done: then there is no answer yet.
pub(crate) fn perform(
    world: &mut World,
    request: RequestId,
    vm: Id,
    op: FileOp,
) -> Option<Result<FileAnswer, Refusal>> {
    if world.settings.allow_local_exec {
        world.effect(Effect::File(Box::new(FileJob { request, vm, op })));
        return None;
    }
    Some(here(world, vm, &op))
}

/// Does an operation on the files that the world keeps.
pub(super) fn here(world: &mut World, vm: Id, op: &FileOp) -> Result<FileAnswer, Refusal> {
    let now = world.now;
    let tree = tree(world, vm);
    let result = tree.run(op, now);
    for blob in tree.unused() {
        world.effect(Effect::Discard(blob));
    }
    result.map_err(Refusal::from)
}

/// The files of a guest.
pub(super) fn tree(world: &mut World, vm: Id) -> &mut Tree {
    let (limit, now) = (world.settings.guest_disk_bytes, world.now);
    world.guests.trees.entry(vm).or_insert_with(|| Tree::new(limit, now))
}

/// An operation that the shell is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileJob {
    /// Who waits for it.
    pub request: RequestId,
    pub vm: Id,
    pub op: FileOp,
}
