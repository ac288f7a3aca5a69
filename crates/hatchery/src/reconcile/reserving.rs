//! What new machines take on vCenter, kept from the other fronts of the process until the inventory shows it.
//!
//! ```text
//!   planned ──reserved──► under way ──────ended───────► the inventory shows its machine ──► given back
//!      │                     │ it runs: its room           │ a clone in doubt: when the doubt is over
//!      └─refused─► waits     └─────► given back            └ no machine: at once
//! ```
//!
//! A hatchery that ends gives all of it back: of what it left half made the others know what VMs show, as they do of
//! another process.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rookery_fleet::reservations::{Conflict, InFlight, Reservation};
use rookery_fleet::{MachineId, Power};
use rookery_fleet_vsphere::{FrontReservations, Placement, Reserved};
use tracing::info;

use super::{Reconciler, State};
use crate::act::Ending;
use crate::machine::{Machine, View};
use crate::plan::running::{Busy, RunningAction, TaskId};
use crate::plan::{Action, NotMade, Plan, WaitReason, Waiting, temporary_name};

/// A machine that was made and is not shown after this is gone.
const SHOWN: SignedDuration = SignedDuration::from_mins(1);
/// Other fronts may have inventories of their own, which show a machine later than ours.
const SHOWN_TO_ALL: SignedDuration = SignedDuration::from_secs(15);
/// So old may be what another front knows of the pool: it does not count a machine yet that runs.
const COUNTED_BY_ALL: SignedDuration = SignedDuration::from_secs(10);

/// What this hatchery has reserved, and the eyes for what others have.
#[derive(Debug)]
pub struct Reserving {
    front: FrontReservations,
    /// The resource pool that new machines go to.
    pool: String,
    /// By the names of the actions' machines.
    held: BTreeMap<String, Held>,
}

#[derive(Debug)]
struct Held {
    reserved: Reserved,
    taken: Taken,
}

impl Held {
    fn release_room(&mut self) {
        self.reserved.release_room();
        self.taken.memory_mb = 0;
    }
}

/// What is reserved for one machine.
#[derive(Debug, Clone, Default)]
struct Taken {
    names: BTreeSet<String>,
    addresses: BTreeSet<std::net::Ipv4Addr>,
    /// The memory that is reserved in the pool.
    memory_mb: u64,
    /// Since when its machine runs, or its action has ended.
    settled: Option<Timestamp>,
    /// The machine that its action has left, and when that ended.
    left: Option<(MachineId, Timestamp)>,
    /// Since when the inventory shows that machine.
    shown: Option<Timestamp>,
}

impl Reserving {
    /// Nothing is reserved yet.
    pub fn new(front: FrontReservations, placement: &Placement) -> Self {
        Self { front, pool: placement.pool.id().to_owned(), held: BTreeMap::new() }
    }

    /// What others have reserved. It is asked for before the view: what they give back in between the view shows.
    pub(super) fn of_others(&self) -> InFlight {
        self.front.of_others(&self.pool)
    }

    /// Gives back what the inventory shows to all by now. What is left is taken, and so is what others have reserved.
    pub(super) fn look(&mut self, state: &State, mut taken: InFlight) -> InFlight {
        let (now, busy) = (state.times.now, state.running.index());
        self.held.retain(|name, held| held.taken.lasts(name, &busy, state));
        for action in state.running.iter().filter(|action| runs(&state.vsphere.view, action)) {
            if let Some(held) = self.held.get_mut(&action.name) {
                held.taken.settled.get_or_insert(now);
            }
        }
        for held in self.held.values_mut() {
            if held.taken.settled.is_some_and(|at| now.duration_since(at) >= COUNTED_BY_ALL) {
                held.release_room();
            }
        }
        for held in self.held.values() {
            taken.names.extend(held.taken.names.iter().cloned());
            taken.addresses.extend(&held.taken.addresses);
        }
        taken
    }

    /// Takes what a machine will have, or tells what stands in the way. `spare_mb` is what the pool has left beside all that
    /// this hatchery has begun and planned: a hatchery does not stand in its own way.
    fn take(&mut self, wanted: Needs, spare_mb: Option<u64>) -> Result<(), Conflict> {
        let Needs { name, reservation } = wanted;
        let memory_mb = reservation.footprint.memory_mb.unwrap_or(1);
        let own: u64 = self.held.values().map(|held| held.taken.memory_mb).sum();
        let left_mb = spare_mb.map(|spare| spare.saturating_add(memory_mb).saturating_add(own));
        let (names, addresses) = (reservation.names.clone(), reservation.addresses.clone());
        let reserved = self.front.take(Reservation { pool: self.pool.clone(), ..reservation }, left_mb)?;
        self.held.insert(
            name,
            Held { reserved, taken: Taken { names, addresses, memory_mb, ..Taken::default() } },
        );
        Ok(())
    }

    /// Takes another place for a worker, and says whether it could.
    pub(super) fn take_anew(&mut self, old: &str, next: &RunningAction) -> bool {
        self.held.get_mut(old).map(Held::release_room);
        // Its job is held, and what the pool said last has to do.
        self.take(Needs::of(next), None).inspect_err(|conflict| tell(&next.name, conflict)).is_ok()
    }
}

/// What the machine of an action takes, under the name of the action.
#[derive(Debug)]
struct Needs {
    name: String,
    reservation: Reservation,
}

impl Needs {
    /// A machine that is there already holds its address by its mark.
    fn of(action: &RunningAction) -> Self {
        let addresses = action.address.into_iter().filter(|_| action.machine.is_none()).collect();
        let (mut names, footprint) = (BTreeSet::from([action.name.clone()]), action.footprint);
        if let Action::Register(one) = &action.action {
            names.extend(one.remake.as_ref().map(|_| temporary_name(&one.model.name)));
        }
        let reservation = Reservation { names, addresses, footprint, pool: String::new() };
        Self { name: action.name.clone(), reservation }
    }
}

impl Reconciler {
    /// Reserves what the new machines of a plan take. What another front has taken since the look waits for the next pass.
    pub(super) fn reserve(&mut self, plan: &mut Plan) {
        let room = self.state.vsphere.room.told.and_then(|room| room.memory_unreserved_bytes);
        let room_mb = room.map(|bytes| u64::try_from(bytes >> 20).unwrap_or_default());
        let own = plan.ledger.size.unseen_memory_mb.saturating_sub(self.state.vsphere.reserved.memory_mb);
        let spare_mb = room_mb.map(|room| room.saturating_sub(own));
        if keep_reserved(plan, |wanted| self.reserving.take(wanted, spare_mb)) {
            self.state.register_at = self.state.times.now;
        }
    }

    /// Remembers which machine an action leaves that has ended.
    pub(super) fn note_left(&mut self, id: TaskId, ending: &Ending, now: Timestamp) {
        let Some(action) = self.state.running.get_mut(id) else { return };
        let Some(held) = self.reserving.held.get_mut(&action.name) else { return };
        held.taken.settled.get_or_insert(now);
        held.taken.left = left(action, ending).map(|machine| (machine, now));
    }
}

/// The machine that an action leaves.
fn left(action: &RunningAction, ending: &Ending) -> Option<MachineId> {
    let condemned = match ending {
        Ending::Lost | Ending::NotHeld { .. } | Ending::Unprepared { .. } => return None,
        Ending::Failed(failure) => failure.condemned.as_ref().map(|(machine, _)| machine),
        Ending::Done | Ending::CutOff => None,
    };
    condemned.or(action.machine.as_ref()).cloned()
}

/// Keeps of a plan what can be reserved, and says whether a model has to be looked at again. Pure but for `take`.
fn keep_reserved(plan: &mut Plan, mut take: impl FnMut(Needs) -> Result<(), Conflict>) -> bool {
    let mut models = false;
    let mut is_taken = |action: &Action| {
        let running = RunningAction::of(action.clone());
        take(Needs::of(&running)).inspect_err(|conflict| tell(&running.name, conflict)).is_ok()
    };
    let Plan { actions, waiting, not_made, .. } = plan;
    actions.retain(|action| match action {
        Action::Finish(finish) if finish.is_on => true,
        Action::Spawn(_) | Action::Register(_) | Action::Make(_) | Action::Finish(_) if is_taken(action) => {
            true
        }
        Action::Spawn(spawn) => {
            waiting.push(Waiting { job: spawn.job.clone(), why: WaitReason::TakenMeanwhile });
            false
        }
        Action::Register(one) => {
            models = true;
            not_made.push((one.model.path(), NotMade::Registration(WaitReason::TakenMeanwhile)));
            false
        }
        // The pool is looked at in each pass.
        Action::Make(_) | Action::Finish(_) => false,
        Action::GiveUp { .. }
        | Action::Unclaim(_)
        | Action::Keep(_)
        | Action::Delete(_)
        | Action::Disable { .. }
        | Action::Free(_)
        | Action::Adopt(_) => true,
    });
    models
}

fn tell(name: &str, conflict: &Conflict) {
    let Conflict { names, addresses, memory_left_mb } = conflict;
    info!(vm = name, ?names, ?addresses, ?memory_left_mb, "another front of this process was faster");
}

impl Taken {
    fn lasts(&mut self, name: &str, busy: &Busy<'_>, state: &State) -> bool {
        if busy.has_name(name) {
            return true;
        }
        if self.names.iter().any(|name| state.vsphere.doubts.has(name)) {
            return true;
        }
        let (view, now) = (&state.vsphere.view, state.times.now);
        let Some((machine, ended)) = &self.left else { return false };
        let is_shown =
            row(view, machine).is_some_and(|row| !row.is_unknown() && self.names.contains(&row.name));
        self.shown = self.shown.or(is_shown.then_some(now));
        // What was shown once may be gone by now.
        if let Some(shown) = self.shown {
            return now.duration_since(shown) < SHOWN_TO_ALL;
        }
        !view.complete || now.duration_since(*ended) < SHOWN
    }
}

/// Whether the inventory shows that the machine of an action runs: the pool counts it then. A registration may make two,
/// one after the other.
fn runs(view: &View, action: &RunningAction) -> bool {
    if matches!(action.action, Action::Register(_)) {
        return false;
    }
    let machine = action.machine.as_ref().and_then(|id| row(view, id));
    machine.is_some_and(|machine| machine.power == Some(Power::On))
}

/// A machine as the inventory shows it, which is all that other fronts see.
fn row<'v>(view: &'v View, id: &MachineId) -> Option<&'v Machine> {
    match view.overlaid.get(id) {
        Some(overlaid) => overlaid.row.as_deref(),
        None => view.machines.get(id).map(AsRef::as_ref),
    }
}

#[cfg(test)]
mod tests;
