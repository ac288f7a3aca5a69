use proptest::prelude::*;

use super::*;
use crate::samples::{Notes, OWNER, any_machine, at, id, marked, view, vm, warm, worker};
use rookery_fleet::Role;

const NOW: &str = "12:00:00";

fn wish(of: Subject, count: u32) -> HoldRequest {
    HoldRequest {
        id: format!("wish of {of}"),
        of,
        count,
        keep: SignedDuration::from_hours(4),
        until: at("13:00:00"),
        reason: "it fails at night".to_owned(),
        taken: BTreeSet::new(),
    }
}

fn of_model(model: &str) -> Subject {
    Subject::Model(model.to_owned())
}

fn of_job(name: &str) -> Subject {
    Subject::Job(format!("job of {name}"))
}

/// A worker of the template `deb`.
fn deb(name: &str) -> Machine {
    let machine = marked(name, |mark| {
        mark.job_id = format!("job of {name}");
        mark.vmware_model_path = "deb".to_owned();
        mark.worker_start_time = Some(at("11:00:00"));
    });
    Machine { power: Some(Power::On), ..machine }
}

fn off(machine: Machine) -> Machine {
    Machine { power: Some(Power::Off), ..machine }
}

fn with_mark(machine: Machine, change: impl FnOnce(&mut Mark)) -> Machine {
    let mut mark = machine.mark().cloned().unwrap_or_default();
    change(&mut mark);
    Machine { recognised: Notes::Mark(Box::new(mark)).into(), ..machine }
}

/// All that keeping goes by.
#[derive(Default)]
struct World {
    wishes: Vec<HoldRequest>,
    told: BTreeMap<MachineId, Told>,
    condemned: Expiring<MachineId, Condemned>,
    busy: Vec<MachineId>,
    sweep: Sweep,
}

impl World {
    fn wishing(wishes: impl IntoIterator<Item = HoldRequest>) -> Self {
        Self { wishes: wishes.into_iter().collect(), ..Self::default() }
    }

    fn told(mut self, name: &str, outcome: Outcome, time: &str) -> Self {
        self.told.insert(id(name), Told { outcome, at: at(time) });
        self
    }

    fn going(mut self, name: &str, reason: Reason) -> Self {
        self.sweep.delete.push((id(name), reason));
        self
    }

    fn decide(&self, view: &View) -> (Holding, Sweep) {
        let mut sweep = self.sweep.clone();
        let facts = Facts {
            owner: &OWNER,
            now: at(NOW),
            wishes: &self.wishes,
            told: &self.told,
            condemned: &self.condemned,
            busy: &|machine| self.busy.contains(&machine.id),
        };
        (decide(view, &facts, &mut sweep), sweep)
    }

    /// What becomes of the only machine: kept, asked about, or left to the sweep.
    fn fate(&self, machine: Machine) -> &'static str {
        let (holding, sweep) = self.decide(&view([machine]));
        match (holding.keep.len(), holding.ask.len(), sweep.delete.len()) {
            (1, 0, 0) => "kept",
            (0, 1, 0) => "asked",
            (0, 0, 0) => "left",
            (0, 0, 1) => "goes",
            other => panic!("{other:?}"),
        }
    }
}

fn finished() -> Reason {
    Reason::Finished { age: SignedDuration::from_mins(5), listed: false }
}

fn never_registered() -> Reason {
    let time = SignedDuration::from_mins(10);
    Reason::NeverRegistered { age: time, limit: time }
}

fn expired() -> Reason {
    let time = SignedDuration::from_mins(120);
    Reason::Expired { age: time, limit: time }
}

#[test]
fn the_end_of_its_job_decides_whether_a_machine_is_kept() {
    use Outcome::{Ended, Failed, Open, Stopped, Untold};
    let going = || World::wishing([wish(of_model("deb"), 1)]).going("w", finished());
    let silent = || World::wishing([wish(of_model("deb"), 1)]).going("w", never_registered());
    let young = || World::wishing([wish(of_model("deb"), 1)]);
    for (world, machine, expected) in [
        (young(), deb("w"), "left"),
        (young(), off(deb("w")), "asked"),
        (going(), off(deb("w")), "asked"),
        (silent(), deb("w"), "asked"),
        (young().told("w", Failed, "08:00:00"), off(deb("w")), "kept"),
        (young().told("w", Failed, "08:00:00"), deb("w"), "left"),
        (silent().told("w", Failed, "08:00:00"), deb("w"), "kept"),
        (going().told("w", Ended, "08:00:00"), off(deb("w")), "goes"),
        (young().told("w", Ended, "08:00:00"), off(deb("w")), "left"),
        // Its worker was lost; what is off may still be about to start, until its time is over.
        (going().told("w", Open, NOW), off(deb("w")), "kept"),
        (silent().told("w", Open, NOW), deb("w"), "kept"),
        (young().told("w", Open, NOW), off(deb("w")), "left"),
        // What was told of an open job does not hold for long.
        (going().told("w", Open, "11:59:00"), off(deb("w")), "kept"),
        (going().told("w", Open, "11:58:59"), off(deb("w")), "asked"),
        (going().told("w", Untold, "11:58:59"), off(deb("w")), "asked"),
        // Somebody stopped it, and the guest went off; or its worker was not heard of any more.
        (going().told("w", Stopped, NOW), off(deb("w")), "goes"),
        (silent().told("w", Stopped, NOW), deb("w"), "kept"),
        (young().told("w", Stopped, NOW), off(deb("w")), "left"),
        (going().told("w", Untold, NOW), off(deb("w")), "goes"),
        (young().going("w", expired()).told("w", Open, NOW), deb("w"), "goes"),
    ] {
        assert_eq!(world.fate(machine.clone()), expected, "{machine:?} {:?} {:?}", world.told, world.sweep);
    }
}

#[test]
fn whoever_names_a_job_gets_its_machine_even_if_nobody_can_say_how_it_ended() {
    let world = |of| World::wishing([wish(of, 1)]).going("w", finished()).told("w", Outcome::Untold, NOW);
    assert_eq!(world(of_job("w")).fate(off(deb("w"))), "kept");
    assert_eq!(world(of_model("deb")).fate(off(deb("w"))), "goes");
}

#[test]
fn a_machine_whose_worker_could_not_be_started_is_kept_without_a_question() {
    let mut world =
        World::wishing([wish(of_model("deb"), 1)]).going("w", Reason::Doomed(Condemned::SpawnFailed));
    world.condemned.insert(id("w"), Condemned::SpawnFailed, Timestamp::MAX);
    assert_eq!(world.fate(off(deb("w"))), "kept");
    for condemned_for in [Condemned::ProvisionFailed, Condemned::RegistrationEnded] {
        world.condemned.insert(id("w"), condemned_for, Timestamp::MAX);
        assert_eq!(world.fate(off(deb("w"))), "goes", "{condemned_for:?}");
    }
}

#[test]
fn only_a_worker_of_ours_that_somebody_wished_for_and_nobody_is_at_is_kept() {
    let failed = |of| World::wishing([wish(of, 1)]).told("w", Outcome::Failed, NOW);
    let v1 = with_mark(off(deb("w")), |mark| {
        (mark.worker_model_path, mark.vmware_model_path) = ("group/deb".to_owned(), String::new());
    });
    for (of, machine, expected) in [
        (of_model("deb"), off(deb("w")), "kept"),
        (of_job("w"), off(deb("w")), "kept"),
        (of_model("group/deb"), v1, "kept"),
        (of_model("suse"), off(deb("w")), "left"),
        (of_model(""), off(deb("w")), "left"),
        (of_job("another"), off(deb("w")), "left"),
        (Subject::Job(String::new()), with_mark(off(deb("w")), |mark| mark.job_id = String::new()), "left"),
        (of_model("deb"), with_mark(off(deb("w")), |mark| mark.hatchery_name = "theirs".to_owned()), "left"),
        (of_model("deb"), with_mark(off(deb("w")), |mark| mark.register_only = true), "left"),
        (of_model("deb"), with_mark(off(deb("w")), |mark| mark.model = true), "left"),
        (of_model("deb"), Machine { role: Role::Template, ..off(deb("w")) }, "left"),
        (of_model("deb"), Machine { role: Role::Unknown, ..off(deb("w")) }, "left"),
        (of_model("deb"), Machine { name: "provision-v2-x".to_owned(), ..off(deb("w")) }, "left"),
        (of_model("deb"), vm("w"), "left"),
        (of_model("deb"), warm("w", "deb", ""), "left"),
        // What was kept once is not kept again: release would be in vain.
        (of_model("deb"), with_mark(off(deb("w")), |mark| mark.hold_until = Some(at("11:00:00"))), "left"),
    ] {
        assert_eq!(failed(of.clone()).fate(machine.clone()), expected, "{of} {machine:?}");
    }
    let mut world = failed(of_model("deb"));
    world.busy.push(id("w"));
    assert_eq!(world.fate(off(deb("w"))), "left");
}

#[test]
fn a_wish_ends_with_its_time_or_its_count() {
    let failed = |wish| World::wishing([wish]).told("w", Outcome::Failed, NOW);
    let over = HoldRequest { until: at(NOW), ..wish(of_model("deb"), 1) };
    assert_eq!(failed(over).fate(off(deb("w"))), "left");
    let served = HoldRequest { taken: BTreeSet::from([id("before")]), ..wish(of_model("deb"), 1) };
    assert_eq!(failed(served.clone()).fate(off(deb("w"))), "left");
    let second = HoldRequest { count: 2, ..served };
    assert_eq!(failed(second).fate(off(deb("w"))), "kept");
}

#[test]
fn of_many_that_fail_at_once_as_many_are_kept_as_were_asked_for() {
    let machines = ["a", "b", "c", "d"].map(|name| off(deb(name)));
    let mut world = World::wishing([wish(of_job("b"), 1), wish(of_model("deb"), 2)]);
    for name in ["a", "b", "c", "d"] {
        world = world.told(name, Outcome::Failed, NOW).going(name, finished());
    }
    let (holding, sweep) = world.decide(&view(machines));
    let kept: Vec<_> = holding.keep.iter().map(|(id, hold)| (id.as_str(), hold.wish.as_str())).collect();
    let wishes = ["wish of model deb", "wish of job job of b", "wish of model deb"];
    assert_eq!(kept, [("vm-a", wishes[0]), ("vm-b", wishes[1]), ("vm-c", wishes[2])]);
    assert_eq!(sweep.delete, [(id("d"), finished())]);
    let hold = &holding.keep[0].1;
    assert_eq!((hold.until, hold.reason.as_str()), (at("16:00:00"), "it fails at night"));
}

// The hatchery died after it had written down whom it keeps, and before the machine said so.
#[test]
fn a_machine_that_was_promised_is_kept_whatever_else_and_takes_no_second_place() {
    let promised =
        HoldRequest { taken: BTreeSet::from([id("w")]), until: at("11:00:00"), ..wish(of_model("deb"), 1) };
    let world = World::wishing([promised.clone()]).going("w", finished()).going("x", finished()).told(
        "x",
        Outcome::Failed,
        NOW,
    );
    let machines = view([off(deb("w")), off(deb("x"))]);
    let (holding, sweep) = world.decide(&machines);
    assert_eq!(holding.keep.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), [id("w")]);
    assert_eq!(sweep.delete, [(id("x"), finished())]);
    assert!(!promised.is_spent(&machines, at(NOW)), "its machine does not say yet that it is kept");
    let marked = view([with_mark(off(deb("w")), |mark| mark.hold_until = Some(at("16:00:00")))]);
    assert!(promised.is_spent(&marked, at(NOW)));
    assert!(promised.is_spent(&view([]), at(NOW)), "it is gone");
    assert!(!promised.is_spent(&View { complete: false, ..view([]) }, at(NOW)));
}

#[test]
fn a_wish_is_spent_when_it_is_over_or_served() {
    let open = wish(of_model("deb"), 2);
    assert!(!open.is_spent(&view([]), at("12:59:59")));
    assert!(open.is_spent(&view([]), at("13:00:00")));
    let served = HoldRequest { taken: BTreeSet::from([id("a"), id("b")]), ..open };
    assert!(served.is_spent(&view([]), at(NOW)));
}

#[test]
fn a_machine_that_is_kept_after_a_failure_serves_its_job_no_more() {
    let named = |machine: Machine| with_mark(machine, |mark| mark.hold_until = Some(at("16:00:00")));
    let failed = |machine: Machine| with_mark(named(machine), |mark| mark.hold_wish = "1".to_owned());
    for (machine, expected) in [
        (worker("w", "11:00:00"), false),
        (off(worker("w", "11:00:00")), false),
        // Somebody named it while it works.
        (named(worker("w", "11:00:00")), false),
        (named(off(worker("w", "11:00:00"))), true),
        (failed(worker("w", "11:00:00")), true),
        (failed(off(worker("w", "11:00:00"))), true),
    ] {
        let mark = machine.mark().expect("a mark");
        assert_eq!(serves_nobody(&machine, mark), expected, "{machine:?}");
    }
}

#[test]
fn a_wish_is_written_and_read() {
    let wish = HoldRequest { taken: BTreeSet::from([id("a")]), ..wish(of_job("x"), 3) };
    let text = serde_json::to_string(&wish).expect("text");
    assert_eq!(
        text,
        r#"{"id":"wish of job job of x","of":{"job":"job of x"},"count":3,"keep":"PT4H","until":"2026-11-15T13:00:00Z","reason":"it fails at night","taken":["vm-a"]}"#
    );
    assert_eq!(serde_json::from_str::<HoldRequest>(&text).expect("a wish"), wish);
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        3 => Just(Outcome::Failed),
        1 => Just(Outcome::Ended),
        1 => Just(Outcome::Stopped),
        1 => Just(Outcome::Open),
        1 => Just(Outcome::Untold),
    ]
}

fn any_worker() -> impl Strategy<Value = Machine> {
    let job = prop_oneof![4 => "job-[a-c]", 1 => Just(String::new())];
    (any_machine(), job).prop_map(|(machine, job)| match machine.mark() {
        Some(_) => with_mark(machine, |mark| mark.job_id = job),
        None => machine,
    })
}

proptest! {
    #[test]
    fn never_more_are_kept_than_were_asked_for_and_only_what_failed(
        machines in proptest::collection::vec(any_worker(), 0..40),
        outcomes in proptest::collection::vec(any_outcome(), 40),
        counts in proptest::collection::vec(1..3u32, 3),
        going in 0..4usize,
    ) {
        let machines = view(machines);
        let subjects = [of_model("deb"), of_model("group/suse"), Subject::Job("job-a".to_owned())];
        let mut world = World::wishing(subjects.into_iter().zip(&counts).map(|(of, count)| wish(of, *count)));
        // Of every fourth one nothing is told, and every fourth one stays.
        let told = machines.iter().map(|machine| &machine.id).zip(outcomes).enumerate();
        world.told = told.filter(|(number, _)| number % 4 != 0)
            .map(|(_, (id, outcome))| (id.clone(), Told { outcome, at: at(NOW) })).collect();
        let goes = machines.iter().map(|machine| &machine.id).enumerate();
        world.sweep.delete = goes.filter(|(number, _)| number % 4 != going)
            .map(|(_, id)| (id.clone(), finished())).collect();
        let (holding, sweep) = world.decide(&machines);
        prop_assert_eq!(&(holding.clone(), sweep.clone()), &world.decide(&machines.clone()));
        for wish in &world.wishes {
            let kept = holding.keep.iter().filter(|(_, hold)| hold.wish == wish.id).count();
            prop_assert!(kept <= wish.count as usize);
        }
        for (id, hold) in &holding.keep {
            let machine = machines.machines.get(id).expect("a machine");
            let mark = machine.mark_of(&OWNER).expect("our mark");
            let wish = world.wishes.iter().find(|wish| wish.id == hold.wish).expect("a wish");
            prop_assert!(wish.of.is_of(mark) && mark.hold_until.is_none() && !mark.job_id.is_empty());
            prop_assert_eq!(standing(machine, &OWNER), Standing::Worker);
            prop_assert!(world.told.get(id).is_some_and(|told| told.outcome != Outcome::Ended));
            prop_assert!(sweep.delete.iter().all(|(other, _)| other != id));
        }
        // Once the marks say it and the wishes know it, the same look keeps nobody else for a wish that is served.
        for wish in &mut world.wishes {
            wish.taken.extend(
                holding.keep.iter().filter(|(_, hold)| hold.wish == wish.id).map(|(id, _)| id.clone()),
            );
        }
        let after = view(machines.iter().cloned().map(|machine| {
            match holding.keep.iter().find(|(id, _)| *id == machine.id) {
                Some((_, hold)) => with_mark(machine, |mark| mark.hold_until = Some(hold.until)),
                None => machine,
            }
        }));
        let (again, _) = world.decide(&after);
        prop_assert_eq!(again.keep, Vec::new());
    }
}
