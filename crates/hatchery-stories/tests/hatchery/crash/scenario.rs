use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use rookery_cds_sim::{Config, Control, Model, NewJob, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Saved, Sight, Stage};
use rookery_kit::{Moment, Step, Vm, Wire};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use super::Course;

/// What the hatchery is killed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scenario {
    /// A job gets a fresh clone.
    Spawn,
    /// A job gets a warm machine.
    Claim,
    /// Two warm machines are made.
    Provision,
    /// A model gets its template, is registered, and runs a job.
    Register,
    /// A model gets another template while a warm machine stands on the disks of the old one.
    Remake,
    /// The machine of a job that has ended goes.
    Clean,
}

/// The longest that anything takes to be put right.
const PATIENCE: Duration = Duration::from_hours(1);
const STEP: Duration = Duration::from_secs(5);

/// What all runs of a scenario begin with.
#[derive(Debug)]
pub(super) struct Ground {
    scenario: Scenario,
    saved: Option<Saved>,
}

impl Ground {
    pub(super) fn prepare(scenario: Scenario) -> Self {
        let mut ground = Self { scenario, saved: None };
        if scenario == Scenario::Remake {
            ground.saved = Some(on_paused_time().block_on(ground.with_an_old_template()));
        }
        ground
    }

    /// Worlds in which a model has its template and a warm machine, and needs another template.
    async fn with_an_old_template(&self) -> Saved {
        let stage = self.stage().await;
        let hatchery = stage.hatch(&Wire::default()).await.expect("it starts");
        self.scenario.is_in_order(&stage).await.expect("it comes in order");
        hatchery.stop().await;
        sleep(STEP).await;
        stage.lab.cds.control(Control::PutModel(Box::new(model()))).await.expect("CDS runs");
        let saved = stage.save().await;
        stage.lab.close().await;
        saved
    }

    async fn stage(&self) -> Stage {
        match &self.saved {
            None => Stage::set(self.scenario.options()),
            Some(saved) => Stage::restore(self.scenario.options(), saved).await,
        }
    }

    pub(super) fn undisturbed(&self) -> Result<Course, String> {
        let sights = Mutex::default();
        let requests = self.play(None, &sights)?;
        Ok(Course { requests, sights: sights.into_inner().expect("nobody panicked") })
    }

    /// Dies in a moment of a request; the requests until then.
    pub(super) fn crash(&self, number: usize, moment: Moment) -> Result<Vec<String>, String> {
        self.play(Some((number, moment)), &Mutex::default())
    }

    /// Plays the scenario, with a death in it or not; the requests of the first life.
    fn play(
        &self,
        death: Option<(usize, Moment)>,
        sights: &Mutex<Vec<(Step, Sight)>>,
    ) -> Result<Vec<String>, String> {
        on_paused_time().block_on(async {
            let mut stage = self.stage().await;
            let told = self.scenario.play(&stage, death, sights).await;
            stage.lab.close_with_findings().await;
            told
        })
    }
}

fn on_paused_time() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime")
}

const MODEL: &str = "deb";

fn model() -> Model {
    Model {
        name: MODEL.to_owned(),
        image: "debian12".to_owned(),
        user: "debian".to_owned(),
        password: "guest-secret".to_owned(),
        need_registration: true,
        ..Model::default()
    }
}

impl Scenario {
    fn options(self) -> LabOptions {
        let warm = |of: &str| format!("[[workerProvisioning]]\n{of}\nnumber = {}\n", self.warm());
        LabOptions {
            cds: Config {
                models: if self.has_model() { vec![model()] } else { Vec::new() },
                ..Config::default()
            },
            // No more addresses than are needed: one that is lost is missed.
            settings: format!(
                "iprange = \"{}\"\ngateway = \"10.9.0.254\"\nworkerProvisioningPoolSize = 2\n\
                 finishedWorkerGracePeriod = 60\nworkerRegistrationTTL = 3\n",
                if matches!(self, Self::Provision | Self::Remake) { "10.9.0.2/31" } else { "10.9.0.1/32" }
            ),
            tables: "[commonConfiguration.provision]\nregisterFrequency = 10\n".to_owned()
                + &match self {
                    Self::Spawn | Self::Register | Self::Clean => String::new(),
                    Self::Claim | Self::Provision => warm("modelVMWare = \"debian12\""),
                    Self::Remake => warm(&format!("modelPath = \"shared.infra/{MODEL}\"")),
                },
            ..LabOptions::default()
        }
    }

    fn warm(self) -> usize {
        match self {
            Self::Spawn | Self::Register | Self::Clean => 0,
            Self::Claim | Self::Remake => 1,
            Self::Provision => 2,
        }
    }

    /// With fewer requests that change something the scenario has not happened.
    pub(super) fn fewest_changes(self) -> usize {
        match self {
            Self::Spawn => 20,
            Self::Claim | Self::Provision => 15,
            Self::Register | Self::Remake => 40,
            Self::Clean => 5,
        }
    }

    fn has_model(self) -> bool {
        matches!(self, Self::Register | Self::Remake)
    }

    fn job(self) -> NewJob {
        if self.has_model() {
            NewJob { model: Some(format!("shared.infra/{MODEL}")), ..NewJob::v1("true") }
        } else {
            NewJob::v2("true", Lab::DEBIAN, "default")
        }
    }

    fn begins_with_a_start(self) -> bool {
        !matches!(self, Self::Claim | Self::Clean)
    }

    fn begins_with_a_job(self) -> bool {
        !matches!(self, Self::Claim | Self::Provision | Self::Remake)
    }

    async fn jobs_have_ended(self, stage: &Stage) -> bool {
        stage.lab.cds.jobs().await.expect("CDS runs").iter().all(|job| job.status.is_final())
    }

    async fn play(
        self,
        stage: &Stage,
        death: Option<(usize, Moment)>,
        sights: &Mutex<Vec<(Step, Sight)>>,
    ) -> Result<Vec<String>, String> {
        let others = others(stage).await;
        let wire = Wire::default();
        let mut first = None;
        let doom = || match death {
            Some((number, moment)) => wire.die_at(number, moment),
            None => wire.count_anew(),
        };
        let look = async |step| match death {
            None => {
                let sight = stage.sight().await;
                sights.lock().expect("nobody panicked").push((step, sight));
            }
            // All runs are held up alike, so that their requests leave in the same order.
            Some(_) => stage.glance().await,
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
                Self::Spawn | Self::Provision | Self::Register | Self::Remake => {}
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
            () = wire.watch(look) => {}
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
        if matches!(self, Self::Clean | Self::Remake) {
            // No address is missing.
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

    /// Waits until all jobs have ended, the templates and warm machines are ready, and no other machine is left.
    async fn is_in_order(self, stage: &Stage) -> Result<(), String> {
        let mut left = PATIENCE;
        let (mut revision, mut templates, mut machines) = (String::new(), Vec::new(), Vec::new());
        loop {
            let now = stage.revision().await;
            if std::mem::replace(&mut revision, now.clone()) != now {
                (templates, machines) = ours(stage).await;
                no_doubles(&machines)?;
            }
            let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
            let ended = jobs.iter().all(|job| job.status.is_final());
            let ready = machines.iter().filter(|vm| is_ready(vm)).count();
            let settled = ended && ready == self.warm() && machines.len() == ready;
            if settled && self.have_the_right_template(stage, &templates, &machines).await {
                return Ok(());
            }
            left = left.checked_sub(STEP).ok_or_else(|| {
                let jobs: Vec<_> = jobs.iter().map(|job| (&job.id, &job.history, &job.infos)).collect();
                format!("it is never in order: {jobs:?}, {machines:?}, {templates:?}")
            })?;
            sleep(STEP).await;
        }
    }

    /// Whether the model is registered, has the one template that it wants now, and all machines stand on that.
    async fn have_the_right_template(self, stage: &Stage, templates: &[Vm], machines: &[Vm]) -> bool {
        if !self.has_model() {
            return templates.is_empty();
        }
        let row = &stage.cds().await["models"][0];
        let changed: Timestamp = row["changed"].as_str().expect("a text").parse().expect("a time");
        let changed = changed.as_second().to_string();
        let is_current = |vm: &Vm| vm.mark()["worker_model_last_modified"] == changed;
        let named = |vm: &Vm| vm.template && vm.name == MODEL;
        row["model"]["need-registration"] == false
            && templates.len() == 1
            && templates.iter().all(|vm| named(vm) && is_current(vm))
            && machines.iter().all(is_current)
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

/// What becomes or was the template of a model, and all other machines.
async fn ours(stage: &Stage) -> (Vec<Vm>, Vec<Vm>) {
    let own = stage.vms().await.into_values().filter(|vm| vm.mark()["hatchery_name"] == Lab::NAME);
    own.partition(|vm| vm.template || vm.mark()["model"] == true)
}

/// All VMs that are not ours to change.
async fn others(stage: &Stage) -> BTreeMap<String, Vm> {
    let mut all = stage.vms().await;
    all.retain(|_, vm| vm.mark()["hatchery_name"] != Lab::NAME);
    all
}
