//! Which warm machine a worker gets. A machine is ready by its state: off, set up, and nobody is at it.

mod misses;

use jiff::Timestamp;

use crate::disks::Disks;
use crate::flavor::{Flavor, footprint};
use crate::machine::{Hardware, Machine, Power, View};
use crate::mark::Mark;
use crate::names::{self, Line};
use crate::origin::Origin;
use crate::standing::{Standing, standing};

pub use misses::{Miss, Misses};

/// What a worker needs.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Whose machines may be taken.
    pub owner: &'a str,
    /// The kind of its model.
    pub line: Line,
    /// V1: the path of its model; V2: its template.
    pub model: &'a str,
    /// Its size, after the default; `None`: whatever there is.
    pub flavor: Option<&'a Flavor>,
    /// The size of the template: a flavor may leave a dimension to it.
    pub template: Option<Hardware>,
    /// What a fresh machine would be made from.
    pub origin: &'a Origin,
    /// How large disks are, as far as they were read.
    pub disks: &'a Disks,
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
    /// Nothing.
    AsIs,
    /// It gets this size.
    Resize(Hardware),
}

/// The machine to take. `busy` says of a machine that somebody is at it, or that it is about to be deleted.
pub fn find<'v>(
    view: &'v View,
    wanted: &Wanted<'_>,
    busy: &dyn Fn(&Machine) -> bool,
    resizing: Resizing,
) -> Result<(&'v Machine, Fit), Misses> {
    let mut misses = Misses::default();
    let mut best: Option<(Rank<'v>, &Machine, Fit)> = None;
    for machine in view.notable() {
        match weigh(machine, wanted, busy, resizing) {
            None => {}
            Some(Err(miss)) => misses.add(miss),
            Some(Ok((rank, _))) if best.as_ref().is_some_and(|(least, ..)| *least < rank) => {}
            Some(Ok((rank, fit))) => best = Some((rank, machine, fit)),
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

/// `None` is a machine that has nothing to do with the question.
fn weigh<'v>(
    machine: &'v Machine,
    wanted: &Wanted<'_>,
    busy: &dyn Fn(&Machine) -> bool,
    resizing: Resizing,
) -> Option<Result<(Rank<'v>, Fit), Miss>> {
    if names::line_of(&machine.name) != Some(wanted.line) {
        return None;
    }
    let standing = standing(machine, wanted.owner);
    if standing == Standing::Unknown {
        return (!machine.is_set_apart()).then_some(Err(Miss::Unknown));
    }
    let mark = machine.mark_of(wanted.owner).filter(|mark| model_of(mark, wanted.line) == wanted.model)?;
    if standing != Standing::Pooled {
        return (standing == Standing::HalfClaimed).then_some(Err(Miss::HalfClaimed));
    }
    let miss = match machine.power {
        _ if busy(machine) => Some(Miss::Busy),
        // Somebody has looked at it, and may have left something behind.
        _ if mark.hold_until.is_some() => Some(Miss::Held),
        Some(Power::Off) if machine.awaits_setup => Some(Miss::NotReady),
        Some(Power::Off) => None,
        Some(Power::On | Power::Suspended) | None => Some(Miss::NotReady),
    };
    if let Some(miss) = miss {
        return Some(Err(miss));
    }
    if wanted.flavor.is_some_and(|flavor| !flavor.fits_disks(wanted.disks.get(&machine.id))) {
        return Some(Err(Miss::Disk));
    }
    let Some((tier, fit)) = size(machine, mark, wanted, resizing) else { return Some(Err(Miss::Flavor)) };
    let created = machine.created.or(mark.created);
    let rank = (tier, wanted.origin.is_stale(mark), created.is_none(), created, machine.id.as_str());
    Some(Ok((rank, fit)))
}

/// The model that a mark names for that line.
pub(crate) fn model_of(mark: &Mark, line: Line) -> &str {
    match line {
        Line::V1 => &mark.worker_model_path,
        Line::V2 => &mark.vmware_model_path,
    }
}

fn size(machine: &Machine, mark: &Mark, wanted: &Wanted<'_>, resizing: Resizing) -> Option<(Tier, Fit)> {
    let unflavored = mark.flavor.is_empty();
    let Some(flavor) = wanted.flavor else {
        let tier = if unflavored { Tier::Exact } else { Tier::OtherFlavor };
        return Some((tier, Fit::AsIs));
    };
    let same = flavor.is_named(&mark.flavor);
    let template = wanted.template.or(machine.hardware.filter(|_| unflavored));
    let target = footprint(Some(flavor), template);
    let differs = |now: Hardware| {
        target.cpus.is_some_and(|cpus| cpus != now.cpus)
            || target.memory_mb.is_some_and(|memory| memory != now.memory_mb)
    };
    if same && !machine.hardware.is_some_and(differs) {
        return Some((Tier::Exact, Fit::AsIs));
    }
    let (tier, allowed) = match (same, unflavored) {
        (true, _) => (Tier::Changed, resizing.unflavored),
        (false, true) => (Tier::Unflavored, resizing.unflavored),
        (false, false) => (Tier::OtherFlavor, resizing.named),
    };
    let target = target.hardware().filter(|_| allowed)?;
    let fit = if machine.hardware == Some(target) { Fit::AsIs } else { Fit::Resize(target) };
    Some((tier, fit))
}

#[cfg(test)]
mod tests;
