//! What stories look at: machines as the vCenter has them, and proof that a job's script ran in one of them.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rookery_cds_sim::{Job, Status};
use rookery_hatchery::surface::report::Report;
use rookery_hatchery_stories::{Lab, LabOptions, Scene};
use rookery_kit::{Vm, eventually};
use rookery_vim_sim::{Access, Change, Control, Durations, GuestTimes, Permission, Rule, User};
use serde_json::Value;
use tokio::time::timeout;

/// A machine as the vCenter itself has it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) notes: String,
    pub(super) is_on: bool,
    pub(super) is_template: bool,
    pub(super) address: Option<String>,
}

impl Seen {
    /// One member of its mark; null if there is none.
    pub(super) fn mark(&self, key: &str) -> Value {
        serde_json::from_str::<Value>(&self.notes).unwrap_or_default()[key].clone()
    }

    /// The keys of its mark as they are written.
    pub(super) fn keys(&self) -> Vec<String> {
        let mark: serde_json::Map<String, Value> = serde_json::from_str(&self.notes).expect("a mark");
        let mut keys: Vec<String> = mark.keys().cloned().collect();
        keys.sort_by_key(|key| self.notes.find(&format!("\"{key}\":")));
        keys
    }

    /// The address that it was given.
    pub(super) fn given(&self) -> String {
        self.mark("ip_address").as_str().unwrap_or_default().to_owned()
    }
}

pub(super) async fn machines(lab: &Lab) -> Vec<Seen> {
    let seen = lab.world.vms().await.into_iter().map(|(id, vm)| {
        let Vm { name, notes, on: is_on, template: is_template, address, .. } = vm;
        let id = id.trim_start_matches("VirtualMachine:").to_owned();
        Seen { id, name, notes, is_on, is_template, address }
    });
    seen.collect()
}

/// The machine of that name, if there is one.
pub(super) async fn named(lab: &Lab, name: &str) -> Option<Seen> {
    machines(lab).await.into_iter().find(|machine| machine.name == name)
}

/// The machines that wait for a job.
pub(super) async fn pooled(lab: &Lab) -> Vec<Seen> {
    let all = machines(lab).await;
    all.into_iter().filter(|machine| machine.name.starts_with("provision-")).collect()
}

/// Waits until so many machines are warm and nothing is under way, and shows them.
pub(super) async fn warm(lab: &Lab, scene: &Scene, number: usize) -> Vec<Seen> {
    reported(scene, &format!("{number} machines are warm"), |report| {
        report.complete && report.counts.warm == number && report.running.is_empty()
    })
    .await;
    pooled(lab).await
}

/// Waits until the hatchery says so of itself.
pub(super) async fn reported(scene: &Scene, what: &str, is: impl Fn(&Report) -> bool) {
    let mut report = scene.hatchery.published.report.clone();
    let reported = timeout(Duration::from_mins(5), report.wait_for(|report| is(report))).await;
    assert!(reported.is_ok_and(|seen| seen.is_ok()), "it was never reported that {what}");
}

/// A text that nobody else knows.
pub(super) fn nonce() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    format!("nonce-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}

/// A script that tells the nonce, and which guest's files it sees: `/tmp` of a guest lies in a folder of its own, named
/// after the reference of its machine.
pub(super) fn probe(nonce: &str) -> String {
    format!("echo {nonce}\nsed -n 's|.*/\\(vm-[0-9]*\\)/tmp /tmp .*|guest=\\1|p' /proc/self/mountinfo")
}

/// Waits until a job has succeeded, and proves that it ran in the guest of the machine that has its worker's name. Of
/// workers that are played only the log tells.
///
/// The machine is looked at while the job runs, too: once its worker has signed out, CDS lists it as disabled, and a sweep
/// that comes before the machine is off removes it without a grace period.
pub(super) async fn ran(lab: &Lab, id: &str, nonce: &str) -> (Job, Seen) {
    let machine = RefCell::new(None);
    eventually(&format!("job {id} ends"), async || {
        let job = lab.job(id).await;
        if let Some(seen) = named(lab, &job.worker_name).await {
            machine.replace(Some(seen));
        }
        job.status.is_final()
    })
    .await;
    let (job, machine) = (lab.job(id).await, machine.into_inner());
    assert_eq!(job.status, Status::Success, "{job:#?}");
    assert!(job.logs.contains(nonce), "{job:#?}");
    let machine = machine.unwrap_or_else(|| panic!("no machine was called like the worker: {job:#?}"));
    if !lab.plays_workers() {
        assert!(job.logs.contains(&format!("guest={}\n", machine.id)), "{machine:?} {}", job.logs);
    }
    assert_eq!(machine.mark("worker_name"), job.worker_name.as_str());
    assert_eq!(machine.mark("job_id"), id);
    assert_eq!(machine.mark("hatchery_name"), Lab::NAME);
    (job, machine)
}

/// Whether somebody said this to the users of a job.
pub(super) fn was_told(job: &Job, text: &str) -> bool {
    job.infos.iter().any(|info| info.said.to_string().contains(text))
}

/// A lab whose templates have cards, so that their clones can be given addresses.
pub(super) fn with_cards() -> LabOptions {
    let options = LabOptions::default();
    let model = options
        .model
        .replace("snapshots = [\"base\"]", "snapshots = [\"base\"]\nnetworks = [\"VM Network\"]");
    LabOptions { model, ..options }
}

/// A pool of warm machines, as the settings have it.
pub(super) fn pool(template: &str, number: u32) -> String {
    format!("[[workerProvisioning]]\nmodelVMWare = {template:?}\nnumber = {number}\n")
}

/// Operations of vCenter that take so long.
pub(super) fn taking(clone: &str) -> Durations {
    Durations { clone: clone.parse().expect("a time"), ..Durations::default() }
}

/// From now on operations of vCenter and starts of guests take so long.
pub(super) async fn slow_down(lab: &Lab, clone: &str, boot: &str) {
    let guests = GuestTimes { tools: boot.parse().expect("a time"), ..GuestTimes::default() };
    let change = Change { durations: Some(taking(clone)), guests: Some(guests), ..Change::default() };
    control(lab, Control::Set(Box::new(change))).await;
}

/// How many clones run.
pub(super) async fn clones_run(lab: &Lab) -> usize {
    let seen = control(lab, Control::Inspect).await;
    let unfinished = seen["unfinished"].as_array().expect("a list");
    unfinished.iter().filter(|task| task["method"] == "CloneVM_Task").count()
}

/// What happened in the vCenter, oldest first, in its words.
pub(super) async fn history(lab: &Lab) -> Vec<String> {
    let told = lab.govc().run(&["events", "-n", "1000"]).await;
    let steps =
        told.lines().filter_map(|line| Some(line.split_once("] [")?.1.split_once("] ")?.1.to_owned()));
    steps.collect()
}

/// The hatchery reads its settings again, with other tables in them.
pub(super) async fn reload(lab: &Lab, scene: &Scene, were: &str, are: &str) {
    let text = lab.settings_text();
    scene.hatchery.reload(&lab.settings(), &Lab::read_settings(&text.replace(were, are))).await;
}

/// Users of a vCenter, with their passwords, who may do anything there.
pub(super) fn administrators(users: &[(&str, &str)]) -> Access {
    let user =
        |(name, password): &(&str, &str)| User { name: (*name).to_owned(), password: (*password).to_owned() };
    let permission = |(name, _): &(&str, &str)| Permission {
        principal: (*name).to_owned(),
        role: "Admin".to_owned(),
        entity: "/".to_owned(),
        propagate: true,
    };
    Access {
        users: users.iter().map(user).collect(),
        permissions: users.iter().map(permission).collect(),
        ..Access::default()
    }
}

/// From now on calls meet this.
pub(super) async fn rule(lab: &Lab, rule: Rule) {
    control(lab, Control::AddRule(rule)).await;
}

/// Asks the vCenter for something that only its operator may.
pub(super) async fn control(lab: &Lab, control: Control) -> Value {
    lab.world.control(control).await
}
