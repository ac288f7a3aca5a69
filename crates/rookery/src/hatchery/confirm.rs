//! `rookery hatchery confirm`: what the brake holds back, and letting exactly that through.

use rookery_hatchery::plan::braked::Waiting;
use rookery_hatchery::surface::control::Request;
use rookery_hatchery::surface::report::Status;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::ask::{Query, Told};
use crate::Ending;
use crate::output::{Format, Out, Outcome, confirm, printable, remark, table};
use crate::session::{Orders, signals};

/// The arguments of `hatchery confirm`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Only show what is held back
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    query: Query,
}

/// What became of what was held back.
#[derive(Debug, Serialize)]
struct Confirmed {
    #[serde(flatten)]
    told: Told,
    /// What was held back, and confirmed if anything was.
    waiting: Vec<Waiting>,
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let Some(seen) = signals::heeding(async |stop| ask(args, stop, out).await).await? else {
        remark(&Orders::default().left());
        return Ok(Ending::Interrupted);
    };
    let Status { name: hatchery, braked: waiting, .. } = seen;
    // Exactly what was shown: what has come since waits on.
    let request = Request::Confirm { list: waiting.iter().map(|one| one.subject.clone()).collect() };
    let told = if waiting.is_empty() {
        Told {
            hatchery,
            action: request.as_str(),
            outcome: Outcome::Unchanged,
            dry_run: args.dry_run,
            message: lines(&[]),
        }
    } else if args.dry_run {
        args.query.target.order(request.dry()).await?
    } else {
        args.query.target.order(request).await?
    };
    let confirmed = Confirmed { told, waiting };
    let names = confirmed.waiting.iter().map(|one| &one.name);
    out.lines(&args.query.output.render(&confirmed, names, || confirmed.told.line())?).await?;
    Ok(Ending::Done)
}

/// Shows what is held back, and asks; `None` if a signal came before the answer. Programs get it with the result.
async fn ask(args: &Args, stop: &CancellationToken, out: &mut Out) -> anyhow::Result<Option<Status>> {
    let asked = async {
        let status = args.query.target.status().await?;
        let waiting = &status.braked;
        if waiting.is_empty() {
            return Ok(status);
        }
        let is_asked = !args.yes && !args.dry_run;
        if matches!(args.query.output, Format::Table(_)) {
            out.lines(&lines(waiting)).await?;
        } else if is_asked {
            Out::stderr().lines(&lines(waiting)).await?;
        }
        if is_asked {
            confirm(format!("let these {} through?", waiting.len()), "nothing was confirmed").await?;
        }
        Ok(status)
    };
    stop.run_until_cancelled(asked).await.transpose()
}

fn lines(waiting: &[Waiting]) -> String {
    if waiting.is_empty() {
        return "nothing waits to be confirmed".to_owned();
    }
    let rows = waiting.iter().map(|one| [one.subject.as_str(), &one.name, &one.why].map(printable));
    table(["WHAT", "NAME", "WHY"], rows)
}

#[cfg(test)]
mod tests {
    use rookery_fleet::MachineId;
    use rookery_hatchery::plan::braked::Subject;

    use super::*;

    #[test]
    fn what_waits_is_shown_with_its_reason() {
        let waiting =
            |subject, name: &str, why: &str| Waiting { subject, name: name.to_owned(), why: why.to_owned() };
        let id = MachineId::new("vm-7");
        let shown = lines(&[
            waiting(Subject::Machine(id.clone()), "brave-curie", "its worker has run for 3h, 2h are allowed"),
            waiting(Subject::Worker("w".to_owned()), "w", "it has no machine"),
            waiting(Subject::Lost(id), "odd\x1bname", "it has vanished from the inventory"),
        ]);
        insta::assert_snapshot!(shown, @r"
        WHAT     NAME           WHY
        machine  brave-curie    its worker has run for 3h, 2h are allowed
        worker   w              it has no machine
        lost     odd\u{1b}name  it has vanished from the inventory
        ");
        assert_eq!(lines(&[]), "nothing waits to be confirmed");
    }
}
