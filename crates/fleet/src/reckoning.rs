//! From when the ages of machines count after the supplier's clock was set.
//!
//! Marks, events and holds carry times of the supplier's clock. Once that clock was set they tell nothing about how
//! long ago something was: a machine that was started a minute ago would seem to have run for hours. So the ages of all
//! machines that were seen before count from the moment that the clock was found to be set, and what is kept stays for
//! as long as was left of its time. A clone that was ordered before and appears afterwards counts from its first sight.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::machine::{Machine, MachineId, View};
use crate::ownership::OwnerId;

/// The times of the supplier's clock that a mark carries.
pub type Times<M> = fn(&M) -> [Option<Timestamp>; 2];

/// What was known of machines when the supplier's clock was set. Empty if it never was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reckoning {
    /// When the clock was found to be set, by the clock as it is now.
    set: Option<Timestamp>,
    machines: BTreeMap<MachineId, Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    /// From when ages count, by the clock as it is now.
    from: Timestamp,
    /// Times of the machine that were written by the clock as it was.
    old: [Option<Timestamp>; 3],
    /// Until when it is kept: as its mark says it, and by the clock as it is now.
    hold: Option<(Timestamp, Timestamp)>,
}

impl Reckoning {
    /// The supplier's clock was set by that much, and shows `now`: the ages of all machines in sight count from now on.
    pub fn restart<M>(
        &mut self,
        view: &View<M>,
        owner: &OwnerId,
        times: Times<M>,
        now: Timestamp,
        by: SignedDuration,
    ) {
        let seen = |(machine, mark): (&Machine<M>, &M)| {
            let hold = machine.recognised.held_until.zip(self.hold_until(machine));
            let hold = hold.map(|(said, until)| (said, shifted(until, by)));
            (machine.id.clone(), Seen { from: now, old: old(machine, times(mark)), hold })
        };
        self.machines = view.owned(owner).map(seen).collect();
        self.set = Some(now);
    }

    /// Takes a new view in. Machines that are gone are forgotten. The age of one that is seen for the first time counts from
    /// now on if its times are not of the clock as it is: they lie before it was set, or have not come yet.
    pub fn look<M>(&mut self, view: &View<M>, owner: &OwnerId, times: Times<M>, now: Timestamp) {
        if view.complete {
            self.machines.retain(|id, _| view.machines.contains(id));
        }
        let Some(set) = self.set else { return };
        for (machine, mark) in view.owned(owner) {
            let old = old(machine, times(mark));
            let is_old = old.iter().flatten().any(|at| *at < set || *at > now);
            if is_old && !self.machines.contains_key(&machine.id) {
                self.machines.insert(machine.id.clone(), Seen { from: now, old, hold: None });
            }
        }
    }

    /// From when the age of something counts that happened to a machine at that time.
    pub fn since(&self, machine: &MachineId, at: Timestamp, now: Timestamp) -> Timestamp {
        match self.machines.get(machine) {
            None => at,
            // A time that has not come yet is one of the old clock, too.
            Some(seen) if seen.old.contains(&Some(at)) || at > now => seen.from,
            Some(seen) => at.max(seen.from),
        }
    }

    /// Until when a machine is kept, if it is or was.
    pub fn hold_until<M>(&self, machine: &Machine<M>) -> Option<Timestamp> {
        let said = machine.recognised.held_until?;
        let known = self.machines.get(&machine.id).and_then(|seen| seen.hold);
        // Somebody may have kept it anew since then, by the clock as it is now.
        Some(known.filter(|(old, _)| *old == said).map_or(said, |(_, until)| until))
    }
}

fn old<M>(machine: &Machine<M>, marked: [Option<Timestamp>; 2]) -> [Option<Timestamp>; 3] {
    let [one, other] = marked;
    [one, other, machine.created]
}

fn shifted(time: Timestamp, by: SignedDuration) -> Timestamp {
    let limit = if by.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
    time.checked_add(by).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Mark, OWNER, at, id, marked, running, times, view};

    fn hours(hours: i64) -> SignedDuration {
        SignedDuration::from_hours(hours)
    }

    #[test]
    fn ages_of_machines_that_were_seen_count_from_when_the_clock_was_set() {
        let machines = view([running("w", "09:00:00")]);
        let mut reckoning = Reckoning::default();
        assert_eq!(reckoning.since(&id("w"), at("09:00:00"), at("09:10:00")), at("09:00:00"));
        reckoning.restart(&machines, &OWNER, times, at("12:10:00"), hours(3));
        for (of, time, expected) in [
            ("w", "09:00:00", "12:10:00"),
            ("w", "09:05:00", "12:10:00"),
            // What happened since is told by the new clock.
            ("w", "12:15:00", "12:15:00"),
            ("new", "09:00:00", "09:00:00"),
        ] {
            assert_eq!(reckoning.since(&id(of), at(time), at("12:20:00")), at(expected), "{of} {time}");
        }
        // Set back: the start lies in the future, and stays an old time when that has come.
        reckoning.restart(&machines, &OWNER, times, at("07:00:00"), hours(-5));
        for now in ["08:00:00", "10:00:00"] {
            assert_eq!(reckoning.since(&id("w"), at("09:00:00"), at(now)), at("07:00:00"), "{now}");
        }
        assert_eq!(reckoning.since(&id("w"), at("09:30:00"), at("08:00:00")), at("07:00:00"));
        let knows = |reckoning: &Reckoning| reckoning.machines.contains_key(&id("w"));
        reckoning.look(&View { complete: false, ..view([]) }, &OWNER, times, at("08:00:00"));
        assert!(knows(&reckoning));
        reckoning.look(&view([]), &OWNER, times, at("08:00:00"));
        assert!(!knows(&reckoning));
    }

    // A clone that was under way when the clock was set looked hours old as soon as it appeared, and was deleted.
    #[test]
    fn a_clone_that_was_ordered_before_the_clock_was_set_counts_from_its_first_sight() {
        for (set, by, ordered, seen) in [
            ("12:10:00", 3, "09:09:00", "12:11:00"),
            ("12:10:00", 3, "09:09:00", "12:59:00"),
            ("04:10:00", -5, "09:09:00", "04:11:00"),
        ] {
            let mut reckoning = Reckoning::default();
            reckoning.restart(&view([]), &OWNER, times, at(set), hours(by));
            let clone = view([running("w", ordered)]);
            for now in [seen, "23:00:00"] {
                reckoning.look(&clone, &OWNER, times, at(now));
                assert_eq!(reckoning.since(&id("w"), at(ordered), at(now)), at(seen), "{by} h, {now}");
            }
        }
        let mut reckoning = Reckoning::default();
        reckoning.look(&view([running("w", "08:00:00")]), &OWNER, times, at("09:00:00"));
        assert_eq!(reckoning, Reckoning::default(), "nobody set the clock");
        reckoning.restart(&view([]), &OWNER, times, at("12:10:00"), hours(3));
        reckoning.look(&view([running("w", "12:11:00")]), &OWNER, times, at("12:12:00"));
        assert_eq!(
            reckoning.since(&id("w"), at("12:11:00"), at("12:20:00")),
            at("12:11:00"),
            "ordered since"
        );
    }

    #[test]
    fn what_is_kept_stays_for_as_long_as_was_left() {
        let kept = |until: &str| marked("w", |mark| mark.held_until = Some(at(until)));
        let until =
            |reckoning: &Reckoning, machine: &Machine<Mark>| reckoning.hold_until(machine).expect("a hold");
        let machine = kept("10:00:00");
        let machines = view([machine.clone()]);
        let mut reckoning = Reckoning::default();
        assert_eq!(until(&reckoning, &machine), at("10:00:00"));
        reckoning.restart(&machines, &OWNER, times, at("12:30:00"), hours(3));
        assert_eq!(until(&reckoning, &machine), at("13:00:00"));
        reckoning.restart(&machines, &OWNER, times, at("09:31:00"), hours(-3));
        assert_eq!(until(&reckoning, &machine), at("10:00:00"), "set right again");
        reckoning.restart(&machines, &OWNER, times, at("07:31:00"), hours(-2));
        assert_eq!(until(&reckoning, &machine), at("08:00:00"));
        assert_eq!(until(&reckoning, &kept("09:00:00")), at("09:00:00"), "it was kept anew since");
    }
}
