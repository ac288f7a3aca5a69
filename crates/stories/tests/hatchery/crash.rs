//! The hatchery dies at every request that it sends, and the next one puts everything right.
//!
//! Each scenario is run once undisturbed, to learn how many requests there are. Then it is run for each of them thrice:
//! killed before the request leaves, after it was done but before its answer, and after the answer. What is asserted comes
//! from the two worlds alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rookery_cds_sim::{Config, Model, NewJob, SigningKey, Status};
use rookery_stories::{Lab, LabOptions, Moment, Stage, Vm, Wire};
use tokio::runtime::Builder;
use tokio::time::sleep;

/// What the hatchery is killed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    /// A job gets a fresh clone.
    Spawn,
    /// A job gets a warm machine.
    Claim,
    /// Two warm machines are made.
    Provision,
    /// A model gets its template, is registered, and runs a job.
    Register,
    /// The machine of a job that has ended goes.
    Clean,
}

/// The longest that anything takes to be put right.
const PATIENCE: Duration = Duration::from_hours(1);
const STEP: Duration = Duration::from_secs(5);

#[test]
fn a_crash_while_a_worker_is_started_leaves_nothing_behind() {
    every_crash(Scenario::Spawn);
}

#[test]
fn a_crash_while_a_warm_machine_is_claimed_leaves_nothing_behind() {
    every_crash(Scenario::Claim);
}

#[test]
fn a_crash_while_warm_machines_are_made_leaves_nothing_behind() {
    every_crash(Scenario::Provision);
}

#[test]
fn a_crash_while_a_model_is_registered_leaves_nothing_behind() {
    every_crash(Scenario::Register);
}

#[test]
fn a_crash_while_machines_are_deleted_leaves_nothing_behind() {
    every_crash(Scenario::Clean);
}

fn every_crash(scenario: Scenario) {
    let key = SigningKey::generate().expect("a key");
    let requests = play(scenario, None, &key).unwrap_or_else(|error| panic!("undisturbed: {error}"));
    let (mut runs, mut failed) = (0, Vec::new());
    for (at, request) in requests.iter().enumerate() {
        for moment in moments(at, request, requests.len()) {
            runs += 1;
            if let Err(error) = play(scenario, Some((at + 1, *moment)), &key) {
                failed.push(format!("{moment:?} of {} ({request}): {error}", at + 1));
            }
        }
    }
    println!("{scenario:?}: {} requests, {runs} crashes, {} failures", requests.len(), failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A request that only reads leaves the world as it was: its three moments are one. Of what is left some thirty are
/// played, spread over the requests; `ROOKERY_ALL_CRASHES=1` plays every moment of every request.
fn moments(at: usize, request: &str, requests: usize) -> &'static [Moment] {
    const SOME: usize = 30;
    const READING: [&str; 5] =
        ["GET ", "Retrieve", "WaitForUpdatesEx", "ListProcessesInGuest", "CurrentTime"];
    let reads = READING.iter().any(|reading| request.starts_with(reading));
    if std::env::var_os("ROOKERY_ALL_CRASHES").is_some() {
        return &Moment::ALL;
    }
    let step = requests.div_ceil(SOME);
    match (at % step, reads) {
        (0, true) => &[Moment::BeforeRequest],
        (0, false) => Moment::ALL.chunks(1).nth(at / step % 3).unwrap_or_default(),
        _ => &[],
    }
}

/// Plays a scenario on a stage of its own, with a death in it or not; the requests of the first life.
fn play(scenario: Scenario, death: Option<(usize, Moment)>, key: &SigningKey) -> Result<Vec<String>, String> {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let stage = Stage::set(scenario.options(), key.clone());
        let told = scenario.play(&stage, death).await;
        stage.lab.close().await;
        told
    })
}

impl Scenario {
    fn options(self) -> LabOptions {
        let warm = match self {
            Self::Spawn | Self::Register | Self::Clean => String::new(),
            Self::Claim | Self::Provision => {
                format!("[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = {}\n", self.warm())
            }
        };
        let model = Model {
            name: "deb".to_owned(),
            image: "debian12".to_owned(),
            user: "debian".to_owned(),
            password: "guest-secret".to_owned(),
            need_registration: true,
            ..Model::default()
        };
        let models = if self == Self::Register { vec![model] } else { Vec::new() };
        LabOptions {
            cds: Config { models, ..Config::default() },
            // No more addresses than are needed: one that is lost is missed.
            settings: format!(
                "iprange = \"{}\"\ngateway = \"10.9.0.254\"\nworkerProvisioningPoolSize = 2\n",
                if self.warm() == 2 { "10.9.0.2/31" } else { "10.9.0.1/32" }
            ),
            tables: warm,
            ..LabOptions::default()
        }
    }

    fn warm(self) -> usize {
        match self {
            Self::Spawn | Self::Register | Self::Clean => 0,
            Self::Claim => 1,
            Self::Provision => 2,
        }
    }

    fn job(self) -> NewJob {
        match self {
            Self::Register => NewJob { model: Some("shared.infra/deb".to_owned()), ..NewJob::v1("true") },
            Self::Spawn | Self::Claim | Self::Provision | Self::Clean => {
                NewJob::v2("true", Lab::DEBIAN, "default")
            }
        }
    }

    fn begins_with_a_start(self) -> bool {
        matches!(self, Self::Spawn | Self::Provision | Self::Register)
    }

    fn begins_with_a_job(self) -> bool {
        matches!(self, Self::Spawn | Self::Register | Self::Clean)
    }

    async fn jobs_have_ended(self, stage: &Stage) -> bool {
        stage.lab.cds.jobs().await.expect("CDS runs").iter().all(|job| job.status.is_final())
    }

    async fn play(self, stage: &Stage, death: Option<(usize, Moment)>) -> Result<Vec<String>, String> {
        let others = others(stage).await;
        let wire = Wire::default();
        let mut first = None;
        let doom = || match death {
            Some((number, moment)) => wire.die_at(number, moment),
            None => wire.count_anew(),
        };
        let life = async {
            if self.begins_with_a_start() {
                doom();
            }
            if self.begins_with_a_job() {
                stage.lab.enqueue(self.job()).await;
            }
            first = Some(stage.hatch(&wire).await.map_err(|error| error.to_string())?);
            match self {
                Self::Spawn | Self::Provision | Self::Register => {}
                Self::Claim => {
                    self.is_in_order(stage).await?;
                    doom();
                    stage.lab.enqueue(self.job()).await;
                }
                Self::Clean => {
                    while !self.jobs_have_ended(stage).await {
                        sleep(STEP).await;
                    }
                    doom();
                }
            }
            self.is_in_order(stage).await
        };
        tokio::select! {
            biased;
            () = wire.death() => {}
            lived = life => lived?,
        }
        let requests = wire.requests();
        if let Some(scene) = first {
            scene.crash().await;
        }
        if death.is_some() && !wire.is_dead() {
            return Err(format!("it had done all before its death, in {} requests", requests.len()));
        }
        let wire = Wire::default();
        let second = stage.hatch(&wire).await.map_err(|error| error.to_string())?;
        self.is_in_order(stage).await?;
        if self == Self::Clean {
            // The only address is free again.
            stage.lab.enqueue(self.job()).await;
            self.is_in_order(stage).await?;
        }
        second.stop().await;
        self.verify(stage).await?;
        if others != self::others(stage).await {
            return Err("somebody else's VM was touched".to_owned());
        }
        Ok(requests)
    }

    /// Waits until all jobs have ended, the warm machines are ready, and no other machine is left.
    async fn is_in_order(self, stage: &Stage) -> Result<(), String> {
        let mut left = PATIENCE;
        loop {
            let machines = stage.machines_of(Lab::NAME).await;
            no_doubles(&machines)?;
            let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
            let ended = jobs.iter().all(|job| job.status.is_final());
            let ready = machines.iter().filter(|vm| is_ready(vm)).count();
            if ended && ready == self.warm() && machines.len() == ready {
                return Ok(());
            }
            left = left.checked_sub(STEP).ok_or_else(|| {
                let jobs: Vec<_> = jobs.iter().map(|job| (&job.id, &job.history, &job.infos)).collect();
                format!("it is never in order: {jobs:?}, {machines:?}")
            })?;
            sleep(STEP).await;
        }
    }

    /// What must hold at the end, whatever happened.
    async fn verify(self, stage: &Stage) -> Result<(), String> {
        let findings = stage.findings();
        if !findings.is_empty() {
            return Err(format!("{findings:?}"));
        }
        let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
        for job in &jobs {
            if job.status != Status::Success || job.workers.len() != 1 {
                return Err(format!("{} ran {:?}: {:?}", job.id, job.workers, job.history));
            }
        }
        Ok(())
    }
}

fn is_ready(vm: &Vm) -> bool {
    let mark = vm.mark();
    !vm.on && mark["provisioning"] == true && mark["worker_name"] == vm.name && mark.get("job_id").is_none()
}

/// No address and no job has two machines.
fn no_doubles(machines: &[Vm]) -> Result<(), String> {
    for key in ["ip_address", "job_id"] {
        let mut seen = BTreeSet::new();
        for vm in machines {
            let value = vm.mark()[key].as_str().unwrap_or_default().to_owned();
            if !value.is_empty() && !seen.insert(value.clone()) {
                return Err(format!("two machines have {key} {value}: {machines:?}"));
            }
        }
    }
    Ok(())
}

/// All VMs that are not ours to change.
async fn others(stage: &Stage) -> BTreeMap<String, Vm> {
    let mut all = stage.vms().await;
    all.retain(|_, vm| vm.mark()["hatchery_name"] != Lab::NAME);
    all
}
