//! Who is in the pool, in which state, and who of them has to go.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{Desired, Member, Membership, Observed, PoolKey, Removal, TemplateState};
use crate::deletion::Stop;
use crate::machine::{Machine, MachineId, Power};

/// What there is for one wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    pub ready: u32,
    /// In the making, whether it is listed or not.
    pub starting: u32,
    /// Given up, and not gone yet.
    pub dying: u32,
}

impl Count {
    pub(super) fn alive(&self) -> u32 {
        self.ready.saturating_add(self.starting)
    }
}

pub(super) struct Census<'a, M> {
    pub(super) counts: Vec<Count>,
    pub(super) half_claimed: Vec<&'a Machine<M>>,
    pub(super) unknown: BTreeMap<&'static str, u32>,
    numbers: Vec<u32>,
    idle: Vec<Idle<'a, M>>,
    removed: BTreeSet<&'a MachineId>,
    /// How many of each wish the inventory has not confirmed yet.
    unsettled: Vec<u32>,
    /// How many of each wish wait for somebody to look at them.
    apart: Vec<u32>,
    /// Those whose hold has ended.
    unheld: Vec<&'a MachineId>,
}

/// A machine of the pool that nobody is at.
struct Idle<'a, M> {
    machine: &'a Machine<M>,
    wish: Option<usize>,
    ready: bool,
    settled: bool,
    created: Option<Timestamp>,
    outdated: Option<Removal>,
}

impl<'a, M> Census<'a, M> {
    pub(super) fn take(observed: &Observed<'a, M>, desired: &Desired<'_>) -> Self {
        let mut wishes = BTreeMap::new();
        let mut numbers = vec![0_u32; desired.wishes.len()];
        // Of two wishes for the same kind the first has the number of both: apart, they would count each other's.
        for (at, wish) in desired.wishes.iter().enumerate() {
            let first = *wishes.entry(&wish.key).or_insert(at);
            if let Some(number) = numbers.get_mut(first) {
                *number = number.saturating_add(wish.number);
            }
        }
        let mut census = Self {
            counts: vec![Count::default(); desired.wishes.len()],
            half_claimed: Vec::new(),
            unknown: BTreeMap::new(),
            numbers,
            idle: Vec::new(),
            removed: BTreeSet::new(),
            unsettled: vec![0; desired.wishes.len()],
            apart: vec![0; desired.wishes.len()],
            unheld: Vec::new(),
        };
        let mut names = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for making in observed.making {
            names.insert(making.name.as_str());
            ids.extend(making.machine.as_ref());
            census.count(wishes.get(&making.key).copied(), |count| count.starting += 1);
        }
        for machine in observed.view.notable() {
            let membership = (observed.membership)(machine);
            // Another machine of that name is no work of ours.
            let may_be_it = !matches!(membership, Membership::None);
            let in_flight = ids.contains(&machine.id) || (may_be_it && names.contains(machine.name.as_str()));
            if !in_flight && !observed.view.is_gone(&machine.id) {
                census.enter(machine, membership, &wishes, observed, desired);
            }
        }
        census
    }

    fn enter(
        &mut self,
        machine: &'a Machine<M>,
        membership: Membership,
        wishes: &BTreeMap<&PoolKey, usize>,
        observed: &Observed<'_, M>,
        desired: &Desired<'_>,
    ) {
        let (member, is_half_claimed) = match membership {
            Membership::None => return,
            Membership::SetApart(key) => return self.set_apart(wishes.get(&key).copied()),
            Membership::Unknown(family) => {
                *self.unknown.entry(family).or_default() += 1;
                return;
            }
            Membership::Pooled(member) => (member, false),
            Membership::HalfClaimed(member) => (member, true),
        };
        let wish = member.key.as_ref().and_then(|key| wishes.get(key).copied());
        if (observed.condemned)(&machine.id) {
            return self.count(wish, |count| count.dying += 1);
        }
        if (observed.busy)(machine) {
            return;
        }
        let settled = !observed.view.is_unsettled(&machine.id);
        if let Some(until) = observed.reckoning.hold_until(machine) {
            if until <= observed.now {
                self.unheld.extend(settled.then_some(&machine.id));
            }
            return;
        }
        if is_half_claimed {
            if machine.power == Some(Power::Off) {
                self.half_claimed.push(machine);
                self.count(wish, |count| count.ready += 1);
            }
            return;
        }
        let ready = machine.power == Some(Power::Off) && !machine.awaits_setup;
        self.count(wish, |count| if ready { count.ready += 1 } else { count.starting += 1 });
        if let Some(unsettled) = wish.and_then(|wish| self.unsettled.get_mut(wish)).filter(|_| !settled) {
            *unsettled += 1;
        }
        let outdated = outdated(machine, &member, wish, observed, desired);
        self.idle.push(Idle { machine, wish, ready, settled, created: member.created, outdated });
    }

    /// What waits for somebody to look at it is of no use, and is replaced. As many as are configured, and no more: whoever
    /// moves each of them away would be made new ones for ever.
    fn set_apart(&mut self, wish: Option<usize>) {
        if let Some(apart) = wish.and_then(|wish| self.apart.get_mut(wish)) {
            *apart += 1;
        }
    }

    fn count(&mut self, wish: Option<usize>, change: impl FnOnce(&mut Count)) {
        if let Some(count) = wish.and_then(|wish| self.counts.get_mut(wish)) {
            change(count);
        }
    }

    /// How many each wish lacks. What goes in this pass is replaced in the next one.
    pub(super) fn missing(&self) -> Vec<u32> {
        let wishes = self.numbers.iter().zip(&self.counts).zip(&self.apart);
        let missing = wishes.map(|((number, count), apart)| {
            number.saturating_sub(count.alive()).saturating_sub(apart.saturating_sub(*number))
        });
        missing.collect()
    }

    /// Those to finish: nobody is at them, and they are not ready.
    pub(super) fn half_made(&self) -> impl Iterator<Item = &'a Machine<M>> {
        let wanted = self.movable().filter(|member| !member.ready && member.wish.is_some());
        wanted.map(|member| member.machine).filter(|machine| !self.removed.contains(&machine.id))
    }

    /// With one of which it is not told whether it runs, nothing can be done, nor with one that we changed a moment ago.
    fn movable(&self) -> impl Iterator<Item = &Idle<'a, M>> {
        self.idle.iter().filter(|member| member.machine.power.is_some() && member.settled)
    }

    pub(super) fn removals(
        &mut self,
        observed: &Observed<'_, M>,
        desired: &Desired<'_>,
    ) -> (Vec<(MachineId, Removal)>, Option<Stop>) {
        if observed.stop.is_some() {
            return (Vec::new(), observed.stop);
        }
        let mut out: Vec<(&'a MachineId, Removal)> =
            self.unheld.iter().map(|id| (*id, Removal::HoldEnded)).collect();
        let unwanted = self.movable().filter(|member| member.wish.is_none());
        out.extend(unwanted.map(|member| (&member.machine.id, Removal::NotWanted)));
        let mut by_wish: Vec<Vec<&Idle<'a, M>>> = vec![Vec::new(); self.counts.len()];
        for member in self.movable() {
            if let Some(members) = member.wish.and_then(|wish| by_wish.get_mut(wish)) {
                members.push(member);
            }
        }
        let mut budget = desired.refresh_budget;
        let numbers = self.numbers.iter().zip(&self.counts).zip(&self.unsettled);
        for ((wish, members), ((number, count), unsettled)) in
            desired.wishes.iter().zip(&mut by_wish).zip(numbers)
        {
            let have = count.alive();
            // Those that are not confirmed may be the ones too many: nobody goes in their place.
            let excess = have.saturating_sub(*number).saturating_sub(*unsettled);
            if excess > 0 {
                members.sort_by_key(|member| {
                    let age = Reverse(member.created);
                    (member.ready, member.outdated.is_none(), age, Reverse(&member.machine.id))
                });
                let reason = Removal::Excess { have, number: *number };
                let gone = members.iter().take(usize::try_from(excess).unwrap_or(usize::MAX));
                out.extend(gone.map(|member| (&member.machine.id, reason)));
            } else if count.ready == *number && renewable(wish) {
                members.sort_by_key(|member| (member.created, &member.machine.id));
                let old = members.iter().filter_map(|member| Some((&member.machine.id, member.outdated?)));
                let gone: Vec<_> = old.take(budget).collect();
                budget -= gone.len();
                out.extend(gone);
            }
        }
        self.removed = out.iter().map(|(id, _)| *id).collect();
        (out.into_iter().map(|(id, reason)| (id.clone(), reason)).collect(), None)
    }
}

/// Whether what goes could be made again.
fn renewable(wish: &super::PoolTarget) -> bool {
    matches!(wish.template, TemplateState::Ready { .. }) && wish.rests_until.is_none()
}

fn outdated<M>(
    machine: &Machine<M>,
    member: &Member,
    wish: Option<usize>,
    observed: &Observed<'_, M>,
    desired: &Desired<'_>,
) -> Option<Removal> {
    let wish = wish.and_then(|wish| desired.wishes.get(wish))?;
    if let TemplateState::Ready { origin, .. } = &wish.template
        && origin.is_stale(&member.origin)
    {
        return Some(Removal::Stale);
    }
    // It would never match. One whose disk was not read yet may.
    let flavor = wish.flavor.as_deref().and_then(|name| desired.flavors.get(name));
    let disks = observed.disks.get(&machine.id).filter(|disks| disks.first_kb.is_some());
    if flavor.is_some_and(|flavor| disks.is_some() && !flavor.fits_disks(disks)) {
        return Some(Removal::SmallDisk);
    }
    let limit = desired.max_age.filter(|limit| *limit > SignedDuration::ZERO)?;
    let age =
        observed.now.duration_since(observed.reckoning.since(&machine.id, member.created?, observed.now));
    (age > limit).then_some(Removal::TooOld { age, limit })
}
