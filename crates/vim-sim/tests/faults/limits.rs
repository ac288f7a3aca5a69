//! Limits.

use jiff::SignedDuration;
use rookery_vim_sim::{Durations, Exceeded, Limits, Settings};

use super::kit::{Sim, read, slow};

fn limited(limits: Limits) -> Sim {
    Sim::new(Settings { limits, ..slow() })
}

#[test]
fn no_more_sessions_than_allowed() {
    let mut sim = limited(Limits { sessions: Some(2), ..Limits::default() });
    let first = sim.cookie.clone();
    sim.log_in().unwrap();
    assert_eq!(sim.log_in().unwrap_err(), "SystemError");
    sim.cookie = first;
    let manager = ("SessionManager".to_owned(), "SessionManager".to_owned());
    sim.call("Logout", &manager, "").unwrap();
    sim.log_in().unwrap();
}

#[test]
fn tasks_beyond_the_limit_of_a_host_or_datastore_wait_their_turn() {
    for limits in [
        Limits { tasks_per_datastore: Some(1), ..Limits::default() },
        Limits { tasks_per_host: Some(1), ..Limits::default() },
    ] {
        let mut sim = limited(limits.clone());
        let source = sim.vm(0);
        let tasks = ["a", "b", "c"].map(|name| sim.clone(&source, name, false));
        let states = |sim: &mut Sim| tasks.each_ref().map(|task| sim.state(task));
        assert_eq!(states(&mut sim), ["running", "queued", "queued"], "{limits:?}");
        sim.pass(8);
        assert_eq!(states(&mut sim), ["success", "running", "queued"], "{limits:?}");
        // Who no longer wants it makes way at once.
        let canceled = sim.call("CancelTask", &tasks[1], "");
        assert!(canceled.is_ok(), "{canceled:?}");
        assert_eq!(states(&mut sim), ["success", "error", "running"], "{limits:?}");
        sim.pass(8);
        assert_eq!(states(&mut sim), ["success", "error", "success"], "{limits:?}");
    }
}

#[test]
fn requests_beyond_the_rate_are_refused_or_answered_later() {
    let refuse = Limits { requests_per_second: Some(5), ..Limits::default() };
    let mut sim = limited(refuse.clone());
    let manager = ("ServiceInstance".to_owned(), "ServiceInstance".to_owned());
    let outcomes: Vec<bool> = (0..8).map(|_| sim.call("CurrentTime", &manager, "").is_ok()).collect();
    assert_eq!(outcomes.iter().filter(|ok| **ok).count(), 4, "the login was the first of five");
    sim.pass(1);
    assert!(sim.call("CurrentTime", &manager, "").is_ok());

    let mut sim = limited(Limits { when_exceeded: Exceeded::Delay, ..refuse });
    let asked: Vec<u64> = (0..9).map(|_| sim.ask("CurrentTime", &manager, "")).collect();
    let answered = |sim: &mut Sim| asked.iter().filter(|id| sim.reply(**id).is_some()).count();
    assert_eq!(answered(&mut sim), 4);
    sim.pass(1);
    assert_eq!(answered(&mut sim), 5);
}

#[test]
fn sessions_end_when_they_are_idle_or_old_unless_they_wait() {
    let minutes = |n| Some(SignedDuration::from_mins(n));
    let mut sim =
        limited(Limits { idle_session: minutes(30), session_age: minutes(100), ..Limits::default() });
    let vm = sim.vm(0);
    let alive = |sim: &mut Sim| sim.call("Fetch", &vm, "<prop>name</prop>").is_ok();
    sim.pass(29 * 60);
    assert!(alive(&mut sim));
    sim.pass(29 * 60);
    assert!(alive(&mut sim), "it was used meanwhile");
    let collector = sim.watch(&vm, "name");
    let first = sim.wait(&collector, "", 3600);
    sim.reply(first).unwrap();
    let wait = sim.wait(&collector, "1", 3600);
    sim.pass(40 * 60);
    assert_eq!(sim.reply(wait), None, "who waits is not idle");
    sim.pass(2 * 60);
    assert_eq!(read(&sim.reply(wait).unwrap()).unwrap_err(), "NotAuthenticated", "it is too old");
    sim.log_in().unwrap();
    sim.pass(30 * 60);
    assert!(!alive(&mut sim));
}

#[test]
fn a_method_can_take_its_own_time() {
    let mut durations = Durations { power: "8s".parse().unwrap(), ..Durations::default() };
    durations.methods.insert("PowerOffVM_Task".to_owned(), "2s".parse().unwrap());
    let mut sim = Sim::new(Settings { durations, ..Settings::default() });
    let vm = sim.vm(0);
    let task = sim.power_on(&vm);
    sim.pass(7);
    assert_eq!(sim.state(&task), "running");
    assert_eq!(sim.get(&task, "info.progress"), "75");
    sim.pass(1);
    assert_eq!(sim.state(&task), "success");
    let task = sim.order("PowerOffVM_Task", &vm, "");
    sim.pass(2);
    assert_eq!(sim.state(&task), "success");
}
