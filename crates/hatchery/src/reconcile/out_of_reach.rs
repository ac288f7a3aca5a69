//! Own machines that vCenter does not reach. They are neither judged nor claimed, and hold slot and address for as long
//! as that lasts: if it lasts long, somebody has to look. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::View;
use jiff::{SignedDuration, Timestamp};
use rookery_fleet::{MachineId, OwnerId};

/// Hosts start again, and storage comes back. After this nobody should count on it.
const LONG: SignedDuration = SignedDuration::from_hours(1);

/// Which own machines cannot be reached, and since when.
#[derive(Debug, Default)]
pub(super) struct OutOfReach {
    /// Of one whose files are gone vCenter may not show whose it is.
    own: BTreeSet<MachineId>,
    since: BTreeMap<MachineId, Timestamp>,
    told: BTreeSet<MachineId>,
}

impl OutOfReach {
    /// Takes a new view in, and names those that somebody is to be told of now: each once.
    pub(super) fn look(&mut self, view: &View, owner: &OwnerId, now: Timestamp) -> Vec<String> {
        self.own.extend(view.owned(owner).map(|(machine, _)| machine.id.clone()));
        if view.complete {
            self.own.retain(|id| view.machines.contains(id));
        }
        let is_lost = |id: &&MachineId| view.machines.get(id).is_some_and(|machine| !machine.reachable);
        let lost: BTreeSet<_> = self.own.iter().filter(is_lost).cloned().collect();
        self.since.retain(|id, _| lost.contains(id));
        self.told.retain(|id| lost.contains(id));
        for id in lost {
            self.since.entry(id).or_insert(now);
        }
        let long: Vec<_> = self.long(now).cloned().collect();
        let new = long.into_iter().filter(|id| self.told.insert(id.clone()));
        new.filter_map(|id| Some(view.machines.get(&id)?.name.clone())).collect()
    }

    /// The names of those that cannot be reached for long.
    pub(super) fn names(&self, view: &View, now: Timestamp) -> Vec<String> {
        self.long(now).filter_map(|id| Some(view.machines.get(id)?.name.clone())).collect()
    }

    fn long(&self, now: Timestamp) -> impl Iterator<Item = &MachineId> {
        let long = self.since.iter().filter(move |(_, since)| now.duration_since(**since) >= LONG);
        long.map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::Machine;
    use crate::mark::Mark;

    use super::*;
    use crate::samples::running as vm;
    use crate::samples::{Notes, OWNER};

    fn machine(name: &str, reachable: bool) -> Machine {
        let mark = Mark { hatchery_name: "ours".to_owned(), worker_name: name.to_owned(), ..Mark::default() };
        Machine { reachable, ..vm(name, name, Notes::Mark(Box::new(mark))) }
    }

    #[test]
    fn an_own_machine_that_is_out_of_reach_for_an_hour_is_told_once_until_it_is_back() {
        let at = |minute: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute);
        let mut seen = OutOfReach::default();
        let mut look = |machines: Vec<Machine>, minute: i64| {
            let view = View { machines: machines.into_iter().collect(), complete: true, ..View::default() };
            let told = seen.look(&view, &OWNER, at(minute));
            (told, seen.names(&view, at(minute)))
        };
        let w = || vec!["w".to_owned()];
        let nobody = || (vec![], vec![]);
        let lost = || vec![machine("w", false), machine("fine", true)];
        assert_eq!(look(vec![machine("w", true)], 0), nobody());
        assert_eq!(look(lost(), 1), nobody());
        assert_eq!(look(lost(), 60), nobody());
        assert_eq!(look(lost(), 61), (w(), w()));
        assert_eq!(look(lost(), 62), (vec![], w()), "it was told");
        // Whose it is is not shown any more.
        assert_eq!(
            look(vec![Machine { recognised: Notes::Unknown.into(), ..machine("w", false) }], 63),
            (vec![], w())
        );
        assert_eq!(look(vec![machine("w", true)], 64), nobody(), "it is back");
        assert_eq!(look(lost(), 65), nobody());
        assert_eq!(look(lost(), 125), (w(), w()));
        let theirs = Machine { recognised: Notes::NoMark.into(), ..machine("theirs", false) };
        assert_eq!(look(vec![theirs.clone()], 126), nobody());
        assert_eq!(look(vec![theirs], 300), nobody());
    }
}
