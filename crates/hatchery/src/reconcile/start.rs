//! Beginning what a pass planned, and asking for what the next one needs.

use super::{Message, Reconciler, histories};
use crate::act::{Attempt, Deletion, Ending};
use crate::intake::queue::QueuedJob;
use crate::machine::Machine;
use crate::mark::Mark;
use crate::plan::capacity::Shortage;
use crate::plan::running::{RunningAction, TaskId, Trace, Work};
use crate::plan::sweep::Condemned;
use crate::plan::{Plan, Waiting, Why};
use crate::settings::Settings;
use crate::standing::{Standing, standing};
use crate::{mark, names};
use jiff::{SignedDuration, Timestamp};
use rookery_cds::{JobId, ModelPath};
use rookery_daemon::telemetry::chain;
use rookery_fleet::flavor::Footprint;
use rookery_fleet::{MachineId, Role, capacity};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::{debug, info, warn};

impl Reconciler {
    pub(super) fn begin(&mut self, plan: &Plan, settings: &Settings) {
        for spawn in &plan.spawns {
            let (context, spawn) = (self.context.clone(), spawn.clone());
            self.context.metrics.start_begun(spawn.missed);
            self.state.pressure.begins(&spawn.name, Instant::now());
            let id = self.track(RunningAction::of_spawn(&spawn));
            self.fly("start of a worker", id, async move { context.spawn(id, spawn).await });
        }
        for job in &plan.give_up {
            let (context, job) = (self.context.clone(), job.clone());
            let attempts = settings.queue.attempts.unwrap_or_default();
            self.context.metrics.giving_up();
            let id = self.track(nameless(Work::GiveUp { job: job.clone() }));
            self.fly("end of a hopeless job", id, async move { context.give_up(&job, attempts).await });
        }
        for registration in &plan.registrations {
            let (context, registration) = (self.context.in_the_background(), registration.clone());
            self.state.pressure.begins(&registration.name, Instant::now());
            let id = self.track(RunningAction {
                name: registration.name.clone(),
                address: registration.address.as_ref().map(|assigned| assigned.ip),
                footprint: registration.footprint,
                ..nameless(Work::Register { model: registration.model.path() })
            });
            self.fly("registration of a model", id, async move { context.register(id, registration).await });
        }
        for make in &plan.make {
            let (context, make) = (self.context.in_the_background(), make.clone());
            let flavor = make.flavor.as_ref().map(|flavor| flavor.name.clone());
            let id = self.track(RunningAction {
                name: make.name.clone(),
                address: make.address.as_ref().map(|assigned| assigned.ip),
                footprint: make.footprint,
                ..nameless(Work::Make { kind: make.kind, model: make.model.clone(), flavor })
            });
            self.fly("making of a warm machine", id, async move { context.make(id, make).await });
        }
        for (model, flavor) in &plan.ignored_flavors {
            if self.state.ignored_flavors.insert(model.clone(), flavor.clone()).is_none() {
                warn!(
                    model,
                    flavor, "flavor is ignored: none are configured; workers have their template's size"
                );
            }
        }
        if self.state.view.complete {
            for (model, why) in plan.stuck.iter().filter(|(model, _)| !self.state.stuck.contains_key(*model))
            {
                warn!(model, why, "model is not registered until somebody changes something");
            }
            self.state.stuck.clone_from(&plan.stuck);
        }
        self.start_holds(plan);
        self.start_housekeeping(plan);
    }

    fn start_housekeeping(&mut self, plan: &Plan) {
        for machine in self.machines(&plan.finish) {
            let Some(mark) = machine.mark().cloned() else { continue };
            let kind = names::kind_of(&machine.name).unwrap_or(names::ModelKind::V2);
            let model = match kind {
                names::ModelKind::V1 => mark.worker_model_path.clone(),
                names::ModelKind::V2 => mark.vmware_model_path.clone(),
            };
            let flavor = Some(mark.flavor.clone()).filter(|flavor| !flavor.is_empty());
            let action = about(&machine, Work::Finish { kind, model, flavor });
            let (context, id) = (self.context.in_the_background(), self.track(action));
            let address = mark.address();
            self.fly(
                "finishing of a warm machine",
                id,
                async move { context.finish(&machine, address).await },
            );
        }
        for machine in self.machines(&plan.unclaim) {
            let Some(mark) = machine.mark().cloned() else { continue };
            info!(vm = %machine.name, job = %mark.job_id, "machine that was claimed and never started goes back");
            let (context, id) =
                (self.context.in_the_background(), self.track(about(&machine, Work::Unclaim(trace(&mark)))));
            let (name, machine) = (machine.name.clone(), machine.id.clone());
            self.fly(
                "taking back of a machine",
                id,
                async move { context.unclaim(machine, name, mark).await },
            );
        }
        self.state.note_deletions(plan, &self.context.owner());
        for (id, reason) in &plan.sweep.delete {
            self.delete(id, reason.as_str(), reason.to_string(), reason.is_by_power());
        }
        for (id, removal) in &plan.remove {
            self.delete(id, removal.as_str(), removal.to_string(), true);
        }
        for id in &plan.retire {
            self.delete(id, "replaced", "its model has a newer template".to_owned(), false);
        }
        for name in &plan.disable {
            if let Some(machine) = self.state.references.get(name).cloned() {
                self.disable(name, &machine);
            }
        }
        for machine in self.machines(&plan.abandoned) {
            self.free_abandoned(&machine);
        }
        self.tell_of_orphans(plan);
        self.tell_of_apart();
        if let Some(stop) = plan.sweep.stopped {
            debug!(why = %stop, "nothing is deleted in this pass");
        }
    }

    fn delete(&mut self, id: &MachineId, label: &'static str, reason: String, is_by_power: bool) {
        let Some(machine) = self.state.view.machines.get(id).map(Arc::clone) else { return };
        let Some(mark) = machine.mark() else { return };
        // What goes for its power goes only if that is known.
        if is_by_power && machine.power.is_none() {
            return;
        }
        let deletion = Deletion {
            machine: id.clone(),
            name: machine.name.clone(),
            reason,
            label,
            registers: self.unreported_registration(&machine, mark),
            is_template: machine.role == Role::Template,
            power: machine.power.filter(|_| is_by_power),
            hold_shift: self.hold_shift(&machine, mark),
        };
        let work = Work::Delete(trace(mark));
        let (context, action) = (self.context.in_the_background(), self.track(about(&machine, work)));
        self.fly("deletion of a machine", action, async move { context.delete(&deletion).await });
    }

    /// How much longer a machine is kept than its mark says: vCenter's clock may have been set since it was written.
    fn hold_shift(&self, machine: &Machine, mark: &Mark) -> SignedDuration {
        let until = mark.hold_until.zip(self.state.reckoning.hold_until(machine));
        until.map_or(SignedDuration::ZERO, |(said, until)| until.duration_since(said))
    }

    /// The model whose registration ends with this machine, if nobody has told CDS how.
    fn unreported_registration(&self, machine: &Machine, mark: &Mark) -> Option<String> {
        let registers = standing(machine, &mark::owner(&mark.hatchery_name)) == Standing::Registering;
        let told = self.state.condemned.get(&machine.id) == Some(&Condemned::RegistrationEnded);
        (registers && !told).then(|| mark.worker_model_path.clone())
    }

    /// Gives jobs back of whose machines it is certain what became of them.
    pub(super) fn free_all(&mut self) {
        for (of, machine) in self.state.take_freed() {
            self.free(&of, machine.as_ref());
        }
    }

    /// Reads the machines of which the inventory has not shown for long what was done to them.
    pub(super) fn read_back(&mut self) {
        for machine in self.observer.overdue(self.state.now) {
            let hands = self.context.hands.clone();
            self.supervisor.spawn_until_stopped("reading of a machine", async move {
                if let Err(error) = hands.read_back(&machine).await {
                    debug!(moref = %machine, error = %chain(&error), "machine could not be read");
                }
            });
        }
    }

    /// Gives the job of a machine that was given up back to the queue. Only if nobody is at work for it: the job may have
    /// been released and taken by us again meanwhile.
    fn free(&mut self, of: &Trace, machine: Option<&MachineId>) {
        let Ok(job) = of.job.parse::<JobId>() else { return };
        if self.state.is_served(&job, machine) {
            return;
        }
        let (worker, machine) = (of.worker.clone(), machine.cloned());
        let context = self.context.in_the_background();
        let id = self.track(nameless(Work::Free { job: job.clone() }));
        self.fly("release of a job", id, async move {
            let attempt = Attempt { worker: &worker, machine: machine.as_ref() };
            context.free(&job, attempt).await
        });
    }

    /// Gives the job of a machine that went off back at once if it still waits for it: CDS offers it to nobody until then.
    fn free_abandoned(&mut self, machine: &Machine) {
        let Some(mark) = machine.mark() else { return };
        let Ok(job) = mark.job_id.parse::<JobId>() else { return };
        if self.state.is_served(&job, Some(&machine.id)) {
            self.state.off_duty.insert(machine.id.clone());
            return;
        }
        let (context, id) =
            (self.context.in_the_background(), self.track(about(machine, Work::Free { job: job.clone() })));
        let (worker, machine) = (machine.name.clone(), machine.id.clone());
        self.fly("release of an abandoned job", id, async move {
            context.free_abandoned(&job, &worker, &machine).await
        });
    }

    fn machines(&self, ids: &[MachineId]) -> Vec<Arc<Machine>> {
        ids.iter().filter_map(|id| self.state.view.machines.get(id).map(Arc::clone)).collect()
    }

    pub(super) fn track(&mut self, action: RunningAction) -> TaskId {
        self.state.running.begin(action)
    }

    /// Runs an act and reports its ending. What is half done when the process ends is recognised at the next start.
    pub(super) fn fly(
        &self,
        what: &'static str,
        id: TaskId,
        act: impl Future<Output = Ending> + Send + 'static,
    ) {
        let cut_off = Message::Ended(id, Ending::CutOff);
        self.tasks.start(what, cut_off, async move { Message::Ended(id, act.await) });
    }

    /// Asks for what the next pass needs.
    pub(super) fn wake(&mut self, plan: &Plan) {
        if self.workers_are_due(plan) {
            self.wakes.workers();
        }
        let full = |one: &Waiting| {
            let Why::Shortage(Shortage::Size(short)) = &one.why else { return false };
            matches!(short, capacity::Shortage::PoolMemory { .. } | capacity::Shortage::PoolCpu { .. })
        };
        let has_changed = || {
            let asked = self.state.room.at;
            let settings = self.context.settings();
            let mut owned = self.state.view.owned(&settings.identity.owner);
            owned.any(|(machine, _)| self.observer.changed_at(&machine.id) >= asked)
        };
        if plan.wants_room || (plan.waiting.iter().any(full) && has_changed()) {
            self.wakes.room();
        }
        self.read_jobs_of(plan);
        let unread = self.state.histories.due(&plan.sweep.needs_events, Instant::now());
        if !unread.is_empty() {
            self.read_histories(unread);
        }
        self.tell_waiting(plan);
    }

    /// Tells the users of jobs why they wait.
    fn tell_waiting(&mut self, plan: &Plan) {
        let named = self.state.demands.iter().filter(|demand| demand.names_our_model);
        let named: BTreeSet<_> = named.map(|demand| &demand.job).collect();
        for Waiting { job, why } in self.state.news.due(&plan.waiting, &named, self.state.now) {
            let (context, job, why) = (self.context.clone(), job.clone(), why.to_string());
            info!(%job, why, "job waits");
            self.supervisor.spawn("news for a waiting job", async move {
                context.tell_waiting(&job, &why).await;
            });
        }
    }

    pub(super) fn read_job(&self, job: JobId) {
        let cds = self.context.cds.clone();
        self.tasks.start("reading of a job", Message::Gone(job.clone()), async move {
            let read = match &job {
                JobId::V1(id) => match cds.v1() {
                    Some(v1) => v1.job(*id).await.map(|job| QueuedJob::V1(Box::new(job))),
                    None => return Message::Gone(job),
                },
                JobId::V2(id) => match cds.v2() {
                    Some(v2) => v2.job(id).await.map(|detail| QueuedJob::V2(Box::new(detail))),
                    None => return Message::Gone(job),
                },
            };
            match read {
                Ok(known) => Message::Read(job, Box::new(known)),
                Err(error) if error.is_gone() => Message::Gone(job),
                Err(error) => {
                    warn!(%job, error = %chain(&error), "job could not be read; it is read again when CDS offers it");
                    Message::Gone(job)
                }
            }
        });
    }

    pub(super) fn read_model(&self, path: ModelPath) {
        let cds = self.context.cds.clone();
        let cut_off = Message::Model(path.clone(), Box::new(Err("its reading was cut off".to_owned())));
        self.tasks.start("reading of a model", cut_off, async move {
            let read = match cds.v2() {
                Some(v2) => v2.model(&path).await.map_err(|error| chain(&error)),
                None => Err("there is no V2 session".to_owned()),
            };
            Message::Model(path, Box::new(read))
        });
    }

    fn read_histories(&self, machines: Vec<MachineId>) {
        let hands = self.context.hands.clone();
        let created = self.created(machines);
        self.tasks.start("reading of history", Message::Histories(None), async move {
            let told = histories::read(&hands, &created).await;
            if let Err(error) = &told {
                warn!(machines = created.len(), error = %chain(error), "history could not be read; machines without a start time are kept");
            }
            Message::Histories(told.ok())
        });
    }

    /// When machines were made, by vCenter's clock.
    pub(super) fn created(&self, machines: Vec<MachineId>) -> BTreeMap<MachineId, Option<Timestamp>> {
        let created = |id: &MachineId| self.state.view.machines.get(id).and_then(|machine| machine.created);
        machines.into_iter().map(|id| (id.clone(), created(&id))).collect()
    }
}

pub(super) fn trace(mark: &Mark) -> Trace {
    Trace { job: mark.job_id.clone(), worker: mark.worker_name.clone() }
}

fn nameless(work: Work) -> RunningAction {
    RunningAction { work, name: String::new(), machine: None, address: None, footprint: Footprint::default() }
}

pub(super) fn about(machine: &Machine, work: Work) -> RunningAction {
    let footprint = machine.hardware.map(Footprint::from).unwrap_or_default();
    RunningAction {
        name: machine.name.clone(),
        machine: Some(machine.id.clone()),
        footprint,
        ..nameless(work)
    }
}
