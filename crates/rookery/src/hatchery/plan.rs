//! `rookery hatchery plan`.

use rookery_daemon::Supervisor;
use rookery_fleet_vsphere::Vcenters;
use rookery_hatchery::run::{self, Policy};
use rookery_hatchery::settings;
use rookery_hatchery::surface::report::Planned;

use super::File;
use super::ask::{section, waiting};
use super::parts::{hostname, parts};
use crate::Ending;
use crate::output::{Format, Out, printable};
use crate::session::signals;

/// The arguments of `hatchery plan`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    file: File,
    /// How to show the plan
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    output: Format,
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let settings = settings::load_file(args.file.path()?)?.settings;
    let supervisor = Supervisor::new();
    let (vcenters, instance) = (Vcenters::new(&supervisor), format!("plan-{}", std::process::id()));
    let parts = parts(settings, &vcenters, instance, hostname(), Policy::Refuse)?;
    let planned = signals::heeding(async |stop| {
        let mut looking = Box::pin(run::look(parts, &supervisor));
        tokio::select! {
            biased;
            () = stop.cancelled() => {
                // It says goodbye to both servers.
                supervisor.token().cancel();
                looking.await.ok();
                None
            }
            planned = &mut looking => Some(planned),
        }
    });
    let Some(planned) = planned.await.transpose()? else { return Ok(Ending::Interrupted) };
    let about = planned.acts.iter().map(|act| &act.what);
    out.lines(&args.output.render(&planned, about, || lines(&planned))?).await?;
    Ok(Ending::Done)
}

fn lines(planned: &Planned) -> String {
    let acts = planned.acts.iter().map(|act| [act.act.to_owned(), act.what.clone(), act.how.clone()]);
    let acts = section(["ACT", "WHAT", "HOW OR WHY"], acts);
    let mut parts = vec![acts.unwrap_or_else(|| "there is nothing to do".to_owned())];
    parts.extend(waiting(&planned.waiting, &planned.warm_waiting));
    if let Some(stopped) = &planned.stopped {
        parts.push(format!("nothing may be deleted: {}", printable(stopped)));
    }
    if !planned.complete {
        parts.push("vCenter has not shown all its machines".to_owned());
    }
    parts.join("\n\n")
}
