use super::*;
use crate::samples::{Mark, OWNER, by_mark, marked, owner, vm};

fn marked_by(owner: &str) -> Machine<Mark> {
    let mark = Mark { owner: owner.to_owned(), ..Mark::default() };
    Machine { recognised: by_mark("x", mark), ..vm("x") }
}

fn owned_as(ownership: Ownership) -> Machine<Mark> {
    let mut machine = marked("x", |_| {});
    machine.recognised.ownership = ownership;
    machine
}

#[test]
fn a_mark_counts_for_the_owner_that_wrote_it_and_for_nobody_else() {
    let of = |machine: &Machine<Mark>| machine.mark_of(&OWNER).is_some();
    assert!(of(&marked_by("ours")));
    assert!(!of(&marked_by("theirs")));
    assert!(!of(&marked_by("ours-too")));
    assert!(!of(&vm("x")));
    assert!(!of(&owned_as(Ownership::Unknown)));
    let of_another_front = OwnerId::new("another", OWNER.name());
    assert!(!of(&owned_as(Ownership::By(of_another_front))), "names of different fronts do not meet");
}

#[test]
fn an_owner_without_a_name_owns_nothing() {
    assert_eq!(marked_by("").mark_of(&owner("")), None);
}

#[test]
fn a_mark_that_may_be_of_another_machine_takes_up_room_and_allows_nothing() {
    let ours = || owner("ours");
    for (ownership, mark, possible, ours_possibly, ours_surely) in [
        (Ownership::By(ours()), true, true, true, true),
        (Ownership::Disputed(ours()), false, true, true, false),
        (Ownership::Copied(ours()), false, false, false, false),
        (Ownership::Unknown, false, false, false, false),
        (Ownership::Nobody, true, true, false, false),
        (Ownership::By(owner("theirs")), true, true, false, false),
        (Ownership::Disputed(owner("theirs")), false, true, false, false),
    ] {
        let machine = owned_as(ownership);
        let found = (
            machine.mark().is_some(),
            machine.possible_mark().is_some(),
            machine.possible_mark_of(&OWNER).is_some(),
            machine.mark_of(&OWNER).is_some(),
        );
        assert_eq!(found, (mark, possible, ours_possibly, ours_surely), "{:?}", machine.recognised.ownership);
        assert!(machine.any_mark().is_some());
    }
}

#[test]
fn only_what_is_surely_a_vm_is_owned() {
    let machines = [("a", Role::Vm), ("b", Role::Template), ("c", Role::Unknown)]
        .map(|(name, role)| Machine { role, ..marked(name, |_| {}) });
    let view = View { machines: machines.into_iter().collect(), ..View::default() };
    let owned: Vec<_> = view.owned(&OWNER).map(|(machine, _)| machine.id.as_str()).collect();
    assert_eq!(owned, ["vm-a"]);
}

#[test]
fn what_was_moved_or_may_be_a_copy_is_set_apart_unless_what_is_told_of_it_is_old() {
    let ours = || marked("x", |_| {});
    let disputed = || owned_as(Ownership::Disputed(owner("ours")));
    let mut proven = disputed();
    proven.recognised.identity.as_mut().expect("an identity").is_proven = true;
    for (machine, apart) in [
        (ours(), false),
        (Machine { is_outside: true, ..ours() }, true),
        (disputed(), true),
        // Which machine it was written for is not told now, and will be.
        (proven, false),
        (Machine { is_outside: true, reachable: false, ..ours() }, false),
        (Machine { is_outside: true, role: Role::Unknown, ..ours() }, false),
        (Machine { is_outside: true, ..owned_as(Ownership::Unknown) }, false),
    ] {
        assert_eq!(machine.is_set_apart(), apart, "{machine:?}");
    }
}
