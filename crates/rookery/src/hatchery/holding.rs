//! `rookery vm hold`, `release` and `holds`: machines that a hatchery keeps for somebody to look at.

use std::time::Duration;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::duration;
use rookery_hatchery::surface::control::Request;
use rookery_hatchery::surface::holds::{self, Order};
use rookery_hatchery::surface::report::{Held, HoldRequestStatus, Status};
use serde::Serialize;

use super::ask::{Change, Query, section};
use crate::Ending;
use crate::output::Out;

/// What to do about machines that are kept.
#[derive(Debug, Subcommand)]
pub enum Holding {
    /// Keep a worker's VM for somebody to look at: an existing one, or those of the next workers that fail
    ///
    /// Such a VM is not deleted before its time is over or it is released; it stays on or off as it is. The hold
    /// is written into its notes, by the hatchery, which must run on this machine.
    Hold(HoldArgs),
    /// Stop keeping a VM, or those of a model or job: they are deleted as usual, and no further ones are kept
    Release(ReleaseArgs),
    /// List the VMs that a hatchery keeps, and the failures that it waits for
    Holds(Query),
}

#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct HoldTarget {
    /// The name of a VM of the hatchery
    #[arg(value_name = "VM", value_parser = NonEmptyStringValueParser::new())]
    vm: Option<String>,
    /// Those of failed workers of a model: the path of a V1 model, or the template of a V2 model
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Those of failed workers of a job: the number of a V1 job, or the UUID of a V2 job or the beginning of it
    #[arg(long, value_name = "JOB", value_parser = NonEmptyStringValueParser::new())]
    job: Option<String>,
}

/// The arguments of `vm hold`.
#[derive(Debug, clap::Args)]
pub struct HoldArgs {
    #[command(flatten)]
    machines: HoldTarget,
    /// How many VMs of failed workers
    #[arg(long, value_name = "NUMBER", default_value_t = 1, conflicts_with = "vm")]
    count: u32,
    /// How long to keep each of them, at most 168h
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    keep: Duration,
    /// How long to wait for failures, at most 168h
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration, conflicts_with = "vm")]
    within: Duration,
    /// Why, for whoever finds them
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    change: Change,
}

/// The arguments of `vm release`.
#[derive(Debug, clap::Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    machines: HoldTarget,
    #[command(flatten)]
    change: Change,
}

impl HoldTarget {
    fn target(&self) -> holds::Target {
        match (&self.vm, &self.model, &self.job) {
            (_, Some(model), _) => holds::Target::Model(model.clone()),
            (_, _, Some(job)) => holds::Target::Job(job.clone()),
            (vm, None, None) => holds::Target::Machine(vm.clone().unwrap_or_default()),
        }
    }
}

pub(crate) async fn holding(command: &Holding, out: &mut Out) -> anyhow::Result<Ending> {
    match command {
        Holding::Hold(args) => {
            let order = Order {
                of: args.machines.target(),
                count: args.count,
                seconds: args.keep.as_secs(),
                within: args.within.as_secs(),
                reason: args.reason.clone(),
            };
            order.check()?;
            args.change.tell(Request::Hold(order), out).await
        }
        Holding::Release(args) => {
            args.change.tell(Request::Release { of: args.machines.target() }, out).await
        }
        Holding::Holds(args) => {
            let Status { held, wishes, .. } = args.target.status().await?;
            let holds = Holds { held, wishes };
            let kept = holds.held.iter().map(|held| &held.machine);
            out.lines(&args.output.render(&holds, kept, || holds.lines())?).await?;
            Ok(Ending::Done)
        }
    }
}

#[derive(Debug, Serialize)]
struct Holds {
    held: Vec<Held>,
    wishes: Vec<HoldRequestStatus>,
}

impl Holds {
    fn lines(&self) -> String {
        let parts = tables(&self.held, &self.wishes);
        if parts.is_empty() {
            "nothing is kept, and no request to keep anything is open".to_owned()
        } else {
            parts.join("\n\n")
        }
    }
}

/// What is kept and what is wished for, as far as there is any.
pub(super) fn tables(held: &[Held], wishes: &[HoldRequestStatus]) -> Vec<String> {
    let held = held.iter().map(|one| {
        let until = format!("{:.0}", one.until);
        [&one.machine, &one.power, &one.model, &one.job, &until, &one.reason].map(String::clone)
    });
    let wishes = wishes.iter().map(|one| {
        let (of, count) = (one.of.to_string(), format!("{} of {}", one.taken, one.count));
        let keep = format!("{:#}", jiff::SignedDuration::from_secs(one.keep));
        [of, count, keep, format!("{:.0}", one.until), one.reason.clone()]
    });
    let held = section(["KEPT VM", "POWER", "MODEL", "JOB", "UNTIL", "WHY"], held);
    let wishes = section(["KEEPS FAILED WORKERS OF", "TAKEN", "FOR", "WAITS UNTIL", "WHY"], wishes);
    held.into_iter().chain(wishes).collect()
}

#[cfg(test)]
mod tests {
    use rookery_hatchery::plan::hold::Subject;

    use super::*;

    #[test]
    fn what_is_kept_and_wished_for_is_shown_as_tables() {
        let until: jiff::Timestamp = "2026-11-15T16:00:00Z".parse().unwrap();
        let (reason, text) = ("fails at \x1b night".to_owned(), str::to_owned);
        let held = Held {
            machine: text("brave-curie"),
            power: text("off"),
            model: text("debian12"),
            job: text("4711"),
            until,
            reason: reason.clone(),
            wish: text("7f"),
        };
        let of = Subject::Model(text("debian12"));
        let wish = HoldRequestStatus { id: text("7f"), of, count: 3, taken: 1, keep: 14_400, until, reason };
        let holds = Holds { held: vec![held], wishes: vec![wish] };
        insta::assert_snapshot!(holds.lines(), @r"
        KEPT VM      POWER  MODEL     JOB   UNTIL                 WHY
        brave-curie  off    debian12  4711  2026-11-15T16:00:00Z  fails at \u{1b} night

        KEEPS FAILED WORKERS OF  TAKEN   FOR  WAITS UNTIL           WHY
        model debian12           1 of 3  4h   2026-11-15T16:00:00Z  fails at \u{1b} night
        ");
        let none = Holds { held: vec![], wishes: vec![] };
        assert_eq!(none.lines(), "nothing is kept, and no request to keep anything is open");
    }
}
