//! `rookery vm upload`.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use anyhow::{Context as _, bail};
use clap::builder::NonEmptyStringValueParser;
use rookery_vim_client::{GuestUser, Guests};
use tokio::fs::File;
use tokio_util::io::InspectReader;

use super::guest::has_guest;
use super::pick;
use super::progress::{counting, shown};
use crate::Ending;
use crate::output::{Out, printable};
use crate::session::Session;

/// The arguments of `vm upload`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    vm: String,
    /// The local file
    local: PathBuf,
    /// Its path in the guest; a file that is there is replaced
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    remote: String,
    /// Its permissions there, in octal, such as 0644 [default: what the guest gives a new file]
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<u32>,
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
    let local = args.local.display();
    let unreadable = || format!("{local} cannot be read");
    let file = File::open(&args.local).await.with_context(unreadable)?;
    let told = file.metadata().await.with_context(unreadable)?;
    if !told.is_file() {
        bail!("{local} is not a file");
    }
    let (size, guests) = (told.len(), Guests::new(session.client().clone()));
    let passed = AtomicU64::new(0);
    let content = InspectReader::new(file, counting(&passed));
    let upload = Box::pin(guests.upload(&vm.id, &user, &args.remote, args.mode, size, content));
    shown(&local.to_string(), Some(size), &passed, upload).await.with_context(|| vm.name.clone())?;
    out.line(&format!("{}: {size} bytes in {}", printable(&vm.name), printable(&args.remote))).await?;
    Ok(Ending::Done)
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
