use std::sync::Arc;

use crate::machine::{Machine, Machines};
use crate::mark::Mark;

use super::*;
use crate::samples::Notes;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
/// How far vCenter's clock is ahead.
const SKEW: i64 = 30;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

/// What is seen at a second.
#[derive(Debug, Clone, Copy)]
enum Look {
    /// vCenter's list: task, when it was ordered by our clock, whether it has ended.
    Listed(i64, &'static [(&'static str, i64, bool)]),
    /// The same, of a session that began at a second.
    Anew(i64, i64, &'static [(&'static str, i64, bool)]),
    /// The machines, and no list.
    Machines(i64),
    Nothing(i64),
}

fn listed(session: i64, clones: &[(&str, i64, bool)]) -> CloneTasks {
    let clone = |(task, queued, ended): &(&str, i64, bool)| CloneTask {
        task: (*task).to_owned(),
        ours: !task.starts_with("others"),
        queued: Some(at(queued + SKEW)),
        ended: *ended,
        completed: ended.then(|| at(queued + SKEW + 10)),
        made: None,
    };
    CloneTasks { session_since: Some(at(session + SKEW)), clones: clones.iter().map(clone).collect() }
}

fn see(doubts: &mut Doubts, look: Look) {
    let skew = Some(SignedDuration::from_secs(SKEW));
    let view = |complete| View { complete, ..View::default() };
    match look {
        Look::Listed(second, clones) => {
            doubts.learn(at(second), skew, &listed(-1000, clones));
            doubts.pass(at(second), &view(true));
        }
        Look::Anew(second, session, clones) => {
            doubts.learn(at(second), skew, &listed(session, clones));
            doubts.pass(at(second), &view(true));
        }
        Look::Machines(second) => doubts.pass(at(second), &view(true)),
        Look::Nothing(second) => doubts.pass(at(second), &view(false)),
    }
}

fn unfinished(task: Option<&str>) -> Unfinished {
    Unfinished {
        name: "w".to_owned(),
        address: Some(ADDRESS),
        task: task.map(str::to_owned),
        condemned_for: Some(Condemned::SpawnFailed),
    }
}

/// Whether an address is still reserved that a clone may have which was given up at second 0.
fn is_held(task: Option<&str>, looks: &[Look]) -> bool {
    let mut doubts = Doubts { start_is_known: true, ..Doubts::default() };
    doubts.add(unfinished(task), at(0));
    for look in looks {
        see(&mut doubts, *look);
    }
    doubts.addresses().contains(&ADDRESS)
}

use Look::{Anew, Listed, Machines as Seen, Nothing};

#[test]
fn an_address_is_reserved_while_its_task_is_listed_however_long() {
    const RUNS: &[(&str, i64, bool)] = &[("task-1", -5, false)];
    const ENDED: &[(&str, i64, bool)] = &[("task-1", -5, true)];
    let table: &[(&[Look], bool)] = &[
        (&[], true),
        (&[Listed(20, RUNS), Listed(1000, RUNS), Listed(2000, RUNS), Listed(40_000, RUNS)], true),
        (&[Listed(40_000, RUNS), Seen(40_899)], true),
        // What it made is seen soon after its end, unless nothing is.
        (&[Listed(2000, RUNS), Listed(2020, ENDED), Seen(2034)], true),
        (&[Listed(2000, RUNS), Listed(2020, ENDED), Seen(2035)], false),
        (&[Listed(2000, RUNS), Listed(2020, ENDED), Nothing(2030), Seen(2040)], true),
        (&[Listed(2000, RUNS), Listed(2020, ENDED), Nothing(2030), Seen(2045)], false),
        // One that vCenter has forgotten may still be made by its host: a quarter of an hour from the last sight.
        (&[Listed(2000, RUNS), Listed(2020, &[]), Listed(2040, &[]), Seen(2899)], true),
        (&[Listed(2000, RUNS), Listed(2020, &[]), Listed(2040, &[]), Seen(2900)], false),
        // It was never listed, and no list comes.
        (&[Seen(899)], true),
        (&[Seen(900)], false),
        // A vCenter that is away shows nothing, and lets nobody be started either.
        (&[Nothing(899), Seen(1000), Seen(1798)], true),
        (&[Nothing(899), Seen(1000), Seen(1799)], false),
        // Other clones do not matter.
        (&[Listed(20, &[("task-2", -5, false), ("task-1", -5, true)]), Seen(35)], false),
    ];
    for (looks, expected) in table {
        assert_eq!(is_held(Some("task-1"), looks), *expected, "{looks:?}");
    }
}

#[test]
fn the_address_of_an_order_without_an_answer_is_reserved_until_no_clone_can_have_it() {
    const BEFORE: &[(&str, i64, bool)] = &[("a", -5, false)];
    const OVER: &[(&str, i64, bool)] = &[("a", -5, true)];
    let table: &[(&[Look], bool)] = &[
        // The order may still be on its way, and what has ended may not be seen yet.
        (&[Listed(10, &[]), Listed(50, &[])], true),
        (&[Listed(60, &[]), Seen(74)], true),
        (&[Listed(60, &[]), Seen(75)], false),
        // Any clone that was ordered by then may be it.
        (&[Listed(60, BEFORE), Listed(3000, BEFORE), Seen(3500)], true),
        (&[Listed(60, BEFORE), Listed(300, OVER), Seen(315)], false),
        (&[Listed(60, &[("a", 59, false)]), Seen(900)], true),
        (&[Listed(60, BEFORE), Listed(300, &[]), Seen(900)], true),
        (&[Listed(60, BEFORE), Listed(300, &[]), Listed(320, &[]), Seen(960)], false),
        (&[Listed(60, &[]), Listed(70, BEFORE), Listed(90, BEFORE), Seen(120)], true),
        // Clones that were ordered later, and those of other users, are others.
        (&[Listed(60, &[("b", 61, false)]), Listed(80, &[("b", 61, false)])], false),
        (&[Listed(60, &[("others", -5, false)]), Listed(80, &[("others", -5, false)])], false),
        // vCenter has started again since the order: its list says nothing of what was before.
        (&[Anew(60, 5, &[]), Anew(80, 5, &[]), Seen(899)], true),
        (&[Anew(60, 5, &[]), Anew(80, 5, &[]), Seen(900)], false),
    ];
    for (looks, expected) in table {
        assert_eq!(is_held(None, looks), *expected, "{looks:?}");
    }
}

#[test]
fn without_vcenters_clock_any_clone_may_be_the_one() {
    let mut doubts = Doubts { start_is_known: true, ..Doubts::default() };
    doubts.add(unfinished(None), at(0));
    let view = View { complete: true, ..View::default() };
    doubts.learn(at(100), None, &listed(-1000, &[("b", 90, false)]));
    doubts.pass(at(900), &view);
    assert_eq!(doubts.len(), 1);
    // Nor can it be said whether the list reaches back.
    let mut doubts = Doubts { start_is_known: true, ..Doubts::default() };
    doubts.add(unfinished(None), at(0));
    doubts.learn(at(100), None, &listed(-1000, &[]));
    doubts.pass(at(899), &view);
    assert_eq!(doubts.len(), 1);
}

#[test]
fn no_address_is_given_until_the_clones_of_a_former_life_have_ended() {
    const RUNS: &[(&str, i64, bool)] = &[("former", -600, false)];
    const ENDED: &[(&str, i64, bool)] = &[("former", -600, true)];
    let table: &[(&[Look], bool)] = &[
        (&[], false),
        (&[Seen(0), Seen(899)], false),
        (&[Seen(0), Seen(900)], true),
        (&[Seen(0), Nothing(100), Seen(200), Seen(1099)], false),
        (&[Seen(0), Nothing(100), Seen(200), Seen(1100)], true),
        (&[Listed(1, &[])], true),
        (&[Listed(1, RUNS), Listed(1000, RUNS), Listed(3000, RUNS)], false),
        (&[Listed(1, RUNS), Listed(1000, ENDED), Seen(1014)], false),
        (&[Listed(1, RUNS), Listed(1000, ENDED), Seen(1015)], true),
        (&[Listed(1, RUNS), Listed(1000, &[]), Seen(1899)], true),
        (&[Listed(1, RUNS), Listed(1000, RUNS), Listed(1020, &[]), Seen(1899)], false),
        (&[Listed(1, RUNS), Listed(1000, RUNS), Listed(1020, &[]), Seen(1900)], true),
        // What somebody clones after our start, and what other users clone, was not given an address by us.
        (&[Listed(1, ENDED), Listed(3, &[("later", 2, false)])], true),
        (&[Listed(1, &[("others", -5, false)])], true),
    ];
    for (looks, expected) in table {
        let mut doubts = Doubts::default();
        for look in *looks {
            see(&mut doubts, *look);
        }
        assert_eq!(doubts.start_is_settled(), *expected, "{looks:?}");
        assert!(doubts.addresses().is_empty());
    }
}

// A machine whose clone ended a moment before our start was not in sight yet, and its address was given away.
#[test]
fn no_address_is_given_until_what_was_just_made_before_the_start_is_in_sight() {
    let skew = SignedDuration::from_secs(SKEW);
    let ended = |second: Option<i64>, made: bool| CloneTasks {
        session_since: None,
        clones: vec![CloneTask {
            task: "former".to_owned(),
            ours: true,
            queued: None,
            ended: true,
            completed: second.map(|second| at(second + SKEW)),
            made: made.then(|| MachineId::new("vm-9")),
        }],
    };
    let nothing = || View { complete: true, ..View::default() };
    let shown = || showing(machine(Notes::NoMark));
    let untold = || showing(machine(Notes::Unknown));
    for (completed, made, skew, view, second, settled) in [
        (Some(-1), true, Some(skew), nothing(), 59, false),
        (Some(-1), true, Some(skew), nothing(), 60, true),
        (Some(-1), true, Some(skew), untold(), 59, false),
        (Some(-1), true, Some(skew), shown(), 1, true),
        (Some(-59), true, Some(skew), nothing(), 1, false),
        (Some(-60), true, Some(skew), nothing(), 1, true),
        // Nobody knows how long ago that was.
        (Some(-60), true, None, nothing(), 1, false),
        (None, true, Some(skew), nothing(), 1, false),
        // One that failed may have left something, too.
        (Some(-1), false, Some(skew), nothing(), 14, false),
        (Some(-1), false, Some(skew), nothing(), 15, true),
    ] {
        let mut doubts = Doubts::default();
        doubts.learn(at(0), skew, &ended(completed, made));
        doubts.pass(at(second), &view);
        assert_eq!(doubts.start_is_settled(), settled, "{completed:?} {made} {skew:?} {second}");
    }
}

fn machine(notes: Notes) -> Machine {
    crate::samples::running("vm-9", "w", notes)
}

fn showing(machine: Machine) -> View {
    let mut machines = Machines::default();
    machines.insert(Arc::new(machine));
    View { machines, complete: true, ..View::default() }
}

#[test]
fn a_machine_that_was_made_holds_its_address_itself_once_it_is_shown() {
    let made = MachineId::new("vm-9");
    let nothing = View { complete: true, ..View::default() };
    let mut doubts = Doubts::default();
    doubts.add_made(made.clone(), ADDRESS, at(0));
    doubts.pass(at(59), &nothing);
    assert_eq!(doubts.len(), 1);
    // Without its notes it does not tell its address.
    doubts.pass(at(59), &showing(machine(Notes::Unknown)));
    assert_eq!(doubts.len(), 1);
    doubts.pass(at(59), &showing(machine(Notes::NoMark)));
    assert_eq!(doubts.len(), 0);
    doubts.add_made(made, ADDRESS, at(0));
    doubts.pass(at(60), &nothing);
    assert_eq!(doubts.len(), 0, "it is gone");
}

#[test]
fn a_machine_that_appears_after_it_was_given_up_has_to_go_if_it_carries_its_mark() {
    let mut doubts = Doubts::default();
    doubts.add(unfinished(Some("task-1")), at(0));
    let mark = |worker: &str| {
        let mark = Mark { worker_name: worker.to_owned(), ..Mark::default() };
        machine(Notes::Mark(Box::new(mark)))
    };
    let condemned = |machine: Machine| doubts.condemned(&showing(machine)).into_values().next();
    assert_eq!(condemned(mark("w")), Some(Condemned::SpawnFailed));
    assert_eq!(condemned(mark("another")), None);
    assert_eq!(condemned(machine(Notes::NoMark)), None);
    let mut finished_later = Doubts::default();
    finished_later.add(Unfinished { condemned_for: None, ..unfinished(None) }, at(0));
    assert!(finished_later.condemned(&showing(mark("w"))).is_empty());
}
