use super::*;
use crate::plan::Missing;
use crate::samples::OWNER;
use crate::settings::tests::settings;
use rookery_fleet::deletion::Stop;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

/// A reconciler that knows everything.
fn informed() -> State {
    State { cds: FromCds { models: Some(Vec::new()), ..FromCds::default() }, ..State::default() }
}

/// Makes a pass with this plan at that second, and says what was due in it: the sweep, registrations.
fn pass(state: &mut State, second: i64, plan: &Plan, settings: &Settings) -> (bool, bool) {
    state.look(View { complete: true, ..View::default() }, &OWNER, at(second));
    let nobody = |_: &MachineId| None;
    let observed = state.observed(&nobody);
    let due = (observed.sweep_is_due, observed.registration_is_due);
    state.note_plan(plan, settings);
    due
}

#[test]
fn it_is_looked_for_what_can_go_and_for_models_as_often_as_the_settings_say() {
    for (fragment, sweeps, registrations) in [
        ("", [60, 120], [60, 120]),
        ("killAwolServersInterval = 20", [20, 40], [60, 120]),
        ("commonConfiguration.provision.registerFrequency = 300", [60, 120], [300, 600]),
    ] {
        let settings = settings(fragment);
        let mut state = informed();
        let (mut swept, mut registered) = (Vec::new(), Vec::new());
        for second in 0..=600 {
            let (sweep, registration) = pass(&mut state, second, &Plan::default(), &settings);
            swept.extend(sweep.then_some(second));
            registered.extend(registration.then_some(second));
        }
        assert_eq!((swept[0], registered[0]), (0, 0), "at once after a start");
        assert_eq!(swept[1..3], sweeps, "{fragment}");
        assert_eq!(registered[1..3], registrations, "{fragment}");
    }
}

#[test]
fn a_look_that_could_not_tell_anything_is_made_up_for() {
    let settings = settings("");
    let missing = Missing { room: true, ..Missing::default() };
    let stopped = Some(Stop::NoEvidence { of: "workers" });
    let blind = Plan { stopped, missing, ..Plan::default() };
    let mut state = informed();
    for second in 0..3 {
        assert_eq!(pass(&mut state, second, &blind, &settings), (true, true));
    }
    assert_eq!(pass(&mut state, 3, &Plan::default(), &settings), (true, true));
    assert_eq!(pass(&mut state, 4, &Plan::default(), &settings), (false, false));
    let mut ignorant = State::default();
    pass(&mut ignorant, 0, &Plan::default(), &settings);
    assert!(pass(&mut ignorant, 1, &Plan::default(), &settings).1, "CDS has not told its models");
}

// The rest waited for the next minute.
#[test]
fn a_look_that_found_more_than_can_go_at_once_goes_on_until_all_have_gone() {
    let settings = settings("");
    let kept = vec![(MachineId::new("vm-1"), sweep::KeepReason::Budget)];
    let more = Plan { kept, ..Plan::default() };
    let mut state = informed();
    for second in 0..3 {
        assert!(pass(&mut state, second, &more, &settings).0);
    }
    assert!(pass(&mut state, 3, &Plan::default(), &settings).0);
    assert!(!pass(&mut state, 4, &Plan::default(), &settings).0);
}

#[test]
fn models_that_wait_for_a_slot_are_looked_at_until_they_have_one() {
    let settings = settings("");
    let carried = Carried { turns: 2, ..Carried::default() };
    let waits = Plan { models_wait: true, carried, ..Plan::default() };
    let mut state = informed();
    for second in 0..3 {
        assert!(pass(&mut state, second, &waits, &settings).1);
    }
    assert_eq!(state.carried.turns, 2, "whose turn it is outlives the pass");
    assert!(pass(&mut state, 3, &Plan::default(), &settings).1);
    assert!(!pass(&mut state, 4, &Plan::default(), &settings).1);
}

// Another place for a worker was looked for in a new view without asking what that had lost: it could be the address of a
// machine that had vanished.
#[test]
fn each_look_notes_which_machines_have_vanished() {
    let machine = |number: u8| {
        let (hatchery_name, ip_address) = (OWNER.name().to_owned(), format!("10.0.0.{number}"));
        let mark = crate::mark::Mark { hatchery_name, ip_address, ..crate::mark::Mark::default() };
        let notes = crate::samples::Notes::Mark(Box::new(mark));
        crate::samples::running(&format!("vm-{number}"), &format!("w{number}"), notes)
    };
    let seen = |numbers: std::ops::Range<u8>| {
        let machines = numbers.map(machine).collect();
        View { machines, complete: true, ..View::default() }
    };
    let mut state = State::default();
    state.look(seen(2..6), &OWNER, at(0));
    state.look(seen(5..6), &OWNER, at(1));
    let missed: Vec<_> = state.vsphere.brake.missed_addresses().collect();
    assert_eq!(missed, [2, 3, 4].map(|number| Ipv4Addr::new(10, 0, 0, number)));
}
