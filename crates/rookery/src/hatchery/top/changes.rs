//! What happened between two answers of a hatchery. Pure.

use std::collections::BTreeMap;

use rookery_hatchery::surface::report::{JobLine, JobState, Status};

use crate::output::printable;

/// What a hatchery has said last.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    pub(super) status: Status,
    pub(super) jobs: Vec<JobLine>,
}

/// What is different, a line for each change; what ended a long time ago is none.
pub(super) fn changes(before: &Answers, after: &Answers) -> Vec<String> {
    let mut lines = of_hatchery(&before.status, &after.status);
    lines.extend(of_jobs(&before.jobs, &after.jobs));
    lines.iter().map(|line| printable(line)).collect()
}

fn of_hatchery(before: &Status, after: &Status) -> Vec<String> {
    let mut lines = Vec::new();
    if before.started != after.started {
        lines.push(format!("the hatchery was started anew (version {})", after.version));
    }
    match (before.draining, after.draining) {
        (false, true) => lines.push("drained: no new jobs are taken".to_owned()),
        (true, false) => lines.push("resumed: jobs are taken again".to_owned()),
        (false, false) | (true, true) => {}
    }
    let source = |status: &Status| -> BTreeMap<String, String> {
        status.troubles.iter().map(|one| (one.source.clone(), one.error.clone())).collect()
    };
    let (was, is) = (source(before), source(after));
    lines.extend(only(&is, &was).map(|(source, error)| format!("{source} does not answer: {error}")));
    lines.extend(only(&was, &is).map(|(source, _)| format!("{source} answers again")));
    match (&before.stopped, &after.stopped) {
        (None, Some(why)) => lines.push(format!("deletions are stopped: {why}")),
        (Some(_), None) => lines.push("deletions go on".to_owned()),
        (None, None) | (Some(_), Some(_)) => {}
    }
    let braked = |status: &Status| -> BTreeMap<String, String> {
        status
            .braked
            .iter()
            .map(|one| (format!("{} {}", one.subject.as_str(), one.name), one.why.clone()))
            .collect()
    };
    let (was, is) = (braked(before), braked(after));
    lines.extend(only(&is, &was).map(|(what, why)| format!("{what}  is held back: {why}")));
    let held = |status: &Status| -> BTreeMap<String, String> {
        status.held.iter().map(|one| (one.machine.clone(), one.reason.clone())).collect()
    };
    let (was, is) = (held(before), held(after));
    lines.extend(only(&is, &was).map(|(machine, why)| format!("{machine}  is kept: {why}")));
    lines.extend(only(&was, &is).map(|(machine, _)| format!("{machine}  is not kept any more")));
    let waits = |status: &Status| -> BTreeMap<String, String> {
        status.warm_waiting.iter().map(|one| (one.model.clone(), one.why.clone())).collect()
    };
    let (was, is) = (waits(before), waits(after));
    let other = is.iter().filter(|(model, why)| was.get(*model) != Some(*why));
    lines.extend(other.map(|(model, why)| format!("model {model}  waits: {why}")));
    lines
}

/// Those that the other one has not.
fn only<'m>(
    these: &'m BTreeMap<String, String>,
    others: &'m BTreeMap<String, String>,
) -> impl Iterator<Item = (&'m String, &'m String)> {
    these.iter().filter(|(name, _)| !others.contains_key(*name))
}

fn of_jobs(before: &[JobLine], after: &[JobLine]) -> Vec<String> {
    let was: BTreeMap<&str, &JobLine> = before.iter().map(|line| (line.job.as_str(), line)).collect();
    let told = |line: &JobLine| {
        let old = was.get(line.job.as_str());
        let news = job(old.copied(), line)?;
        Some(format!("job {}  {news}", line.job))
    };
    // Those that ended last stand first in their list; they are told in the order in which it happened.
    let ended = after.iter().filter(|line| line.state == JobState::Ended).rev();
    let others = after.iter().filter(|line| line.state != JobState::Ended);
    ended.chain(others).filter_map(told).collect()
}

fn job(old: Option<&JobLine>, new: &JobLine) -> Option<String> {
    let machine = new.machine.as_deref().unwrap_or("a machine");
    let is_new = old.is_none_or(|old| old.state != new.state);
    match new.state {
        JobState::Waiting if is_new || old.is_some_and(|old| old.why != new.why) => {
            Some(format!("waits: {}", new.why))
        }
        JobState::Starting if is_new => Some(format!("is taken: {machine} is started")),
        JobState::Served if is_new => Some(format!("is served by {machine}")),
        JobState::Ended => {
            let status = new.status.as_ref().filter(|_| old.is_none_or(|old| old.status.is_none()));
            match (is_new, status) {
                (_, Some(status)) => Some(format!("has ended as {status}")),
                (true, None) if new.machine.is_some() => {
                    Some(format!("was served by {machine}, which has ended"))
                }
                (true, None) => Some("has ended".to_owned()),
                (false, None) => None,
            }
        }
        JobState::Waiting | JobState::Starting | JobState::Served | JobState::Unknown => None,
    }
}
