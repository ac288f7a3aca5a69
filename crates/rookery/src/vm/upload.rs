//! `rookery vm upload`.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use anyhow::{Context as _, bail};
use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::Problems;
use rookery_vim_client::{GuestError, GuestUser, Guests, Vm};
use tokio::fs::File;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};
use tokio_util::io::InspectReader;

use super::arguments::{WrongArguments, for_guest};
use super::changing::{Changing, subject};
use super::guest::{has_guest, takes};
use super::pick;
use super::progress::{counting, shown};
use crate::Ending;
use crate::output::{Did, Out};
use crate::session::Session;

/// The arguments of `vm upload`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    vm: String,
    /// The local file; - is standard input
    local: PathBuf,
    /// Its path in the guest; a file that is there is replaced
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    remote: String,
    /// Its permissions there, in octal, such as 0644 [default: what the guest gives a new file]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<u32>,
    #[command(flatten)]
    pub(super) changing: Changing,
}

impl Args {
    pub(super) fn check(&self) -> Result<(), WrongArguments> {
        let mut problems = Problems::new();
        let remote = problems.keep("REMOTE", for_guest(&self.remote));
        WrongArguments::unless(problems, remote.map(drop))
    }
}

fn mode(text: &str) -> Result<u32, String> {
    let parsed = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
    parsed.ok_or_else(|| "a mode is at most four octal digits, such as 0644".to_owned())
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
    if args.changing.dry_run && is_standard_input(&args.local) {
        // Whoever would write it need not have it yet.
        return told(vm, args, None, takes(&guests, vm, &user).await, out).await;
    }
    let (file, size) = opened(&args.local).await?;
    let uploaded = if args.changing.dry_run {
        takes(&guests, vm, &user).await
    } else {
        let passed = AtomicU64::new(0);
        let content = InspectReader::new(file, counting(&passed));
        let upload = Box::pin(guests.upload(&vm.id, &user, &args.remote, args.mode, size, content));
        shown(&args.local.to_string_lossy(), Some(size), &passed, upload).await
    };
    told(vm, args, Some(size), uploaded, out).await
}

async fn told(
    vm: &Vm,
    args: &Args,
    size: Option<u64>,
    done: Result<(), GuestError>,
    out: &mut Out,
) -> anyhow::Result<Ending> {
    let bytes = size.map_or_else(|| "standard input".to_owned(), |size| format!("{size} bytes"));
    let did = done.map(|()| {
        if args.changing.dry_run {
            Did::planned(format!("{bytes} would be written to {}", args.remote))
        } else {
            Did::done(format!("{bytes} in {}", args.remote))
        }
    });
    let did = did.map(|did| if let Some(size) = size { did.giving(size.to_string()) } else { did });
    let mut report = args.changing.report(out);
    report.tell(subject(vm, "upload"), did.map_err(Into::into)).await?;
    Ok(report.ending())
}

fn is_standard_input(local: &Path) -> bool {
    local == Path::new("-")
}

/// The content and its size, which guests want to know first.
async fn opened(local: &Path) -> anyhow::Result<(File, u64)> {
    if is_standard_input(local) {
        return spooled().await.context("standard input cannot be read");
    }
    let unreadable = || format!("{} cannot be read", local.display());
    let file = File::open(local).await.with_context(unreadable)?;
    let told = file.metadata().await.with_context(unreadable)?;
    if !told.is_file() {
        bail!("{} is not a file", local.display());
    }
    Ok((file, told.len()))
}

/// All of standard input, in a file that nobody else sees and that goes by itself.
async fn spooled() -> std::io::Result<(File, u64)> {
    let mut file = File::from_std(tempfile::tempfile()?);
    let size = tokio::io::copy(&mut tokio::io::stdin(), &mut file).await?;
    file.flush().await?;
    file.rewind().await?;
    Ok((file, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_octal() {
        assert_eq!([mode("0644"), mode("755"), mode("7777")], [Ok(0o644), Ok(0o755), Ok(0o7777)]);
        for bad in ["", "0888", "10000", "-1", "rw", "0x1ff"] {
            assert!(mode(bad).is_err(), "{bad}");
        }
    }
}
