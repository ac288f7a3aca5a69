//! What the next pass does, and why each job that is not served waits. Pure: no clock, no I/O, no randomness but the
//! generator that is handed in.
//!
//! One pass plans for people first: jobs, then models to register, then warm machines, then what can go. Each step
//! takes from the same ledger, so that two of them cannot take the last slot or the last address.

mod action;
mod adopt;
mod apart;
pub mod braked;
mod busy;
pub mod capacity;
mod denied;
mod desired;
pub mod flavor;
mod free;
pub mod hold;
mod orphans;
mod pool;
mod register;
pub mod running;
mod setback;
mod spawn;
pub mod sweep;
mod templates;
mod waiting;
mod warm;
pub mod workers;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use crate::machine::{Brake, Machine, View};
use crate::plan::capacity::{Ledger, Limits, WorkerUsage, usage};
use crate::plan::hold::{HoldRequest, Told};
use crate::plan::sweep::{Condemned, JobRead, evidence};
use crate::plan::workers::Listing;
use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rookery_cds::{JobId, V1Model, Worker};
use rookery_fleet::address::{self, Assigned, Network};
use rookery_fleet::capacity::PoolRoom;
use rookery_fleet::deletion::{Grounds, Stop, stop_reason};
use rookery_fleet::disks::Disks;
use rookery_fleet::expiring::Expiring;
use rookery_fleet::flavor::Flavors;
use rookery_fleet::machine::History;
use rookery_fleet::reckoning::Reckoning;
use rookery_fleet::reservations::InFlight;
use rookery_fleet::{MachineId, OwnerId, Power, Role};
use rookery_vim_client::Load;

use crate::intake::resolve::Demand;
use running::{Busy, RunningActions, TaskId};

pub use action::{Action, DeleteReason, Deletion, Finish, Free, Keep, ServedJob, Unclaim, Unserving};
pub use adopt::{Adoption, adoptable};
pub use apart::{Apart, WhyApart, adoptable_copy, apart, copy_named};
pub(crate) use busy::START;
pub use denied::Denied;
pub use desired::{Cleaning, ModelRef, Pool, Warm};
pub use orphans::{References, Suspects};
pub use register::{Left, Registration, Remake, temporary_name};
pub use rookery_fleet::warm::{Count, Removal};
pub(crate) use setback::rest_after;
pub use setback::{Setback, Setbacks};
pub use spawn::{Spawn, Unusable, WorkerPlacement};
pub use templates::{Taken, V1Template, retired_name, v1_template};
pub use waiting::{NotMade, WaitReason, Waiting};
pub use warm::Make;

#[expect(missing_debug_implementations, reason = "it borrows everything, and a closure")]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Observed<'o> {
    pub view: &'o View,
    /// The time, by vCenter's clock.
    pub now: Timestamp,
    pub ours: Timestamp,
    /// How far our clock is from vCenter's; `None` is not known.
    pub skew: Option<SignedDuration>,
    /// From when the ages of machines count, if vCenter's clock was set.
    pub reckoning: &'o Reckoning,
    /// What was read of the jobs of machines whose workers CDS does not list.
    pub job_reads: &'o BTreeMap<MachineId, JobRead>,
    /// The jobs that wait, each with the model that it runs on.
    pub demands: &'o [Demand],
    /// The workers that CDS knows, if it has told.
    pub listing: Option<&'o Listing>,
    /// Workers that have been seen on CDS once: they are not starting any more, whatever CDS says now.
    pub registered_once: &'o BTreeSet<String>,
    /// What holds back those that are unusually many.
    pub brake: &'o Brake,
    /// The machines that workers are or were in, by name.
    pub references: &'o References,
    /// The workers of V1 jobs and V1 models, by name: only they can be disabled.
    pub v1_workers: &'o BTreeMap<String, Worker>,
    /// The V1 models that CDS knows, if it has told.
    pub models: Option<&'o [V1Model]>,
    pub running: &'o RunningActions,
    /// Starts of workers among them whose first place was of no use.
    pub misplaced: Vec<TaskId>,
    /// How often a start was really tried for a job.
    pub attempts: &'o Expiring<JobId, u32>,
    /// Models that failed, and until when they are left alone.
    pub setbacks: &'o Setbacks,
    /// Models that cannot be used as they are by the jobs of a project, and why.
    pub unusable: &'o Expiring<Unusable, String>,
    /// Machines that have to go.
    pub condemned: &'o Expiring<MachineId, Condemned>,
    /// V1 models whose registration is left to others for now.
    pub booked: &'o Expiring<String>,
    /// Machines that could not be claimed or changed a moment ago.
    pub avoided: &'o Expiring<MachineId>,
    /// How often in a row machines could not be changed.
    pub stubborn: &'o BTreeMap<MachineId, u32>,
    /// When a machine was last seen changing, by our steady time.
    pub changed_at: &'o dyn Fn(&MachineId) -> Option<Timestamp>,
    /// Addresses that may be in use by machines that nobody can see.
    pub lingering: BTreeSet<Ipv4Addr>,
    /// What fronts of the process have reserved: names and addresses of all, room of the others.
    pub reserved: &'o InFlight,
    /// How much room the pool has; `None` if it could not be asked.
    pub room: Option<&'o PoolRoom>,
    /// When the pool was asked, by our steady time: it did not know then of what has started since.
    pub room_at: Option<Timestamp>,
    /// Until when nothing new is started, because vCenter refused something for want of room.
    pub full_until: Option<Timestamp>,
    /// Workers that CDS has shown at work.
    pub took_job: &'o BTreeSet<String>,
    /// How many workers may turn to CDS at once, if it bears fewer than the settings allow.
    pub allowed_by_cds: Option<u32>,
    /// How many workers turn to CDS now or soon.
    pub on_their_way: u32,
    /// What vCenter is asked to do already.
    pub load: &'o Load,
    /// Whether the pool is being asked: what wants room waits for the answer.
    pub room_is_asked: bool,
    /// Whether clones from before our start have ended or shown their marks, and how many have not.
    pub addresses_settled: bool,
    pub former_clones: usize,
    /// How large the disks of own machines are, as far as they were read.
    pub disks: &'o Disks,
    /// What the history says of machines whose mark tells no start.
    pub events: &'o BTreeMap<MachineId, Option<History>>,
    pub draining: bool,
    /// Whose machines are to be kept when they fail.
    pub wishes: &'o [HoldRequest],
    /// How the jobs of machines have ended, where that was asked.
    pub outcomes: &'o BTreeMap<MachineId, Told>,
    /// Whether it is time to look for what can go; what has to go goes at any time.
    pub sweep_is_due: bool,
    /// Whether it is time to look for models to register.
    pub registration_is_due: bool,
    pub carried: &'o Carried,
}

impl Observed<'_> {
    /// How often in a row a machine could not be changed: whoever is deleted for the first time goes first.
    fn failures(&self, machine: &MachineId) -> u32 {
        self.stubborn.get(machine).copied().unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct Desired<'d> {
    pub owner: &'d OwnerId,
    pub limits: &'d Limits,
    /// How many models may be registered at once; `None`: none is.
    pub registering: Option<u32>,
    /// How often a start is tried; `None`: for ever.
    pub attempts: Option<u32>,
    pub flavors: &'d Flavors,
    /// The size of those who ask for none.
    pub default_flavor: Option<&'d str>,
    /// Where addresses come from; none: from DHCP.
    pub networks: &'d [Network],
    pub warm: &'d Warm,
    pub cleaning: &'d Cleaning,
}

/// What the next pass does, and what it found out on the way.
#[derive(Debug, Default)]
pub struct Plan {
    /// What is done, in this order.
    pub actions: Vec<Action>,
    /// Where workers go whose first place was of no use.
    pub placed: Vec<(TaskId, Result<Spawn, WaitReason>)>,
    pub waiting: Vec<Waiting>,
    /// Why the other warm machines are not made, and models not registered, by model.
    pub not_made: Vec<(String, NotMade)>,
    /// Whether a model waits for a slot: it is looked at again with the next one that is free.
    pub models_wait: bool,
    /// Flavors that jobs ask for where none are configured, by model.
    pub ignored_flavors: BTreeMap<String, String>,
    /// Workers that have no machine and are not disabled: that cannot be done, or nobody knows which machine was theirs.
    pub orphans: Vec<String>,
    /// What waits for a person, since it is unusually much.
    pub braked: Vec<braked::Waiting>,
    /// Own machines that stay, and why.
    pub kept: Vec<(MachineId, sweep::KeepReason)>,
    /// Why nothing may be deleted at all.
    pub stopped: Option<Stop>,
    /// What has to be asked before more can be decided.
    pub missing: Missing,
    /// What there is of warm machines, by model.
    pub warm: Vec<(String, Count)>,
    /// What is in use after all this.
    pub ledger: Ledger,
    /// The machines of the workers that the ledger counts as starting.
    pub starting: BTreeSet<MachineId>,
    /// What the next pass has to know of this one.
    pub carried: Carried,
}

impl Plan {
    /// Models that are not registered until somebody changes something, and what.
    pub fn stuck(&self) -> impl Iterator<Item = (&String, &WaitReason)> {
        self.not_made.iter().filter_map(|(model, not_made)| match not_made {
            NotMade::Registration(why) if why.is_permanent() => Some((model, why)),
            NotMade::Registration(_) | NotMade::Warm { .. } => None,
        })
    }
}

/// What was not known, and has to be asked.
#[derive(Debug, Default)]
pub struct Missing {
    /// How much room the pool has.
    pub room: bool,
    /// The events of machines whose marks do not tell when they started.
    pub events: Vec<MachineId>,
    /// Whether the jobs of machines still run: a list of workers can be empty and yet succeed.
    pub jobs: Vec<MachineId>,
    /// How the jobs of machines have ended that may have to be kept.
    pub outcomes: Vec<MachineId>,
}

/// What one pass tells the next.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    /// How many jobs have got a slot since a model did.
    pub turns: u32,
    /// Who is watched for having no machine.
    pub suspects: Suspects,
    /// Machines that were given up, and starts that were cut off, whose jobs may go back.
    pub freed: Vec<(ServedJob, Option<MachineId>)>,
    /// Machines that are off and whose jobs were given back, if they still waited for them.
    pub off_duty: BTreeSet<MachineId>,
}

pub fn plan(observed: &Observed<'_>, desired: &Desired<'_>, random: &mut StdRng) -> Plan {
    // A worker that needs another place does not take the one that it had.
    let mut placed = Cow::Borrowed(observed.running);
    let misplaced = observed.misplaced.iter().filter_map(|task| Some((*task, placed.to_mut().end(*task)?)));
    let misplaced: Vec<_> = misplaced.collect();
    let mut pass = Pass::new(observed, &placed, desired, random);
    pass.place_again(misplaced);
    pass.serve_jobs();
    pass.register_models();
    pass.keep_warm();
    pass.find_orphans();
    pass.sweep();
    pass.retire_templates();
    pass.free_jobs();
    pass.plan.ledger = pass.ledger;
    pass.plan
}

/// The memory of own machines that run and that may have been started after the pool was asked for its room.
fn started_since(seen: &Observed<'_>, owner: &OwnerId) -> u64 {
    let Some(asked) = seen.room_at else { return 0 };
    let since = |machine: &Machine| (seen.changed_at)(&machine.id).is_some_and(|changed| changed >= asked);
    let running = seen.view.owned(owner).filter(|(machine, _)| {
        machine.power == Some(Power::On) && machine.role != Role::Template && since(machine)
    });
    running.filter_map(|(machine, _)| machine.hardware.memory_mb).sum()
}

/// A pass in the making: what is still free.
struct Pass<'p> {
    seen: &'p Observed<'p>,
    want: &'p Desired<'p>,
    random: &'p mut StdRng,
    busy: Busy<'p>,
    /// Why nothing may be deleted or disabled.
    stop: Option<Stop>,
    ledger: Ledger,
    /// Addresses that are not free.
    held: BTreeSet<Ipv4Addr>,
    /// Names that this pass has given away.
    named: BTreeSet<String>,
    /// Machines that this pass has given away.
    given: BTreeSet<MachineId>,
    removed: Vec<(MachineId, Removal)>,
    /// Workers to disable, and the machines that they were in.
    disabled: Vec<(&'p Worker, MachineId)>,
    /// Models that this pass has not looked at yet; none: it has not begun to.
    models: Option<VecDeque<&'p V1Model>>,
    plan: Plan,
}

impl<'p> Pass<'p> {
    fn new(
        seen: &'p Observed<'p>,
        placed: &'p RunningActions,
        want: &'p Desired<'p>,
        random: &'p mut StdRng,
    ) -> Self {
        let nobody = Listing { begun: Timestamp::MIN, workers: BTreeMap::new() };
        let listing = seen.listing.unwrap_or(&nobody);
        // A worker that has registered once is not starting, and one that has to go will never register.
        let settled = |id: &MachineId| {
            let name = seen.view.machines.get(id).map(|machine| machine.name.as_str());
            seen.condemned.contains(id) || name.is_some_and(|name| seen.registered_once.contains(name))
        };
        let running = placed.capacity();
        let WorkerUsage { mut ledger, starting } = usage(seen.view, want.owner, &running, listing, &settled);
        let starting = starting.into_iter().cloned().collect();
        let unseen = &mut ledger.size.unseen_memory_mb;
        *unseen = unseen.saturating_add(started_since(seen, want.owner));
        *unseen = unseen.saturating_add(seen.reserved.memory_mb);
        let reserved = placed.iter().filter_map(|action| action.address);
        let held = if want.networks.is_empty() {
            BTreeSet::new()
        } else {
            let hidden = seen.lingering.iter().copied().chain(seen.brake.missed_addresses());
            let hidden = hidden.chain(seen.reserved.addresses.iter().copied());
            address::held(want.networks, seen.view, reserved.chain(hidden))
        };
        Self {
            seen,
            want,
            random,
            busy: placed.index(),
            stop: stop_reason(&Grounds {
                view: seen.view,
                skew: seen.skew,
                evidence: evidence(seen.listing),
                ours: seen.ours,
                loss: seen.brake.loss(),
            }),
            ledger,
            held,
            named: BTreeSet::new(),
            given: BTreeSet::new(),
            removed: Vec::new(),
            disabled: Vec::new(),
            models: None,
            plan: Plan { starting, carried: seen.carried.clone(), ..Plan::default() },
        }
    }

    /// Whether somebody is, or will be, at work on this machine.
    fn is_busy(&self, machine: &Machine) -> bool {
        self.busy.has(machine)
            || self.given.contains(&machine.id)
            || self.seen.condemned.contains(&machine.id)
            || self.seen.avoided.contains(&machine.id)
            || self.seen.view.is_gone(&machine.id)
    }

    /// Whether CDS bears another worker. Who does not register for long does not burden it, and may never come.
    fn is_borne_by_cds(&self) -> Result<(), WaitReason> {
        let turns_to_cds = |action: &&Action| matches!(action, Action::Spawn(_) | Action::Register(_));
        let planned = u32::try_from(self.plan.actions.iter().filter(turns_to_cds).count());
        let turning = self.seen.on_their_way.saturating_add(planned.unwrap_or(u32::MAX));
        let allowed = self.seen.allowed_by_cds.filter(|allowed| turning >= *allowed);
        allowed.map_or(Ok(()), |allowed| Err(WaitReason::SlowCds { allowed }))
    }

    /// Until when nothing new is started, because vCenter refused something for want of room.
    fn is_full(&self) -> Result<(), WaitReason> {
        let until = self.seen.full_until.filter(|until| *until > self.seen.now);
        until.map_or(Ok(()), |until| Err(WaitReason::Full { until }))
    }

    /// A free address, or none where DHCP gives them.
    fn address(&mut self) -> Result<Option<Assigned>, WaitReason> {
        if self.want.networks.is_empty() {
            return Ok(None);
        }
        if !self.seen.addresses_settled {
            return Err(WaitReason::AddressesUnsettled { clones: self.seen.former_clones });
        }
        let total = || address::total(self.want.networks);
        let assigned = address::pick(self.want.networks, &self.held)
            .ok_or_else(|| WaitReason::NoAddress { total: total() })?;
        self.held.insert(assigned.ip);
        Ok(Some(assigned))
    }

    /// A name that nobody has, and no worker that CDS still lists: its fate would be that of the new one.
    fn name(&mut self, make: impl FnOnce(&mut StdRng, &dyn Fn(&str) -> bool) -> String) -> String {
        let (view, busy, named) = (self.seen.view, &self.busy, &self.named);
        let listing = self.seen.listing;
        let listed = |name: &str| {
            self.seen.registered_once.contains(name)
                || listing.is_some_and(|listing| listing.workers.contains_key(name))
        };
        let reserved = &self.seen.reserved.names;
        let held = |name: &str| named.contains(name) || busy.has_name(name) || reserved.contains(name);
        let taken = |name: &str| held(name) || view.is_taken(name) || listed(name);
        let name = make(self.random, &taken);
        self.named.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests;
