//! Which warm machine a demand gets. A machine is ready by its state: off, set up, and nobody is at it.

mod misses;

use jiff::Timestamp;

use crate::disks::Disks;
use crate::flavor::{Flavor, footprint};
use crate::machine::{Hardware, Machine, Power, View};

pub use misses::{Miss, Misses};

#[derive(Debug, Clone, Copy)]
pub struct ClaimRequest<'a> {
    /// Its size, after the default; `None`: whatever there is.
    pub flavor: Option<&'a Flavor>,
    /// The size of the template: a flavor may leave a dimension to it.
    pub template: Hardware,
    /// How large disks are, as far as they were read.
    pub disks: &'a Disks,
}

/// What a machine is to a demand, as its front tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidacy<'v> {
    /// It has nothing to do with the question.
    Irrelevant,
    /// What it is is not told yet.
    Unknown,
    /// Of its kind, but claimed half-way.
    HalfClaimed,
    /// Of its kind, in the pool.
    Pooled(Pooled<'v>),
}

/// A machine of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pooled<'v> {
    /// The flavor that it was made for, by name; empty: none.
    pub flavor: &'v str,
    pub created: Option<Timestamp>,
    /// Whether its template has changed since.
    pub is_stale: bool,
}

/// Which machines may be given another size while they are off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resizing {
    /// Those made without a flavor, and those whose flavor was changed since.
    pub unflavored: bool,
    /// Those made for another flavor.
    pub named: bool,
}

impl Default for Resizing {
    fn default() -> Self {
        Self { unflavored: true, named: false }
    }
}

/// What has to be done to a machine before it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It starts with the size it has.
    AsIs,
    Resize(Hardware),
}

/// The machine to take. `busy` says of a machine that somebody is at it, or that it is about to be deleted.
pub fn find<'v, M>(
    view: &'v View<M>,
    wanted: &ClaimRequest<'_>,
    candidacy: &dyn Fn(&'v Machine<M>) -> Candidacy<'v>,
    busy: &dyn Fn(&Machine<M>) -> bool,
    resizing: Resizing,
) -> Result<(&'v Machine<M>, Fit), Misses> {
    let mut misses = Misses::default();
    let mut best: Option<(Rank<'v>, &Machine<M>, Fit)> = None;
    for machine in view.notable() {
        let weighed = match candidacy(machine) {
            Candidacy::Irrelevant => continue,
            Candidacy::Unknown => Err(Miss::Unknown),
            Candidacy::HalfClaimed => Err(Miss::HalfClaimed),
            Candidacy::Pooled(pooled) => weigh(machine, &pooled, wanted, busy, resizing),
        };
        match weighed {
            Err(miss) => misses.add(miss),
            Ok((rank, _)) if best.as_ref().is_some_and(|(least, ..)| *least < rank) => {}
            Ok((rank, fit)) => best = Some((rank, machine, fit)),
        }
    }
    best.map(|(_, machine, fit)| (machine, fit)).ok_or(misses)
}

/// The smallest is the best: how well it fits, whether its template has changed, how old it is (unknown ages last).
type Rank<'v> = (Tier, bool, bool, Option<Timestamp>, &'v str);

/// How well a machine fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Exact,
    Changed,
    Unflavored,
    OtherFlavor,
}

fn weigh<'v, M>(
    machine: &'v Machine<M>,
    pooled: &Pooled<'_>,
    wanted: &ClaimRequest<'_>,
    busy: &dyn Fn(&Machine<M>) -> bool,
    resizing: Resizing,
) -> Result<(Rank<'v>, Fit), Miss> {
    let miss = match machine.power {
        _ if busy(machine) => Some(Miss::Busy),
        // Somebody has looked at it, and may have left something behind.
        _ if machine.recognised.held_until.is_some() => Some(Miss::Held),
        Some(Power::Off) if machine.awaits_setup => Some(Miss::NotReady),
        Some(Power::Off) => None,
        Some(Power::On | Power::Suspended) | None => Some(Miss::NotReady),
    };
    if let Some(miss) = miss {
        return Err(miss);
    }
    if wanted.flavor.is_some_and(|flavor| !flavor.fits_disks(wanted.disks.get(&machine.id))) {
        return Err(Miss::Disk);
    }
    let (tier, fit) = size(machine, pooled.flavor, wanted, resizing).ok_or(Miss::Flavor)?;
    let created = pooled.created;
    Ok(((tier, pooled.is_stale, created.is_none(), created, machine.id.as_str()), fit))
}

fn size<M>(
    machine: &Machine<M>,
    made_for: &str,
    wanted: &ClaimRequest<'_>,
    resizing: Resizing,
) -> Option<(Tier, Fit)> {
    let unflavored = made_for.is_empty();
    let Some(flavor) = wanted.flavor else {
        let tier = if unflavored { Tier::Exact } else { Tier::OtherFlavor };
        return Some((tier, Fit::AsIs));
    };
    let same = flavor.is_named(made_for);
    let of_machine = if unflavored { machine.hardware } else { Hardware::default() };
    let target = footprint(Some(flavor), wanted.template.or(of_machine));
    if same && !machine.hardware.differs(&target) {
        return Some((Tier::Exact, Fit::AsIs));
    }
    let (tier, allowed) = match (same, unflavored) {
        (true, _) => (Tier::Changed, resizing.unflavored),
        (false, true) => (Tier::Unflavored, resizing.unflavored),
        (false, false) => (Tier::OtherFlavor, resizing.named),
    };
    let target = Some(target).filter(|target| allowed && target.is_known())?;
    let fit = if machine.hardware == target { Fit::AsIs } else { Fit::Resize(target) };
    Some((tier, fit))
}

#[cfg(test)]
mod tests;
