//! All machines of one moment. A copy shares all that has not changed since with the original: among a hundred thousand
//! machines a pass pays for those that changed, and most rules look only at those that anybody has marked.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::address;
use crate::machine::{Machine, MachineId, Role};
use crate::ownership::{OwnerId, Ownership};

#[derive(Debug, Clone)]
pub struct Machines<M> {
    all: OrdMap<MachineId, Arc<Machine<M>>>,
    /// Those that may be more to somebody than a VM of others.
    notable: OrdMap<MachineId, Arc<Machine<M>>>,
    /// In different folders several may have one name.
    by_name: OrdMap<Arc<str>, Vec<MachineId>>,
    /// All addresses that machines hold, and how often they are seen to.
    addresses: OrdMap<Ipv4Addr, usize>,
    /// The VMs of each identity that a mark names: one of them is the original.
    by_identity: OrdMap<OwnIdentity, Vec<MachineId>>,
    /// Those of which there are several.
    shared: OrdSet<OwnIdentity>,
}

/// An owner, and what a mark of it says that the machine is.
type OwnIdentity = (OwnerId, Arc<str>);

impl<M> Default for Machines<M> {
    fn default() -> Self {
        let (all, notable, by_name, addresses, by_identity, shared) = Default::default();
        Self { all, notable, by_name, addresses, by_identity, shared }
    }
}

impl<M> Machines<M> {
    /// Takes one in, and gives the earlier one of the same reference.
    pub fn insert(&mut self, machine: Arc<Machine<M>>) -> Option<Arc<Machine<M>>> {
        let earlier = self.remove(&machine.id);
        let id = machine.id.clone();
        if machine.is_notable() {
            self.notable.insert(id.clone(), Arc::clone(&machine));
        }
        let same_name = self.by_name.entry(machine.name.as_str().into()).or_default();
        same_name.insert(same_name.partition_point(|other| *other < id), id.clone());
        for ip in address::of_machine(&machine) {
            *self.addresses.entry(ip).or_default() += 1;
        }
        if let Some(identity) = identity_of(&machine) {
            let same = self.by_identity.entry(identity.clone()).or_default();
            same.push(id.clone());
            if same.len() > 1 {
                self.shared.insert(identity);
            }
        }
        self.all.insert(id, machine);
        earlier
    }

    /// Forgets one, and gives it.
    pub fn remove(&mut self, id: &MachineId) -> Option<Arc<Machine<M>>> {
        let gone = self.all.remove(id)?;
        self.notable.remove(id);
        self.forget_name(&gone);
        self.forget_addresses(&gone);
        self.forget_identity(&gone);
        Some(gone)
    }

    fn forget_identity(&mut self, machine: &Machine<M>) {
        let Some(identity) = identity_of(machine) else { return };
        let Some(same) = self.by_identity.get_mut(&identity) else { return };
        same.retain(|id| *id != machine.id);
        let left = same.len();
        if left < 2 {
            self.shared.remove(&identity);
        }
        if left == 0 {
            self.by_identity.remove(&identity);
        }
    }

    /// The same machines; of several that are the same by their marks those are disputed whose mark does not tell which of them
    /// it was written for. They stay so when the others are gone: the one that is left may be the copy.
    #[must_use]
    pub fn with_disputed(mut self, once: &mut BTreeSet<MachineId>) -> Self
    where
        M: Clone,
    {
        let shared = self.shared.iter().filter_map(|identity| self.by_identity.get(identity)).flatten();
        once.extend(shared.cloned());
        once.retain(|id| match self.all.get(id).and_then(|machine| disputed(machine)) {
            Some(machine) => {
                self.insert(Arc::new(machine));
                true
            }
            None => false,
        });
        self
    }

    fn forget_name(&mut self, machine: &Machine<M>) {
        let Some(same_name) = self.by_name.get_mut(machine.name.as_str()) else { return };
        same_name.retain(|id| *id != machine.id);
        if same_name.is_empty() {
            self.by_name.remove(machine.name.as_str());
        }
    }

    fn forget_addresses(&mut self, machine: &Machine<M>) {
        for ip in address::of_machine(machine) {
            match self.addresses.get(&ip) {
                Some(count) if *count > 1 => drop(self.addresses.insert(ip, count - 1)),
                _ => drop(self.addresses.remove(&ip)),
            }
        }
    }

    pub fn get(&self, id: &MachineId) -> Option<&Arc<Machine<M>>> {
        self.all.get(id)
    }

    /// Whether it is there.
    pub fn contains(&self, id: &MachineId) -> bool {
        self.all.contains_key(id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, in the order of their references.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Machine<M>>> {
        self.all.values()
    }

    /// Those of one name, in the order of their references.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Machine<M>>> {
        self.by_name.get(name).into_iter().flatten().filter_map(|id| self.all.get(id))
    }

    /// The addresses among these that machines hold, in order.
    pub fn addresses_in(&self, these: RangeInclusive<Ipv4Addr>) -> impl Iterator<Item = Ipv4Addr> {
        self.addresses.range(these).map(|(ip, _)| *ip)
    }

    /// Those with a mark, templates, and those that are not told yet: all that a rule about marks can concern.
    pub fn notable(&self) -> impl Iterator<Item = &Arc<Machine<M>>> {
        self.notable.values()
    }
}

fn identity_of<M>(machine: &Machine<M>) -> Option<OwnIdentity> {
    let Ownership::By(owner) = &machine.recognised.ownership else { return None };
    let identity = machine.recognised.identity.as_ref().filter(|_| machine.role == Role::Vm)?;
    (!identity.name.is_empty()).then(|| (owner.clone(), Arc::clone(&identity.name)))
}

/// The machine as one of several with its mark, unless that tells that it was written for this one.
fn disputed<M: Clone>(machine: &Machine<M>) -> Option<Machine<M>> {
    let Ownership::By(owner) = &machine.recognised.ownership else { return None };
    machine.recognised.identity.as_ref().filter(|identity| !identity.is_proven)?;
    let mut machine = machine.clone();
    machine.recognised.ownership = Ownership::Disputed(owner.clone());
    Some(machine)
}

impl<M> FromIterator<Machine<M>> for Machines<M> {
    fn from_iter<I: IntoIterator<Item = Machine<M>>>(machines: I) -> Self {
        machines.into_iter().map(Arc::new).collect()
    }
}

impl<M> FromIterator<Arc<Machine<M>>> for Machines<M> {
    fn from_iter<I: IntoIterator<Item = Arc<Machine<M>>>>(machines: I) -> Self {
        let mut all = Self::default();
        machines.into_iter().for_each(|machine| drop(all.insert(machine)));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::claim::Candidacy;
    use crate::origin::Origin;
    use crate::samples::{Mark, any_machine, by_mark, candidacy, membership, owner};
    use crate::warm::Membership;

    fn shown<'m>(machines: impl Iterator<Item = &'m Arc<Machine<Mark>>>) -> Vec<&'m Machine<Mark>> {
        machines.map(AsRef::as_ref).collect()
    }

    #[test]
    fn of_several_that_are_the_same_by_their_marks_those_that_do_not_tell_are_disputed() {
        let of = |owner: &str, id: &str, name: &str, instance: &str| {
            let mark = Mark {
                owner: owner.to_owned(),
                name: name.to_owned(),
                instance: instance.to_owned(),
                ..Mark::default()
            };
            let id = MachineId::new(id);
            Arc::new(Machine { recognised: by_mark("x", mark), id, ..crate::samples::vm("x") })
        };
        let vm = |id: &str, name: &str, instance: &str| of("ours", id, name, instance);
        let mut once = BTreeSet::new();
        let mut disputed = |machines: &Machines<Mark>| {
            let all = machines.clone().with_disputed(&mut once);
            let is_disputed = |machine: &&Arc<Machine<Mark>>| matches!(&machine.recognised.ownership, Ownership::Disputed(of) if of.name() == "ours");
            all.iter().filter(is_disputed).map(|machine| machine.id.to_string()).collect::<Vec<_>>()
        };
        let mut machines: Machines<Mark> = [
            vm("vm-1", "a", ""),
            vm("vm-2", "b", ""),
            vm("vm-3", "", ""),
            vm("vm-4", "", ""),
            of("theirs", "vm-6", "b", ""),
        ]
        .into_iter()
        .collect();
        assert!(
            disputed(&machines).is_empty(),
            "each is alone, no name is nobody's, and others have their own"
        );
        machines.insert(vm("vm-5", "a", ""));
        assert_eq!(disputed(&machines), ["vm-1", "vm-5"]);
        machines.insert(vm("vm-5", "a", "50"));
        assert_eq!(disputed(&machines), ["vm-1"], "the other one tells that it is itself");
        machines.remove(&MachineId::new("vm-5"));
        assert_eq!(disputed(&machines), ["vm-1"], "it may be the copy, though its original has gone");
        machines.insert(vm("vm-1", "a", "49"));
        assert!(disputed(&machines).is_empty(), "somebody has said that it is the one");
        machines.insert(vm("vm-1", "a", ""));
        assert!(disputed(&machines).is_empty());
    }

    proptest! {
        #[test]
        fn what_is_not_notable_is_foreign_to_everybody(
            machine in any_machine(),
            name in prop_oneof![Just(""), Just("ours"), Just("theirs")],
        ) {
            let is_marked = machine.any_mark().is_some() || machine.possible_mark_of(&owner(name)).is_some();
            let is_foreign = !is_marked && !machine.is_unknown() && machine.role == Role::Vm
                && membership(&machine) == Membership::None
                && candidacy(&machine, "deb", &Origin::default()) == Candidacy::Irrelevant;
            prop_assert!(machine.is_notable() || is_foreign);
        }
    }

    proptest! {
        // Each is large: a tree of several floors.
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn they_are_a_map_whatever_comes_and_goes_and_copies_stay_what_they_were(
            first in vec((0..2000u16, any_machine()), 0..600),
            then in vec((0..2000u16, proptest::option::weighted(0.5, any_machine())), 0..300),
        ) {
            let named = |number: u16, machine: Machine<Mark>| Machine { id: MachineId::new(format!("vm-{number}")), ..machine };
            let (mut machines, mut model) = (Machines::default(), BTreeMap::new());
            for (number, machine) in first {
                let machine = named(number, machine);
                model.insert(machine.id.clone(), machine.clone());
                machines.insert(Arc::new(machine));
            }
            let (copy, copied) = (machines.clone(), model.clone());
            for (number, machine) in then {
                let Some(machine) = machine.map(|machine| named(number, machine)) else {
                    let id = MachineId::new(format!("vm-{number}"));
                    prop_assert_eq!(machines.remove(&id), model.remove(&id).map(Arc::new));
                    continue;
                };
                let earlier = model.insert(machine.id.clone(), machine.clone());
                prop_assert_eq!(machines.insert(Arc::new(machine)), earlier.map(Arc::new));
            }
            for (machines, model) in [(copy, copied), (machines, model)] {
                prop_assert_eq!(shown(machines.iter()), model.values().collect::<Vec<_>>());
                let notable: Vec<_> = model.values().filter(|machine| machine.is_notable()).collect();
                prop_assert_eq!(shown(machines.notable()), notable);
                prop_assert_eq!(machines.len(), model.len());
                prop_assert!(model.values().all(|machine| machines.get(&machine.id).map(AsRef::as_ref) == Some(machine)));
                for name in model.values().map(|machine| &machine.name) {
                    let same_name = model.values().filter(|machine| machine.name == *name);
                    prop_assert_eq!(shown(machines.named(name)), same_name.collect::<Vec<_>>());
                }
                let names: BTreeSet<_> = model.values().map(|machine| &machine.name).collect();
                prop_assert_eq!(machines.by_name.len(), names.len(), "no name stays behind");
                let held: BTreeSet<_> = model.values().flat_map(address::of_machine).collect();
                let [from, to] = [Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(10, 0, 0, 9)];
                let some = held.range(from..=to).copied().collect::<Vec<_>>();
                prop_assert_eq!(machines.addresses_in(from..=to).collect::<Vec<_>>(), some);
                prop_assert_eq!(machines.addresses.len(), held.len(), "no address stays behind");
                prop_assert!(!machines.contains(&MachineId::new("vm-2000")));
                let identities: BTreeSet<_> = model.values().filter_map(identity_of).collect();
                prop_assert_eq!(machines.by_identity.len(), identities.len(), "no identity stays behind");
            }
        }
    }
}
