use super::*;

const LIMIT: u32 = 10;

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// Calls that begin one after the other from then on.
fn calls(pressure: &mut Pressure, from: Instant, times: impl IntoIterator<Item = u64>) -> Instant {
    times.into_iter().fold(from, |at, millis| {
        pressure.called(at, Duration::from_millis(millis), LIMIT);
        at + Duration::from_millis(millis)
    })
}

/// A worker is launched then, and registers so many seconds later.
fn registers(pressure: &mut Pressure, at: Instant, after: u64) {
    pressure.launches("w");
    pressure.launched("w", at);
    // It is listed later than it has registered.
    pressure.registered("w", at + seconds(after + 4), seconds(4), LIMIT);
}

#[test]
fn nothing_is_cut_while_the_median_of_ten_calls_is_within_a_second() {
    for times in [
        vec![20; 50],
        // Too few to judge.
        vec![5_000; 9],
        // Fewer than half of them are slow.
        [vec![9_000; 4], vec![10; 6]].concat(),
        vec![1_000; 30],
    ] {
        let mut pressure = Pressure::default();
        calls(&mut pressure, Instant::now(), times.clone());
        assert_eq!((pressure.allowed(LIMIT), pressure.reduced(LIMIT)), (LIMIT, None), "{times:?}");
    }
}

#[test]
fn slow_calls_halve_what_is_allowed_and_the_last_one_stays() {
    let mut pressure = Pressure::default();
    let mut at = calls(&mut pressure, Instant::now(), [20; 10]);
    let mut seen = vec![];
    for _ in 0..5 {
        at = calls(&mut pressure, at, [1_500; 10]);
        seen.push(pressure.allowed(LIMIT));
    }
    assert_eq!(seen, [5, 2, 1, 1, 1]);
}

// Fifty calls at once are one observation, not five.
#[test]
fn calls_from_before_a_cut_do_not_cut_again() {
    let (mut pressure, at) = (Pressure::default(), Instant::now());
    for number in 1..=50 {
        pressure.called(at, Duration::from_millis(300 * number), LIMIT);
    }
    assert_eq!(pressure.allowed(LIMIT), 5);
}

#[test]
fn each_worker_that_registers_in_good_time_allows_one_more_up_to_the_limit() {
    let (mut pressure, at) = (Pressure::default(), Instant::now());
    let at = calls(&mut pressure, at, [1_500; 20]);
    let mut seen = vec![pressure.reduced(LIMIT)];
    for number in 0..10 {
        registers(&mut pressure, at + seconds(10 * number), 9);
        seen.push(pressure.reduced(LIMIT));
    }
    let some = |number| Some(number);
    assert_eq!(seen[..8], [2, 3, 4, 5, 6, 7, 8, 9].map(some));
    assert_eq!(seen[8..], [None; 3], "then the settings limit it");
    assert_eq!(pressure.reduced(4), None);
}

#[test]
fn a_registration_is_late_above_ten_seconds_and_above_twice_what_is_usual() {
    for (usual, count, took, cut) in [
        (3, 5, 11, true),
        (3, 5, 10, false),
        (5, 20, 11, true),
        (6, 20, 12, false),
        (6, 20, 13, true),
        (30, 20, 60, false),
        (30, 20, 61, true),
        // What is usual is not known yet.
        (3, 4, 60, false),
    ] {
        let (mut pressure, at) = (Pressure::default(), Instant::now());
        for _ in 0..count {
            registers(&mut pressure, at, usual);
        }
        registers(&mut pressure, at, took);
        assert_eq!(pressure.reduced(LIMIT), cut.then_some(5), "{took} s where {usual} s are usual");
    }
}

#[test]
fn what_was_launched_before_a_cut_does_not_cut_again_and_what_is_always_slow_becomes_usual() {
    let (mut pressure, at) = (Pressure::default(), Instant::now());
    for _ in 0..20 {
        registers(&mut pressure, at, 3);
    }
    for _ in 0..5 {
        registers(&mut pressure, at, 20);
    }
    assert_eq!(pressure.allowed(LIMIT), 5, "they were launched together");
    let later = at + seconds(100);
    for number in 0..30 {
        registers(&mut pressure, later + seconds(60 * number), 20);
    }
    assert_eq!(pressure.reduced(LIMIT), None);
}

#[test]
fn workers_count_from_their_launch_until_they_register_or_cannot_any_more() {
    let (mut pressure, at) = (Pressure::default(), Instant::now());
    for worker in ["a", "b", "c", "d"] {
        assert!(pressure.may_launch(4), "{worker}");
        pressure.launches(worker);
    }
    assert!(!pressure.may_launch(4));
    pressure.gave_up("a");
    for worker in ["a", "b", "c"] {
        pressure.launched(worker, at);
    }
    assert_eq!(pressure.launching(), 3, "one that gave up is not launched any more");
    pressure.pass(at + seconds(5), &|worker| worker == "b" || worker == "d", LIMIT);
    assert_eq!(pressure.launching(), 2, "whoever is being launched is not off");
    pressure.registered("c", at + seconds(5), seconds(0), 4);
    pressure.registered("somebody", at + seconds(5), seconds(0), 4);
    assert_eq!(pressure.launching(), 1);
    pressure.launched("d", at);
    pressure.pass(at + PATIENCE, &|_| false, LIMIT);
    assert_eq!(pressure.launching(), 0, "a worker that never comes blocks nobody for ever");
}

// Allowed was one, and stayed one for ever where the one that was let never registered.
#[test]
fn each_minute_without_a_cut_allows_one_more_up_to_the_limit() {
    let mut pressure = Pressure::default();
    let cut = calls(&mut pressure, Instant::now(), [1_500; 30]);
    let allowed = |pressure: &mut Pressure, second: u64| {
        pressure.pass(cut + seconds(second), &|_| false, LIMIT);
        pressure.reduced(LIMIT)
    };
    let seen = [0, 59, 60, 61, 119, 120, 300].map(|second| allowed(&mut pressure, second));
    assert_eq!(seen, [1, 1, 2, 2, 2, 3, 6].map(Some));
    // A cut starts the time anew.
    calls(&mut pressure, cut + seconds(300), [1_500; 10]);
    let seen = [360, 374, 375].map(|second| allowed(&mut pressure, second));
    assert_eq!(seen, [3, 3, 4].map(Some));
    assert_eq!(allowed(&mut pressure, 100_000), None);
    calls(&mut pressure, cut + seconds(100_001), [1_500; 10]);
    assert_eq!(allowed(&mut pressure, 100_017), Some(5), "what was good before allows nothing after");
}

#[test]
fn a_worker_is_on_its_way_from_when_its_job_is_taken_and_for_two_minutes_at_most_until_it_is_launched() {
    let (mut pressure, at) = (Pressure::default(), Instant::now());
    let on_their_way = |pressure: &Pressure, ready: &[&str]| pressure.on_their_way(ready.iter().copied());
    for worker in ["a", "b", "c", "d"] {
        pressure.begins(worker, at);
    }
    pressure.gave_up("b");
    pressure.launches("c");
    pressure.launched("c", at + seconds(60));
    assert_eq!(on_their_way(&pressure, &["d"]), 3, "who is ready is counted once");
    pressure.pass(at + PATIENCE, &|_| false, LIMIT);
    assert_eq!(on_their_way(&pressure, &["d"]), 2, "one that boots for ever blocks nobody for ever");
    pressure.pass(at + seconds(60) + PATIENCE, &|_| false, LIMIT);
    assert_eq!(on_their_way(&pressure, &[]), 0);
}

// It counted as one that took no time at all: what is usual became 0 s, and each allowed one more.
#[test]
fn a_worker_that_registers_before_its_launch_is_answered_tells_nothing() {
    let (mut pressure, at) = (Pressure::default(), Instant::now());
    for _ in 0..20 {
        registers(&mut pressure, at, 10);
    }
    let cut = calls(&mut pressure, at, [1_500; 10]);
    for _ in 0..20 {
        pressure.launches("w");
        pressure.registered("w", cut, seconds(0), LIMIT);
    }
    assert_eq!((pressure.reduced(LIMIT), pressure.launching()), (Some(5), 0));
    registers(&mut pressure, cut, 20);
    assert_eq!(pressure.reduced(LIMIT), Some(6), "20 s are not late where 10 s are usual");
}

#[test]
fn what_was_cut_can_be_lifted() {
    let mut pressure = Pressure::default();
    let at = calls(&mut pressure, Instant::now(), [1_500; 10]);
    pressure.lift();
    calls(&mut pressure, at, [20; 10]);
    assert_eq!(pressure.reduced(LIMIT), None);
}
