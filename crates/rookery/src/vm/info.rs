//! `rookery vm info`.

mod full;

use anyhow::Context as _;
use rookery_vim_client::{Places, details};

use super::pick;
use crate::Ending;
use crate::output::{Format, Out};
use crate::session::Session;
use full::Full;

/// The arguments of `vm info`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    pub(super) vm: String,
    /// How to show it
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    pub(super) output: Format,
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    let details = details(session.client(), &vm.id).await;
    let details = details.with_context(|| format!("the disks of {:?} could not be read", vm.name))?;
    let places = Places::load(session.client()).await.context("vCenter's inventory could not be read")?;
    let full = Full::of(vm, &details, &places);
    out.line(&args.output.render(&full, [&vm.name], || full.table())?).await?;
    Ok(Ending::Done)
}
