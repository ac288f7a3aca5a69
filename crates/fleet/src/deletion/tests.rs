use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::machine::Power;
use crate::ownership::Ownership;
use crate::samples::{
    Mark, OWNER, any_view, at, id, marked, on, running, times, unsettled, untold, view, vm,
};

const NOW: &str = "12:00:00";
const EVIDENCE: &str = "11:59:50";

/// All that the gate goes by, with nothing in the way.
struct World {
    view: View<Mark>,
    budget: usize,
    brake: Brake<Mark>,
    also: Vec<Waiting>,
    busy: BTreeSet<MachineId>,
    changed: BTreeMap<MachineId, Timestamp>,
    reckoning: Reckoning,
    stubborn: BTreeMap<MachineId, u32>,
}

fn world(machines: impl IntoIterator<Item = Machine<Mark>>) -> World {
    World {
        view: view(machines),
        budget: 100,
        brake: Brake::default(),
        also: Vec::new(),
        busy: BTreeSet::new(),
        changed: BTreeMap::new(),
        reckoning: Reckoning::default(),
        stubborn: BTreeMap::new(),
    }
}

/// Why the test front keeps a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeepReason {
    Needed,
    Gate(Kept),
}

impl From<Kept> for KeepReason {
    fn from(kept: Kept) -> Self {
        Self::Gate(kept)
    }
}

type Judged = Result<Case<&'static str>, KeepReason>;

/// A machine that nobody would miss.
fn case(reason: &'static str) -> Case<&'static str> {
    Case { reason, urgency: 0, age: SignedDuration::ZERO, weight: Weight::None, by_evidence: true }
}

impl World {
    fn decide(&self, judge: &dyn Fn(&Machine<Mark>, &Mark) -> Judged) -> Verdicts<&'static str, KeepReason> {
        let gate = Gate {
            view: &self.view,
            owner: &OWNER,
            now: at(NOW),
            evidence_begun: at(EVIDENCE),
            budget: self.budget,
            brake: &self.brake,
            also: self.also.clone(),
            busy: &|machine| self.busy.contains(&machine.id),
            changed_at: &|id| self.changed.get(id).copied(),
            reckoning: &self.reckoning,
            stubborn: &self.stubborn,
        };
        decide(&gate, judge)
    }

    /// Whom the gate lets through if the front would delete all of its machines.
    fn deletes(&self) -> Vec<String> {
        let delete = self.decide(&|_, _| Ok(case("over"))).delete;
        delete.into_iter().map(|(id, _)| id.as_str().trim_start_matches("vm-").to_owned()).collect()
    }

    fn kept(&self) -> Vec<(String, KeepReason)> {
        let kept = self.decide(&|_, _| Ok(case("over"))).kept;
        kept.into_iter().map(|(id, why)| (id.as_str().trim_start_matches("vm-").to_owned(), why)).collect()
    }
}

fn held(until: &str) -> Machine<Mark> {
    marked("x", |mark| mark.held_until = Some(at(until)))
}

fn owned_as(ownership: Ownership) -> Machine<Mark> {
    let mut machine = marked("x", |_| {});
    machine.recognised.ownership = ownership;
    machine
}

#[test]
fn whatever_its_front_says_a_machine_is_kept_for_each_of_these() {
    let ours = || marked("x", |_| {});
    let until = at("12:00:01");
    for (machine, kept) in [
        (ours(), None),
        (on(ours()), None),
        (Machine { power: None, ..ours() }, None),
        (held("12:00:00"), None),
        (held("12:00:01"), Some(Kept::Held { until })),
        (Machine { role: Role::Template, ..ours() }, Some(Kept::Template)),
        (Machine { role: Role::Unknown, ..ours() }, Some(Kept::Unknown)),
        (Machine { is_outside: true, ..ours() }, Some(Kept::Outside)),
        (Machine { reachable: false, ..ours() }, Some(Kept::Unreachable)),
        // Several at once: the first tells most.
        (Machine { role: Role::Template, is_outside: true, ..ours() }, Some(Kept::Template)),
        (Machine { reachable: false, is_outside: true, ..held("12:00:01") }, Some(Kept::Outside)),
    ] {
        let world = world([machine.clone()]);
        let expected: Vec<_> =
            kept.map(|kept| ("x".to_owned(), KeepReason::Gate(kept))).into_iter().collect();
        assert_eq!(world.kept(), expected, "{machine:?}");
        assert_eq!(world.deletes().len(), usize::from(kept.is_none()), "{machine:?}");
    }

    let mut busy = world([ours()]);
    busy.busy.insert(id("x"));
    assert_eq!(busy.kept(), [("x".to_owned(), KeepReason::Gate(Kept::Busy))]);
    assert!(busy.deletes().is_empty());
}

#[test]
fn what_is_not_the_owner_s_is_not_even_judged() {
    let of = |ownership| owned_as(ownership);
    let theirs = marked("x", |mark| mark.owner = "theirs".to_owned());
    let ours = || (*OWNER).clone();
    for machine in [
        vm("x"),
        untold(vm("x")),
        theirs,
        of(Ownership::Copied(ours())),
        of(Ownership::Disputed(ours())),
        of(Ownership::Unknown),
    ] {
        let world = world([machine.clone()]);
        let verdicts = world.decide(&|_, _| panic!("judged"));
        assert!(verdicts.delete.is_empty() && verdicts.kept.is_empty(), "{machine:?}");
    }
}

// The inventory was late: a machine that had just been started was off for it, and seemed to be over.
#[test]
fn a_machine_that_the_inventory_has_not_confirmed_is_kept_whatever_the_reason() {
    let names = ["a", "b", "c"];
    let mut world = world(names.map(|name| marked(name, |_| {})));
    assert_eq!(world.deletes(), names);
    world.view = unsettled(&world.view, names.map(id));
    assert_eq!(world.kept(), names.map(|name| (name.to_owned(), KeepReason::Gate(Kept::Unconfirmed))));
    assert!(world.deletes().is_empty());
    world.view.overlaid.values_mut().for_each(|overlaid| overlaid.is_settled = true);
    assert_eq!(world.deletes(), names, "a read is as good as a row");
    world.view.overlaid.values_mut().for_each(|overlaid| overlaid.is_gone = true);
    assert!(world.deletes().is_empty(), "they are gone already");
}

#[test]
fn evidence_older_than_the_last_change_deletes_nobody_but_whom_it_does_not_concern() {
    let mut world = world(["by-evidence", "given-up"].map(|name| marked(name, |_| {})));
    let judge = |machine: &Machine<Mark>, _: &Mark| {
        Ok(Case { by_evidence: machine.name == "by-evidence", ..case("over") })
    };
    for (changed, deleted) in [("11:59:49", 2), ("11:59:50", 1), ("11:59:51", 1)] {
        world.changed = world.view.iter().map(|machine| (machine.id.clone(), at(changed))).collect();
        let verdicts = world.decide(&judge);
        assert_eq!(verdicts.delete.len(), deleted, "{changed}");
        let kept: Vec<_> = (deleted < 2)
            .then_some((id("by-evidence"), KeepReason::Gate(Kept::ChangedSince)))
            .into_iter()
            .collect();
        assert_eq!(verdicts.kept, kept, "{changed}");
    }
}

#[test]
fn what_its_front_needs_is_kept_for_its_reason() {
    let world = world(["a", "b"].map(|name| marked(name, |_| {})));
    let judge = |machine: &Machine<Mark>, _: &Mark| {
        if machine.name == "a" { Err(KeepReason::Needed) } else { Ok(case("over")) }
    };
    let verdicts = world.decide(&judge);
    assert_eq!(verdicts.delete, [(id("b"), "over")]);
    assert_eq!(verdicts.kept, [(id("a"), KeepReason::Needed)]);
}

#[test]
fn a_pass_deletes_the_most_certain_and_the_oldest_first_and_only_so_many() {
    let mut world = world(["a", "b", "c", "d", "e"].map(|name| marked(name, |_| {})));
    let judge = |machine: &Machine<Mark>, _: &Mark| {
        let (urgency, minutes) = match machine.name.as_str() {
            "b" => (0, 1),
            "c" => (2, 540),
            "d" => (1, 60),
            _ => (2, 660),
        };
        Ok(Case { urgency, age: SignedDuration::from_mins(minutes), ..case("over") })
    };
    let order = |world: &World| {
        let delete = world.decide(&judge).delete;
        delete.iter().map(|(id, _)| id.as_str().trim_start_matches("vm-")).collect::<String>()
    };
    assert_eq!(order(&world), "bdaec");
    world.budget = 3;
    assert_eq!(order(&world), "bda");
    let kept = world.decide(&judge).kept;
    assert_eq!(kept, ["c", "e"].map(|name| (id(name), KeepReason::Gate(Kept::Budget))));
    world.budget = 0;
    assert_eq!(order(&world), "");
}

// Ten machines that could not be deleted took all ten places for ever, since they were the oldest.
#[test]
fn those_that_could_not_be_deleted_go_after_all_others_and_by_turns() {
    let names = ["a", "b", "c"];
    let mut world = world(names.map(|name| marked(name, |_| {})));
    for (failures, expected) in [
        ([0, 0, 0], ["a", "b", "c"]),
        ([1, 0, 0], ["b", "c", "a"]),
        ([1, 7, 0], ["c", "a", "b"]),
        ([3, 2, 1], ["c", "b", "a"]),
    ] {
        world.stubborn = names.into_iter().map(id).zip(failures).collect();
        world.budget = 3;
        assert_eq!(world.deletes(), expected, "{failures:?}");
        world.budget = 1;
        assert_eq!(world.deletes(), expected[..1], "{failures:?}");
    }
}

#[test]
fn unusually_many_running_machines_wait_before_any_budget_and_the_others_go_on() {
    let nodes = (0..4).map(|number| running(&format!("w{number}"), "09:00:00"));
    let mut world = world(nodes.chain([marked("over", |_| {}), running("failed", "11:59:00")]));
    world.budget = 1;
    let judge = |machine: &Machine<Mark>, _: &Mark| {
        let is_counted = machine.name.starts_with('w');
        let weight = if is_counted { Weight::Lasting } else { Weight::None };
        let urgency = u8::from(machine.name != "failed");
        Ok(Case { urgency, weight, ..case("it has run for too long") })
    };
    let verdicts = world.decide(&judge);
    let braked: Vec<_> = verdicts.braked.iter().map(|waiting| waiting.name.as_str()).collect();
    assert_eq!(braked, ["w0", "w1", "w2", "w3"]);
    assert_eq!(verdicts.braked[0].why, "it has run for too long");
    assert_eq!(verdicts.delete, [(id("failed"), "it has run for too long")]);
    let why = |name: &str| verdicts.kept.iter().find(|(other, _)| *other == id(name)).map(|(_, why)| *why);
    assert_eq!(
        [why("w0"), why("over")],
        [Some(KeepReason::Gate(Kept::Braked)), Some(KeepReason::Gate(Kept::Budget))]
    );

    // A person has looked at them.
    world.brake.confirm(verdicts.braked.into_iter().map(|waiting| waiting.subject), at(NOW));
    world.budget = 10;
    let verdicts = world.decide(&judge);
    assert_eq!((verdicts.delete.len(), verdicts.braked.len()), (6, 0));
}

#[test]
fn what_counts_at_once_waits_as_what_counts_for_ten_minutes() {
    for (weight, deleted) in [(Weight::None, 3), (Weight::AtOnce, 0), (Weight::Lasting, 0)] {
        let world = world((0..3).map(|number| running(&format!("w{number}"), "09:00:00")));
        let verdicts = world.decide(&|_, _| Ok(Case { weight, ..case("over") }));
        assert_eq!((verdicts.delete.len(), verdicts.braked.len()), (deleted, 3 - deleted), "{weight:?}");
    }
}

// Two are no crowd, but two and something else that the front does are.
#[test]
fn what_the_front_does_besides_counts_with_the_deletions_and_waits_with_them() {
    let mut world = world((0..2).map(|number| running(&format!("w{number}"), "09:00:00")));
    let judge = |_: &Machine<Mark>, _: &Mark| Ok(Case { weight: Weight::Lasting, ..case("over") });
    assert_eq!(world.decide(&judge).delete.len(), 2);
    let other = Waiting {
        subject: Subject::Other("lost".to_owned()),
        name: "lost".to_owned(),
        why: "it has no machine".to_owned(),
    };
    world.also = vec![other.clone()];
    let verdicts = world.decide(&judge);
    assert_eq!((verdicts.delete.len(), verdicts.braked.len()), (0, 3));
    assert!(verdicts.braked.contains(&other));
    // What is confirmed goes, and the rest waits on.
    world.brake.confirm([0, 1].map(|number| Subject::Machine(id(&format!("w{number}")))), at(NOW));
    let verdicts = world.decide(&judge);
    assert_eq!((verdicts.delete.len(), verdicts.braked), (2, vec![other]));
}

#[test]
fn a_hold_lasts_as_long_as_was_left_when_the_supplier_s_clock_was_set() {
    let mut world = world([held("11:30:00")]);
    assert_eq!(world.deletes(), ["x"]);
    let seen = world.view.clone();
    world.reckoning.restart(&seen, &OWNER, times, at("11:59:00"), SignedDuration::from_hours(3));
    assert_eq!(world.kept(), [("x".to_owned(), KeepReason::Gate(Kept::Held { until: at("14:30:00") }))]);
}

proptest! {
    #[test]
    fn nothing_unowned_held_busy_unreachable_outside_or_unsettled_is_ever_deleted(
        view in any_view(40),
        unconfirmed in proptest::collection::btree_set(0..1000u32, 0..200),
        busy in proptest::collection::btree_set(0..1000u32, 0..200),
        changed in proptest::collection::btree_set(0..1000u32, 0..200),
        judged in proptest::collection::vec((any::<bool>(), any::<bool>(), 0..4u8, 0..9i64), 1..9),
        weights in proptest::collection::vec(0..3usize, 1..9),
        budget in 0..40usize,
    ) {
        let ids = |numbers: &BTreeSet<u32>| {
            numbers.iter().map(|number| MachineId::new(format!("vm-{number}"))).collect::<BTreeSet<_>>()
        };
        let unconfirmed: BTreeSet<_> = ids(&unconfirmed).into_iter().filter(|id| view.machines.contains(id)).collect();
        let mut world = World { budget, busy: ids(&busy), ..world([]) };
        world.view = unsettled(&view, unconfirmed.iter().cloned());
        world.changed = ids(&changed).into_iter().map(|id| (id, at(NOW))).collect();
        let judge = |machine: &Machine<Mark>, _: &Mark| {
            let number = machine.id.as_str().len() + machine.name.len() + machine.addresses.len();
            let (goes, by_evidence, urgency, hours) = judged[number % judged.len()];
            let weight = [Weight::None, Weight::AtOnce, Weight::Lasting][weights[number % weights.len()]];
            let age = SignedDuration::from_hours(hours);
            if goes { Ok(Case { urgency, age, weight, by_evidence, ..case("over") }) } else { Err(KeepReason::Needed) }
        };
        let verdicts = world.decide(&judge);
        prop_assert_eq!(&verdicts, &world.decide(&judge));
        prop_assert!(verdicts.delete.len() <= budget);
        for (id, _) in &verdicts.delete {
            let machine = view.machines.get(id).expect("a machine");
            let mark = machine.mark_of(&OWNER).expect("our mark");
            let case = judge(machine, mark).expect("its front would delete it");
            prop_assert_eq!(machine.role, Role::Vm);
            prop_assert!(machine.reachable && !machine.is_outside && !machine.is_unknown());
            prop_assert!(mark.held_until.is_none_or(|until| until <= at(NOW)));
            prop_assert!(!world.busy.contains(id) && !unconfirmed.contains(id));
            prop_assert!(!(case.by_evidence && world.changed.contains_key(id)));
        }
        // Everybody is told of once, and nobody but the owner's.
        let told: BTreeSet<_> = verdicts.delete.iter().map(|(id, _)| id).chain(verdicts.kept.iter().map(|(id, _)| id)).collect();
        let ours = view.iter().filter(|machine| machine.mark_of(&OWNER).is_some()).map(|machine| &machine.id);
        prop_assert_eq!(told.len(), verdicts.delete.len() + verdicts.kept.len());
        prop_assert_eq!(told, ours.collect::<BTreeSet<_>>());
        let counted = |id: &MachineId| {
            let machine = view.machines.get(id).expect("a machine");
            machine.mark_of(&OWNER).and_then(|mark| judge(machine, mark).ok()).is_some_and(|case| case.weight != Weight::None)
        };
        let going = verdicts.delete.iter().filter(|(id, _)| counted(id)).count();
        let runs = |machine: &&Machine<Mark>| machine.power != Some(Power::Off);
        let of = view.owned(&OWNER).map(|(machine, _)| machine).filter(runs).count();
        prop_assert!(!crate::brake::is_too_many(going, of), "{going} of {of}");
    }
}
