//! `rookery vm download`.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use anyhow::Context as _;
use clap::builder::NonEmptyStringValueParser;
use rookery_vim_client::{GuestUser, Guests};
use tokio::fs::{self, File};
use tokio_util::io::InspectWriter;

use super::guest::has_guest;
use super::pick;
use super::progress::{counting, shown};
use crate::Ending;
use crate::output::{Out, printable};
use crate::session::Session;

/// The arguments of `vm download`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    vm: String,
    /// The file's path in the guest
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    remote: String,
    /// The file here; one that is there is replaced, once all has arrived
    local: PathBuf,
}

pub(super) async fn run(
    session: &Session,
    user: GuestUser,
    args: &Args,
    out: &mut Out,
) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    has_guest(vm)?;
    let local = args.local.display();
    let unwritable = || format!("{local} cannot be written");
    let (part, file) = Part::create(&args.local).await.with_context(unwritable)?;
    let guests = Guests::new(session.client().clone());
    let passed = AtomicU64::new(0);
    let mut content = InspectWriter::new(file, counting(&passed));
    let download = Box::pin(guests.download(&vm.id, &user, &args.remote, &mut content));
    let size = shown(&args.remote, None, &passed, download).await.with_context(|| vm.name.clone())?;
    content.into_inner().sync_all().await.with_context(unwritable)?;
    part.finish(&args.local).await.with_context(unwritable)?;
    out.line(&format!("{}: {size} bytes in {}", printable(&vm.name), printable(&local.to_string()))).await?;
    Ok(Ending::Done)
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
