//! What the two servers remember of a scene. Limits are measured from their records, never from the hatchery's own
//! counters.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rookery_cds_sim::{Control, Entry, Fault, Info, Job};
use rookery_hatchery_stories::{Lab, Scene};
use rookery_kit::Govc;
use rookery_vim_sim::{Action, FaultSpec, Rule};
use serde_json::{Deserializer, Value};

/// What vCenter remembers of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Life {
    /// Its clone was begun.
    pub(super) cloned: Option<Timestamp>,
    /// It was powered off for the last time.
    pub(super) off: Option<Timestamp>,
    pub(super) removed: Option<Timestamp>,
}

impl Life {
    /// From the beginning of its clone until it was off or gone.
    pub(super) fn awake(&self) -> Option<(Timestamp, Timestamp)> {
        let end = self.off.or(self.removed).unwrap_or(Timestamp::MAX);
        self.cloned.map(|from| (from, end))
    }
}

/// All events, oldest first: when, and in which words.
pub(super) async fn events(lab: &Lab) -> Vec<(Timestamp, String)> {
    events_by(&lab.govc()).await
}

async fn events_by(govc: &Govc) -> Vec<(Timestamp, String)> {
    let text = govc.run(&["events", "-json", "-n", "50000", "/DC0"]).await;
    let all = Deserializer::from_str(&text).into_iter::<Value>();
    let read = |event: Value| {
        let at = event["createdTime"].as_str().expect("a time").parse().expect("a time");
        (at, event["message"].as_str().expect("words").to_owned())
    };
    all.map(|event| read(event.expect("events are JSON"))).collect()
}

/// The lives of all machines that were cloned, by the names that their clones were given.
pub(super) async fn lives(lab: &Lab) -> BTreeMap<String, Life> {
    lives_by(&lab.govc()).await
}

/// The same, told by this witness.
pub(super) async fn lives_by(govc: &Govc) -> BTreeMap<String, Life> {
    let mut lives = BTreeMap::<String, Life>::new();
    for (at, words) in events_by(govc).await {
        let words: Vec<&str> = words.split(' ').collect();
        match words.as_slice() {
            ["Deploying" | "Cloning", .., "to", name] => {
                lives.entry((*name).to_owned()).or_default().cloned = Some(at);
            }
            [name, .., "powered", "off"] => {
                if let Some(life) = lives.get_mut(*name) {
                    life.off = Some(at);
                }
            }
            ["Removed", name, ..] => {
                if let Some(life) = lives.get_mut(*name) {
                    life.removed = Some(at);
                }
            }
            _ => {}
        }
    }
    lives
}

/// How many of these were there at once, at most. One that ends when another begins is not beside it.
pub(super) fn peak(stays: impl IntoIterator<Item = (Timestamp, Timestamp)>) -> usize {
    let mut edges: Vec<(Timestamp, i64)> =
        stays.into_iter().flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    edges.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, change) in edges {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).expect("a number of machines")
}

/// When the worker of each V2 job did this: `signin`, `signout`.
pub(super) async fn workers_did(lab: &Lab, what: &str) -> BTreeMap<String, Timestamp> {
    let suffix = format!("/worker/{what}");
    let of_worker = |entry: &Entry| {
        let job = entry.path.strip_suffix(&suffix)?.rsplit_once('/')?.1.to_owned();
        (entry.status < 300).then_some((job, entry.at))
    };
    requests(lab).await.iter().filter_map(of_worker).collect()
}

/// What CDS was asked, oldest first.
pub(super) async fn requests(lab: &Lab) -> Vec<Entry> {
    lab.cds.requests().await.expect("the CDS runs")
}

/// How often CDS was asked this way.
pub(super) async fn asked(lab: &Lab, method: &str, path: &str) -> usize {
    let all = requests(lab).await;
    all.iter().filter(|entry| entry.method == method && entry.path.ends_with(path)).count()
}

/// Injects a fault into calls of CDS from now on.
pub(super) async fn trouble(lab: &Lab, fault: Fault) {
    lab.cds.control(Control::AddFault(fault)).await.expect("the CDS runs");
}

/// Removes all faults of CDS.
pub(super) async fn peace(lab: &Lab) {
    lab.cds.control(Control::ClearFaults).await.expect("the CDS runs");
}

/// Calls of vCenter fail so often from now on.
pub(super) async fn refuse(lab: &Lab, method: &str, count: Option<u64>, class: &str) {
    let action = Action::Fault(FaultSpec::new(class, "a rule of the story"));
    let rule = Rule { method: method.to_owned(), count, ..Rule::new(action) };
    lab.world.ask(rookery_vim_sim::Control::AddRule(rule)).await;
}

/// What people can read about a job.
pub(super) fn told(job: &Job) -> String {
    job.infos.iter().map(|Info { said, .. }| said.to_string()).collect::<Vec<_>>().join("\n")
}

/// Why the hatchery says that a job waits.
pub(super) fn why(scene: &Scene, id: &str) -> Option<String> {
    let report = scene.hatchery.published.report.borrow().clone();
    let waiting = report.waiting.iter().find(|(job, _)| job.to_string() == id);
    waiting.map(|(_, why)| why.to_string())
}

/// A line of the hatchery's status.
pub(super) fn line(scene: &Scene, component: &str) -> Option<String> {
    let status = serde_json::to_value(scene.hatchery.published.status()).expect("a status is JSON");
    let lines = status["lines"].as_array().expect("lines").clone();
    let line = lines.into_iter().find(|line| line["component"] == component)?;
    Some(format!("{}: {}", line["status"].as_str()?, line["value"].as_str()?))
}
