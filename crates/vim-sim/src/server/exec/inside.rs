//! Files of guests whose programs are run for real. Every path is looked up inside the guest: a link that leads out of
//! it leads nowhere else than it does for the guest's own programs.

use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::namespace::Namespace;
use crate::guests::{Attributes, Content, FileAnswer, FileKind, FileOp, FileSeen, FileTrouble};
use crate::server::blobs::Blobs;

/// How long an operation may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Larger files, and longer lists of files, are not handed out.
const LARGEST: u64 = 256 << 20;

const FIND: &str = r"-printf '%y\t%s\t%m\t%U\t%G\t%T@\t%A@\t";

pub(super) async fn run(
    namespace: &Namespace,
    op: &FileOp,
    blobs: &Blobs,
) -> Result<FileAnswer, FileTrouble> {
    match tokio::time::timeout(PATIENCE, try_run(namespace, op, blobs)).await {
        Ok(result) => result,
        Err(_) => Err(FileTrouble::Other("the guest took too long".to_owned())),
    }
}

async fn try_run(namespace: &Namespace, op: &FileOp, blobs: &Blobs) -> Result<FileAnswer, FileTrouble> {
    let simple = async |script: &str, arguments: &[&str]| {
        let script = format!("{CHECKS}{script}");
        finish(namespace.inside(&script, arguments), op, None).await
    };
    match op {
        FileOp::MakeDirectory { path, parents } => {
            let script = if *parents { "free; mkdir -p -- \"$1\"" } else { "free; above; mkdir -- \"$1\"" };
            simple(script, &[path]).await?;
        }
        FileOp::Temporary { directory, path } => {
            let script = if *directory { "mkdir -m 700 -- \"$1\"" } else { "umask 077; : >\"$1\"" };
            simple(&format!("free; above; {script}"), &[path]).await?;
            return Ok(FileAnswer::Path(path.clone()));
        }
        FileOp::DeleteFile { path } => drop(simple("file; rm -f -- \"$1\"", &[path]).await?),
        FileOp::DeleteDirectory { path, recursive } => {
            let script = if *recursive { "rm -rf -- \"$1\"" } else { "empty; rmdir -- \"$1\"" };
            simple(&format!("directory; {script}"), &[path]).await?;
        }
        FileOp::Move { from, to, overwrite, directory } => {
            let kind = if *directory { "directory" } else { "file" };
            let target = if *overwrite { "[ ! -d \"$2\" ] || exit 17" } else { "[ ! -e \"$2\" ] || exit 17" };
            simple(&format!("{kind}; {target}; mv -T -- \"$1\" \"$2\""), &[from, to]).await?;
        }
        FileOp::List { path } => {
            let script = format!(
                "there; if [ -d \"$1\" ]; then find \"$1\" -mindepth 1 -maxdepth 1 {FIND}%f\\0'; \
                 else find \"$1\" -maxdepth 0 {FIND}%p\\0'; fi"
            );
            return Ok(FileAnswer::Listing(listing(&simple(&script, &[path]).await?)));
        }
        FileOp::Stat { path } => {
            let script = format!("file; find \"$1\" -maxdepth 0 {FIND}%p\\0'");
            return Ok(FileAnswer::Listing(listing(&simple(&script, &[path]).await?)));
        }
        FileOp::Read { path } => {
            let bytes = simple("file; exec cat -- \"$1\"", &[path]).await?;
            return Ok(FileAnswer::Content(Content::Inline(bytes)));
        }
        FileOp::Change { path, attributes, modified, accessed } => {
            simple(&format!("there; {}", changes(attributes, *modified, *accessed)), &[path]).await?;
        }
        FileOp::Expect { path, overwrite, .. } => drop(simple(writable(*overwrite), &[path]).await?),
        FileOp::Write { path, overwrite, attributes, content } => {
            let changes = changes(attributes, None, None);
            let script = format!("{CHECKS}{}; cat >\"$1\" && {{ {changes}; }}", writable(*overwrite));
            let command = namespace.inside(&script, &[path]);
            finish(command, op, Some((content, blobs))).await?;
        }
    }
    Ok(FileAnswer::Done)
}

/// What operations demand of their path; the exit codes say which demand was not met.
const CHECKS: &str = "\
    path=$1; \
    there() { [ -e \"$path\" ] || [ -L \"$path\" ] || exit 44; }; \
    free() { [ ! -e \"$path\" ] || exit 17; }; \
    above() { [ -d \"${path%/*}/\" ] || exit 44; }; \
    room() { [ -w \"${path%/*}/\" ] || exit 13; }; \
    file() { there; [ ! -d \"$path\" ] || exit 21; [ -f \"$path\" ] || [ -L \"$path\" ] || exit 13; }; \
    directory() { there; [ -d \"$path\" ] || exit 20; }; \
    empty() { [ -z \"$(ls -A -- \"$path\")\" ] || exit 39; }; ";

fn writable(overwrite: bool) -> &'static str {
    if overwrite { "above; [ ! -d \"$1\" ] || exit 21; room" } else { "above; free; room" }
}

fn changes(attributes: &Attributes, modified: Option<Timestamp>, accessed: Option<Timestamp>) -> String {
    // A guest's files are all its one user's: others are not known there.
    let mode = attributes.permissions.map(|mode| format!("; chmod {:o} -- \"$1\"", mode & 0o7777));
    let touched = [("-m", modified), ("-a", accessed)].map(|(flag, time)| {
        time.map(|time| format!("; touch {flag} -d @{} -- \"$1\"", time.as_second())).unwrap_or_default()
    });
    format!(":{}{}", mode.unwrap_or_default(), touched.concat())
}

/// Runs a command to its end; what it printed.
async fn finish(
    mut command: Command,
    op: &FileOp,
    input: Option<(&Content, &Blobs)>,
) -> Result<Vec<u8>, FileTrouble> {
    let other = |error: std::io::Error| FileTrouble::Other(error.to_string());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(other)?;
    let stdin = child.stdin.take();
    let feed = async {
        let (Some(mut stdin), Some((content, blobs))) = (stdin, input) else { return };
        // If it does not read on it says why when it ends.
        match content {
            Content::Inline(bytes) => drop(stdin.write_all(bytes).await),
            Content::Blob(stored) => {
                if let Ok(mut file) = blobs.open(stored.blob).await {
                    tokio::io::copy(&mut file, &mut stdin).await.ok();
                }
            }
        }
    };
    let (mut output, mut complaints) = (Vec::new(), String::new());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read = async {
        if let Some(stdout) = stdout {
            stdout.take(LARGEST + 1).read_to_end(&mut output).await.ok();
        }
    };
    let listen = async {
        if let Some(stderr) = stderr {
            stderr.take(4096).read_to_string(&mut complaints).await.ok();
        }
    };
    tokio::join!(feed, read, listen);
    if output.len() as u64 > LARGEST {
        return Err(FileTrouble::Other("the file is too large to be handed out".to_owned()));
    }
    let status = child.wait().await.map_err(other)?;
    if status.success() { Ok(output) } else { Err(trouble(status.code(), &complaints, op)) }
}

fn trouble(code: Option<i32>, complaints: &str, op: &FileOp) -> FileTrouble {
    let (path, target) = paths(op);
    match code {
        Some(44) => FileTrouble::NotFound(path),
        Some(17) => FileTrouble::Exists(target),
        Some(20) => FileTrouble::NotADirectory(path),
        Some(21) => FileTrouble::NotAFile(path),
        Some(39) => FileTrouble::NotEmpty(path),
        Some(13) => FileTrouble::Denied(path),
        _ if complaints.contains("No space left") => FileTrouble::NoSpace(target),
        _ if complaints.contains("No such file") => FileTrouble::NotFound(target),
        _ if complaints.contains("Read-only")
            || complaints.contains("denied")
            || complaints.contains("not permitted") =>
        {
            FileTrouble::Denied(path)
        }
        _ => FileTrouble::Other(complaints.trim().to_owned()),
    }
}

/// What an operation is about, and what it would make.
fn paths(op: &FileOp) -> (String, String) {
    match op {
        FileOp::Move { from, to, .. } => (from.clone(), to.clone()),
        FileOp::MakeDirectory { path, .. }
        | FileOp::Temporary { path, .. }
        | FileOp::DeleteFile { path }
        | FileOp::DeleteDirectory { path, .. }
        | FileOp::List { path }
        | FileOp::Stat { path }
        | FileOp::Read { path }
        | FileOp::Change { path, .. }
        | FileOp::Expect { path, .. }
        | FileOp::Write { path, .. } => (path.clone(), path.clone()),
    }
}

fn listing(printed: &[u8]) -> Vec<FileSeen> {
    let mut seen: Vec<FileSeen> = printed.split(|byte| *byte == 0).filter_map(parse).collect();
    seen.sort_by(|a, b| a.path.cmp(&b.path));
    seen
}

fn parse(entry: &[u8]) -> Option<FileSeen> {
    let text = String::from_utf8_lossy(entry);
    let mut parts = text.splitn(8, '\t');
    let kind = match parts.next()? {
        "d" => FileKind::Directory,
        "l" => FileKind::Link,
        _ => FileKind::File,
    };
    let size = parts.next()?.parse().ok()?;
    let permissions = u32::from_str_radix(parts.next()?, 8).ok();
    let (owner, group) = (parts.next()?.parse().ok(), parts.next()?.parse().ok());
    let mut time = || {
        let seconds = parts.next()?.split('.').next()?.parse().ok()?;
        Timestamp::from_second(seconds).ok()
    };
    let (modified, accessed) = (time()?, time()?);
    let path = parts.next()?.to_owned();
    Some(FileSeen {
        path,
        kind,
        size,
        attributes: Attributes { owner, group, permissions },
        modified,
        accessed,
    })
}
