//! Worlds to plan for: each test says what matters to it, and the rest is as ordinary as can be.

mod adopting;
mod housekeeping;
mod perfect;
mod properties;
mod registering;
mod spawning;
mod turns;

use super::*;
use crate::intake::model::ResolvedModel;
use crate::mark::Mark;
use crate::names::ModelKind;
use crate::plan::running::RunningAction;
use crate::plan::workers::WorkerState;
use crate::samples::actions::{self, v2_model};
use crate::samples::{Notes, OWNER, remark};
use crate::settings::{ModelRef, Pool};
use rand::SeedableRng as _;
use rookery_cds::{Group, VirtualMachine};
use rookery_fleet::flavor::Flavor;
use rookery_fleet::{Hardware, Power, Role, capacity};
use std::time::Duration;

/// All that a plan is made from, as values.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone)]
struct World {
    view: View,
    now: Timestamp,
    skew: Option<SignedDuration>,
    demands: Vec<Demand>,
    listing: Option<Listing>,
    registered_once: BTreeSet<String>,
    carried: Carried,
    misplaced: Vec<TaskId>,
    models: Option<Vec<V1Model>>,
    running: RunningActions,
    tried: Expiring<JobId, u32>,
    setbacks: Setbacks,
    unusable: Expiring<Unusable, String>,
    condemned: Expiring<MachineId, Condemned>,
    booked: Expiring<String>,
    avoided: Expiring<MachineId>,
    stubborn: BTreeMap<MachineId, u32>,
    changed: BTreeMap<MachineId, Timestamp>,
    lingering: BTreeSet<Ipv4Addr>,
    reserved: InFlight,
    room: Option<PoolRoom>,
    room_at: Option<Timestamp>,
    full_until: Option<Timestamp>,
    allowed_by_cds: Option<u32>,
    on_their_way: u32,
    took_job: BTreeSet<String>,
    load: Load,
    room_is_asked: bool,
    addresses_settled: bool,
    disks: Disks,
    events: BTreeMap<MachineId, Option<History>>,
    draining: bool,
    due: bool,
    wishes: Vec<HoldRequest>,
    outcomes: BTreeMap<MachineId, Told>,
    reckoning: Reckoning,
    job_reads: BTreeMap<MachineId, JobRead>,
    brake: Brake,
    references: References,
    v1_workers: BTreeMap<String, Worker>,
    limits: Limits,
    registering: Option<u32>,
    attempts: Option<u32>,
    flavors: Flavors,
    networks: Vec<Network>,
    warm: Warm,
    seed: u64,
}

/// A world with one template, room for everybody, and nothing to do.
fn world(machines: impl IntoIterator<Item = Machine>) -> World {
    World {
        view: view([template("debian")].into_iter().chain(machines)),
        now: at("12:00:00"),
        skew: Some(SignedDuration::ZERO),
        demands: Vec::new(),
        listing: Some(Listing { begun: at("11:59:59"), workers: BTreeMap::new() }),
        registered_once: BTreeSet::new(),
        carried: Carried::default(),
        misplaced: Vec::new(),
        models: Some(Vec::new()),
        running: RunningActions::default(),
        tried: Expiring::default(),
        setbacks: BTreeMap::new(),
        unusable: Expiring::default(),
        condemned: Expiring::default(),
        booked: Expiring::default(),
        avoided: Expiring::default(),
        stubborn: BTreeMap::new(),
        changed: BTreeMap::new(),
        lingering: BTreeSet::new(),
        reserved: InFlight::default(),
        room: None,
        room_at: None,
        full_until: None,
        allowed_by_cds: None,
        on_their_way: 0,
        took_job: BTreeSet::new(),
        load: Load::default(),
        room_is_asked: false,
        addresses_settled: true,
        disks: Disks::new(),
        events: BTreeMap::new(),
        draining: false,
        due: true,
        wishes: Vec::new(),
        outcomes: BTreeMap::new(),
        reckoning: Reckoning::default(),
        job_reads: BTreeMap::new(),
        brake: Brake::default(),
        references: References::of("lost", id("lost")),
        v1_workers: [("lost".to_owned(), cds_worker("lost"))].into(),
        limits: Limits { workers: Some(10), starting: 10, size: capacity::Limits::default() },
        registering: Some(2),
        attempts: Some(3),
        flavors: Flavors::default(),
        networks: Vec::new(),
        warm: warm([]),
        seed: 7,
    }
}

impl World {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn observe<T>(&self, look: impl FnOnce(&Observed<'_>, &Desired<'_>, &mut StdRng) -> T) -> T {
        let changed_at = |id: &MachineId| self.changed.get(id).copied();
        let observed = Observed {
            view: &self.view,
            now: self.now,
            ours: self.now.saturating_sub(self.skew.unwrap_or_default()).expect("a time"),
            skew: self.skew,
            reckoning: &self.reckoning,
            job_reads: &self.job_reads,
            brake: &self.brake,
            references: &self.references,
            v1_workers: &self.v1_workers,
            demands: &self.demands,
            listing: self.listing.as_ref(),
            registered_once: &self.registered_once,
            carried: &self.carried,
            misplaced: self.misplaced.clone(),
            models: self.models.as_deref(),
            running: &self.running,
            attempts: &self.tried,
            setbacks: &self.setbacks,
            unusable: &self.unusable,
            condemned: &self.condemned,
            booked: &self.booked,
            avoided: &self.avoided,
            stubborn: &self.stubborn,
            changed_at: &changed_at,
            lingering: self.lingering.clone(),
            reserved: &self.reserved,
            room: self.room.as_ref(),
            room_is_asked: self.room_is_asked,
            addresses_settled: self.addresses_settled,
            former_clones: 0,
            disks: &self.disks,
            events: &self.events,
            draining: self.draining,
            wishes: &self.wishes,
            outcomes: &self.outcomes,
            room_at: self.room_at,
            full_until: self.full_until,
            allowed_by_cds: self.allowed_by_cds,
            on_their_way: self.on_their_way,
            took_job: &self.took_job,
            load: &self.load,
            sweep_is_due: self.due,
            registration_is_due: self.due,
        };
        let cleaning = Cleaning {
            interval: Duration::from_mins(1),
            worker_ttl: Duration::from_mins(120),
            registration_ttl: Duration::from_mins(10),
            grace: Duration::from_mins(3),
        };
        let desired = Desired {
            owner: &OWNER,
            limits: &self.limits,
            registering: self.registering,
            attempts: self.attempts,
            flavors: &self.flavors,
            default_flavor: None,
            networks: &self.networks,
            warm: &self.warm,
            cleaning: &cleaning,
        };
        look(&observed, &desired, &mut StdRng::seed_from_u64(self.seed))
    }

    fn plan(&self) -> Plan {
        self.observe(plan)
    }

    /// Why the first job waits; none if it does not.
    fn why(&self) -> Option<WaitReason> {
        let plan = self.plan();
        assert_eq!(plan.spawns().len() + plan.given_up().len() + plan.waiting.len(), self.demands.len());
        plan.waiting.into_iter().next().map(|waiting| waiting.why)
    }

    fn condemn(&mut self, name: &str, condemned_for: Condemned) {
        self.condemned.insert(id(name), condemned_for, Timestamp::MAX);
    }

    fn avoid(&mut self, name: &str) {
        self.avoided.insert(id(name), (), Timestamp::MAX);
    }

    fn fly(&mut self, action: RunningAction) {
        self.running.begin(action);
    }

    fn list(&mut self, worker: &str, state: WorkerState) {
        let listing = self.listing.as_mut().expect("a listing");
        listing.workers.insert(worker.to_owned(), state);
    }
}

/// The actions of a plan by what they do, each as the tests look at it.
impl Plan {
    fn pick<T>(&self, pick: impl Fn(&Action) -> Option<T>) -> Vec<T> {
        self.actions.iter().filter_map(pick).collect()
    }

    fn spawns(&self) -> Vec<Spawn> {
        self.pick(|action| if let Action::Spawn(one) = action { Some((**one).clone()) } else { None })
    }

    fn given_up(&self) -> Vec<JobId> {
        self.pick(|action| if let Action::GiveUp { job, .. } = action { Some(job.clone()) } else { None })
    }

    fn registrations(&self) -> Vec<Registration> {
        self.pick(|action| if let Action::Register(one) = action { Some((**one).clone()) } else { None })
    }

    fn made(&self) -> Vec<Make> {
        self.pick(|action| if let Action::Make(one) = action { Some((**one).clone()) } else { None })
    }

    fn finished(&self) -> Vec<MachineId> {
        self.pick(|action| if let Action::Finish(one) = action { Some(one.machine.clone()) } else { None })
    }

    /// The machines that went off, whose jobs are looked at.
    fn abandoned(&self) -> Vec<MachineId> {
        self.pick(|action| {
            let Action::Free(Free { machine: Unserving::WentOff(machine), .. }) = action else { return None };
            Some(machine.clone())
        })
    }

    /// The jobs that are given back.
    fn freed(&self) -> Vec<JobId> {
        self.pick(|action| if let Action::Free(free) = action { Some(free.job.clone()) } else { None })
    }

    fn unclaimed(&self) -> Vec<MachineId> {
        self.pick(|action| if let Action::Unclaim(one) = action { Some(one.machine.clone()) } else { None })
    }

    fn held(&self) -> Vec<(MachineId, hold::Hold)> {
        self.pick(|action| {
            if let Action::Keep(one) = action { Some((one.machine.clone(), one.hold.clone())) } else { None }
        })
    }

    fn disabled(&self) -> Vec<String> {
        self.pick(
            |action| {
                if let Action::Disable { worker, .. } = action { Some(worker.name.clone()) } else { None }
            },
        )
    }

    fn deleted<T>(&self, pick: impl Fn(&DeleteReason) -> Option<T>) -> Vec<(MachineId, T)> {
        self.pick(|action| {
            let Action::Delete(one) = action else { return None };
            Some((one.machine.clone(), pick(&one.reason)?))
        })
    }

    fn swept(&self) -> Vec<(MachineId, sweep::Reason)> {
        self.deleted(|why| if let DeleteReason::Swept(reason) = why { Some(*reason) } else { None })
    }

    fn removed(&self) -> Vec<(MachineId, Removal)> {
        self.deleted(|why| if let DeleteReason::Pool(removal) = why { Some(*removal) } else { None })
    }

    fn retired(&self) -> Vec<MachineId> {
        let retired = self.deleted(|why| (*why == DeleteReason::Replaced).then_some(()));
        retired.into_iter().map(|(id, ())| id).collect()
    }
}

fn rests_until(time: &str) -> Setback {
    Setback { failures: 1, until: Some(at(time)) }
}

fn at(time: &str) -> Timestamp {
    format!("2026-11-15T{time}Z").parse().expect("a time")
}

fn view(machines: impl IntoIterator<Item = Machine>) -> View {
    View {
        machines: machines.into_iter().collect(),
        complete: true,
        age: Duration::from_secs(1),
        ..View::default()
    }
}

fn id(name: &str) -> MachineId {
    MachineId::new(format!("vm-{name}"))
}

/// A VM of nobody that is off.
fn vm(name: &str) -> Machine {
    Machine {
        id: id(name),
        name: name.to_owned(),
        role: Role::Vm,
        power: Some(Power::Off),
        recognised: Notes::NoMark.into(),
        hardware: Hardware::new(2, 4096),
        addresses: Vec::new(),
        created: Some(at("08:00:00")),
        awaits_setup: false,
        incarnation: None,
        reachable: true,
        is_outside: false,
    }
}

fn template(name: &str) -> Machine {
    Machine { role: Role::Template, ..vm(name) }
}

/// A VM with a mark of ours.
fn marked(name: &str, change: impl FnOnce(&mut Mark)) -> Machine {
    let mut mark =
        Mark { hatchery_name: OWNER.name().to_owned(), worker_name: name.to_owned(), ..Mark::default() };
    change(&mut mark);
    Machine { recognised: Notes::Mark(Box::new(mark)).into(), ..vm(name) }
}

/// A warm VM of ours that is ready, of the template `debian`.
fn pooled(name: &str) -> Machine {
    marked(name, |mark| (mark.provisioning, mark.vmware_model_path) = (true, "debian".to_owned()))
}

/// A VM of ours in which a worker runs for that job.
fn worker(name: &str, job: &JobId) -> Machine {
    let machine = marked(name, |mark| {
        (mark.job_id, mark.worker_start_time) = (job.to_string(), Some(at("11:55:00")));
        mark.vmware_model_path = "debian".to_owned();
    });
    Machine { power: Some(Power::On), ..machine }
}

fn v1_job(number: i64) -> JobId {
    JobId::V1(number.try_into().expect("a job"))
}

fn v2_job(number: u32) -> JobId {
    format!("00000000-0000-4000-8000-{number:012}").parse().expect("a job")
}

/// A V2 job that runs on the template `debian`.
fn demand(number: u32) -> Demand {
    wants(v2_job(number), v2_model("debian"))
}

fn wants(job: JobId, model: ResolvedModel) -> Demand {
    Demand {
        job,
        queued: Some(at("11:50:00")),
        project: "P".to_owned(),
        model: Ok(model.into()),
        names_our_model: true,
    }
}

/// A V1 model of the group `g` that is registered.
fn model(name: &str) -> V1Model {
    V1Model {
        name: name.to_owned(),
        group: Group { name: "g".to_owned(), ..Group::default() },
        kind: rookery_cds::MODEL_TYPE.to_owned(),
        user_last_modified: Some(Timestamp::UNIX_EPOCH),
        model_virtual_machine: VirtualMachine { image: "debian".to_owned(), ..VirtualMachine::default() },
        ..V1Model::default()
    }
}

/// The template of that model, as it should be, made by that hatchery.
fn template_of(model: &V1Model, owner: &str) -> Machine {
    let made = marked(&model.name, |mark| {
        (mark.model, mark.worker_model_path) = (true, model.path());
        mark.worker_model_last_modified = crate::intake::model::last_modified(model);
        mark.hatchery_name = owner.to_owned();
    });
    Machine { role: Role::Template, ..made }
}

fn warm(pools: impl IntoIterator<Item = (ModelRef, u32)>) -> Warm {
    let pool = |(model, number)| Pool { model, flavor: None, number };
    Warm {
        interval: Duration::from_mins(2),
        concurrency: Some(4),
        pools: pools.into_iter().map(pool).collect(),
        resizing: rookery_fleet::claim::Resizing::default(),
        max_age: None,
        refresh_budget: 1,
    }
}

fn network(addresses: &str) -> Vec<Network> {
    let ranges = vec![addresses.parse().expect("a block")];
    vec![Network { ranges, prefix: 24, gateway: Some(Ipv4Addr::new(10, 0, 0, 1)), dns: Vec::new() }]
}

fn cds_worker(name: &str) -> Worker {
    Worker {
        id: name.to_owned(),
        name: name.to_owned(),
        status: rookery_cds::WorkerStatus::Waiting,
        last_beat: None,
        job: None,
        model: None,
        hatchery: String::new(),
    }
}

/// An action under way with a machine of that name and of ordinary size.
fn acting(name: &str, action: Action) -> RunningAction {
    let footprint = Hardware { cpus: Some(2), memory_mb: Some(4096) };
    RunningAction {
        name: name.to_owned(),
        machine: None,
        address: None,
        footprint,
        ..RunningAction::of(action)
    }
}

fn start_of(job: &JobId) -> Action {
    actions::spawn(job.clone(), v2_model("debian"))
}

fn flavor(name: &str, cpus: u32, memory_mb: u64) -> Flavor {
    Flavor { name: name.to_owned(), hardware: Hardware::new(cpus, memory_mb), disk_gb: None }
}
