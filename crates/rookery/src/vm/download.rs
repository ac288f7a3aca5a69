//! `rookery vm download`.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use anyhow::{Context as _, bail};
use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::Problems;
use rookery_vim_client::{GuestError, GuestFileError, GuestUser, Guests, TransferError, Vm};
use tempfile::NamedTempFile;
use tokio::fs::File;
use tokio_util::io::InspectWriter;

use super::arguments::{WrongArguments, for_guest};
use super::changing::subject;
use super::guest::has_guest;
use super::pick;
use super::progress::{counting, shown};
use crate::Ending;
use crate::output::{Did, Format, Out, OutputError, PIECE, Report};
use crate::session::Session;

/// The arguments of `vm download`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    vm: String,
    /// The file's path in the guest
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    remote: String,
    /// The file here, or a folder for it; a file that is there is replaced, once all has arrived; - is standard output
    local: PathBuf,
    /// How to tell what was done; beside the content if that goes to standard output
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    output: Format,
}

impl Args {
    pub(super) fn check(&self) -> Result<(), WrongArguments> {
        let mut problems = Problems::new();
        let remote = problems.keep("REMOTE", for_guest(&self.remote));
        WrongArguments::unless(problems, remote.map(drop))
    }
}

pub(super) async fn run(
    session: &Session,
    user: GuestUser,
    args: &Args,
    out: &mut Out,
) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    has_guest(vm)?;
    let guests = Guests::new(session.client().clone());
    let stdout = args.local == Path::new("-");
    let local =
        if stdout { args.local.clone() } else { target(&args.local, args.local.is_dir(), &args.remote)? };
    let done = if stdout {
        to_stdout(&guests, vm, &user, &args.remote, out).await
    } else {
        to_file(&guests, vm, &user, &args.remote, &local).await
    };
    if let Err(error) = &done
        && matches!(error.downcast_ref(), Some(OutputError::ReaderGone))
    {
        // Whoever reads has seen enough: that is no failure of the download.
        return Ok(Ending::Done);
    }
    let did =
        done.map(|size| Did::done(format!("{size} bytes in {}", local.display())).giving(size.to_string()));
    // The content has standard output for itself.
    let mut beside = Out::stderr();
    let mut report = Report::new(if stdout { &mut beside } else { out }, &args.output);
    report.tell(subject(vm, "download"), did).await?;
    Ok(report.ending())
}

async fn to_file(
    guests: &Guests,
    vm: &Vm,
    user: &GuestUser,
    remote: &str,
    local: &Path,
) -> anyhow::Result<u64> {
    // A device or a pipe would be replaced by a file.
    if fs::metadata(local).is_ok_and(|there| !there.is_file()) {
        bail!("{} is there, and is not a file that can be replaced", local.display());
    }
    let unwritable = || format!("{} cannot be written", local.display());
    let (file, part) = part_of(local).with_context(unwritable)?.into_parts();
    let passed = AtomicU64::new(0);
    let mut content = InspectWriter::new(File::from_std(file), counting(&passed));
    let download = Box::pin(guests.download(&vm.id, user, remote, &mut content));
    let arrived = shown(remote, None, &passed, download).await;
    let size = arrived.map_err(|error| at_fault(error, unwritable))?;
    content.into_inner().sync_all().await.with_context(unwritable)?;
    part.persist(local).map_err(|failed| failed.error).with_context(unwritable)?;
    Ok(size)
}

/// What has not arrived whole, beside the file that it becomes, under a name that nobody has; it goes if nothing comes of
/// it. It is for those whom the file was for that is replaced.
fn part_of(whole: &Path) -> io::Result<NamedTempFile> {
    let mode = fs::metadata(whole).map_or(0o666, |there| there.permissions().mode() & 0o777);
    let folder = whole.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let permissions = Permissions::from_mode(mode);
    tempfile::Builder::new().prefix(".rookery-").permissions(permissions).tempfile_in(folder)
}

/// As it comes: whoever reads it learns from the exit code whether it is all.
async fn to_stdout(
    guests: &Guests,
    vm: &Vm,
    user: &GuestUser,
    remote: &str,
    out: &mut Out,
) -> anyhow::Result<u64> {
    let (mut into, from) = tokio::io::duplex(PIECE);
    let fetch = async move { guests.download(&vm.id, user, remote, &mut into).await };
    let (fetched, printed) = tokio::join!(fetch, out.copy(from));
    // Whoever cannot print stops fetching: that is the reason, and not what follows from it.
    printed?;
    Ok(fetched?)
}

/// An error that names the file here, if that is what cannot be written.
fn at_fault(error: GuestError, unwritable: impl Fn() -> String) -> anyhow::Error {
    let is_here = matches!(&error, GuestError::Transfer { source, .. }
        if matches!(**source, GuestFileError::Transfer(TransferError::Sink(_))));
    if is_here { anyhow::Error::new(error).context(unwritable()) } else { error.into() }
}

/// Where a guest's file goes: into a folder under its own name.
fn target(local: &Path, is_folder: bool, remote: &str) -> anyhow::Result<PathBuf> {
    if !is_folder {
        // A file cannot have such a name: a folder was meant.
        if local.as_os_str().as_encoded_bytes().ends_with(b"/") {
            bail!("there is no folder {} for the file: create it first", local.display());
        }
        return Ok(local.to_owned());
    }
    let windows = remote.starts_with('\\') || remote.get(1..3).is_some_and(|start| start == ":\\");
    let separates = |c: char| c == '/' || (windows && c == '\\');
    match remote.rsplit(separates).next() {
        None | Some("" | "." | "..") => {
            bail!("{remote:?} names no file: give the path of a file in the guest")
        }
        Some(name) => Ok(local.join(name)),
    }
}

#[cfg(test)]
mod tests {
    use rookery_vim::MoRef;

    use super::*;

    fn check(local: &str, is_folder: bool, remote: &str, expected: Result<&str, &str>) {
        let found = target(Path::new(local), is_folder, remote).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected.map(Path::new), "{local} {remote}");
    }

    #[test]
    fn a_file_here_that_cannot_be_written_is_named() {
        let told = |source: GuestFileError| {
            let vm = MoRef::new("VirtualMachine", "vm-20");
            let error =
                GuestError::Transfer { action: "read /eggs".to_owned(), vm, source: Box::new(source) };
            format!("{:#}", at_fault(error, || "nest/eggs cannot be written".to_owned()))
        };
        let full = told(TransferError::Sink(std::io::ErrorKind::StorageFull.into()).into());
        assert!(full.starts_with("nest/eggs cannot be written: cannot read /eggs"), "{full}");
        assert!(full.ends_with("no storage space"), "{full}");
        assert!(told(TransferError::NoLength.into()).starts_with("cannot read /eggs"));
    }

    #[test]
    fn a_folder_gets_the_file_under_its_own_name() {
        check(".", true, "/etc/os-release", Ok("./os-release"));
        check("logs/", true, "/var/log/a b", Ok("logs/a b"));
        check("logs", true, "C:\\Windows\\win.ini", Ok("logs/win.ini"));
        check("logs", true, "C:/Windows/win.ini", Ok("logs/win.ini"));
        check("logs", true, "\\\\server\\share\\x", Ok("logs/x"));
        check("logs", true, "/tmp/back\\slash", Ok("logs/back\\slash"));
        check("copy", false, "/etc/os-release", Ok("copy"));
        check("new/", false, "/a", Err("there is no folder new/ for the file: create it first"));
        for none in ["/tmp/", "/tmp/..", "..", "."] {
            let told = format!("{none:?} names no file: give the path of a file in the guest");
            check("logs", true, none, Err(&told));
        }
    }
}
