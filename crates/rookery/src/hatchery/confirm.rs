//! `rookery hatchery confirm`: what the brake holds back, and letting exactly that through.

use rookery_hatchery::plan::braked::Waiting;
use rookery_hatchery::surface::control::Request;

use super::ask::Query;
use crate::Ending;
use crate::output::{Out, confirm, printable, remark, table};

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

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let waiting = args.query.target.status().await?.braked;
    let names = waiting.iter().map(|one| &one.name);
    out.lines(&args.query.output.render(&waiting, names, || lines(&waiting))?).await?;
    if waiting.is_empty() || args.dry_run {
        return Ok(Ending::Done);
    }
    if !args.yes {
        confirm(format!("let these {} through?", waiting.len()), "nothing was confirmed").await?;
    }
    // Exactly what was shown: what has come since waits on.
    let list = waiting.into_iter().map(|one| one.subject).collect();
    remark(&args.query.target.order(&Request::Confirm { list }).await?.message);
    Ok(Ending::Done)
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
