use super::*;
use crate::machine::{Machine, View};
use crate::names::ModelKind;
use crate::plan::hold::{Outcome, Told};
use crate::plan::sweep::Condemned;
use crate::samples::actions;
use crate::samples::{Notes, OWNER, running as vm};
use jiff::SignedDuration;
use rookery_fleet::Power;
use rookery_fleet::claim::Resizing;
use std::net::Ipv4Addr;

/// A model rests for the interval after its first failure.
const WARM: Warm = Warm {
    interval: Duration::from_secs(30),
    concurrency: None,
    pools: Vec::new(),
    resizing: Resizing { unflavored: false, named: false },
    max_age: None,
    refresh_budget: 1,
};
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn job() -> JobId {
    "7".parse().expect("a job")
}

fn model() -> (ModelKind, String) {
    (ModelKind::V2, "debian".to_owned())
}

/// A project and its model.
fn debian() -> Unusable {
    ("P".to_owned(), "debian".to_owned())
}

fn spawn() -> Action {
    actions::spawn(job(), actions::v2_model("debian"))
}

fn failed(change: impl FnOnce(&mut Failure)) -> Ending {
    let mut failure = Failure { error: "it failed".to_owned(), ..Failure::default() };
    change(&mut failure);
    Ending::Failed(failure)
}

/// Work that begins and ends at that second, and the look that follows.
fn end(state: &mut State, second: i64, action: Action, ending: Ending) -> bool {
    let (machine, address) = (Some(MachineId::new("vm-w")), Some(ADDRESS));
    let id = state.running.begin(RunningAction { machine, address, ..RunningAction::of(action) });
    state.times.now = at(second);
    let wakes = state.apply_ending(id, ending, at(second), &WARM);
    look(state, second);
    wakes
}

fn look(state: &mut State, second: i64) {
    state.look(View { complete: true, ..View::default() }, &OWNER, at(second));
}

#[test]
fn only_a_start_that_was_really_tried_counts() {
    let mut state = State::default();
    let error = String::new;
    for ending in [
        Ending::Lost,
        Ending::NotHeld { error: error() },
        Ending::Unprepared { model: (error(), error()), error: error() },
        failed(|failure| failure.tried = false),
    ] {
        end(&mut state, 0, spawn(), ending);
    }
    assert_eq!(state.resting.attempts.get(&job()), None);
    end(&mut state, 1, spawn(), failed(|failure| failure.tried = true));
    assert_eq!(state.resting.attempts.get(&job()), Some(&1));
    assert!(end(&mut state, 2, spawn(), Ending::Done), "CDS is asked for its workers");
    assert_eq!(state.resting.attempts.get(&job()), Some(&2));
    end(&mut state, 3, actions::give_up(job()), Ending::Lost);
    assert_eq!(state.resting.attempts.get(&job()), Some(&2));
}

// A V2 job that was released after each panic was out of its five attempts, and CDS queues it again by itself.
#[test]
fn after_a_panic_only_the_booking_of_a_v1_job_is_released() {
    let v2 = "00000000-0000-4000-8000-000000000001".parse::<JobId>().expect("a job");
    for (job, released) in [(job(), 1), (v2, 0)] {
        let mut state = State::default();
        end(&mut state, 0, actions::spawn(job.clone(), actions::v2_model("debian")), Ending::CutOff);
        assert_eq!(state.carried.freed.len(), released, "{job}");
        assert_eq!(state.running.iter().count(), 0);
    }
    let mut state = State::default();
    end(&mut state, 0, actions::free(job()), Ending::CutOff);
    assert!(state.carried.freed.is_empty(), "nothing was booked for it");
}

#[test]
fn attempts_are_forgotten_an_hour_after_the_first() {
    let mut state = State::default();
    end(&mut state, 0, spawn(), failed(|failure| failure.tried = true));
    end(&mut state, 3000, spawn(), failed(|failure| failure.tried = true));
    look(&mut state, 3599);
    assert_eq!(state.resting.attempts.get(&job()), Some(&2));
    look(&mut state, 3600);
    assert_eq!(state.resting.attempts.get(&job()), None);
}

#[test]
fn a_job_leaves_the_queue_however_its_start_ends() {
    let endings: [fn() -> Ending; 4] =
        [|| Ending::Done, || Ending::Lost, || Ending::NotHeld { error: String::new() }, || failed(|_| {})];
    for ending in endings {
        let mut state = State::default();
        state.cds.queue.pushed(job());
        end(&mut state, 0, spawn(), ending());
        assert_eq!(state.cds.queue.len(), 0, "{:?}: it stays out until CDS offers it again", ending());
    }
}

#[test]
fn the_rests_of_a_template_double_up_to_ten_minutes_and_end_with_a_success() {
    let mut state = State::default();
    let mut second = 0;
    let mut rests = Vec::new();
    for _ in 0..7 {
        end(&mut state, second, spawn(), failed(|failure| failure.blames_template = true));
        let rest =
            state.resting.setbacks[&model()].until.expect("it rests").duration_since(at(second)).as_secs();
        rests.push(rest);
        second += rest;
        look(&mut state, second);
        assert_eq!(state.resting.now(at(second)), 0, "a rest ends");
    }
    assert_eq!(rests, [30, 60, 120, 240, 480, 600, 600]);
    end(&mut state, second, spawn(), Ending::Done);
    end(&mut state, second, spawn(), failed(|failure| failure.blames_template = true));
    assert_eq!(state.resting.setbacks[&model()].until, Some(at(second + 30)));
}

// Ten clones that failed for one full datastore made the template rest for ten minutes.
#[test]
fn the_first_rest_of_a_model_is_the_interval_of_its_pools() {
    for seconds in [7, 45, 120] {
        let mut state = State::default();
        state.times.now = at(0);
        let id = state.running.begin(RunningAction::of(spawn()));
        let max_age = Some(Duration::from_secs(11));
        let warm = Warm { interval: Duration::from_secs(seconds), max_age, ..WARM };
        state.apply_ending(id, failed(|failure| failure.blames_template = true), at(0), &warm);
        let until = state.resting.setbacks[&model()].until;
        assert_eq!(until, Some(at(seconds.try_into().expect("a few seconds"))));
    }
}

#[test]
fn starts_that_fail_together_are_one_failure() {
    let mut state = State::default();
    for second in 0..10 {
        end(&mut state, second, spawn(), failed(|failure| failure.blames_template = true));
    }
    assert_eq!(state.resting.setbacks[&model()].until, Some(at(30)));
}

#[test]
fn rests_are_counted_by_the_clock_of_the_machines() {
    let mut state = State::default();
    let theirs = at(50);
    state.times.clocks.read(&Reading { begun: at(0), wall: at(0), took: SignedDuration::ZERO, theirs });
    end(&mut state, 0, spawn(), failed(|failure| failure.blames_template = true));
    assert_eq!(state.resting.setbacks[&model()].until, Some(at(80)));
}

#[test]
fn a_failure_that_is_not_the_templates_makes_nothing_rest_but_housekeeping_always_does() {
    let mut state = State::default();
    end(&mut state, 0, spawn(), failed(|_| {}));
    assert!(state.resting.setbacks.is_empty());
    end(&mut state, 0, actions::make("debian"), failed(|_| {}));
    assert!(state.resting.setbacks.contains_key(&model()));
    end(&mut state, 0, actions::register("g/m"), failed(|_| {}));
    assert!(state.resting.setbacks.contains_key(&(ModelKind::V1, "g/m".to_owned())));
}

// Another worker was placed before the next look, and got the address that had just been set aside.
#[test]
fn an_address_that_an_unseen_machine_may_have_is_held_at_once_and_for_a_quarter_of_an_hour() {
    let mut state = State::default();
    let action = RunningAction { address: Some(ADDRESS), ..RunningAction::of(spawn()) };
    let id = state.running.begin(action);
    let unfinished = Unfinished {
        name: "w".to_owned(),
        address: Some(ADDRESS),
        task: None,
        condemned_for: Some(Condemned::SpawnFailed),
    };
    state.apply_ending(id, failed(|failure| failure.unfinished = Some(unfinished)), at(0), &WARM);
    assert!(state.lingering().contains(&ADDRESS));
    look(&mut state, 899);
    assert!(state.lingering().contains(&ADDRESS));
    look(&mut state, 900);
    assert!(state.lingering().is_empty());
}

// Nobody knows what an act that was cut off has ordered, so its address is not free at once.
#[test]
fn the_address_of_work_that_was_cut_off_before_it_had_a_machine_is_held() {
    for (action, machine, held) in [
        (spawn(), None, true),
        (spawn(), Some(MachineId::new("vm-w")), false),
        (actions::register("g/m"), None, true),
        (actions::unclaim(), None, false),
    ] {
        let mut state = State::default();
        let action = RunningAction { machine, address: Some(ADDRESS), ..RunningAction::of(action) };
        let id = state.running.begin(action.clone());
        state.apply_ending(id, Ending::CutOff, at(0), &WARM);
        assert_eq!(state.lingering().contains(&ADDRESS), held, "{action:?}");
    }
}

// A machine that was left behind by a clone and that the inventory showed late gave its address to the next one.
#[test]
fn the_address_of_a_machine_that_has_to_go_is_held_until_the_machine_is_shown() {
    let mut state = State::default();
    let left = MachineId::new("vm-w");
    end(&mut state, 0, spawn(), failed(|failure| failure.condemned = Some((left, Condemned::SpawnFailed))));
    assert!(state.lingering().contains(&ADDRESS));
    let mut machines = crate::machine::Machines::default();
    machines.insert(Arc::new(condemned_machine()));
    state.look(View { machines, complete: true, ..View::default() }, &OWNER, at(5));
    assert!(state.lingering().is_empty());
}

fn condemned_machine() -> Machine {
    vm("vm-w", "w", Notes::NoMark)
}

#[test]
fn a_model_that_cannot_be_used_is_tried_again_after_a_minute() {
    let mut state = State::default();
    end(&mut state, 0, spawn(), Ending::Unprepared { model: debian(), error: "no credentials".to_owned() });
    assert_eq!(state.resting.unusable.get(&debian()).map(String::as_str), Some("no credentials"));
    look(&mut state, 59);
    assert!(!state.resting.unusable.is_empty());
    look(&mut state, 60);
    assert!(state.resting.unusable.is_empty());
}

// Whoever wrote the missing credentials and sent SIGHUP was told for a minute that they were missing.
#[test]
fn a_model_that_cannot_be_used_is_tried_again_at_once_with_new_settings() {
    let mut state = State::default();
    let refused = || Ending::Unprepared { model: debian(), error: "no credentials".to_owned() };
    end(&mut state, 0, spawn(), refused());
    state.forget_complaints();
    assert!(state.resting.unusable.is_empty());
    end(&mut state, 1, spawn(), refused());
    assert!(!state.resting.unusable.is_empty(), "it is still no use");
    look(&mut state, 60);
    assert!(!state.resting.unusable.is_empty(), "and rests for a minute from now");
}

#[test]
fn why_a_model_cannot_be_used_is_logged_once_an_hour_or_when_it_changes() {
    let mut state = State::default();
    let mut logged = |second, error| state.is_new_complaint(&debian(), error, at(second));
    assert_eq!(
        [0, 60, 3599, 3600, 3660].map(|second| logged(second, "a")),
        [true, false, false, true, false]
    );
    assert!(logged(3720, "b"));
    let other = ("Q".to_owned(), "debian".to_owned());
    assert!(state.is_new_complaint(&other, "b", at(3720)));
}

/// How long the machine rests after each of these failures to change it.
fn rests(state: &mut State, action: &Action, failures: impl IntoIterator<Item = Failure>) -> Vec<i64> {
    let rest = |failure| {
        let id = state.running.begin(RunningAction::of(action.clone()));
        state.apply_ending(id, Ending::Failed(failure), at(0), &WARM);
        let rests = |second: &i64| {
            let mut machines = crate::machine::Machines::default();
            machines.insert(Arc::new(condemned_machine()));
            state.look(View { machines, complete: true, ..View::default() }, &OWNER, at(*second));
            state.resting.avoided.is_empty()
        };
        (0..=3600).find(rests).expect("it is tried again")
    };
    failures.into_iter().map(rest).collect()
}

// Machines that could not be deleted were tried again every five seconds, for ever.
#[test]
fn the_rests_of_a_machine_that_could_not_be_changed_double_up_to_ten_minutes() {
    for action in [actions::delete(), actions::unclaim()] {
        let mut state = State::default();
        let failed = || Failure::default();
        assert_eq!(
            rests(&mut state, &action, [(); 9].map(|()| failed())),
            [5, 10, 20, 40, 80, 160, 320, 600, 600]
        );
        assert_eq!(state.resting.stubborn.get(&MachineId::new("vm-w")), Some(&9));
        end(&mut state, 0, action.clone(), Ending::Done);
        assert_eq!(
            rests(&mut state, &action, [failed(), failed()]),
            [5, 10],
            "what has worked once is forgotten"
        );
        look(&mut state, 0);
        assert!(state.resting.stubborn.is_empty(), "it is gone");
        let parent = Failure { is_parent: true, ..failed() };
        assert_eq!(rests(&mut state, &action, [parent]), [600], "others stand on it, and not for a moment");
    }
}

// CDS lists a model that another hatchery registers as before, and it was asked for again and again.
#[test]
fn a_model_that_somebody_else_registers_is_left_to_them_for_a_minute() {
    for ending in [Ending::Lost, Ending::NotHeld { error: String::new() }] {
        let mut state = State::default();
        end(&mut state, 0, actions::register("g/m"), ending);
        assert!(state.resting.booked.contains("g/m"));
        assert!(state.resting.setbacks.is_empty(), "its jobs need not wait");
        look(&mut state, 60);
        assert!(state.resting.booked.is_empty());
    }
}

#[test]
fn a_doomed_machine_is_remembered_until_it_is_surely_gone() {
    let mut state = State::default();
    let machines = [condemned_machine()].into_iter().collect();
    let shown = View { machines, complete: true, ..View::default() };
    state.look(shown, &OWNER, at(0));
    let id = state.running.begin(RunningAction::of(spawn()));
    let condemned_for = Some((MachineId::new("vm-w"), Condemned::SpawnFailed));
    state.apply_ending(id, failed(|failure| failure.condemned = condemned_for), at(0), &WARM);
    look(&mut state, 2);
    assert_eq!(state.condemned.len(), 1, "the inventory may not show it yet");
    state.look(View::default(), &OWNER, at(3600));
    assert_eq!(state.condemned.len(), 1, "a view that is not whole shows no absence");
    look(&mut state, 3601);
    assert!(state.condemned.is_empty());
}

#[test]
fn a_worker_that_was_listed_once_stays_registered_while_its_machine_is_there() {
    let worker = |name: &str, status| Worker {
        id: name.to_owned(),
        name: name.to_owned(),
        status,
        last_beat: None,
        job: None,
        model: None,
        hatchery: String::new(),
    };
    let mut state = State::default();
    state.apply_workers(at(0), vec![worker("a", WorkerStatus::Waiting), worker("b", WorkerStatus::Disabled)]);
    assert_eq!(state.cds.registered_once.len(), 2);
    let listing = state.cds.listing.as_ref().expect("a listing");
    assert_eq!(listing.workers["a"], WorkerState::Alive);
    assert_eq!(listing.workers["b"], WorkerState::Disabled);
    state.apply_workers(at(1), vec![]);
    assert!(state.cds.registered_once.is_empty(), "neither has a machine");
}

#[test]
fn the_job_of_a_machine_that_is_kept_goes_back_if_the_machine_is_off() {
    for (power, freed) in [(Power::Off, 1), (Power::On, 0)] {
        let machine = Machine { power: Some(power), ..condemned_machine() };
        let mut state = State::default();
        let machines = [machine].into_iter().collect();
        state.look(View { machines, complete: true, ..View::default() }, &OWNER, at(0));
        end(&mut state, 0, actions::keep(), Ending::Done);
        assert_eq!(state.carried.freed.len(), freed, "{power:?}");
    }
}

#[test]
fn the_pool_is_asked_before_anything_is_placed_and_again_after_ten_seconds_and_a_failed_question_counts() {
    let mut state = State::default();
    look(&mut state, 0);
    assert!(
        state.needs_room() && !state.vsphere.room.failed(),
        "nobody has asked: that is no failed question"
    );
    state.vsphere.room = Room { told: None, pool: None, at: Some(at(0)) };
    assert!(state.vsphere.room.failed() && !state.needs_room(), "it keeps nobody out");
    look(&mut state, 10);
    assert!(!state.needs_room());
    look(&mut state, 11);
    assert!(state.needs_room());
}

// A rest of half a minute lasted for hours, and a hold that had hours left was over.
#[test]
fn times_of_vcenter_s_clock_move_with_it_when_it_is_set() {
    let by = SignedDuration::from_hours(3);
    let mut state = State::default();
    state.resting.full = Setback { failures: 1, until: Some(at(20)) };
    end(&mut state, 0, spawn(), failed(|failure| failure.blames_template = true));
    let told = Told { outcome: Outcome::Open, at: at(5) };
    state.cds.outcomes.answer(MachineId::new("vm-w"), Some(told), at(5));
    state.clock_was_set(&OWNER, by);
    let later = |second| at(second).saturating_add(by).expect("a time");
    assert_eq!(state.resting.setbacks[&model()].until, Some(later(30)));
    assert_eq!(state.resting.full.until, Some(later(20)));
    assert_eq!(state.cds.outcomes.told()[&MachineId::new("vm-w")].at, later(5));
}
