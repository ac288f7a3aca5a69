//! Starting what a pass planned, and asking for what the next one needs.

use super::{Message, Reconciler, histories};
use crate::act::Ending;
use crate::intake::feed;
use crate::plan::capacity::Shortage;
use crate::plan::running::RunningAction;
use crate::plan::{Action, Plan, Unclaim, WaitReason, Waiting};
use jiff::Timestamp;
use rookery_cds::{JobId, ModelPath};
use rookery_daemon::telemetry::chain;
use rookery_fleet::{MachineId, capacity};
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{debug, info, warn};

impl Reconciler {
    /// Starts what was planned, and answers those who asked for another place.
    pub(super) fn start(&mut self, plan: &mut Plan) {
        for (task, placed) in plan.placed.drain(..) {
            self.answer_misplaced(task, placed);
        }
        let can_keep = self.note_kept(&plan.actions);
        for action in &plan.actions {
            if can_keep || !matches!(action, Action::Keep(_)) {
                self.start_action(action.clone(), None);
            }
        }
        self.tell(plan);
    }

    /// Starts an action. Whoever asked for it is told how it has ended.
    pub(super) fn start_action(
        &mut self,
        action: Action,
        asked: Option<oneshot::Sender<Result<(), String>>>,
    ) {
        match &action {
            Action::Spawn(spawn) => {
                self.context.metrics.start_begun(spawn.missed);
                self.state.cds.pressure.begins(&spawn.name, Instant::now());
                self.state.jobs.begin(spawn, self.state.times.wall);
            }
            Action::GiveUp { .. } => self.context.metrics.giving_up(),
            Action::Register(one) => self.state.cds.pressure.begins(&one.name, Instant::now()),
            Action::Unclaim(Unclaim { name, mark, .. }) => {
                info!(vm = %name, job = %mark.job_id, "machine was claimed but never started; it goes back to the warm pool");
            }
            Action::Delete(one) => {
                self.state.vsphere.brake.deletes(&one.machine, one.weight, self.state.times.now);
            }
            Action::Adopt(one) => {
                info!(template = %one.name, hatchery = %one.from, "template of another hatchery is adopted");
            }
            Action::Make(_)
            | Action::Finish(_)
            | Action::Keep(_)
            | Action::Disable { .. }
            | Action::Free(_) => {}
        }
        let context =
            if action.is_awaited() { self.context.clone() } else { self.context.in_the_background() };
        let what = action.as_str();
        let id = self.state.running.begin(RunningAction::of(action.clone()));
        // What is half done when the process ends is recognised at the next start.
        self.tasks.start(what, Message::Ended(id, Ending::CutOff), async move {
            let ending = context.perform(id, action).await;
            if let Some(asked) = asked {
                asked.send(ending.told()).ok();
            }
            Message::Ended(id, ending)
        });
    }

    /// Says in the log what a plan found, each thing once.
    fn tell(&mut self, plan: &Plan) {
        for (model, flavor) in &plan.ignored_flavors {
            if self.state.said.ignored_flavors.insert(model.clone(), flavor.clone()).is_none() {
                warn!(
                    model,
                    flavor, "flavor is ignored: none are configured; workers have their template's size"
                );
            }
        }
        if self.state.vsphere.view.complete {
            for (model, why) in plan.stuck().filter(|(model, _)| !self.state.said.stuck.contains(*model)) {
                warn!(model, %why, "model cannot be registered; waiting alone will not help");
            }
            self.state.said.stuck = plan.stuck().map(|(model, _)| model.clone()).collect();
        }
        self.tell_of_orphans(plan);
        self.tell_of_apart();
        if let Some(stop) = plan.stopped {
            debug!(why = %stop, "nothing is deleted in this pass");
        }
    }

    /// Reads the machines of which the inventory has not shown for long what was done to them.
    fn read_back(&mut self) {
        for machine in self.observer.overdue(self.state.times.now) {
            let hands = self.context.hands.clone();
            self.supervisor.spawn_until_stopped("reading of a machine", async move {
                if let Err(error) = hands.read_back(&machine).await {
                    debug!(moref = %machine, error = %chain(&error), "machine could not be read");
                }
            });
        }
    }

    /// Asks for what the next pass needs.
    pub(super) fn request(&mut self, plan: &Plan) {
        self.forget_wishes();
        self.read_back();
        if self.workers_are_due(plan) {
            self.wakes.workers();
        }
        let full = |one: &Waiting| {
            let WaitReason::Shortage(Shortage::Size(short)) = &one.why else { return false };
            matches!(short, capacity::Shortage::PoolMemory { .. } | capacity::Shortage::PoolCpu { .. })
        };
        let has_changed = || {
            let asked = self.state.vsphere.room.at;
            let settings = self.context.settings();
            let mut owned = self.state.vsphere.view.owned(&settings.identity.owner);
            owned.any(|(machine, _)| self.observer.changed_at(&machine.id) >= asked)
        };
        if plan.missing.room || (plan.waiting.iter().any(full) && has_changed()) {
            self.wakes.room();
        }
        self.read_jobs_of(plan);
        let unread = self.state.vsphere.histories.due(&plan.missing.events, Instant::now());
        if !unread.is_empty() {
            self.read_histories(unread);
        }
        for id in &plan.missing.outcomes {
            self.examine(id);
        }
        self.tell_waiting(plan);
    }

    /// Tells the users of jobs why they wait.
    fn tell_waiting(&mut self, plan: &Plan) {
        let named = self.state.cds.demands.iter().filter(|demand| demand.names_our_model);
        let named: BTreeSet<_> = named.map(|demand| &demand.job).collect();
        for Waiting { job, why } in self.state.said.news.due(&plan.waiting, &named, self.state.times.now) {
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
            match feed::read_job(&cds, &job).await {
                Some(Ok(known)) => Message::Read(job, Box::new(known)),
                Some(Err(error)) if !error.is_gone() => {
                    warn!(%job, error = %chain(&error), "job could not be read; it is read again when CDS offers it");
                    Message::Gone(job)
                }
                Some(Err(_)) | None => Message::Gone(job),
            }
        });
    }

    pub(super) fn read_model(&self, path: ModelPath) {
        let cds = self.context.cds.clone();
        let cut_off = Message::Model(path.clone(), Box::new(Err("reading it was interrupted".to_owned())));
        self.tasks.start("reading of a model", cut_off, async move {
            let read = match cds.v2() {
                Some(v2) => v2.model(&path).await.map_err(|error| chain(&error)),
                None => Err("this hatchery has no token for V2 jobs".to_owned()),
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
        let created =
            |id: &MachineId| self.state.vsphere.view.machines.get(id).and_then(|machine| machine.created);
        machines.into_iter().map(|id| (id.clone(), created(&id))).collect()
    }
}
