//! The whole product with both simulators in one thread on paused time: hours pass in a moment, and always alike.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_daemon::Clock;
use rookery_hatchery::run::{Policy, StartError};
use rookery_kit::{Cable, Finding, Govc, Vm, Wire};
use rookery_vim_sim::{Control, Durations, GuestTimes, Span};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::lab::Pace;
use crate::{Lab, LabOptions, Scene, Standby};

/// A lab on paused time where everything takes as long as it may really take: operations of the vCenter, boots, and work.
#[derive(Debug)]
pub struct Stage {
    pub lab: Lab,
}

/// Both worlds in one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sight {
    pub at: Instant,
    /// Two numbers that stay the same for as long as nothing changes.
    pub worlds: (u64, u64),
}

/// Two worlds to begin with.
#[derive(Debug, Clone)]
pub struct Saved {
    at: Timestamp,
    vcenter: String,
    cds: Value,
}

/// How long workers take, and how long it takes their machine to turn itself off.
const PACE: Pace =
    Pace { boot: Duration::from_secs(2), work: Duration::from_secs(20), life: Duration::from_secs(45) };

impl Stage {
    /// Sets a stage. Tokio's time must be paused.
    pub fn set(options: LabOptions) -> Self {
        Self::set_at(options, Lab::paused_from())
    }

    fn set_at(mut options: LabOptions, start: Timestamp) -> Self {
        let seconds = |seconds| Span::Constant(SignedDuration::from_secs(seconds));
        options.vcenter.durations = Durations {
            clone: seconds(4),
            reconfigure: seconds(1),
            power: seconds(1),
            snapshot: seconds(1),
            destroy: seconds(1),
            ..Durations::default()
        };
        options.vcenter.guests = GuestTimes {
            tools: seconds(3),
            operations: seconds(1),
            addresses: seconds(1),
            ..GuestTimes::default()
        };
        // Time costs nothing here, but passes do.
        options.settings = format!("killAwolServersInterval = 60\n{}", options.settings);
        Self { lab: Lab::paused_at(options, start, PACE) }
    }

    /// Hatcheries that start from now on believe that it is later by that.
    pub fn set_clock_ahead(&mut self, by: SignedDuration) {
        self.lab.world.clock =
            Clock::simulated(self.lab.world.clock.now().saturating_add(by).expect("a time"));
    }

    /// Somebody sets the clock of the machine that hatcheries run on.
    pub fn set_clock(&self, by: SignedDuration) {
        self.lab.world.clock.set(by);
    }

    /// Starts a hatchery over a wire.
    pub async fn hatch(&self, wire: &Wire) -> Result<Scene, StartError> {
        self.lab.hatch_over(self.lab.settings(), wire).await
    }

    /// Starts a hatchery over a wire, with settings in which some texts are replaced.
    pub async fn hatch_with(&self, wire: &Wire, changes: &[(&str, &str)]) -> Scene {
        let replaced = |text: String, (old, new): &(&str, &str)| text.replace(old, new);
        let text = changes.iter().fold(self.lab.settings_text(), replaced);
        let settings = Lab::read_settings(&text);
        self.lab.hatch_over(settings, wire).await.expect("the hatchery starts")
    }

    /// Starts another hatchery of the same name, as if on a machine of that number, over cables of its own.
    pub fn hatch_on(&self, machine: u64, policy: Policy, vcenter: &Cable, cds: &Cable) -> Standby {
        let (to_vcenter, to_cds) = (self.lab.world.vcenter.clone(), self.lab.cds.clone());
        let ways = (vcenter.to(move || to_vcenter.pipe()), cds.to(move || to_cds.pipe()));
        self.lab.hatch_on(machine, policy, ways.0, ways.1)
    }

    /// Lets a witness of the vCenter look.
    pub async fn witness<T>(&self, look: impl AsyncFnOnce(&Govc) -> T) -> T {
        look(&self.lab.govc()).await
    }

    /// From now on operations of the vCenter take no time.
    pub async fn hasten(&self) {
        self.lab.world.hasten().await;
    }

    /// Waits for something that must come within an hour.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, mut look: impl FnMut() -> F) {
        for _ in 0..3600 / 5 {
            if look().await {
                return;
            }
            sleep(Duration::from_secs(5)).await;
        }
        let machines = self.vms().await.into_values().filter(|vm| !vm.template);
        let machines: Vec<_> = machines.map(|vm| (vm.name, vm.on, vm.notes)).collect();
        let jobs = self.lab.cds.jobs().await.unwrap_or_default();
        let jobs: Vec<_> = jobs.iter().map(|job| (&job.id, &job.history, &job.infos)).collect();
        panic!("it never came true that {what}: {machines:?}, {jobs:?}");
    }

    /// Waits until all jobs have ended.
    pub async fn all_jobs_end(&self) {
        self.until("all jobs end", async || {
            self.lab.cds.jobs().await.expect("CDS runs").iter().all(|job| job.status.is_final())
        })
        .await;
    }

    /// What nobody may ever see, and was seen.
    pub fn findings(&self) -> Vec<Finding> {
        self.lab.findings()
    }

    /// A look at both worlds.
    pub async fn sight(&self) -> Sight {
        let vcenter = self.lab.world.control(Control::Digest).await["digest"].as_u64().expect("a number");
        let mut cds = self.cds().await;
        // What is drawn is elsewhere, too, unless it only names a request.
        cds.as_object_mut().expect("an object").remove("random");
        let mut hasher = DefaultHasher::new();
        cds.to_string().hash(&mut hasher);
        Sight { at: Instant::now(), worlds: (vcenter, hasher.finish()) }
    }

    /// Takes as many turns as a look at both worlds, and sees nothing.
    pub async fn glance(&self) {
        self.revision().await;
        self.lab.cds.job("").await;
    }

    /// How often anything in the vCenter's inventory has changed.
    pub async fn revision(&self) -> String {
        self.lab.world.ask(Control::Revision).await
    }

    /// All that CDS knows.
    pub async fn cds(&self) -> Value {
        let reply = self.lab.cds.control(rookery_cds_sim::Control::Dump).await.expect("CDS runs");
        let rookery_cds_sim::Body::Content(dump) = reply.body else { panic!("a dump has content") };
        serde_json::from_slice(&dump).expect("a dump is JSON")
    }

    /// Both worlds as they are. Sessions with the vCenter and what it works on are not part of them.
    pub async fn save(&self) -> Saved {
        Saved {
            at: self.lab.world.clock.now(),
            vcenter: self.lab.world.ask(Control::Dump).await,
            cds: self.cds().await,
        }
    }

    /// Sets a stage on which the worlds are as they were when they were saved. Tokio's time must be paused.
    pub async fn restore(options: LabOptions, saved: &Saved) -> Self {
        let stage = Self::set_at(options, saved.at);
        stage.lab.world.ask(Control::Load(saved.vcenter.clone())).await;
        let load = rookery_cds_sim::Control::Load(saved.cds.clone());
        let loaded = stage.lab.cds.control(load).await.expect("CDS runs");
        assert_eq!(loaded.status, 200, "{loaded:?}");
        stage
    }

    /// All VMs, by reference.
    pub async fn vms(&self) -> BTreeMap<String, Vm> {
        self.lab.world.vms().await
    }

    /// The machines of a hatchery, templates aside.
    pub async fn machines_of(&self, hatchery: &str) -> Vec<Vm> {
        let own = |vm: &Vm| !vm.template && vm.mark()["hatchery_name"] == hatchery;
        self.vms().await.into_values().filter(own).collect()
    }
}
