//! What happens to the jobs of a real CDS, from the hatchery's reports.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Context as _;
use rookery_fleet::Power;
use rookery_hatchery::surface::report::Report;
use tokio::sync::watch::Receiver;

use crate::output::printable;
use crate::up::part::News;

/// Tells what happens to jobs, from one report to the next.
pub(super) async fn watch(mut reports: Receiver<Arc<Report>>, told: &News) -> anyhow::Result<Infallible> {
    let mut seen = Arc::clone(&reports.borrow_and_update());
    loop {
        reports.changed().await.context("the hatchery has ended")?;
        let latest = Arc::clone(&reports.borrow_and_update());
        for line in news(&seen, &latest) {
            told.tell(line).await;
        }
        seen = latest;
    }
}

/// The machines that run for jobs, by job.
pub(super) fn at_work(report: &Report) -> BTreeMap<&str, &str> {
    let runs = |name: &str| report.view.named(name).any(|machine| machine.power == Some(Power::On));
    let served = report.jobs_served.iter().filter(|(_, machine)| runs(machine));
    served.map(|(job, machine)| (job.as_str(), machine.as_str())).collect()
}

/// What happened between two reports: to jobs that wait, and to those that are served.
fn news(before: &Report, after: &Report) -> Vec<String> {
    let waits = after.waiting.iter().filter(|(job, why)| before.waiting.get(*job) != Some(*why));
    let waits = waits.map(|(job, why)| format!("job {job}  waits: {why}"));
    let (was, is) = (at_work(before), at_work(after));
    let served = is.iter().filter(|(job, _)| !was.contains_key(*job));
    let served = served.map(|(job, machine)| format!("job {job}  is served by {machine}"));
    let ended = was.iter().filter(|(job, _)| !is.contains_key(*job));
    let ended = ended.map(|(job, machine)| format!("job {job}  was served by {machine}, which has ended"));
    waits.chain(served).chain(ended).map(|line| printable(&line)).collect()
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests {
    use rookery_fleet::Role;
    use rookery_hatchery::machine::{Machine, View};
    use rookery_hatchery::plan::WaitReason;

    use super::super::teardown::tests::machine;
    use super::*;

    #[test]
    fn what_happens_to_a_job_is_told_once() {
        let waiting = |why: WaitReason| Report {
            waiting: [("7".parse().expect("a job"), why)].into(),
            ..Report::default()
        };
        let served = |power| {
            let machine = Machine { power: Some(power), ..machine("vm-1", "worker-a", Role::Vm, None) };
            let machines = std::iter::once(machine).collect();
            let view = Arc::new(View { machines, ..View::default() });
            Report {
                jobs_served: [("7".to_owned(), "worker-a".to_owned())].into(),
                view,
                ..Report::default()
            }
        };
        let (on, off) = (served(Power::On), served(Power::Off));
        let none = Report::default();
        let check = |before: &Report, after: &Report, expected: &[&str]| {
            assert_eq!(news(before, after), expected);
        };
        let (full, busy) =
            (|| waiting(WaitReason::NoAddress { total: 1 }), || waiting(WaitReason::Busy { ahead: 6 }));
        check(&none, &full(), &["job 7  waits: none of the 1 configured addresses is free"]);
        check(&full(), &full(), &[]);
        check(&full(), &busy(), &["job 7  waits: vCenter is busy: 6 before this one"]);
        check(&full(), &on, &["job 7  is served by worker-a"]);
        check(&on, &on, &[]);
        check(&on, &off, &["job 7  was served by worker-a, which has ended"]);
        check(&off, &none, &[]);
    }
}
