use super::*;

fn machine(id: &str, role: Role, notes: Notes) -> Machine {
    Machine {
        id: MachineId::new(id),
        name: id.to_owned(),
        role,
        power: None,
        notes,
        hardware: None,
        addresses: vec![],
        created: None,
        awaits_setup: false,
        incarnation: None,
        reachable: true,
        is_outside: false,
    }
}

fn marked_by(owner: &str) -> Notes {
    Notes::Mark(Box::new(Mark { hatchery_name: owner.to_owned(), ..Mark::default() }))
}

#[test]
fn a_mark_counts_for_the_owner_that_wrote_it_and_for_nobody_else() {
    let of = |notes| machine("vm-1", Role::Vm, notes).mark_of("ours").is_some();
    assert!(of(marked_by("ours")));
    assert!(!of(marked_by("theirs")));
    assert!(!of(marked_by("ours-too")));
    assert!(!of(Notes::NoMark));
    assert!(!of(Notes::Unknown));
}

#[test]
fn an_owner_without_a_name_owns_nothing() {
    assert_eq!(machine("vm-1", Role::Vm, marked_by("")).mark_of(""), None);
}

#[test]
fn only_what_is_surely_a_vm_is_owned() {
    let machines = [("vm-1", Role::Vm), ("vm-2", Role::Template), ("vm-3", Role::Unknown)]
        .map(|(id, role)| machine(id, role, marked_by("ours")));
    let view = View { machines: machines.into_iter().collect(), ..View::default() };
    let owned: Vec<_> = view.owned("ours").map(|(machine, _)| machine.id.as_str()).collect();
    assert_eq!(owned, ["vm-1"]);
}
