//! Files of guests.

use rand::RngExt as _;
use rookery_sim::glob;
use rookery_vim::guest::{
    FileTransferInformation, GuestFileAttributes, GuestFileInfo, GuestListFileInfo, GuestPosixFileAttributes,
};
use rookery_vim::methods::{self as vim, Method};
use rookery_vim::{Hidden, Wire as _};

use super::Methods;
use super::guest::enter;
use crate::guests::{
    self, Attributes, FileAnswer, FileKind, FileOp, FileSeen, Transfer, TransferWhat, clean,
};
use crate::id::Id;
use crate::io::Reply;
use crate::refusal::Refusal;
use crate::soap::{self, Call, Handled, Outcome, written};
use crate::world::World;

/// A call about files, and what its answer tells.
#[derive(Debug)]
pub(crate) struct FileCall {
    method: String,
    shape: ReplyShape,
}

#[derive(Debug)]
enum ReplyShape {
    /// What came of it, as it is.
    Answer,
    /// A part of a listing.
    Listing { first: usize, most: usize, pattern: Option<String> },
    /// Where to send a file or fetch one.
    Address(Transfer),
}

/// An operation on the files of a guest, for a caller who may do that.
type FileRequest = Result<(Id, FileOp, ReplyShape), Refusal>;

impl Methods {
    /// A method that does something to the files of a guest, which may take the shell a while.
    fn file<M: Method>(&mut self, plan: impl Fn(&mut World, M) -> FileRequest + Send + Sync + 'static) {
        self.write(move |world, call, m| {
            let request = plan(world, m)?;
            perform(world, call, request)
        });
    }
}

pub(super) fn add(all: &mut Methods) {
    all.file(|world, m: vim::MakeDirectoryInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let path = clean(&m.directory_path)?;
        let op = FileOp::MakeDirectory { path, parents: m.create_parent_directories };
        Ok((vm, op, ReplyShape::Answer))
    });
    all.file(|world, m: vim::CreateTemporaryFileInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        temporary(world, vm, false, &m.prefix, &m.suffix, m.directory_path.as_deref())
    });
    all.file(|world, m: vim::CreateTemporaryDirectoryInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        temporary(world, vm, true, &m.prefix, &m.suffix, m.directory_path.as_deref())
    });
    all.file(|world, m: vim::DeleteFileInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        Ok((vm, FileOp::DeleteFile { path: clean(&m.file_path)? }, ReplyShape::Answer))
    });
    all.file(|world, m: vim::DeleteDirectoryInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let op = FileOp::DeleteDirectory { path: clean(&m.directory_path)?, recursive: m.recursive };
        Ok((vm, op, ReplyShape::Answer))
    });
    all.file(|world, m: vim::MoveFileInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let (from, to) = (clean(&m.src_file_path)?, clean(&m.dst_file_path)?);
        Ok((vm, FileOp::Move { from, to, overwrite: m.overwrite, directory: false }, ReplyShape::Answer))
    });
    all.file(|world, m: vim::MoveDirectoryInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let (from, to) = (clean(&m.src_directory_path)?, clean(&m.dst_directory_path)?);
        Ok((vm, FileOp::Move { from, to, overwrite: false, directory: true }, ReplyShape::Answer))
    });
    all.file(|world, m: vim::ListFilesInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let number = |given: Option<i32>, usual: i32, name| {
            usize::try_from(given.unwrap_or(usual)).map_err(|_| Refusal::invalid_argument(name))
        };
        let (first, most) = (number(m.index, 0, "index")?, number(m.max_results, 50, "maxResults")?);
        let shape = ReplyShape::Listing { first, most, pattern: m.match_pattern };
        Ok((vm, FileOp::List { path: clean(&m.file_path)? }, shape))
    });
    all.file(|world, m: vim::ChangeFileAttributesInGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let (modified, accessed) = match &m.file_attributes {
            GuestFileAttributes::GuestPosixFileAttributes(given) => {
                (given.modification_time, given.access_time)
            }
            GuestFileAttributes::Other(_) => (None, None),
        };
        let attributes = attributes(&m.file_attributes);
        let op = FileOp::Change { path: clean(&m.guest_file_path)?, attributes, modified, accessed };
        Ok((vm, op, ReplyShape::Answer))
    });
    all.file(|world, m: vim::InitiateFileTransferToGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let (path, overwrite) = (clean(&m.guest_file_path)?, m.overwrite);
        let size = u64::try_from(m.file_size).map_err(|_| Refusal::invalid_argument("fileSize"))?;
        let attributes = attributes(&m.file_attributes);
        let what = TransferWhat::To { path: path.clone(), overwrite, attributes, size };
        Ok((vm, FileOp::Expect { path, overwrite, size }, ReplyShape::Address(Transfer { vm, what })))
    });
    all.file(|world, m: vim::InitiateFileTransferFromGuest| {
        let (vm, _) = enter(world, &m.vm, &m.auth)?;
        let path = clean(&m.guest_file_path)?;
        let what = TransferWhat::From { path: path.clone() };
        Ok((vm, FileOp::Stat { path }, ReplyShape::Address(Transfer { vm, what })))
    });
}

fn temporary(
    world: &mut World,
    vm: Id,
    directory: bool,
    prefix: &str,
    suffix: &str,
    parent: Option<&str>,
) -> FileRequest {
    if prefix.contains('/') || suffix.contains('/') {
        return Err(Refusal::invalid_argument(if prefix.contains('/') { "prefix" } else { "suffix" }));
    }
    let parent = parent.filter(|parent| !parent.is_empty()).unwrap_or("/tmp");
    let middle: u64 = world.random.random();
    let path = clean(&format!("{parent}/{prefix}{middle:016x}{suffix}"))?;
    Ok((vm, FileOp::Temporary { directory, path }, ReplyShape::Answer))
}

fn attributes(given: &GuestFileAttributes) -> Attributes {
    match given {
        GuestFileAttributes::GuestPosixFileAttributes(given) => Attributes {
            owner: given.owner_id,
            group: given.group_id,
            // Clients that have nothing to say about it send zero.
            permissions: given
                .permissions
                .filter(|mode| *mode != 0)
                .and_then(|mode| u32::try_from(mode & 0o7777).ok()),
        },
        GuestFileAttributes::Other(_) => Attributes::default(),
    }
}

fn perform(world: &mut World, call: &Call, (vm, op, shape): (Id, FileOp, ReplyShape)) -> Handled {
    let file_call = FileCall { method: call.method.clone(), shape };
    if let Some(result) = guests::perform(world, call.request, vm, op) {
        return tell(world, file_call, result);
    }
    world.guests.wait_for_file(call.request, file_call);
    Ok(Outcome::Parked)
}

/// The late answer to a call.
pub(crate) fn answer(world: &mut World, call: FileCall, result: Result<FileAnswer, Refusal>) -> Reply {
    let shape = tell(world, call, result);
    soap::reply(shape).unwrap_or_else(|| Reply::plain(500, "nothing to say"))
}

fn tell(
    world: &mut World,
    FileCall { method, shape }: FileCall,
    result: Result<FileAnswer, Refusal>,
) -> Handled {
    const NAME: &str = "returnval";
    let answer = result?;
    Ok(match (shape, answer) {
        (ReplyShape::Address(transfer), answer) => {
            let going_out = matches!(transfer.what, TransferWhat::From { .. });
            let url = guests::offer(world, transfer);
            let seen = match answer {
                FileAnswer::Listing(seen) => seen.into_iter().next(),
                FileAnswer::Done | FileAnswer::Path(_) | FileAnswer::Content(_) => None,
            };
            match seen {
                Some(seen) if going_out => {
                    let shape = info(&seen);
                    let attributes = Some(shape.attributes);
                    let shape = FileTransferInformation { attributes, size: shape.size, url: Hidden(url) };
                    written(&method, |out| shape.write(out, NAME, false))
                }
                Some(_) | None => written(&method, |out| url.write(out, NAME, false)),
            }
        }
        (ReplyShape::Listing { first, most, pattern }, FileAnswer::Listing(seen)) => {
            let fits = |seen: &&FileSeen| pattern.as_deref().is_none_or(|pattern| like(pattern, &seen.path));
            let found: Vec<&FileSeen> = seen.iter().filter(fits).collect();
            let files: Vec<_> = found.iter().skip(first).take(most).map(|seen| info(seen)).collect();
            let remaining = found.len().saturating_sub(first.saturating_add(files.len()));
            let shape = GuestListFileInfo { files, remaining: i32::try_from(remaining).unwrap_or(i32::MAX) };
            written(&method, |out| shape.write(out, NAME, false))
        }
        (_, FileAnswer::Path(path)) => written(&method, |out| path.write(out, NAME, false)),
        (_, _) => written(&method, |_| {}),
    })
}

/// Patterns of this call are regular expressions; of these, plain text and `.*` are known, and shell patterns too.
fn like(pattern: &str, name: &str) -> bool {
    let anchored = pattern.trim_start_matches('^').trim_end_matches('$');
    glob::matches(&anchored.replace(".*", "*").replace("\\.", "."), name)
}

fn info(seen: &FileSeen) -> GuestFileInfo {
    let kind = match seen.kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Link => "symlink",
    };
    let attributes = GuestPosixFileAttributes {
        modification_time: Some(seen.modified),
        access_time: Some(seen.accessed),
        // Not known to the world, but the schema's clients read links without it.
        symlink_target: None,
        owner_id: seen.attributes.owner.or(Some(0)),
        group_id: seen.attributes.group.or(Some(0)),
        permissions: seen.attributes.permissions.map(i64::from),
    };
    GuestFileInfo {
        path: seen.path.clone(),
        kind: kind.to_owned(),
        size: i64::try_from(seen.size).unwrap_or(i64::MAX),
        attributes: GuestFileAttributes::GuestPosixFileAttributes(attributes),
    }
}
