//! `rookery hatchery confirm`: what the brake holds back, and letting exactly that through.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};
use rookery_hatchery::plan::braked::Waiting;
use rookery_hatchery::surface::control::{Answer, Request};

use super::ask::{Query, unexpected_answer};
use crate::Ending;
use crate::output::{Out, printable, remark, table};

/// The arguments of `hatchery confirm`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    query: Query,
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let Answer::Status(status) = args.query.target.ask(&Request::Status).await? else {
        return Err(unexpected_answer());
    };
    let waiting = status.braked;
    out.line(&args.query.output.render(&waiting, || lines(&waiting))?).await?;
    if waiting.is_empty() {
        return Ok(Ending::Done);
    }
    if !args.yes && !confirmed(waiting.len()).await? {
        bail!("nothing was confirmed");
    }
    // Exactly what was shown: what has come since waits on.
    let list = waiting.into_iter().map(|one| one.subject).collect();
    let Answer::Done(done) = args.query.target.ask(&Request::Confirm { list }).await? else {
        return Err(unexpected_answer());
    };
    remark(&printable(&done));
    Ok(Ending::Done)
}

fn lines(waiting: &[Waiting]) -> String {
    if waiting.is_empty() {
        return "nothing waits to be confirmed".to_owned();
    }
    let rows = waiting.iter().map(|one| [one.subject.as_str(), &one.name, &one.why].map(printable));
    table(["WHAT", "NAME", "WHY"], rows)
}

async fn confirmed(count: usize) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nothing was confirmed: standard input is not a terminal; use --yes to confirm");
    }
    let question = format!("let these {count} through? [y/N] ");
    let ask = move || {
        let mut answer = String::new();
        io::stderr()
            .write_all(question.as_bytes())
            .and_then(|()| io::stdin().lock().read_line(&mut answer))?;
        Ok::<_, io::Error>(matches!(answer.trim(), "y" | "Y" | "yes"))
    };
    // On a thread of its own: a signal must be heard while nobody answers.
    tokio::task::spawn_blocking(ask).await?.context("the answer cannot be read")
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
