//! `rookery hatchery plan`.

use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_fleet_vsphere::Vcenters;
use rookery_hatchery::run::{self, Policy};
use rookery_hatchery::settings;
use rookery_hatchery::surface::report::Planned;

use super::File;
use super::parts::{hostname, parts};
use crate::Ending;
use crate::output::{Format, Out, printable, table};
use crate::session::signals;

/// The arguments of `hatchery plan`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    file: File,
    /// How to show the plan
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let settings = settings::load_file(&args.file.config)?.settings;
    let (listeners, supervisor) = (Supervisor::new(), Supervisor::new());
    let (vcenters, instance) = (Vcenters::new(&supervisor), format!("plan-{}", std::process::id()));
    let parts = parts(settings, &vcenters, instance, hostname(), Policy::Refuse)?;
    let stop = signals::listen(&listeners).await;
    let mut looking = Box::pin(run::look(parts, &supervisor));
    let planned = tokio::select! {
        biased;
        () = stop.cancelled() => {
            // It says goodbye to both servers.
            supervisor.token().cancel();
            looking.await.ok();
            return Ok(Ending::Interrupted);
        }
        planned = &mut looking => planned?,
    };
    listeners.shutdown(Duration::from_secs(1)).await.ok();
    out.line(&args.output.render(&planned, || lines(&planned))?).await?;
    Ok(Ending::Done)
}

fn lines(planned: &Planned) -> String {
    let mut parts = Vec::new();
    if planned.acts.is_empty() {
        parts.push("there is nothing to do".to_owned());
    } else {
        let rows = planned.acts.iter().map(|act| [act.act, &act.what, &act.how].map(printable));
        parts.push(table(["ACT", "WHAT", "HOW OR WHY"], rows));
    }
    if !planned.waiting.is_empty() {
        let rows =
            planned.waiting.iter().map(|one| [&one.job, &one.reason, &one.why].map(|text| printable(text)));
        parts.push(table(["WAITING JOB", "REASON", "WHY"], rows));
    }
    if !planned.warm_waiting.is_empty() {
        let rows = planned.warm_waiting.iter().map(|one| [&one.model, &one.why].map(|text| printable(text)));
        parts.push(table(["WAITING MODEL", "WHY"], rows));
    }
    if let Some(stopped) = &planned.stopped {
        parts.push(format!("nothing may be deleted: {}", printable(stopped)));
    }
    if !planned.complete {
        parts.push("vCenter has not shown all its machines".to_owned());
    }
    parts.join("\n\n")
}
