//! Keeping machines for somebody to look at.

use std::sync::Arc;

use crate::machine::Machine;
use crate::mark::Mark;
use crate::plan::hold::{Hold, HoldRequest, Outcome, Subject, Told};
use jiff::Timestamp;
use rand::RngExt as _;
use rookery_fleet::{MachineId, Role};
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::{Message, Reconciler};
use crate::plan::{Action, Keep, ServedJob};
use crate::surface::holds::{MOST_WISHES, Order, Target};

/// Where it goes what is said to whoever asked.
pub type Reply = oneshot::Sender<Result<String, String>>;
/// Tells how an action has ended that somebody asked for.
pub(super) type Completion = oneshot::Receiver<Result<(), String>>;

impl Reconciler {
    /// Keeps a machine, or takes a wish.
    pub(super) fn hold(&mut self, order: &Order, reply: Reply) {
        let done = self.ordered(order);
        self.answer(reply, done);
    }

    fn ordered(&mut self, order: &Order) -> Result<(String, Vec<Completion>), String> {
        let (keep, within) = order.check().map_err(|error| error.to_string())?;
        let (now, reason) = (self.context.now(), order.reason.trim().to_owned());
        let after = |time| now.saturating_add(time).unwrap_or(Timestamp::MAX);
        match order.of.subject() {
            Err(name) => {
                let (machine, mark) = self.own(name)?;
                let hold = Hold { until: after(keep), reason, wish: mark.hold_wish };
                Ok((format!("{name} is kept until {:.0}", hold.until), vec![self.keep(&machine, hold)]))
            }
            Ok(of) => {
                let id = format!("{:08x}", self.random.random::<u32>());
                let wish = HoldRequest {
                    id,
                    of,
                    count: order.count,
                    keep,
                    until: after(within),
                    reason,
                    taken: [].into(),
                };
                self.wish(wish).map(|told| (told, Vec::new()))
            }
        }
    }

    /// A second wish of the same kind takes the place of the first: whoever repeats himself does not want twice as many.
    fn wish(&mut self, wish: HoldRequest) -> Result<String, String> {
        let mut wishes = self.state.requests.wishes.clone();
        wishes.retain(|other| other.of != wish.of);
        if wishes.len() >= MOST_WISHES {
            return Err(format!("there are {MOST_WISHES} such wishes already; release one first"));
        }
        let HoldRequest { of, count, until, .. } = &wish;
        let known = if self.is_known(of) { "" } else { "; nothing of it is known here at the moment" };
        let told = format!(
            "of the next workers of {of} that fail until {until:.0}, {count} {} kept{known}",
            if *count == 1 { "is" } else { "are" }
        );
        wishes.push(wish);
        self.write_down(wishes).map(|()| told)
    }

    fn is_known(&self, of: &Subject) -> bool {
        let Subject::Model(model) = of else { return true };
        let registered = self.state.cds.models.iter().flatten().any(|known| known.path() == *model);
        let of_model =
            |machine: &Machine| machine.name == *model || machine.mark().is_some_and(|mark| of.is_of(mark));
        registered || self.state.vsphere.view.iter().any(of_model)
    }

    /// Lets a machine go, or withdraws a wish and lets go whom it kept.
    pub(super) fn release(&mut self, of: &Target, reply: Reply) {
        let done = self.released(of);
        self.answer(reply, done);
    }

    fn released(&mut self, of: &Target) -> Result<(String, Vec<Completion>), String> {
        let subject = match of.subject() {
            Err(name) => {
                let (machine, mark) = self.own(name)?;
                if !self.is_kept(&machine) {
                    return Err(format!("{name} is not kept"));
                }
                return Ok((format!("{name} is kept no more"), vec![self.release_machine(&machine, mark)]));
            }
            Ok(subject) => subject,
        };
        let mut wishes = self.state.requests.wishes.clone();
        let before = wishes.len();
        wishes.retain(|wish| wish.of != subject);
        let withdrawn = before - wishes.len();
        let owner = self.context.owner();
        let busy = self.state.running.index();
        let kept = |(machine, mark): (&Machine, &Mark)| {
            let is_meant = subject.is_of(mark) && self.is_kept(machine) && !busy.has(machine);
            is_meant.then(|| (machine.clone(), mark.clone()))
        };
        let kept: Vec<_> = self.state.vsphere.view.owned(&owner).filter_map(kept).collect();
        if withdrawn == 0 && kept.is_empty() {
            return Err(format!("nothing is kept, and no request to keep anything is open, for {subject}"));
        }
        if withdrawn > 0 {
            self.write_down(wishes)?;
        }
        let several =
            |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
        let (wishes, machines) =
            (several(withdrawn, "wish", "wishes"), several(kept.len(), "machine", "machines"));
        let told = format!("{wishes} withdrawn and {machines} let go of {subject}");
        Ok((told, kept.into_iter().map(|(machine, mark)| self.release_machine(&machine, mark)).collect()))
    }

    fn is_kept(&self, machine: &Machine) -> bool {
        let until = self.state.times.reckoning.hold_until(machine);
        until.is_some_and(|until| until > self.context.now())
    }

    /// The only own machine of that name that nobody is at.
    fn own(&self, name: &str) -> Result<(Arc<Machine>, Mark), String> {
        let owner = self.context.owner();
        let of_ours = |machine: &&Arc<Machine>| machine.name == name && machine.role == Role::Vm;
        let mut found = self.state.vsphere.view.machines.notable().filter(of_ours).filter_map(|machine| {
            let mark = machine.mark_of(&owner).filter(|mark| !mark.model)?;
            Some((Arc::clone(machine), mark.clone()))
        });
        let Some((machine, mark)) = found.next() else {
            let unseen =
                if self.state.vsphere.view.complete { "" } else { ", as far as vCenter has shown them yet" };
            return Err(format!("{name} is no machine of hatchery {owner}{unseen}"));
        };
        if found.next().is_some() {
            return Err(format!("there are several machines {name}"));
        }
        if self.state.running.index().has(&machine) {
            return Err(format!("{name} is being worked on; try again in a moment"));
        }
        Ok((machine, mark))
    }

    fn release_machine(&mut self, machine: &Machine, mark: Mark) -> Completion {
        let until = self.context.now();
        self.keep(machine, Hold { until, reason: mark.hold_reason, wish: mark.hold_wish })
    }

    /// Begins to write into the mark of a machine until when it is kept.
    fn keep(&mut self, machine: &Machine, hold: Hold) -> Completion {
        let of = machine.mark().map(ServedJob::from).unwrap_or_default();
        let (machine, name) = (machine.id.clone(), machine.name.clone());
        self.start_asked(Action::Keep(Keep { machine, name, hold, of }))
    }

    /// Starts an action that somebody asked for.
    pub(super) fn start_asked(&mut self, action: Action) -> Completion {
        let (tell, told) = oneshot::channel();
        self.start_action(action, Some(tell));
        told
    }

    /// Tells whoever asked once all of it is done.
    pub(super) fn answer(&self, reply: Reply, done: Result<(String, Vec<Completion>), String>) {
        let (told, asked) = match done {
            Ok(begun) => begun,
            Err(why) => return drop(reply.send(Err(why))),
        };
        self.supervisor.spawn_until_stopped("answer to whoever asked", async move {
            let mut failures = Vec::new();
            for one in asked {
                match one.await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => failures.push(error),
                    Err(_) => failures.push("it was cut off in the middle".to_owned()),
                }
            }
            reply.send(if failures.is_empty() { Ok(told) } else { Err(failures.join("; ")) }).ok();
        });
    }

    /// Writes down who is about to be kept, and says whether that could be done. The wishes know it before the machines do:
    /// after a crash nobody is kept in their place.
    pub(super) fn note_kept(&mut self, actions: &[Action]) -> bool {
        let kept = || {
            actions
                .iter()
                .filter_map(|action| if let Action::Keep(keep) = action { Some(keep) } else { None })
        };
        if kept().next().is_none() {
            return true;
        }
        let mut wishes = self.state.requests.wishes.clone();
        for keep in kept() {
            let wish = wishes.iter_mut().find(|wish| wish.id == keep.hold.wish);
            wish.map(|wish| wish.taken.insert(keep.machine.clone()));
        }
        let is_written = self.write_down(wishes).is_ok();
        for keep in kept().filter(|_| is_written) {
            info!(vm = %keep.name, reason = %keep.hold.reason, "worker failed; its machine is kept");
        }
        is_written
    }

    pub(super) fn examine(&mut self, id: &MachineId) {
        let state = &mut self.state;
        let Some(machine) = state.vsphere.view.machines.get(id) else { return };
        let Some(job) = machine.mark().map(|mark| mark.job_id.clone()) else { return };
        if !state.cds.outcomes.ask(id) {
            return;
        }
        let context = self.context.in_the_background();
        let (worker, id) = (machine.name.clone(), id.clone());
        self.tasks.start("question how a job has ended", Message::Outcome(id.clone(), None), async move {
            let outcome = context.outcome(&job, &worker).await;
            Message::Outcome(id, outcome)
        });
    }

    pub(super) fn apply_outcome(&mut self, id: MachineId, outcome: Option<Outcome>) {
        let told = outcome.map(|outcome| Told { outcome, at: self.context.now() });
        self.state.cds.outcomes.answer(id, told, self.state.times.now);
    }

    /// Forgets wishes of which nothing is left to do.
    pub(super) fn forget_wishes(&mut self) {
        let (view, now) = (&self.state.vsphere.view, self.state.server_now());
        let is_open = |wish: &&HoldRequest| !wish.is_spent(view, now);
        if self.state.skew().is_some() && !self.state.requests.wishes.iter().all(|wish| is_open(&wish)) {
            let left = self.state.requests.wishes.iter().filter(is_open).cloned().collect();
            self.write_down(left).ok();
        }
    }

    /// Nothing is wished for that is not written down.
    pub(super) fn write_down(&mut self, wishes: Vec<HoldRequest>) -> Result<(), String> {
        if let Err(error) = self.book.write(&wishes) {
            warn!(%error, "what is to be kept cannot be written down; it is tried again");
            return Err(format!("it could not be written down: {error}"));
        }
        self.state.requests.wishes = wishes;
        Ok(())
    }
}
