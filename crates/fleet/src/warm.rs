//! Decides how the pool of warm machines moves towards what is wished for.
//!
//! Missing ones are made in turns over the wishes; half-made ones are finished, and half-claimed ones given back; what
//! is too much, unwanted, too old or made from a template that has changed goes, the latter two a few at a time.

mod census;
mod reason;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;

use crate::address::{self, Assigned, Network};
use crate::capacity::{self, Ledger, Limits, PoolRoom};
use crate::deletion::Stop;
use crate::disks::Disks;
use crate::flavor::{Flavor, Flavors, footprint};
use crate::machine::{Hardware, Machine, MachineId, Power, View};
use crate::origin::Origin;
use crate::reckoning::Reckoning;

use census::Census;

pub use census::Count;
pub use reason::{Removal, WaitReason};

/// What tells warm machines of one kind from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolKey {
    /// How the names of its machines begin: of one that is not told yet its name is all there is.
    pub family: &'static str,
    /// What else tells them apart; only the front knows what it means.
    pub kind: Arc<str>,
}

/// So many warm machines of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolTarget {
    pub key: PoolKey,
    /// Their size by name; `None`: the template's.
    pub flavor: Option<String>,
    pub number: u32,
    /// What they are cloned from.
    pub template: TemplateState,
    /// Until when none is made, since one failed of late.
    pub rests_until: Option<Timestamp>,
}

/// What a machine is to the pool, as its front tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// It has nothing to do with it.
    None,
    /// It may be one of that family: what it is is not told yet.
    Unknown(&'static str),
    /// It waits in the pool.
    Pooled(Member),
    HalfClaimed(Member),
    /// It would wait in the pool, but nobody touches it until somebody has looked at it.
    SetApart(PoolKey),
}

/// A machine of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its kind; `None`: of a kind that cannot be wished for.
    pub key: Option<PoolKey>,
    pub created: Option<Timestamp>,
    /// What it was made from.
    pub origin: Origin,
}

/// Whether a template can be cloned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateState {
    Missing,
    /// Not now, for that reason.
    NotNow(String),
    Ready {
        id: MachineId,
        /// The state that clones are made from.
        origin: Origin,
        hardware: Hardware,
    },
}

/// A warm machine in flight: being cloned, or being finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Making {
    pub key: PoolKey,
    pub name: String,
    /// Which machine it is, once that is known.
    pub machine: Option<MachineId>,
}

#[derive(Debug, Clone, Copy)]
pub enum Addresses<'a> {
    Dhcp,
    /// From us, but not yet: clones of an earlier life are still running, and what they hold is not seen.
    NotYet,
    From {
        networks: &'a [Network],
        /// What must not be given away.
        held: &'a BTreeSet<Ipv4Addr>,
    },
}

/// Names a new machine, other than those taken.
pub type NewName<'a> = dyn Fn(&PoolKey, Option<Ipv4Addr>, &mut StdRng, &dyn Fn(&str) -> bool) -> String + 'a;

pub struct Observed<'a, M> {
    pub view: &'a View<M>,
    /// What a machine is to the pool.
    pub membership: &'a dyn Fn(&Machine<M>) -> Membership,
    /// A new name for a machine of that kind with that address.
    pub name: &'a NewName<'a>,
    pub now: Timestamp,
    /// Why nothing may be deleted; see [`stop_reason`](crate::deletion::stop_reason).
    pub stop: Option<Stop>,
    /// From when ages count, if the supplier's clock was set.
    pub reckoning: &'a Reckoning,
    pub making: &'a [Making],
    /// Whether somebody is at a machine: it is claimed, started or deleted.
    pub busy: &'a dyn Fn(&Machine<M>) -> bool,
    /// Whether a machine was given up.
    pub condemned: &'a dyn Fn(&MachineId) -> bool,
    pub addresses: Addresses<'a>,
    pub ledger: Ledger,
    /// What the resource pool has left.
    pub room: Option<PoolRoom>,
    /// How large disks are, as far as they were read.
    pub disks: &'a Disks,
}

impl<M> std::fmt::Debug for Observed<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observed").field("now", &self.now).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Desired<'a> {
    /// The wishes, in the order of the configuration.
    pub wishes: &'a [PoolTarget],
    /// How many may be in flight at once; `None`: any number.
    pub pool_size: Option<usize>,
    /// How many outdated machines go in one pass.
    pub refresh_budget: usize,
    /// How old a warm machine may get; `None`: any age.
    pub max_age: Option<SignedDuration>,
    pub limits: &'a Limits,
    pub flavors: &'a Flavors,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Machines to make, in this order.
    pub make: Vec<Make>,
    /// Half-made machines to bring to their end: set up, and off.
    pub finish: Vec<MachineId>,
    /// Half-claimed machines to mark as pooled again.
    pub give_back: Vec<MachineId>,
    pub remove: Vec<(MachineId, Removal)>,
    /// Which wishes stay unfulfilled, and why.
    pub waiting: Vec<Waiting>,
    /// What there is, per wish.
    pub counts: Vec<Count>,
    /// Why nothing may be deleted.
    pub stopped: Option<Stop>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Make {
    /// Which wish it is for.
    pub wish: usize,
    pub name: String,
    /// Its address; `None`: by DHCP.
    pub address: Option<Assigned>,
    pub flavor: Option<Flavor>,
    /// What it will take while it runs.
    pub footprint: Hardware,
}

/// A wish that stays unfulfilled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub wish: usize,
    /// How many machines it lacks.
    pub missing: u32,
    pub why: WaitReason,
}

/// How the pool moves on.
pub fn plan<M>(observed: &Observed<'_, M>, desired: &Desired<'_>, random: &mut StdRng) -> Plan {
    if !observed.view.complete {
        let wait = |(wish, wished): (usize, &PoolTarget)| Waiting {
            wish,
            missing: wished.number,
            why: WaitReason::Incomplete,
        };
        let waiting = desired.wishes.iter().enumerate().map(wait).collect();
        return Plan { waiting, stopped: Some(Stop::Incomplete), ..Plan::default() };
    }
    let mut census = Census::take(observed, desired);
    let (remove, stopped) = census.removals(observed, desired);
    let mut plan = Plan { remove, stopped, ..Plan::default() };
    plan.give_back = census.half_claimed.iter().map(|machine| machine.id.clone()).collect();
    let room = desired.pool_size.map_or(usize::MAX, |size| size.saturating_sub(observed.making.len()));
    let mut refill = Refill::new(observed, desired, &census, room);
    plan.finish = census
        .half_made()
        .filter(|machine| refill.finish(machine))
        .map(|machine| machine.id.clone())
        .collect();
    refill.run(&mut plan, random);
    plan.counts = census.counts;
    plan
}

/// The making of what is missing.
struct Refill<'a, M> {
    observed: &'a Observed<'a, M>,
    desired: &'a Desired<'a>,
    missing: Vec<u32>,
    /// What each wish has already.
    alive: Vec<u32>,
    room: usize,
    /// How many of each family stay unmade, since machines not told yet may be theirs.
    unknown: BTreeMap<&'static str, u32>,
    ledger: Ledger,
}

impl<'a, M> Refill<'a, M> {
    fn new(
        observed: &'a Observed<'a, M>,
        desired: &'a Desired<'a>,
        census: &Census<'a, M>,
        room: usize,
    ) -> Self {
        let (missing, alive) = (census.missing(), census.counts.iter().map(Count::alive).collect());
        let (unknown, ledger) = (census.unknown.clone(), observed.ledger);
        Self { observed, desired, missing, alive, room, unknown, ledger }
    }

    /// One at a time for the wish that has fewest, until nothing more can be made. Where there is room for one at a time,
    /// any fixed order would let the first wish keep all others waiting.
    fn run(mut self, plan: &mut Plan, random: &mut StdRng) {
        if self.missing.iter().all(|missing| *missing == 0) {
            return;
        }
        let (networks, held) = match self.observed.addresses {
            Addresses::From { networks, held } => (networks, Some(held)),
            Addresses::Dhcp | Addresses::NotYet => (&[][..], None),
        };
        let none = BTreeSet::new();
        let mut free = address::free(networks, held.unwrap_or(&none));
        let mut used = self.observed.making.iter().map(|making| making.name.clone()).collect();
        let mut open: Vec<usize> = (0..self.missing.len()).collect();
        loop {
            open.retain(|wish| self.missing.get(*wish).is_some_and(|missing| *missing > 0));
            let has = |wish: &&usize| self.alive.get(**wish).copied();
            let Some(wish) = open.iter().min_by_key(has).copied() else { break };
            match self.make(wish, &mut free, &mut used, random) {
                Ok(make) => plan.make.push(make),
                Err(why) => {
                    let missing = self.missing.get(wish).copied().unwrap_or_default();
                    plan.waiting.push(Waiting { wish, missing, why });
                    open.retain(|other| *other != wish);
                }
            }
        }
        plan.waiting.sort_by_key(|waiting| waiting.wish);
    }

    /// Whether a half-made machine can be brought to its end now. One that is off has to run for that.
    fn finish(&mut self, machine: &Machine<M>) -> bool {
        if self.room == 0 {
            return false;
        }
        if machine.power == Some(Power::Off) {
            let footprint = footprint(None, machine.hardware);
            let Desired { limits, flavors, .. } = *self.desired;
            let room = self.observed.room.as_ref();
            if capacity::admit(&self.ledger, limits, room, &footprint, None, flavors).is_err() {
                return false;
            }
            self.ledger.take(&footprint);
        }
        self.room -= 1;
        true
    }

    fn make(
        &mut self,
        wish: usize,
        free: &mut dyn Iterator<Item = Assigned>,
        used: &mut BTreeSet<String>,
        random: &mut StdRng,
    ) -> Result<Make, WaitReason> {
        let wished = self.desired.wishes.get(wish).ok_or(WaitReason::Template)?;
        let flavor = match wished.flavor.as_deref().filter(|name| !name.is_empty()) {
            None => None,
            Some(name) => {
                let found = self.desired.flavors.get(name).cloned();
                Some(found.ok_or_else(|| WaitReason::Flavor(name.to_lowercase()))?)
            }
        };
        let hardware = match &wished.template {
            TemplateState::Missing => return Err(WaitReason::Template),
            TemplateState::NotNow(reason) => return Err(WaitReason::NotNow(reason.clone())),
            TemplateState::Ready { hardware, .. } => *hardware,
        };
        if let Some(until) = wished.rests_until {
            return Err(WaitReason::Resting { until });
        }
        let unknown = self.unknown.get(wished.key.family).copied().unwrap_or_default();
        if unknown >= self.missing_of(wished.key.family) {
            return Err(WaitReason::Unknown { machines: unknown });
        }
        if let Some(size) = self.desired.pool_size.filter(|_| self.room == 0) {
            return Err(WaitReason::PoolSize { size });
        }
        let footprint = footprint(flavor.as_ref(), hardware);
        let Desired { limits, flavors, .. } = *self.desired;
        let room = self.observed.room.as_ref();
        capacity::admit(&self.ledger, limits, room, &footprint, flavor.as_ref(), flavors)
            .map_err(WaitReason::Capacity)?;
        let address = match self.observed.addresses {
            Addresses::Dhcp => None,
            Addresses::NotYet => return Err(WaitReason::AddressesNotYet),
            Addresses::From { .. } => Some(free.next().ok_or(WaitReason::NoAddress)?),
        };
        let at = address.as_ref().map(|address| address.ip);
        let view = self.observed.view;
        let taken = |name: &str| used.contains(name) || view.is_taken(name);
        let name = (self.observed.name)(&wished.key, at, random, &taken);
        used.insert(name.clone());
        self.ledger.take(&footprint);
        self.room -= 1;
        if let (Some(missing), Some(alive)) = (self.missing.get_mut(wish), self.alive.get_mut(wish)) {
            (*missing, *alive) = (*missing - 1, *alive + 1);
        }
        Ok(Make { wish, name, address, flavor, footprint })
    }

    fn missing_of(&self, family: &str) -> u32 {
        let wishes = self.desired.wishes.iter().zip(&self.missing);
        wishes.filter(|(wish, _)| wish.key.family == family).map(|(_, missing)| *missing).sum()
    }
}

#[cfg(test)]
mod tests;
