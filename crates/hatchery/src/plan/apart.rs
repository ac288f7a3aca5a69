//! Machines that carry our mark and are not touched until somebody has looked at them: copies of ours, and ours that
//! somebody has moved.

use std::fmt;

use crate::machine::{Machine, View};
use crate::mark::Mark;
use crate::plan::Denied;
use rookery_fleet::{MachineId, OwnerId, Ownership};
use serde::{Deserialize, Serialize};

/// A machine that is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apart {
    pub machine: MachineId,
    pub name: String,
    pub why: WhyApart,
}

/// Why a machine with our mark is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyApart {
    /// Its mark was written for another machine.
    Copy,
    /// Its mark may have been written for another machine.
    Disputed,
    /// It is not where the settings say.
    Outside,
}

impl Apart {
    /// What can be done about it.
    pub fn remedy(&self) -> String {
        let id = &self.machine;
        match self.why {
            WhyApart::Copy | WhyApart::Disputed => format!(
                "if its original is gone, `rookery hatchery adopt-vm {id}` lets it take its place; `rookery hatchery \
                 unmark {id}` removes the mark of this hatchery from it"
            ),
            WhyApart::Outside => "move it back, or name its place in the settings".to_owned(),
        }
    }
}

impl fmt::Display for WhyApart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy => "its notes were written for another VM: it is a copy",
            Self::Disputed => "whether its notes were written for it or for another VM cannot be told",
            Self::Outside => "it is in another folder or resource pool than the settings name",
        })
    }
}

/// The machines with this owner's mark that are left alone, by reference.
pub fn apart(view: &View, owner: &OwnerId) -> Vec<Apart> {
    let found = view.notable().filter_map(|machine| {
        let why = why_apart(machine, owner)?;
        Some(Apart { machine: machine.id.clone(), name: machine.name.clone(), why })
    });
    found.collect()
}

/// Why a machine with this owner's mark is left alone.
pub(super) fn why_apart(machine: &Machine, owner: &OwnerId) -> Option<WhyApart> {
    match &machine.recognised.ownership {
        Ownership::Copied(found) if found == owner => Some(WhyApart::Copy),
        Ownership::Disputed(found) if found == owner => Some(WhyApart::Disputed),
        Ownership::By(found) if found == owner => machine.is_outside.then_some(WhyApart::Outside),
        Ownership::Unknown
        | Ownership::Nobody
        | Ownership::Copied(_)
        | Ownership::Disputed(_)
        | Ownership::By(_) => None,
    }
}

/// The copy that somebody names by its reference or its name, or why it is none.
pub fn copy_named(view: &View, owner: &OwnerId, which: &str) -> Result<Apart, Denied> {
    if !view.complete {
        return Err("vCenter has not shown all its machines yet; try again in a moment".into());
    }
    let mut copies: Vec<_> = apart(view, owner);
    copies.retain(|one| one.why != WhyApart::Outside && (one.machine.as_str() == which || one.name == which));
    match copies.len() {
        0 => Err(Denied::Unclear(format!("{which:?} is no copy of a machine of this hatchery"))),
        1 => Ok(copies.remove(0)),
        several => {
            Err(format!("{several} copies are called {which:?}; name one by its id, such as vm-63").into())
        }
    }
}

/// The copy that becomes this owner's. One whose original is there does not: both would have its name, its address and its
/// job.
pub fn adoptable_copy(view: &View, owner: &OwnerId, which: &str) -> Result<Apart, Denied> {
    let copy = copy_named(view, owner, which)?;
    let Some(mark) = view.machines.get(&copy.machine).and_then(|one| one.any_mark()) else { return Ok(copy) };
    let is_original = |other: &&Machine| {
        let is_same =
            |theirs: &Mark| !theirs.worker_name.is_empty() && theirs.worker_name == mark.worker_name;
        // Of two that nobody can tell apart a person can.
        let is_told = |theirs: &Mark| copy.why == WhyApart::Copy || !theirs.instance.is_empty();
        let is_named = !mark.instance.is_empty()
            && other.incarnation.as_ref().is_some_and(|theirs| theirs.eq_ignore_ascii_case(&mark.instance));
        let is_like_it = other.mark_of(owner).is_some_and(|theirs| is_same(theirs) && is_told(theirs));
        other.id != copy.machine && (is_named || is_like_it)
    };
    match view.notable().find(is_original) {
        None => Ok(copy),
        Some(original) => Err(format!(
            "the VM that its notes were written for is there: {} ({}); `rookery hatchery unmark` removes this \
             hatchery's mark from the copy",
            original.name, original.id
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Notes, OWNER};

    fn vm(id: &str, notes: Notes) -> Machine {
        let vm = crate::samples::running(id, &format!("name-of-{id}"), notes);
        Machine { incarnation: Some(format!("uuid-of-{id}")), ..vm }
    }

    fn mark(owner: &str, worker: &str, instance: &str) -> Box<Mark> {
        let [hatchery_name, worker_name, instance] = [owner, worker, instance].map(str::to_owned);
        Box::new(Mark { hatchery_name, worker_name, instance, ..Mark::default() })
    }

    fn view(machines: Vec<Machine>) -> View {
        View { machines: machines.into_iter().collect(), complete: true, ..View::default() }
    }

    #[test]
    fn copies_and_machines_that_were_moved_are_told_and_those_of_others_are_not() {
        let view = view(vec![
            vm("vm-1", Notes::Mark(mark(OWNER.name(), "a", ""))),
            vm("vm-2", Notes::Copied(mark(OWNER.name(), "a", "uuid-of-vm-1"))),
            vm("vm-3", Notes::Disputed(mark(OWNER.name(), "b", ""))),
            Machine { is_outside: true, ..vm("vm-4", Notes::Mark(mark(OWNER.name(), "c", ""))) },
            vm("vm-5", Notes::Copied(mark("h2", "a", "uuid-of-vm-9"))),
            Machine { is_outside: true, ..vm("vm-6", Notes::NoMark) },
            vm("vm-7", Notes::Disputed(mark(OWNER.name(), "d", "never told"))),
        ]);
        let found: Vec<_> =
            apart(&view, &OWNER).into_iter().map(|one| (one.machine.to_string(), one.why)).collect();
        let expected = [
            ("vm-2", WhyApart::Copy),
            ("vm-3", WhyApart::Disputed),
            ("vm-4", WhyApart::Outside),
            ("vm-7", WhyApart::Disputed),
        ];
        assert_eq!(found, expected.map(|(id, why)| (id.to_owned(), why)));
        assert!(apart(&view, &crate::mark::owner("")).is_empty());
        assert!(
            copy_named(&view, &OWNER, "vm-2").is_ok() && copy_named(&view, &OWNER, "name-of-vm-3").is_ok()
        );
        for ours in ["vm-1", "vm-4", "vm-5", "vm-6", "vm-99"] {
            assert!(copy_named(&view, &OWNER, ours).is_err(), "{ours} would lose its mark");
        }
    }

    #[test]
    fn a_copy_is_adopted_only_if_its_original_is_gone() {
        let by_instance = vm("vm-2", Notes::Copied(mark(OWNER.name(), "", "uuid-of-vm-1")));
        let by_worker = vm("vm-3", Notes::Copied(mark(OWNER.name(), "a", "")));
        let original = vm("vm-1", Notes::Mark(mark(OWNER.name(), "a", "")));
        for copy in [by_instance, by_worker] {
            let id = copy.id.to_string();
            let both = view(vec![original.clone(), copy.clone()]);
            let refused = adoptable_copy(&both, &OWNER, &id).expect_err("the original is there");
            assert!(
                matches!(&refused, Denied::Refused(why) if why.contains("name-of-vm-1 (vm-1)")),
                "{refused:?}"
            );
            let alone = view(vec![copy.clone(), vm("vm-9", Notes::Mark(mark(OWNER.name(), "z", "")))]);
            assert!(adoptable_copy(&alone, &OWNER, &id).is_ok());
            let unknown = View { complete: false, ..alone };
            assert!(adoptable_copy(&unknown, &OWNER, &id).is_err(), "what is not shown may be there");
        }
        // Of two that nobody can tell apart, a person can.
        let pair = view(vec![
            vm("vm-4", Notes::Disputed(mark(OWNER.name(), "b", ""))),
            vm("vm-5", Notes::Disputed(mark(OWNER.name(), "b", ""))),
        ]);
        assert!(adoptable_copy(&pair, &OWNER, "vm-5").is_ok());
        let signed = vm("vm-4", Notes::Mark(mark(OWNER.name(), "b", "uuid-of-vm-4")));
        let decided = view(vec![signed, vm("vm-5", Notes::Disputed(mark(OWNER.name(), "b", "")))]);
        assert!(
            adoptable_copy(&decided, &OWNER, "vm-5").is_err(),
            "somebody has said that it is the other one"
        );
    }
}
