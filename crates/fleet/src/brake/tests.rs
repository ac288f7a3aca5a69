use super::*;
use crate::samples::{Mark, OWNER, at, id, running, view, vm};

fn nodes(count: usize) -> Vec<Machine<Mark>> {
    (0..count).map(|number| running(&format!("w{number}"), "08:00:00")).collect()
}

fn machines(numbers: impl IntoIterator<Item = usize>) -> BTreeSet<Subject> {
    numbers.into_iter().map(|number| Subject::Machine(id(&format!("w{number}")))).collect()
}

fn idle(_: &Machine<Mark>) -> bool {
    false
}

fn minute(minute: u32) -> Timestamp {
    at(&format!("12:{minute:02}:00"))
}

/// A brake that has seen so many machines.
fn brake(count: usize) -> (Brake<Mark>, View<Mark>) {
    let (mut brake, view) = (Brake::default(), view(nodes(count)));
    brake.look(&view, &OWNER, &idle, minute(0));
    (brake, view)
}

/// The view without so many of the first.
fn without(view: &View<Mark>, count: usize) -> View<Mark> {
    let mut rest = view.clone();
    for number in 0..count {
        rest.machines.remove(&id(&format!("w{number}")));
    }
    rest
}

#[test]
fn more_than_two_and_more_than_a_fifth_are_too_many() {
    for (count, of, expected) in [
        (1, 1, false),
        (2, 2, false),
        (3, 3, true),
        (3, 14, true),
        (3, 15, false),
        (10, 50, false),
        (11, 50, true),
        (11, 54, true),
        (3, 0, true),
    ] {
        assert_eq!(is_too_many(count, of), expected, "{count} of {of}");
    }
}

#[test]
fn what_is_too_much_waits_as_a_whole() {
    let (brake, view) = brake(20);
    let waits = |wanted: &BTreeSet<Subject>| brake.hold_back(wanted, &view, &OWNER);
    assert_eq!(waits(&machines(0..4)), machines([]));
    assert_eq!(waits(&machines(0..5)), machines(0..5));
    let mixed = |count| {
        let others = (0..count).map(|number| Subject::Other(format!("lost-{number}")));
        machines(0..2).into_iter().chain(others).collect::<BTreeSet<_>>()
    };
    assert_eq!(waits(&mixed(2)), machines([]), "both kinds are counted together");
    assert_eq!(waits(&mixed(3)), mixed(3));
}

#[test]
fn what_was_done_counts_for_ten_minutes() {
    let (mut brake, view) = brake(10);
    for number in 0..2 {
        brake.deletes(&id(&format!("w{number}")), Weight::Lasting, minute(0));
    }
    let rest = without(&view, 2);
    let waits = |brake: &mut Brake<Mark>, minute| {
        brake.look(&rest, &OWNER, &idle, minute);
        brake.hold_back(&machines([5]), &rest, &OWNER)
    };
    assert_eq!(waits(&mut brake, minute(9)), machines([5]), "three of ten");
    assert_eq!(waits(&mut brake, minute(10)), machines([]));
    // Of fifty that ran ten may go, and not only eight when ten are gone.
    let (mut brake, view) = self::brake(50);
    (0..9).for_each(|number| brake.deletes(&id(&format!("w{number}")), Weight::Lasting, minute(0)));
    brake.look(&without(&view, 9), &OWNER, &idle, minute(1));
    assert_eq!(brake.hold_back(&machines([9]), &without(&view, 9), &OWNER), machines([]));
    assert_eq!(brake.hold_back(&machines([9, 10]), &without(&view, 9), &OWNER), machines([9, 10]));
    // What is tried again is the same as before.
    assert_eq!(brake.hold_back(&machines([8, 9]), &without(&view, 8), &OWNER), machines([]));
    // What the front did to others counts as long, too.
    let (mut brake, view) = self::brake(10);
    for to in ["a", "b"] {
        brake.did(to, minute(0));
    }
    for (minute, waiting) in [(minute(9), machines([5])), (minute(10), machines([]))] {
        brake.look(&view, &OWNER, &idle, minute);
        assert_eq!(brake.hold_back(&machines([5]), &view, &OWNER), waiting, "{minute}");
    }
}

#[test]
fn what_counts_only_with_what_goes_at_the_same_time_is_not_remembered() {
    let (mut brake, view) = brake(10);
    for (number, weight) in [Weight::AtOnce, Weight::None, Weight::AtOnce].into_iter().enumerate() {
        brake.deletes(&id(&format!("w{number}")), weight, minute(0));
    }
    let rest = without(&view, 3);
    brake.look(&rest, &OWNER, &idle, minute(1));
    assert_eq!(brake.hold_back(&machines([5, 6]), &rest, &OWNER), machines([]));
    assert_eq!(brake.hold_back(&machines([5, 6, 7]), &rest, &OWNER), machines([5, 6, 7]));
}

#[test]
fn a_view_that_loses_unusually_many_is_not_believed() {
    let (brake, whole) = brake(10);
    let after = |brake: &Brake<Mark>, seen: &View<Mark>, minute| {
        let mut brake = brake.clone();
        brake.look(seen, &OWNER, &idle, minute);
        brake
    };
    assert_eq!(after(&brake, &without(&whole, 2), minute(1)).loss(), None);
    let three = after(&brake, &without(&whole, 3), minute(1));
    assert_eq!(three.loss(), Some(Loss { lost: 3, of: 10 }));
    assert_eq!(three.missed().count(), 3);
    // They do not come in one piece, and are not forgotten.
    let two = after(&brake, &without(&whole, 2), minute(1));
    assert_eq!(two.missed().count(), 0);
    let later = after(&after(&two, &without(&whole, 3), minute(9)), &without(&whole, 3), minute(59));
    assert_eq!(later.loss(), Some(Loss { lost: 3, of: 10 }));
    let slow = after(&after(&two, &without(&whole, 2), minute(20)), &without(&whole, 3), minute(21));
    assert_eq!(slow.loss(), None, "one in ten minutes");
    assert_eq!(after(&three, &whole, minute(2)).loss(), None, "they are back");
    let blind = View { complete: false, ..without(&whole, 10) };
    assert_eq!(after(&brake, &blind, minute(1)).loss(), None, "nothing is known");
    // Those of others, and what is not ours any more but there, are no loss.
    let (mut others, all) = (Brake::default(), view((0..9).map(|number| vm(&format!("o{number}")))));
    others.look(&all, &OWNER, &idle, minute(0));
    assert_eq!(after(&others, &view([]), minute(1)).loss(), None);
    let unmarked = view((0..10).map(|number| vm(&format!("w{number}"))));
    assert_eq!(after(&brake, &unmarked, minute(1)).loss(), None);
}

#[test]
fn own_deletions_and_clones_that_fail_are_no_loss() {
    let (mut brake, whole) = brake(10);
    (0..5).for_each(|number| brake.deletes(&id(&format!("w{number}")), Weight::None, minute(0)));
    brake.look(&without(&whole, 5), &OWNER, &idle, minute(1));
    assert_eq!(brake.loss(), None);
    brake.look(&without(&whole, 9), &OWNER, &|machine| machine.name != "w9", minute(2));
    assert_eq!(brake.loss(), None);
}

#[test]
fn exactly_what_a_person_confirmed_goes_and_for_ten_minutes() {
    let (mut brake, view) = brake(10);
    brake.confirm(machines(0..3), minute(0));
    let mut waits = |wanted: &BTreeSet<Subject>, minute| {
        brake.look(&view, &OWNER, &idle, minute);
        brake.hold_back(wanted, &view, &OWNER)
    };
    assert_eq!(waits(&machines(0..4), minute(9)), machines([3]), "one that nobody has seen waits");
    assert_eq!(waits(&machines(0..4), minute(10)), machines(0..4));
    let (mut brake, whole) = self::brake(10);
    let rest = without(&whole, 5);
    brake.look(&rest, &OWNER, &idle, minute(1));
    brake.confirm([0, 1].map(|number| Subject::Lost(id(&format!("w{number}")))), minute(1));
    brake.look(&rest, &OWNER, &idle, minute(2));
    assert_eq!(brake.loss(), Some(Loss { lost: 3, of: 8 }));
    brake.confirm([2, 3, 4].map(|number| Subject::Lost(id(&format!("w{number}")))), minute(2));
    brake.look(&rest, &OWNER, &idle, minute(3));
    assert_eq!((brake.loss(), brake.missed().count()), (None, 0));
}
