//! `rookery vm download`.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use anyhow::Context as _;
use clap::builder::NonEmptyStringValueParser;
use rookery_vim_client::{GuestUser, Guests, Vm};
use tokio::fs::{self, File};
use tokio_util::io::InspectWriter;

use super::changing::subject;
use super::guest::has_guest;
use super::pick;
use super::progress::{counting, shown};
use crate::Ending;
use crate::output::{Did, Format, Out, PIECE, Report};
use crate::session::Session;

/// The arguments of `vm download`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    vm: String,
    /// The file's path in the guest
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    remote: String,
    /// The file here; one that is there is replaced, once all has arrived; - is standard output
    local: PathBuf,
    /// How to tell what was done; beside the content if that goes to standard output
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    output: Format,
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
    let done = if stdout {
        to_stdout(&guests, vm, &user, &args.remote, out).await
    } else {
        to_file(&guests, vm, &user, args).await
    };
    let did = done
        .map(|size| Did::done(format!("{size} bytes in {}", args.local.display())).giving(size.to_string()));
    // The content has standard output for itself.
    let mut beside = Out::stderr();
    let mut report = Report::new(if stdout { &mut beside } else { out }, &args.output);
    report.tell(subject(vm, "download"), did).await?;
    Ok(report.ending())
}

async fn to_file(guests: &Guests, vm: &Vm, user: &GuestUser, args: &Args) -> anyhow::Result<u64> {
    let unwritable = || format!("{} cannot be written", args.local.display());
    let (part, file) = Part::create(&args.local).await.with_context(unwritable)?;
    let passed = AtomicU64::new(0);
    let mut content = InspectWriter::new(file, counting(&passed));
    let download = Box::pin(guests.download(&vm.id, user, &args.remote, &mut content));
    let size = shown(&args.remote, None, &passed, download).await?;
    content.into_inner().sync_all().await.with_context(unwritable)?;
    part.finish(&args.local).await.with_context(unwritable)?;
    Ok(size)
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

/// A file that has not arrived whole, beside the one that it becomes. It goes with this value.
struct Part(Option<PathBuf>);

impl Part {
    async fn create(whole: &Path) -> std::io::Result<(Self, File)> {
        let mut path = whole.as_os_str().to_owned();
        path.push(".part");
        let file = File::create(&path).await?;
        Ok((Self(Some(path.into())), file))
    }

    async fn finish(mut self, whole: &Path) -> std::io::Result<()> {
        if let Some(path) = &self.0 {
            fs::rename(path, whole).await?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What cannot be removed is at least not taken for the whole.
            std::fs::remove_file(path).ok();
        }
    }
}
