//! Keeping machines for somebody to look at.

use std::sync::Arc;

use crate::machine::Machine;
use crate::mark::Mark;
use crate::plan::hold::{Hold, HoldRequest, Outcome, Subject, Told};
use jiff::Timestamp;
use rand::RngExt as _;
use rookery_fleet::{MachineId, Role};
use tracing::{info, warn};

use super::asked::Intended;
use super::{Message, Reconciler, Reply};
use crate::plan::{Action, Denied, Keep, ServedJob};
use crate::surface::holds::{MOST_WISHES, Order, Target};

impl Reconciler {
    /// Keeps a machine, or takes a wish.
    pub(super) fn hold(&mut self, order: &Order, reply: Reply) {
        let decided = self.ordered(order);
        self.carry_out(decided, reply);
    }

    fn ordered(&mut self, order: &Order) -> Result<Intended, Denied> {
        let (keep, within) = order.check().map_err(|error| error.to_string())?;
        let (now, reason) = (self.context.now(), order.reason.trim().to_owned());
        let after = |time| now.saturating_add(time).unwrap_or(Timestamp::MAX);
        match order.of.subject() {
            Err(name) => {
                let (machine, mark) = self.own(name)?;
                let hold = Hold { until: after(keep), reason, wish: mark.hold_wish };
                Ok(Intended::action(
                    format!("{name} is kept until {:.0}", hold.until),
                    keeping(&machine, hold),
                ))
            }
            Ok(of) => {
                let id = format!("{:08x}", self.random.random::<u32>());
                let (count, until) = (order.count, after(within));
                let wish = HoldRequest { id, of, count, keep, until, reason, taken: [].into() };
                self.wish(wish)
            }
        }
    }

    /// A second wish of the same kind takes the place of the first: whoever repeats himself does not want twice as many.
    fn wish(&self, wish: HoldRequest) -> Result<Intended, Denied> {
        let mut wishes = self.state.requests.wishes.clone();
        wishes.retain(|other| other.of != wish.of);
        if wishes.len() >= MOST_WISHES {
            let why =
                format!("there are {MOST_WISHES} such requests already; `rookery vm release` withdraws one");
            return Err(why.into());
        }
        let HoldRequest { of, count, until, keep, .. } = &wish;
        let known = if self.is_known(of) {
            ""
        } else {
            "; the hatchery knows no model, template or VM of that name: is it spelled right?"
        };
        let told = if *count == 1 {
            format!(
                "the VM of the next worker of {of} that fails before {until:.0} is kept for {keep:#}{known}"
            )
        } else {
            format!(
                "the VMs of the next {count} workers of {of} that fail before {until:.0} are kept for {keep:#} each{known}"
            )
        };
        wishes.push(wish);
        Ok(Intended { told, wishes: Some(wishes), actions: Vec::new() })
    }

    /// What cannot be told yet, soon after the start, counts as known.
    fn is_known(&self, of: &Subject) -> bool {
        let Subject::Model(model) = of else { return true };
        if !self.state.vsphere.view.complete {
            return true;
        }
        let models = self.state.cds.models.as_ref();
        let registered = models
            .map_or_else(|| model.contains('/'), |models| models.iter().any(|known| known.path() == *model));
        let of_model =
            |machine: &Machine| machine.name == *model || machine.mark().is_some_and(|mark| of.is_of(mark));
        registered || self.state.vsphere.view.iter().any(of_model)
    }

    /// Lets a machine go, or withdraws a wish and lets go whom it kept.
    pub(super) fn release(&mut self, of: &Target, reply: Reply) {
        let decided = self.released(of);
        self.carry_out(decided, reply);
    }

    fn released(&self, of: &Target) -> Result<Intended, Denied> {
        let subject = match of.subject() {
            Err(name) => {
                let (machine, mark) = self.own(name)?;
                if !self.is_kept(&machine) {
                    return Err(format!("{name} is not kept").into());
                }
                let told = format!("{name} is released: it is deleted as any other");
                return Ok(Intended::action(told, self.letting_go(&machine, &mark)));
            }
            Ok(subject) => subject,
        };
        let mut wishes = self.state.requests.wishes.clone();
        let before = wishes.len();
        wishes.retain(|wish| wish.of != subject);
        let withdrawn = before - wishes.len();
        let owner = self.context.owner();
        let busy = self.state.running.index();
        let letting_go = |(machine, mark): (&Machine, &Mark)| {
            let is_meant = subject.is_of(mark) && self.is_kept(machine) && !busy.has(machine);
            is_meant.then(|| self.letting_go(machine, mark))
        };
        let actions: Vec<_> = self.state.vsphere.view.owned(&owner).filter_map(letting_go).collect();
        if withdrawn == 0 && actions.is_empty() {
            let why = format!("nothing is kept, and no request to keep anything is open, for {subject}");
            return Err(Denied::Unclear(why));
        }
        let several =
            |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
        let told = format!(
            "{subject}: {} withdrawn, {} released",
            several(withdrawn, "request", "requests"),
            several(actions.len(), "VM", "VMs")
        );
        Ok(Intended { told, wishes: (withdrawn > 0).then_some(wishes), actions })
    }

    fn is_kept(&self, machine: &Machine) -> bool {
        let until = self.state.times.reckoning.hold_until(machine);
        until.is_some_and(|until| until > self.context.now())
    }

    /// The only own machine of that name that nobody is at.
    fn own(&self, name: &str) -> Result<(Arc<Machine>, Mark), Denied> {
        let owner = self.context.owner();
        let of_ours = |machine: &&Arc<Machine>| machine.name == name && machine.role == Role::Vm;
        let mut found = self.state.vsphere.view.machines.notable().filter(of_ours).filter_map(|machine| {
            let mark = machine.mark_of(&owner).filter(|mark| !mark.model)?;
            Some((Arc::clone(machine), mark.clone()))
        });
        let Some((machine, mark)) = found.next() else {
            let unseen =
                if self.state.vsphere.view.complete { "" } else { ", as far as vCenter has shown them yet" };
            let why = format!("{name} is no machine of hatchery {owner}{unseen}");
            return Err(if unseen.is_empty() { Denied::Unclear(why) } else { why.into() });
        };
        if found.next().is_some() {
            return Err(format!("there are several machines {name}").into());
        }
        if self.state.running.index().has(&machine) {
            return Err(format!("{name} is being worked on; try again in a moment").into());
        }
        Ok((machine, mark))
    }

    fn letting_go(&self, machine: &Machine, mark: &Mark) -> Action {
        let until = self.context.now();
        keeping(machine, Hold { until, reason: mark.hold_reason.clone(), wish: mark.hold_wish.clone() })
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
            warn!(%error, "requests to keep VMs could not be stored; trying again");
            return Err(format!("the request could not be stored: {error}"));
        }
        self.state.requests.wishes = wishes;
        Ok(())
    }
}

/// Writes into the mark of a machine until when it is kept.
fn keeping(machine: &Machine, hold: Hold) -> Action {
    let of = machine.mark().map(ServedJob::from).unwrap_or_default();
    Action::Keep(Keep { machine: machine.id.clone(), name: machine.name.clone(), hold, of })
}
