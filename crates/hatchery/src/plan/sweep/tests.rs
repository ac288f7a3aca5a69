use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::samples::{Notes, OWNER, any_view, at, id, marked, unsettled, view, vm, warm, worker};
use rookery_fleet::Role;
use rookery_fleet::deletion::{Grounds, stop_reason};

const NOW: &str = "12:00:00";

/// All that a sweep goes by, with the usual times to live.
struct World {
    listing: Option<Listing>,
    skew: Option<SignedDuration>,
    budget: usize,
    busy: Vec<MachineId>,
    condemned: Expiring<MachineId, Condemned>,
    changed: BTreeMap<MachineId, Timestamp>,
    events: BTreeMap<MachineId, Option<History>>,
    reckoning: Reckoning,
    jobs: BTreeMap<MachineId, JobRead>,
    stubborn: BTreeMap<MachineId, u32>,
    brake: Brake,
    disable: Vec<String>,
}

fn world() -> World {
    World {
        listing: Some(Listing { begun: at("11:59:50"), workers: BTreeMap::new() }),
        skew: Some(SignedDuration::ZERO),
        budget: 100,
        busy: Vec::new(),
        condemned: Expiring::default(),
        changed: BTreeMap::new(),
        events: BTreeMap::new(),
        reckoning: Reckoning::default(),
        // Jobs are done with, unless a test says otherwise.
        jobs: ["w", "register-w", "lost", "a", "b", "d", "f"].map(|name| (id(name), elsewhere())).into(),
        stubborn: BTreeMap::new(),
        brake: Brake::default(),
        disable: Vec::new(),
    }
}

impl World {
    fn listing(mut self, workers: &[(&str, WorkerState)]) -> Self {
        let workers = workers.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect();
        self.listing = Some(Listing { begun: at("11:59:50"), workers });
        self
    }

    fn sweep(&self, view: &View) -> Sweep {
        let ours = at(NOW).saturating_sub(self.skew.unwrap_or_default()).expect("a time");
        let grounds = Grounds {
            view,
            skew: self.skew,
            evidence: evidence(self.listing.as_ref()),
            ours,
            loss: self.brake.loss(),
        };
        let facts = Facts {
            owner: &OWNER,
            now: at(NOW),
            ours,
            stop: stop_reason(&grounds),
            worker_ttl: SignedDuration::from_mins(120),
            registration_ttl: SignedDuration::from_mins(10),
            grace: SignedDuration::from_secs(180),
            listing: self.listing.as_ref(),
            budget: self.budget,
            brake: &self.brake,
            disable: &self.disable,
        };
        let noticed = Noticed {
            busy: &|machine| self.busy.contains(&machine.id),
            condemned: &self.condemned,
            changed_at: &|id| self.changed.get(id).copied(),
            events: &self.events,
            reckoning: &self.reckoning,
            jobs: &self.jobs,
            stubborn: &self.stubborn,
        };
        verdicts(view, &facts, &noticed)
    }

    /// The label of the verdict on the only machine.
    fn verdict(&self, machine: Machine) -> &'static str {
        let sweep = self.sweep(&view([machine]));
        let deleted = sweep.delete.first().map(|(_, reason)| reason.as_str());
        let kept = sweep.kept.first().map(|(_, why)| label(why));
        deleted.or(kept).unwrap_or("not ours")
    }
}

fn elsewhere() -> JobRead {
    JobRead { runs_here: false, at: at("12:00:00") }
}

fn off(machine: Machine) -> Machine {
    Machine { power: Some(Power::Off), ..machine }
}

#[test]
fn power_and_listing_decide_how_long_a_worker_lives() {
    let listed = || world().listing(&[("w", WorkerState::Alive)]);
    for (world, machine, expected) in [
        (listed(), worker("w", "10:00:01"), "young"),
        (listed(), worker("w", "10:00:00"), "expired"),
        (world(), worker("w", "11:50:01"), "young"),
        (world(), worker("w", "11:50:00"), "never_registered"),
        (world(), off(worker("w", "11:57:01")), "young"),
        (world(), off(worker("w", "11:57:00")), "finished"),
        (listed(), off(worker("w", "11:57:01")), "young"),
        (listed(), off(worker("w", "11:57:00")), "finished"),
        (world(), Machine { power: Some(Power::Suspended), ..worker("w", "11:50:00") }, "never_registered"),
        (world(), Machine { power: None, ..worker("w", "01:00:00") }, "power_unknown"),
        (world(), worker("w", "13:00:00"), "young"),
        (world(), worker("register-w", "11:50:00"), "never_registered"),
        (world(), worker("register-w", "11:50:01"), "young"),
    ] {
        assert_eq!(world.verdict(machine.clone()), expected, "{machine:?}");
    }
}

// The inventory was late: a machine that had just been started was off for it, and its worker was over.
#[test]
fn a_machine_that_the_inventory_has_not_confirmed_is_kept_whatever_the_reason() {
    let mut world = world().listing(&[("c", WorkerState::Disabled)]);
    let machines = view(["a", "b", "c"].map(|name| off(worker(name, "01:00:00"))));
    world.condemned.insert(id("b"), Condemned::SpawnFailed, Timestamp::MAX);
    assert_eq!(world.sweep(&machines).delete.len(), 3);
    let changed = unsettled(&machines, &["a", "b", "c"]);
    let sweep = world.sweep(&changed);
    assert_eq!(sweep.delete, []);
    assert!(sweep.kept.iter().all(|(_, why)| *why == KeepReason::Unconfirmed), "{sweep:?}");
    let mut read = changed.clone();
    read.overlaid.values_mut().for_each(|overlaid| overlaid.is_settled = true);
    assert_eq!(world.sweep(&read).delete.len(), 3, "a read is as good as a row");
    read.overlaid.values_mut().for_each(|overlaid| overlaid.is_gone = true);
    assert_eq!(world.sweep(&read).delete, [], "they are gone already");
}

#[test]
fn the_grace_period_begins_when_the_machine_goes_off_and_not_when_it_started() {
    let mut seen = world();
    seen.changed.insert(id("w"), at("11:58:00"));
    assert_eq!(seen.verdict(off(worker("w", "08:00:00"))), "young");
    seen.changed.insert(id("w"), at("11:57:00"));
    assert_eq!(seen.verdict(off(worker("w", "08:00:00"))), "finished");
    // Our clock is ahead: by the supplier's it was half a minute earlier.
    seen.changed.insert(id("w"), at("11:57:30"));
    seen.skew = Some(SignedDuration::from_secs(-30));
    assert_eq!(seen.verdict(off(worker("w", "08:00:00"))), "finished");
    let went_off = History { powered_off: Some(at("11:58:00")), ..History::default() };
    seen.events.insert(id("w"), Some(went_off));
    assert_eq!(seen.verdict(off(worker("w", "08:00:00"))), "young");
}

#[test]
fn what_is_not_ours_is_never_judged() {
    let mut world = world();
    let foreign = marked("w", |mark| mark.hatchery_name = "theirs".to_owned());
    for machine in [
        vm("w"),
        foreign.clone(),
        marked("w", |mark| mark.hatchery_name = String::new()),
        Machine { recognised: Notes::Unknown.into(), ..vm("w") },
    ] {
        world.condemned.insert(machine.id.clone(), Condemned::RegistrationEnded, Timestamp::MAX);
        assert_eq!(world.verdict(machine.clone()), "not ours", "{machine:?}");
    }
}

#[test]
fn a_doomed_machine_goes_at_once_unless_something_stronger_keeps_it() {
    let mut world = world();
    world.condemned.insert(id("w"), Condemned::SpawnFailed, Timestamp::MAX);
    let held = |until| move |mark: &mut Mark| mark.hold_until = Some(at(until));
    let pooled = Machine { name: "provision-v2-x".to_owned(), ..warm("w", "deb", "") };
    for (machine, expected) in [
        (worker("w", "11:59:59"), "spawn_failed"),
        (Machine { power: None, ..worker("w", "11:59:59") }, "spawn_failed"),
        (pooled, "spawn_failed"),
        (Machine { role: Role::Template, ..worker("w", "11:59:59") }, "template"),
        (Machine { role: Role::Unknown, ..worker("w", "11:59:59") }, "unknown"),
        (marked("w", |mark| mark.model = true), "template"),
        (marked("w", held("12:00:01")), "held"),
        (marked("w", held("12:00:00")), "spawn_failed"),
    ] {
        assert_eq!(world.verdict(machine.clone()), expected, "{machine:?}");
    }
    world.busy.push(id("w"));
    assert_eq!(world.verdict(worker("w", "11:59:59")), "busy");
}

#[test]
fn a_disabled_worker_goes_and_its_name_may_stand_in_the_mark_alone() {
    let world = world().listing(&[("w", WorkerState::Disabled)]);
    assert_eq!(world.verdict(worker("w", "11:59:59")), "disabled");
    let half = Machine { name: "provision-v2-x".to_owned(), ..worker("w", "11:59:59") };
    assert_eq!(world.verdict(half.clone()), "disabled");
    assert_eq!(world.verdict(off(half)), "warm");
    assert_eq!(world.verdict(warm("provision-v2-w", "deb", "")), "warm");
}

#[test]
fn without_a_start_in_the_mark_events_decide_and_then_the_age_of_the_machine() {
    let listed = || world().listing(&[("w", WorkerState::Alive)]);
    let times = |started: Option<&str>, renamed: Option<&str>| {
        Some(History { started: started.map(at), renamed: renamed.map(at), powered_off: None })
    };
    let on = |created: Option<&str>| Machine {
        power: Some(Power::On),
        created: created.map(at),
        ..warm("w", "deb", "")
    };
    for (world, machine, events, expected) in [
        (world(), on(Some("01:00:00")), None, "needs_events"),
        // Long in the pool, claimed a minute ago.
        (world(), on(Some("01:00:00")), times(Some("11:59:00"), Some("11:58:00")), "young"),
        (world(), on(Some("01:00:00")), times(Some("11:50:00"), Some("11:49:00")), "never_registered"),
        (listed(), on(Some("01:00:00")), times(Some("10:01:00"), None), "young"),
        (listed(), on(Some("01:00:00")), times(Some("10:00:00"), None), "expired"),
        // The pool's own start is not the worker's.
        (world(), off(on(Some("01:00:00"))), times(Some("02:00:00"), Some("11:51:00")), "young"),
        (world(), off(on(None)), times(None, Some("11:50:01")), "young"),
        (world(), off(on(None)), times(None, Some("11:50:00")), "never_started"),
        (listed(), on(None), times(None, Some("11:50:00")), "young"),
        (world(), off(on(None)), times(Some("11:50:00"), Some("11:49:00")), "finished"),
        // Events age out: no orphan holds an address for ever.
        (world(), on(Some("11:50:00")), times(None, None), "never_registered"),
        (world(), off(on(Some("11:50:00"))), times(None, None), "finished"),
        (world(), on(Some("11:51:00")), times(None, None), "young"),
        (world(), on(None), times(None, None), "age_unknown"),
    ] {
        let mut world = world;
        world.events.extend(events.map(|events| (id("w"), Some(events))));
        assert_eq!(world.verdict(machine.clone()), expected, "{machine:?} {events:?}");
        let asked = world.sweep(&view([machine])).needs_events;
        assert_eq!(asked.len(), usize::from(expected == "needs_events"));
    }
}

#[test]
fn a_machine_whose_history_does_not_reach_back_is_unknown_and_kept() {
    let old = Machine { created: Some(at("01:00:00")), ..warm("w", "deb", "") };
    for power in [Power::On, Power::Off, Power::Suspended] {
        for listed in [&[][..], &[("w", WorkerState::Alive)]] {
            let mut world = world().listing(listed);
            world.events.insert(id("w"), None);
            let machine = Machine { power: Some(power), ..old.clone() };
            assert_eq!(world.verdict(machine.clone()), "history_too_short", "{power:?}");
            assert!(world.sweep(&view([machine])).needs_events.is_empty(), "it is not asked for again");
        }
    }
}

#[test]
fn an_unfinished_template_goes_when_nobody_makes_it_any_more() {
    let orphan = |created: Option<&str>| {
        let machine = marked("deb-tmp", |mark| {
            mark.model = true;
            mark.worker_model_path = "group/deb".to_owned();
        });
        Machine { created: created.map(at), power: Some(Power::On), ..machine }
    };
    let mut world = world();
    assert_eq!(world.verdict(orphan(Some("11:45:00"))), "orphaned_template");
    assert_eq!(world.verdict(orphan(Some("11:45:01"))), "young");
    assert_eq!(world.verdict(orphan(None)), "age_unknown");
    assert_eq!(world.verdict(Machine { role: Role::Template, ..orphan(Some("01:00:00")) }), "template");
    world.busy.push(id("deb-tmp"));
    assert_eq!(world.verdict(orphan(Some("01:00:00"))), "busy");
}

#[test]
fn a_listing_older_than_the_last_change_deletes_nobody_but_whom_it_does_not_concern() {
    let mut world = world();
    world.condemned.insert(id("d"), Condemned::RegistrationEnded, Timestamp::MAX);
    world.condemned.insert(id("f"), Condemned::SpawnFailed, Timestamp::MAX);
    let machines = view([worker("w", "01:00:00"), worker("d", "01:00:00"), worker("f", "01:00:00")]);
    for (changed, deleted) in [("11:59:49", 3), ("11:59:50", 1), ("11:59:51", 1)] {
        world.changed = [id("w"), id("d"), id("f")].into_iter().map(|id| (id, at(changed))).collect();
        assert_eq!(world.sweep(&machines).delete.len(), deleted, "{changed}");
    }
}

#[test]
fn nothing_is_deleted_by_half_knowledge() {
    let machines = view([worker("w", "01:00:00")]);
    assert_eq!(world().sweep(&machines).delete.len(), 1);

    let incomplete = View { complete: false, ..machines.clone() };
    assert_eq!(world().sweep(&incomplete).stopped, Some(Stop::Incomplete));
    let age = |secs| View { age: Duration::from_secs(secs), ..machines.clone() };
    assert_eq!(world().sweep(&age(119)).stopped, None);
    assert_eq!(world().sweep(&age(120)).stopped, Some(Stop::Outdated { age: Duration::from_secs(120) }));
    for (seconds, stopped) in [(60, None), (61, Some("skew")), (-60, None), (-61, Some("skew"))] {
        let skew = Some(SignedDuration::from_secs(seconds));
        let listing = Some(Listing { begun: at("12:00:30"), workers: BTreeMap::new() });
        let sweep = World { listing, skew, ..world() }.sweep(&machines);
        assert_eq!(sweep.stopped.map(|stop| stop.as_str()), stopped, "{seconds}");
        assert_eq!(sweep.delete.is_empty(), stopped.is_some());
    }
    assert_eq!(World { skew: None, ..world() }.sweep(&machines).stopped, Some(Stop::SkewUnknown));
    let blind = World { listing: None, ..world() }.sweep(&machines);
    assert_eq!(blind, Sweep { stopped: Some(Stop::NoEvidence { of: "workers" }), ..Sweep::default() });
}

#[test]
fn an_old_list_of_workers_deletes_nobody() {
    let machines = view([worker("w", "01:00:00"), off(worker("o", "01:00:00"))]);
    let old = Some("old_listing");
    for (begun, stopped) in [("11:59:00", None), ("11:58:59", old), ("11:00:00", old)] {
        let listing = Some(Listing { begun: at(begun), workers: BTreeMap::new() });
        let mut world = World { listing, ..world() };
        world.condemned.insert(id("o"), Condemned::SpawnFailed, Timestamp::MAX);
        let sweep = world.sweep(&machines);
        assert_eq!(sweep.stopped.map(|stop| stop.as_str()), stopped, "{begun}");
        assert_eq!(sweep.delete.len(), if stopped.is_some() { 0 } else { 2 }, "{begun}");
    }
}

#[test]
fn a_machine_that_seems_never_to_have_registered_stays_until_its_job_was_read_and_while_it_runs_there() {
    let read = |runs_here, time: &str| Some(JobRead { runs_here, at: at(time) });
    let with_job = || worker("w", "11:50:00");
    let registering = || marked("register-w", |mark| mark.worker_start_time = Some(at("11:50:00")));
    let on = |machine| Machine { power: Some(Power::On), ..machine };
    for (machine, job, expected, asked) in [
        (with_job(), None, "job_unread", 1),
        (with_job(), read(true, "11:59:50"), "job_runs", 0),
        (with_job(), read(false, "11:59:50"), "never_registered", 0),
        // It is read again in time, and not believed for longer than a minute.
        (with_job(), read(false, "11:59:30"), "never_registered", 1),
        (with_job(), read(true, "11:59:30"), "job_runs", 1),
        (with_job(), read(false, "11:58:59"), "job_unread", 1),
        (on(registering()), None, "never_registered", 0),
        (off(with_job()), None, "finished", 0),
        (worker("w", "11:55:00"), None, "young", 0),
    ] {
        let jobs = job.map(|job| (id("w"), job)).into_iter().collect();
        let world = World { jobs, ..world() };
        assert_eq!(world.verdict(machine.clone()), expected, "{machine:?} {job:?}");
        assert_eq!(world.sweep(&view([machine])).needs_jobs.len(), asked, "{job:?}");
    }
}

#[test]
fn a_machine_on_a_host_that_cannot_be_reached_is_not_judged() {
    let mut world = world().listing(&[("w", WorkerState::Disabled)]);
    world.condemned.insert(id("w"), Condemned::SpawnFailed, Timestamp::MAX);
    for machine in [worker("w", "01:00:00"), off(worker("w", "01:00:00")), warm("w", "deb", "")] {
        assert_ne!(world.verdict(machine.clone()), "unreachable");
        let lost = Machine { reachable: false, ..machine };
        assert_eq!(world.verdict(lost.clone()), "unreachable", "{lost:?}");
    }
    assert_eq!(world.verdict(Machine { reachable: false, ..vm("w") }), "not ours");
}

#[test]
fn ages_count_from_when_the_supplier_s_clock_was_set() {
    let listed = || world().listing(&[("w", WorkerState::Alive)]);
    let kept = marked("w", |mark| mark.hold_until = Some(at("11:30:00")));
    let orphan = marked("deb-tmp", |mark| {
        (mark.model, mark.worker_model_path) = (true, "group/deb".to_owned());
        mark.created = Some(at("01:00:00"));
    });
    for (world, machine, before, since) in [
        (world(), worker("w", "08:00:00"), "never_registered", "young"),
        (listed(), worker("w", "08:00:00"), "expired", "young"),
        (world(), off(worker("w", "08:00:00")), "finished", "young"),
        (world(), orphan, "orphaned_template", "young"),
        (world(), kept, "needs_events", "held"),
    ] {
        assert_eq!(world.verdict(machine.clone()), before, "{machine:?}");
        let mut world = world;
        world.reckoning.restart(
            &view([machine.clone()]),
            &OWNER,
            Mark::times,
            at("11:59:00"),
            SignedDuration::from_hours(3),
        );
        assert_eq!(world.verdict(machine.clone()), since, "{machine:?}");
    }
}

// Ten machines that could not be deleted took all ten places for ever, since they were the oldest.
#[test]
fn those_that_could_not_be_deleted_go_after_all_others_and_by_turns() {
    let names = ["a", "b", "c"];
    let machines = view(names.map(|name| off(worker(name, "11:00:00"))));
    for (failures, expected) in
        [([0, 0, 0], "abc"), ([1, 0, 0], "bca"), ([1, 7, 0], "cab"), ([3, 2, 1], "cba")]
    {
        let stubborn: BTreeMap<_, _> = names.into_iter().map(id).zip(failures).collect();
        let expected: Vec<_> = expected.chars().map(|name| id(&name.to_string())).collect();
        let order = |budget| {
            let swept = World { stubborn: stubborn.clone(), budget, ..world() }.sweep(&machines);
            swept.delete.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        };
        assert_eq!(order(3), expected, "{failures:?}");
        assert_eq!(order(1), expected[..1], "{failures:?}");
    }
}

#[test]
fn unusually_many_running_machines_wait_before_any_budget_and_the_others_go_on() {
    let running: Vec<_> = (0..4).map(|number| worker(&format!("w{number}"), "09:00:00")).collect();
    let alive = ["w0", "w1", "w2", "w3"].map(|name| (name, WorkerState::Alive));
    let machines =
        view(running.into_iter().chain([off(worker("over", "09:00:00")), worker("failed", "11:59:00")]));
    let mut world = World { budget: 1, ..world().listing(&alive) };
    world.condemned.insert(id("failed"), Condemned::SpawnFailed, Timestamp::MAX);
    let sweep = world.sweep(&machines);
    let braked: Vec<_> = sweep.braked.iter().map(|waiting| waiting.name.as_str()).collect();
    assert_eq!(braked, ["w0", "w1", "w2", "w3"]);
    assert_eq!(sweep.braked[0].why, "its worker has run for 3h, 2h are allowed");
    assert_eq!(sweep.delete, [(id("failed"), Reason::Doomed(Condemned::SpawnFailed))]);
    let why = |name: &str| sweep.kept.iter().find(|(other, _)| *other == id(name)).map(|(_, why)| label(why));
    assert_eq!([why("w0"), why("over")], [Some("braked"), Some("budget")]);

    // Two are no crowd, but two and a worker that is disabled are.
    let two = view([worker("w0", "09:00:00"), worker("w1", "09:00:00")]);
    world.budget = 10;
    assert_eq!(world.sweep(&two).delete.len(), 2);
    world.disable = vec!["lost".to_owned()];
    let sweep = world.sweep(&two);
    assert_eq!((sweep.delete.len(), sweep.braked.len()), (0, 3));
}

// After an outage CDS called all workers disabled that had not been able to reach it, and all their machines went.
#[test]
fn machines_that_run_wait_if_unusually_many_workers_are_disabled_at_once() {
    let disabled = ["w0", "w1", "w2"].map(|name| (name, WorkerState::Disabled));
    let world = world().listing(&disabled);
    let swept = |machines: Vec<Machine>| {
        let sweep = world.sweep(&view(machines));
        (sweep.delete.len(), sweep.braked.len())
    };
    let workers = |count| (0..count).map(|number| worker(&format!("w{number}"), "11:59:00"));
    assert_eq!(swept(workers(3).collect()), (0, 3));
    assert_eq!(swept(workers(2).collect()), (2, 0));
    assert_eq!(swept(workers(3).map(off).collect()), (3, 0), "they have ended");
}

#[test]
fn a_view_that_has_lost_unusually_many_deletes_nobody() {
    let whole = view((0..5).map(|number| off(worker(&format!("w{number}"), "09:00:00"))));
    let mut world = world();
    world.brake.look(&whole, &OWNER, &|_| false, at("11:50:00"));
    assert_eq!(world.sweep(&whole).delete.len(), 5);
    let rest = view([off(worker("w0", "09:00:00"))]);
    world.brake.look(&rest, &OWNER, &|_| false, at("11:59:00"));
    let sweep = world.sweep(&rest);
    assert_eq!((sweep.stopped.map(|stop| stop.as_str()), sweep.delete.len()), (Some("lost"), 0));
}

#[test]
fn a_pass_deletes_the_most_certain_and_the_oldest_first_and_only_so_many() {
    let mut world = World { budget: 3, ..world().listing(&[("disabled", WorkerState::Disabled)]) };
    world.condemned.insert(id("doomed"), Condemned::ProvisionFailed, Timestamp::MAX);
    let sweep = world.sweep(&view([
        worker("lost", "01:00:00"),
        worker("doomed", "11:59:00"),
        off(worker("b", "02:00:00")),
        worker("disabled", "11:00:00"),
        off(worker("a", "03:00:00")),
    ]));
    let deleted: Vec<_> = sweep.delete.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(deleted, ["vm-doomed", "vm-disabled", "vm-b"]);
    let kept: Vec<_> = sweep.kept.iter().map(|(id, why)| (id.as_str(), label(why))).collect();
    assert_eq!(kept, [("vm-a", "budget"), ("vm-lost", "budget")]);
}

#[test]
fn verdicts_speak_to_people() {
    let sweep = world().sweep(&view([worker("a", "11:00:00"), worker("b", "11:58:30")]));
    assert_eq!(sweep.delete[0].1.to_string(), "its worker has not registered for 1h, 10m are allowed");
    assert_eq!(sweep.kept[0].1.to_string(), "1m 30s of 10m have passed");
}

proptest! {
    #[test]
    fn only_our_own_known_unheld_idle_machines_are_deleted(
        view in any_view(40),
        condemned in proptest::collection::btree_set(0..1000u32, 0..300),
        busy in 0..1000u32,
        budget in 0..10usize,
    ) {
        let mut world = World { budget, ..world().listing(&[("worker-a", WorkerState::Disabled), ("worker-b", WorkerState::Alive)]) };
        world.condemned = condemned.iter().map(|n| (MachineId::new(format!("vm-{n}")), Condemned::RegistrationEnded)).collect();
        world.busy.push(MachineId::new(format!("vm-{busy}")));
        world.events = view.iter().map(|machine| &machine.id).step_by(2).map(|id| (id.clone(), Some(History::default()))).collect();
        let sweep = world.sweep(&view);
        prop_assert_eq!(&sweep, &world.sweep(&view.clone()));
        prop_assert!(sweep.delete.len() <= budget);
        for (id, reason) in &sweep.delete {
            let machine = view.machines.get(id).expect("a machine");
            let mark = machine.mark_of(&OWNER).expect("our mark");
            prop_assert_eq!(machine.role, Role::Vm);
            prop_assert!(!mark.model || machine.name == "deb-tmp");
            prop_assert!(mark.hold_until.is_none_or(|until| until <= at(NOW)));
            prop_assert!(!world.busy.contains(id));
            let pooled = machine.name.starts_with("provision-") && mark.provisioning;
            prop_assert!(!pooled || matches!(reason, Reason::Doomed(_)));
        }
        let judged = sweep.delete.len() + sweep.kept.len();
        prop_assert_eq!(judged, view.iter().filter(|machine| machine.mark_of(&OWNER).is_some()).count());
    }
}

#[test]
fn only_running_machines_that_we_did_not_give_up_are_counted() {
    let age = SignedDuration::from_hours(3);
    let expired = Reason::Expired { age, limit: age };
    let never = Reason::NeverRegistered { age, limit: age };
    let power = |power| Machine { power, ..worker("w", "08:00:00") };
    let warm = Machine { power: Some(Power::On), ..warm("provision-v2-x", "deb", "") };
    for (machine, reason, expected) in [
        (power(Some(Power::On)), expired, Weight::Lasting),
        (power(Some(Power::On)), never, Weight::Lasting),
        (power(Some(Power::Suspended)), never, Weight::Lasting),
        (power(Some(Power::Off)), never, Weight::None),
        (power(Some(Power::On)), Reason::Doomed(Condemned::SpawnFailed), Weight::None),
        (power(Some(Power::On)), Reason::Disabled, Weight::AtOnce),
        (power(Some(Power::Off)), Reason::Disabled, Weight::None),
        (warm, never, Weight::None),
    ] {
        assert_eq!(weight(&machine, &OWNER, &reason), expected, "{:?} {reason:?}", machine.power);
    }
}

fn label(why: &KeepReason) -> &'static str {
    match why {
        KeepReason::Template => "template",
        KeepReason::Warm => "warm",
        KeepReason::Busy => "busy",
        KeepReason::Unconfirmed => "unconfirmed",
        KeepReason::Held { .. } => "held",
        KeepReason::EndUnknown => "end_unknown",
        KeepReason::Unknown => "unknown",
        KeepReason::Unreachable => "unreachable",
        KeepReason::Outside => "outside",
        KeepReason::JobUnread => "job_unread",
        KeepReason::JobRuns => "job_runs",
        KeepReason::Braked => "braked",
        KeepReason::PowerUnknown => "power_unknown",
        KeepReason::NeedsEvents => "needs_events",
        KeepReason::HistoryTooShort => "history_too_short",
        KeepReason::AgeUnknown => "age_unknown",
        KeepReason::Young { .. } => "young",
        KeepReason::ChangedSince => "changed_since",
        KeepReason::Budget => "budget",
    }
}
