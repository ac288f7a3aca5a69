//! Clones that nobody answered for, and clones of a former life. Such a clone may appear later, so nobody else gets its
//! address, for as long as vCenter lists its task as queued or running. Pure.
//!
//! ```text
//!            ordered, no answer                          listed as ended, or
//!                   │                                    no clone can be it
//!                   ▼              listed, unfinished           │  its VM is seen, or should be by now
//!   ┌─────────► untold ──────────────► unfinished ──────────► over ──────────────────────────────────► free
//!   │ a look fails  └────────────┐         │ not listed any more, and not seen to end
//!   └────────────────────────────┘         ▼
//!                                        lost ── after 15 minutes ───────────────────────────────────► free
//! ```
//!
//! The 15 minutes count from when it was last seen, and only while vCenter's machines are.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use crate::machine::View;
use crate::plan::sweep::Condemned;
use jiff::{SignedDuration, Timestamp};
use rookery_fleet::MachineId;
use rookery_fleet_vsphere::hands::{CloneTask, CloneTasks};

use crate::act::Unfinished;

/// After this long without a sight of it a clone will not appear any more.
const LONGEST: SignedDuration = SignedDuration::from_mins(15);
/// An order that is on its way arrives within this.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_mins(1);
/// What a clone may have made that has ended is seen within this.
const SEEN: SignedDuration = SignedDuration::from_secs(15);
/// A machine that was made and is not shown after this is gone.
const SHOWN: SignedDuration = SignedDuration::from_mins(1);

/// Clones that may still appear.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    all: Vec<Doubt>,
    /// Whether clones from before our start have been listed.
    start_is_known: bool,
    /// Since when they could not be, while vCenter's machines were seen.
    blind_since: Option<Timestamp>,
}

#[derive(Debug)]
struct Doubt {
    /// What its machine will be called, if that is known.
    name: Option<String>,
    reserved: Reserved,
    /// Which task it is, if vCenter has told.
    task: Option<String>,
    /// When its answer did not come, by our clock.
    since: Timestamp,
    /// Its machine has to go, should it appear.
    condemned: Option<Condemned>,
    sight: Sight,
    /// When it was last seen, by our clock.
    seen: Timestamp,
}

#[derive(Debug, PartialEq, Eq)]
enum Reserved {
    /// One address, or none where DHCP gives them.
    Address(Option<Ipv4Addr>),
    /// A clone of a former life: it may have any address.
    All,
}

#[derive(Debug, PartialEq, Eq)]
enum Sight {
    /// No list has told anything of it yet.
    Untold,
    /// These had not ended at the last look, and it may be any of them.
    Unfinished(BTreeSet<String>),
    /// It was unfinished, and was not seen to end: vCenter has forgotten it, and its host may go on.
    Lost,
    /// It has ended, or never begun: since when we know, and the machine that will be seen, if there is one.
    Over(Timestamp, Option<MachineId>),
}

impl Doubts {
    /// A clone that was given up may still appear.
    pub(super) fn add(&mut self, clone: Unfinished, since: Timestamp) {
        let Unfinished { name, address, task, condemned_for } = clone;
        self.all.push(Doubt {
            reserved: Reserved::Address(address),
            task,
            since,
            condemned: condemned_for,
            name: Some(name),
            sight: Sight::Untold,
            seen: since,
        });
    }

    /// A machine was made that has this address, and may not be seen yet.
    pub(super) fn add_made(&mut self, machine: MachineId, address: Ipv4Addr, at: Timestamp) {
        let (reserved, sight) = (Reserved::Address(Some(address)), Sight::Over(at, Some(machine)));
        let (name, task, condemned) = (None, None, None);
        self.all.push(Doubt { name, reserved, task, since: at, condemned, sight, seen: at });
    }

    /// Learns which clones were listed at a time, by a vCenter whose clock is so far ahead.
    pub(super) fn learn(&mut self, at: Timestamp, skew: Option<SignedDuration>, listed: &CloneTasks) {
        if !std::mem::replace(&mut self.start_is_known, true) {
            let ours = listed.clones.iter().filter(|clone| clone.ours);
            self.all.extend(ours.filter_map(|clone| Doubt::of_former_life(clone, at, skew)));
        }
        for doubt in &mut self.all {
            doubt.learn(at, skew, listed);
        }
    }

    /// Lets go of what is over. While the machines cannot be seen nothing is, and no time counts.
    pub(super) fn pass(&mut self, now: Timestamp, view: &View) {
        if !view.complete {
            self.blind_since = None;
            for doubt in &mut self.all {
                doubt.seen = now;
                if let Sight::Over(since, _) = &mut doubt.sight {
                    *since = now;
                }
            }
            return;
        }
        let blind_since = *self.blind_since.get_or_insert(now);
        self.start_is_known |= now.duration_since(blind_since) >= LONGEST;
        self.all.retain(|doubt| doubt.lasts(now, view));
    }

    /// Whether there is no clone of a former life any more that may take an address.
    pub(super) fn start_is_settled(&self) -> bool {
        self.start_is_known && self.former() == 0
    }

    /// How many clones of a former life may take addresses.
    pub(super) fn former(&self) -> usize {
        self.all.iter().filter(|doubt| doubt.reserved == Reserved::All).count()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether a clone of that name may still appear.
    pub(super) fn has(&self, name: &str) -> bool {
        self.all.iter().any(|doubt| doubt.name.as_deref() == Some(name))
    }

    /// The addresses that they may have.
    pub(super) fn addresses(&self) -> BTreeSet<Ipv4Addr> {
        let address = |doubt: &Doubt| match doubt.reserved {
            Reserved::Address(address) => address,
            Reserved::All => None,
        };
        self.all.iter().filter_map(address).collect()
    }

    /// Machines that have to go: they were given up before they appeared.
    pub(super) fn condemned(&self, view: &View) -> BTreeMap<MachineId, Condemned> {
        let given_up = self.all.iter().filter_map(|doubt| doubt.name.as_ref().zip(doubt.condemned));
        let appeared = given_up.flat_map(|(name, condemned_for)| {
            // What carries no such mark is not what was ordered.
            let marked = view
                .named(name)
                .filter(move |machine| machine.mark().is_some_and(|mark| mark.worker_name == *name));
            marked.map(move |machine| (machine.id.clone(), condemned_for))
        });
        appeared.collect()
    }
}

impl Doubt {
    /// A clone that was ordered before our start, unless what it made has been seen by now: it may have ended a moment ago.
    fn of_former_life(clone: &CloneTask, at: Timestamp, skew: Option<SignedDuration>) -> Option<Self> {
        let ended_long_ago = clone
            .completed
            .zip(skew)
            .is_some_and(|(completed, skew)| later(at, skew).duration_since(completed) >= SHOWN);
        let sight = match (clone.ended, ended_long_ago) {
            (false, _) => Sight::Untold,
            (true, false) => Sight::Over(at, clone.made.clone()),
            (true, true) => return None,
        };
        let task = Some(clone.task.clone());
        Some(Self { name: None, reserved: Reserved::All, task, since: at, condemned: None, sight, seen: at })
    }

    fn learn(&mut self, at: Timestamp, skew: Option<SignedDuration>, listed: &CloneTasks) {
        if matches!(self.sight, Sight::Over(_, Some(_))) {
            return;
        }
        let candidates: Vec<_> = listed.clones.iter().filter(|clone| self.may_be(clone, skew)).collect();
        let unfinished: BTreeSet<String> =
            candidates.iter().filter(|clone| !clone.ended).map(|clone| clone.task.clone()).collect();
        let has_ended = |task: &String| candidates.iter().any(|clone| clone.task == *task && clone.ended);
        if !unfinished.is_empty() {
            (self.sight, self.seen) = (Sight::Unfinished(unfinished), at);
            return;
        }
        let may_be_on_its_way = self.task.is_none() && at.duration_since(self.since) < ON_ITS_WAY;
        if may_be_on_its_way || matches!(self.sight, Sight::Over(..)) {
            return;
        }
        let is_over = match (&self.task, &self.sight) {
            (Some(task), _) => has_ended(task),
            (None, Sight::Unfinished(tasks)) => tasks.iter().all(has_ended),
            // An empty list proves something only if it reaches back to the order.
            (None, Sight::Untold | Sight::Over(..)) => self.was_ordered_within(listed, skew),
            (None, Sight::Lost) => false,
        };
        if is_over {
            let mut own = candidates.iter().filter(|clone| Some(&clone.task) == self.task.as_ref());
            let made = own.find_map(|clone| clone.made.clone());
            self.sight = Sight::Over(at, made);
        } else if let Sight::Unfinished(_) = self.sight {
            self.sight = Sight::Lost;
        }
    }

    /// Whether a clone may be this one. One that was ordered long after this one's answer did not come is another.
    fn may_be(&self, clone: &CloneTask, skew: Option<SignedDuration>) -> bool {
        if let Some(task) = &self.task {
            return clone.task == *task;
        }
        let latest = skew.map(|skew| later(self.since, skew.saturating_add(ON_ITS_WAY)));
        clone.ours && clone.queued.zip(latest).is_none_or(|(queued, latest)| queued <= latest)
    }

    fn was_ordered_within(&self, listed: &CloneTasks, skew: Option<SignedDuration>) -> bool {
        let ordered = skew.map(|skew| later(self.since, skew));
        listed.session_since.zip(ordered).is_some_and(|(session, ordered)| session <= ordered)
    }

    fn lasts(&self, now: Timestamp, view: &View) -> bool {
        match &self.sight {
            Sight::Untold | Sight::Unfinished(_) | Sight::Lost => now.duration_since(self.seen) < LONGEST,
            Sight::Over(since, None) => now.duration_since(*since) < SEEN,
            Sight::Over(since, Some(made)) => {
                // A row that tells too little does not tell its address.
                let is_shown = view.machines.get(made).is_some_and(|machine| !machine.is_unknown());
                !is_shown && now.duration_since(*since) < SHOWN
            }
        }
    }
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
