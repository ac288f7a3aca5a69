//! What the user may do. A privilege that nobody spoke for is unknown, which is not the same as granted.

use rookery_daemon::telemetry::chain;

use crate::doctor::check::{Check, Finding, Group};
use crate::doctor::observed::{Answer, ObjectPrivileges};
use crate::doctor::privileges::{Need, Weight, needs_on};

pub(super) fn checks(asked: &[ObjectPrivileges]) -> Vec<Check> {
    asked.iter().flat_map(of_object).collect()
}

fn of_object(asked: &ObjectPrivileges) -> Vec<Check> {
    let object = Some(asked.object.as_str());
    let as_one = |finding| vec![Check::new(Group::Privileges, "privileges", object, finding)];
    let ask_others = "look at the user's role in vCenter; docs/cli.md lists what is needed";
    match &asked.answer {
        Answer::NoObject => as_one(Finding::skipped("not checked, because it was not found")),
        Answer::Unsupported => as_one(Finding::warning("unknown: this server cannot be asked", ask_others)),
        Answer::Failed(error) => as_one(Finding::warning(format!("unknown: {}", chain(error)), ask_others)),
        Answer::Told(granted) => {
            let check = |need: &'static Need| {
                let finding = judge(need, granted.get(need.privilege).copied());
                Check::new(Group::Privileges, need.privilege, object, finding)
            };
            needs_on(&asked.on).into_iter().map(check).collect()
        }
    }
}

fn judge(need: &Need, granted: Option<bool>) -> Finding {
    let purpose = need.purpose;
    let advice = "add it to the user's role there";
    match (granted, need.weight) {
        (Some(true), _) => Finding::ok(format!("granted, for {purpose}")),
        (Some(false), Weight::Needed) => Finding::problem(format!("missing; needed for {purpose}"), advice),
        (Some(false), Weight::Useful) => {
            Finding::warning(format!("missing; only needed for {purpose}"), advice)
        }
        (None, _) => Finding::warning(
            format!("unknown: vCenter did not say; needed for {purpose}"),
            "look at the user's role in vCenter",
        ),
    }
}

#[cfg(test)]
mod tests;
