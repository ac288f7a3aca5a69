//! Which jobs get a worker now, and how: in a warm machine if one fits, else in a fresh clone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pool::candidacy;
use crate::machine::Machine;
use crate::mark::Mark;
use crate::names;
use crate::plan::capacity::admit;
use crate::plan::flavor::{Choice, choose};
use crate::plan::hold::serves_nobody;
use crate::plan::running::{RunningAction, TaskId};
use jiff::Timestamp;
use rookery_cds::JobId;
use rookery_fleet::address::Assigned;
use rookery_fleet::claim::{self, ClaimRequest, Fit, Misses};
use rookery_fleet::flavor::{Flavor, footprint};
use rookery_fleet::origin::Origin;
use rookery_fleet::{Hardware, MachineId, Power, Role};

use super::{Action, Pass, WaitReason, Waiting};
use crate::intake::demand::Refusal;
use crate::intake::model::ResolvedModel;
use crate::intake::resolve::Demand;

/// A project, and a model as its jobs see it: two projects may have models of one name.
pub type Unusable = (String, String);

#[derive(Debug, Clone)]
pub struct Spawn {
    pub job: JobId,
    pub project: String,
    pub model: Arc<ResolvedModel>,
    /// The worker's name, and the machine's.
    pub name: String,
    pub path: WorkerPlacement,
    /// Its size, if it has one with a name.
    pub flavor: Option<Flavor>,
    pub footprint: Hardware,
    /// Since when its job waits.
    pub queued: Option<Timestamp>,
    /// Why no warm machine was chosen, if none was: a word for metrics.
    pub missed: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerPlacement {
    Claim {
        machine: MachineId,
        /// What it is called until then.
        was: String,
        /// What to make of its size.
        resize: Option<Hardware>,
        mark: Box<Mark>,
    },
    Clone {
        template: MachineId,
        incarnation: Option<String>,
        /// Its address; none: from DHCP.
        address: Option<Assigned>,
    },
}

impl<'p> Pass<'p> {
    /// Finds another place for workers whose first one was of no use. Their jobs are held: what the pool said last has to do,
    /// CDS is asked to bear them at the launch, and they queue anywhere.
    pub(super) fn place_again(&mut self, misplaced: Vec<(TaskId, RunningAction)>) {
        for (task, running) in misplaced {
            let Action::Spawn(spawn) = running.action else { continue };
            let placed = self.place(&spawn.job, &spawn.project, &spawn.model, Urgency::Held);
            if placed.is_err() {
                // It ends soon; until then it takes what it took.
                self.ledger.take(&spawn.footprint);
            }
            self.plan.placed.push((task, placed.map(|placed| Spawn { queued: spawn.queued, ..placed })));
        }
    }

    pub(super) fn serve_jobs(&mut self) {
        if self.seen.demands.is_empty() {
            return;
        }
        let (served, in_flight) = (self.served(), self.seen.running.jobs());
        for demand in in_turn(self.seen.demands) {
            if in_flight.contains(&demand.job) {
                continue;
            }
            self.register_in_turn();
            match self.serve(demand, &served) {
                Ok(Some(spawn)) => {
                    self.plan.carried.turns = self.plan.carried.turns.saturating_add(1);
                    self.plan.actions.push(Action::Spawn(Box::new(spawn)));
                }
                Ok(None) => {
                    let (job, attempts) = (demand.job.clone(), self.want.attempts.unwrap_or_default());
                    self.plan.actions.push(Action::GiveUp { job, attempts });
                }
                Err(why) => self.plan.waiting.push(Waiting { job: demand.job.clone(), why }),
            }
        }
    }

    /// The jobs that have a machine, by the machines' marks. One that was given up and is off serves nobody any more, nor
    /// does one that is kept after its worker failed. A V1 job that is offered has no worker, and one that is off will not
    /// have any: a hatchery that was stopped left it. Those of V2 jobs are off duty once their jobs were read.
    fn served(&self) -> BTreeMap<String, String> {
        let over = |machine: &Machine, mark: &Mark| {
            let given_up =
                self.seen.condemned.contains(&machine.id) || self.seen.carried.off_duty.contains(&machine.id);
            let of_v1 = matches!(mark.job_id.parse(), Ok(JobId::V1(_)));
            machine.power == Some(Power::Off) && (given_up || of_v1)
        };
        let vms = self.seen.view.notable().filter(|machine| machine.role == Role::Vm);
        let owned = vms.filter_map(|machine| Some((machine, machine.possible_mark_of(self.want.owner)?)));
        let owned = owned.filter(|(machine, mark)| {
            !mark.job_id.is_empty() && !over(machine, mark) && !serves_nobody(machine, mark)
        });
        owned.map(|(machine, mark)| (mark.job_id.clone(), machine.name.clone())).collect()
    }

    /// The worker of a job; none if it was tried too often.
    fn serve(
        &mut self,
        demand: &Demand,
        served: &BTreeMap<String, String>,
    ) -> Result<Option<Spawn>, WaitReason> {
        if let Some(machine) = served.get(&demand.job.to_string()) {
            return Err(WaitReason::Served { machine: machine.clone() });
        }
        let model = demand.model.as_ref().map_err(|refusal| WaitReason::Refused(refusal.clone()))?;
        if self.seen.draining {
            return Err(WaitReason::Draining);
        }
        self.knows_enough()?;
        let tried = self.seen.attempts.get(&demand.job).copied().unwrap_or_default();
        if self.want.attempts.is_some_and(|most| tried >= most) {
            return Ok(None);
        }
        self.place(&demand.job, &demand.project, model, Urgency::Waiting)
            .map(|spawn| Some(Spawn { queued: demand.queued, ..spawn }))
    }

    /// What is not known may hold the name, the slot or the address that would be given away.
    fn knows_enough(&self) -> Result<(), WaitReason> {
        if !self.seen.view.complete {
            return Err(WaitReason::InventoryIncomplete);
        }
        self.seen.listing.map(drop).ok_or(WaitReason::WorkersUnknown)
    }

    /// A worker for a job, wherever there is a place for it.
    fn place(
        &mut self,
        job: &JobId,
        project: &str,
        model: &Arc<ResolvedModel>,
        urgency: Urgency,
    ) -> Result<Spawn, WaitReason> {
        self.knows_enough()?;
        let flavor = match choose(self.want.flavors, &model.flavors(), self.want.default_flavor) {
            Choice::Flavor(flavor) => Some(flavor),
            Choice::None => None,
            Choice::Ignored(name) => {
                self.plan.ignored_flavors.insert(model.label(), name);
                None
            }
            Choice::Unknown(flavor) => {
                let known = self.want.flavors.iter().map(|flavor| flavor.name.clone()).collect();
                return Err(WaitReason::Refused(Refusal::UnknownFlavor { flavor, known }));
            }
        };
        let identity = (project.to_owned(), model.identity());
        if let Some(reason) = self.seen.unusable.get(&identity) {
            return Err(WaitReason::Unusable { model: model.label(), reason: reason.clone() });
        }
        let waits = urgency == Urgency::Waiting;
        if waits && self.seen.room_is_asked {
            self.plan.missing.room = true;
            return Err(WaitReason::RoomIsAsked);
        }
        self.is_full()?;
        if waits {
            self.is_borne_by_cds()?;
        }
        let template = self.template(model);
        let hardware = template.as_ref().map(|template| template.hardware).unwrap_or_default();
        let warm = self.warm(model, flavor.as_ref(), template.as_ref().ok().copied());
        let missed = warm.as_ref().err().map(Misses::as_str);
        let warm = warm.ok();
        let footprint = match &warm {
            Some((machine, Fit::AsIs)) => machine.hardware,
            Some((_, Fit::Resize(size))) => *size,
            None => footprint(flavor.as_ref(), hardware),
        };
        let (limits, flavors) = (self.want.limits, self.want.flavors);
        admit(&self.ledger, limits, self.seen.room, &footprint, flavor.as_ref(), flavors)
            .map_err(WaitReason::Shortage)?;
        if waits {
            self.begins_in_time()?;
        }
        let path = match warm {
            Some((machine, fit)) => {
                self.given.insert(machine.id.clone());
                self.plan.starting.insert(machine.id.clone());
                WorkerPlacement::Claim {
                    machine: machine.id.clone(),
                    was: machine.name.clone(),
                    resize: if let Fit::Resize(size) = fit { Some(size) } else { None },
                    mark: Box::new(machine.mark().cloned().unwrap_or_default()),
                }
            }
            None => self.fresh(model, template?)?,
        };
        self.ledger.take(&footprint);
        let name = self.name(names::worker);
        let (job, project, model) = (job.clone(), project.to_owned(), Arc::clone(model));
        Ok(Spawn { job, project, model, name, path, flavor, footprint, queued: None, missed })
    }

    fn warm(
        &self,
        model: &ResolvedModel,
        flavor: Option<&Flavor>,
        template: Option<&Machine>,
    ) -> Result<(&'p Machine, Fit), Misses> {
        let origin = Origin {
            incarnation: template.and_then(|template| template.incarnation.clone()),
            revision: Some(model.last_modified()).filter(|text| !text.is_empty()),
        };
        let path = model.path();
        let wanted = ClaimRequest {
            flavor,
            template: template.map(|template| template.hardware).unwrap_or_default(),
            disks: self.seen.disks,
        };
        let model = (model.kind(), path.as_str());
        claim::find(
            self.seen.view,
            &wanted,
            &|machine| candidacy(machine, self.want.owner, model, &origin),
            &|machine| self.is_busy(machine),
            self.want.warm.resizing,
        )
    }

    fn fresh(&mut self, model: &ResolvedModel, template: &Machine) -> Result<WorkerPlacement, WaitReason> {
        if let Some(until) = self.rests_until(model.kind(), &model.path()) {
            return Err(WaitReason::BackOff { template: model.template().to_owned(), until });
        }
        let address = self.address()?;
        Ok(WorkerPlacement::Clone {
            template: template.id.clone(),
            incarnation: template.incarnation.clone(),
            address,
        })
    }
}

/// Whether a job can still wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Urgency {
    /// It waits in the queue.
    Waiting,
    /// It was taken from there.
    Held,
}

/// The jobs in turn: V1 and V2 one by one; of V1 jobs those of projects with few first, then the oldest.
pub(super) fn in_turn(demands: &[Demand]) -> Vec<&Demand> {
    let mut of_project = BTreeMap::<&str, usize>::new();
    for demand in demands.iter().filter(|demand| matches!(demand.job, JobId::V1(_))) {
        *of_project.entry(&demand.project).or_default() += 1;
    }
    let (mut v1, mut v2): (Vec<_>, Vec<_>) =
        demands.iter().partition(|demand| matches!(demand.job, JobId::V1(_)));
    let age = |demand: &&Demand| (demand.queued, demand.job.clone());
    v1.sort_by_cached_key(|demand| (of_project.get(demand.project.as_str()).copied(), age(demand)));
    v2.sort_by_cached_key(age);
    let mut turns = Vec::with_capacity(demands.len());
    let (mut v1, mut v2) = (v1.into_iter(), v2.into_iter());
    loop {
        match (v2.next(), v1.next()) {
            (None, None) => return turns,
            (second, first) => turns.extend(second.into_iter().chain(first)),
        }
    }
}
