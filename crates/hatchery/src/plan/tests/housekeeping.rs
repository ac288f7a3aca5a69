//! Warm machines, workers without machines, and what goes.

use crate::plan::hold::{Outcome, Subject};
use crate::plan::sweep::{KeepReason as Kept, Reason};
use rookery_fleet::deletion::Stop;

use super::*;
use rookery_fleet::overlay::Overlaid;

fn debian(number: u32) -> Warm {
    warm([(ModelRef::V2("debian".to_owned()), number)])
}

#[test]
fn missing_warm_machines_are_made_from_the_template() {
    let plan = world([]).with(|world| world.warm = debian(2)).plan();
    assert_eq!(plan.made().len(), 2);
    assert!(plan.made().iter().all(|make| make.template == id("debian") && make.kind == ModelKind::V2));
    let held = |world: &mut World| (world.warm, world.room_is_asked) = (debian(2), true);
    assert!(world([]).with(held).plan().made().is_empty());
    let drained = |world: &mut World| (world.warm, world.draining) = (debian(2), true);
    assert!(world([]).with(drained).plan().made().is_empty());
}

#[test]
fn what_is_made_or_finished_already_is_not_made_again() {
    for action in [actions::make("debian"), actions::finish("debian")] {
        let world = world([]).with(|world| {
            world.warm = debian(1);
            world.fly(acting("provision-v2-a", action.clone()));
        });
        assert!(world.plan().made().is_empty(), "{action:?}");
    }
}

#[test]
fn jobs_take_the_last_slot_before_models_and_warm_machines() {
    let plan = world([])
        .with(|world| {
            (world.demands, world.warm) = (vec![demand(1)], debian(1));
            world.models = Some(vec![V1Model { need_registration: true, ..model("buster") }]);
            world.limits.size.cpus = Some(2);
        })
        .plan();
    assert_eq!((plan.spawns().len(), plan.registrations().len(), plan.made().len()), (1, 0, 0));
}

#[test]
fn a_warm_machine_of_a_v1_model_is_made_when_its_template_is_there() {
    let of = |machines: Vec<Machine>, models: Option<Vec<V1Model>>| {
        let world = world(machines).with(|world| {
            (world.models, world.registering) = (models, None);
            world.warm = warm([(ModelRef::V1("g/buster".to_owned()), 1)]);
        });
        let plan = world.plan();
        plan.made().first().map(|make| make.template.clone()).ok_or_else(|| plan.not_made[0].1.to_string())
    };
    let current = || vec![template_of(&model("buster"), OWNER.name())];
    assert_eq!(of(current(), Some(vec![model("buster")])), Ok(id("buster")));
    let waits = |machines, models, why: &str| {
        let found = of(machines, models).expect_err("it waits");
        assert!(found.contains(why), "{found}");
    };
    waits(current(), None, "has not told its worker models");
    waits(current(), Some(vec![]), "no worker model g/buster");
    let needed = V1Model { need_registration: true, ..model("buster") };
    waits(current(), Some(vec![needed]), "has to be registered first");
    let checked = V1Model { check_registration: true, ..model("buster") };
    waits(current(), Some(vec![checked]), "has to be registered first");
    waits(vec![], Some(vec![model("buster")]), "has to be made first");
    waits(vec![vm("buster")], Some(vec![model("buster")]), "rename the machine or the model");
    let unknown = Machine { recognised: Notes::Unknown.into(), ..template("buster") };
    waits(vec![unknown], Some(vec![model("buster")]), "has not told what its template is");
}

#[test]
fn a_warm_machine_whose_template_is_not_there_waits() {
    let plan = world([]).with(|world| world.warm = warm([(ModelRef::V2("suse".to_owned()), 1)])).plan();
    assert!(plan.made().is_empty());
    assert_eq!(plan.not_made.len(), 1);
}

#[test]
fn a_worker_without_a_machine_is_disabled_when_two_listings_say_so() {
    let mut world = world([]);
    world.list("lost", WorkerState::Alive);
    let first = world.plan();
    assert_eq!(first.disabled(), [""; 0]);
    world.carried.suspects = first.carried.suspects;
    assert_eq!(world.plan().disabled(), [""; 0], "the same listing proves nothing new");
    world.carried.suspects = world.plan().carried.suspects;
    world.listing.as_mut().expect("a listing").begun = at("12:01:00");
    assert_eq!(world.plan().disabled(), ["lost"]);
    // Nobody can say that a machine is gone of which nobody knows which it was, and V2 workers cannot be disabled.
    for change in [
        |world: &mut World| world.references = References::default(),
        |world: &mut World| world.v1_workers.clear(),
    ] {
        let plan = world.clone().with(change).plan();
        assert_eq!((plan.disabled(), plan.orphans), (vec![], vec!["lost".to_owned()]));
    }
}

/// A world that saw these machines and now sees them no more.
fn robbed(machines: impl IntoIterator<Item = Machine>) -> World {
    let mut world = world(machines);
    world.brake.look(&world.view, &OWNER, &|_| false, at("11:58:00"));
    world.view = view([template("debian")]);
    world.brake.look(&world.view, &OWNER, &|_| false, at("11:59:00"));
    world
}

#[test]
fn what_machines_hold_that_have_vanished_is_not_free_if_they_are_unusually_many() {
    let with_address = |number: u32| {
        let machine = pooled(&format!("provision-v2-{number}"));
        remark(machine, |mark| mark.ip_address = format!("10.0.0.{}", number + 2))
    };
    for (count, braked) in [(2, false), (3, true)] {
        let mut world = robbed((0..count).map(with_address));
        world.networks = network("10.0.0.2/29");
        world.warm = warm([(ModelRef::V2("debian".to_owned()), 3)]);
        world.list("lost", WorkerState::Alive);
        world.carried.suspects = world.plan().carried.suspects;
        world.listing.as_mut().expect("a listing").begun = at("12:00:00");
        let plan = world.plan();
        assert_eq!(plan.made().len(), if braked { 0 } else { 3 }, "lost warm machines are not replaced");
        assert_eq!(plan.braked.len(), if braked { 3 } else { 0 });
        assert_eq!(plan.stopped.is_some(), braked);
        assert_eq!(plan.disabled().is_empty(), braked, "nobody is disabled");
        world.demands = vec![demand(1)];
        let WorkerPlacement::Clone { address, .. } = &world.plan().spawns()[0].path else {
            panic!("a clone")
        };
        let expected = Ipv4Addr::new(10, 0, 0, if braked { 5 } else { 2 });
        assert_eq!(address.as_ref().map(|given| given.ip), Some(expected));
        // A person says that they are gone.
        let list: Vec<_> = plan.braked.iter().map(|waiting| waiting.subject.clone().into()).collect();
        world.brake.confirm(list, at("12:00:00"));
        assert_eq!((world.plan().stopped, world.plan().braked.len()), (None, 0));
    }
}

#[test]
fn workers_wait_with_machines_if_they_are_unusually_many_together() {
    let expired = |number: u32| {
        let machine = worker(&format!("w{number}"), &v2_job(number));
        remark(machine, |mark| mark.worker_start_time = Some(at("08:00:00")))
    };
    let mut world = world([expired(0), expired(1)]);
    for name in ["w0", "w1", "lost"] {
        world.list(name, WorkerState::Alive);
    }
    world.carried.suspects = world.plan().carried.suspects;
    world.listing.as_mut().expect("a listing").begun = at("12:00:00");
    let of = |plan: &Plan| (plan.disabled().len(), plan.swept().len(), plan.braked.len());
    let plan = world.plan();
    assert_eq!(of(&plan), (0, 0, 3));
    // Whom one listing shows is looked at in many passes, and was not there any more when a person had read the list.
    world.carried.suspects = plan.carried.suspects;
    let plan = world.plan();
    assert_eq!(of(&plan), (0, 0, 3));
    world.carried.suspects = plan.carried.suspects;
    let list: Vec<_> = plan.braked.iter().map(|waiting| waiting.subject.clone().into()).collect();
    let found = world.clone().with(|world| world.view = view([vm("lost"), expired(0), expired(1)])).plan();
    assert_eq!(of(&found), (0, 2, 0), "its machine is there again");
    world.brake.confirm(list, at("12:00:00"));
    let plan = world.plan();
    assert_eq!(of(&plan), (1, 2, 0));
    world.carried.suspects = plan.carried.suspects;
    assert_eq!(world.plan().disabled(), [""; 0], "once by each listing");
    world.listing.as_mut().expect("a listing").begun = at("12:00:10");
    assert_eq!(world.plan().disabled(), ["lost"], "it was not disabled");
}

#[test]
fn nobody_is_disabled_by_a_view_that_is_not_whole_or_while_the_machine_is_on_its_way() {
    let listed = |begun: &str| {
        let mut world = world([]);
        world.list("lost", WorkerState::Alive);
        world.listing.as_mut().expect("a listing").begun = at(begun);
        world
    };
    let suspects = listed("11:59:30").plan().carried.suspects;
    let second = |change: &dyn Fn(&mut World)| {
        let world = listed("11:59:50").with(|world| world.carried.suspects = suspects.clone()).with(change);
        world.plan()
    };
    assert_eq!(second(&|_| {}).disabled(), ["lost"]);
    let blind = second(&|world| world.view.complete = false);
    assert_eq!(blind.disabled(), [""; 0]);
    assert_eq!(blind.carried.suspects, Suspects::default(), "what was seen before does not count any more");
    assert_eq!(second(&|world| world.view.age = Duration::from_mins(2)).disabled(), [""; 0]);
    assert_eq!(second(&|world| world.fly(acting("lost", start_of(&v2_job(1))))).disabled(), [""; 0]);
    assert_eq!(second(&|world| world.listing = None).disabled(), [""; 0]);
    let late = |world: &mut World| world.now = at("12:00:51");
    assert_eq!(second(&late).disabled(), [""; 0], "the list is too old");
}

#[test]
fn a_machine_that_a_job_was_given_is_neither_swept_nor_removed() {
    let mut given = pooled("provision-v2-a");
    given.created = Some(at("01:00:00"));
    let world = world([given]).with(|world| world.demands = vec![demand(1)]);
    let idle = world.clone().with(|world| world.demands.clear()).plan();
    assert_eq!(idle.removed().len(), 1, "nobody wishes for it");
    let plan = world.plan();
    assert!(matches!(plan.spawns()[0].path, WorkerPlacement::Claim { .. }));
    assert!(plan.removed().is_empty() && plan.swept().is_empty() && plan.unclaimed().is_empty());
}

#[test]
fn what_is_over_goes_and_what_is_in_doubt_stays() {
    let old = || remark(worker("old", &v2_job(1)), |mark| mark.worker_start_time = Some(at("08:00:00")));
    let never =
        Reason::NeverRegistered { age: SignedDuration::from_hours(4), limit: SignedDuration::from_mins(10) };
    let world = |machines: [Machine; 1]| {
        let read = JobRead { runs_here: false, at: at("11:59:50") };
        world(machines).with(|world| {
            world.job_reads.insert(id("old"), read);
        })
    };
    assert_eq!(world([old()]).plan().swept(), [(id("old"), never)]);
    let stops = |change: &dyn Fn(&mut World)| {
        let plan = world([old()]).with(change).plan();
        assert!(plan.swept().is_empty());
        plan.stopped
    };
    assert_eq!(stops(&|world| world.view.complete = false), Some(Stop::Incomplete));
    assert_eq!(stops(&|world| world.listing = None), Some(Stop::NoEvidence { of: "workers" }));
    assert_eq!(stops(&|world| world.skew = None), Some(Stop::SkewUnknown));
    let old_listing = Stop::OldEvidence { of: "workers", age: SignedDuration::from_secs(61) };
    assert_eq!(stops(&|world| world.now = at("12:01:00")), Some(old_listing));
    let kept = |change: &dyn Fn(&mut World)| {
        let plan = world([old()]).with(change).plan();
        assert!(plan.swept().is_empty());
        plan.kept.into_iter().map(|(_, why)| why).next()
    };
    let flying = |world: &mut World| world.fly(acting("old", start_of(&v2_job(1))));
    assert_eq!(kept(&flying), Some(Kept::Busy));
    let by_machine = |world: &mut World| {
        world.fly(RunningAction { machine: Some(id("old")), ..acting("else", actions::delete()) });
    };
    assert_eq!(kept(&by_machine), Some(Kept::Busy), "a deletion that runs is not ordered again");
    let changed = |world: &mut World| {
        world.changed.insert(id("old"), at("11:59:59"));
    };
    assert_eq!(kept(&changed), Some(Kept::ChangedSince));
}

#[test]
fn between_two_looks_only_what_was_given_up_goes() {
    let old = Machine { power: Some(Power::Off), ..worker("old", &v2_job(1)) };
    let world = world([old, worker("failed", &v2_job(2))]).with(|world| {
        let off = History { powered_off: Some(at("08:00:00")), ..Default::default() };
        world.events.insert(id("old"), Some(off));
        world.condemn("failed", Condemned::SpawnFailed);
        world.list("old", WorkerState::Disabled);
    });
    let gone =
        |world: &World| -> Vec<_> { world.plan().swept().into_iter().map(|(machine, _)| machine).collect() };
    assert_eq!(gone(&world), [id("failed"), id("old")]);
    assert_eq!(gone(&world.with(|world| world.due = false)), [id("failed")]);
}

#[test]
fn not_more_than_ten_go_in_one_pass() {
    let condemned = |number: u32| worker(&format!("w{number:02}"), &v2_job(number));
    let world = world((0..12).map(condemned)).with(|world| {
        world.condemned =
            (0..12).map(|number| (id(&format!("w{number:02}")), Condemned::SpawnFailed)).collect();
    });
    assert_eq!(world.plan().swept().len(), 10);
}

// A deletion that vCenter refused was ordered again at once, as often as it could answer.
#[test]
fn a_machine_that_could_not_be_changed_is_left_alone_for_a_while() {
    let half = Machine { power: Some(Power::Off), ..worker("h", &v2_job(2)) };
    let half = Machine { name: "provision-v2-h".to_owned(), ..half };
    let world = world([worker("w", &v2_job(1)), pooled("provision-v2-a"), half]).with(|world| {
        world.condemn("w", Condemned::SpawnFailed);
    });
    let deeds = |plan: Plan| (plan.swept().len(), plan.removed().len(), plan.unclaimed().len());
    assert_eq!(deeds(world.plan()), (1, 1, 1));
    let all = ["w", "provision-v2-a", "h"].map(id);
    assert_eq!(
        deeds(world.with(|world| world.avoided = all.into_iter().map(|id| (id, ())).collect()).plan()),
        (0, 0, 0)
    );
}

// A machine that runs under a name of the pool and was kept until now was found by both, and two deletions began.
#[test]
fn a_machine_is_deleted_for_one_reason_at_a_time() {
    let mut held = worker("w", &v2_job(1));
    held.name = "provision-v2-a".to_owned();
    let held = remark(held, |mark| {
        (mark.hold_until, mark.worker_start_time) = (Some(at("11:00:00")), Some(at("08:00:00")));
    });
    let world = world([held]).with(|world| world.list("provision-v2-a", WorkerState::Disabled));
    let plan = world.plan();
    assert_eq!(plan.swept().len() + plan.removed().len(), 1, "{:?} {:?}", plan.swept(), plan.removed());
}

/// Workers that have ended.
fn finished(count: u32) -> Vec<Machine> {
    let off =
        |number| Machine { power: Some(Power::Off), ..worker(&format!("w{number:02}"), &v2_job(number)) };
    (1..=count).map(off).collect()
}

// Ten went in a minute: with 50 workers of three-minute jobs a /24 was full in half an hour.
#[test]
fn ten_go_at_once_and_each_that_ends_makes_room_for_the_next() {
    let world = world(finished(15));
    let deleted =
        |world: &World| world.plan().swept().into_iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>();
    assert_eq!(deleted(&world).len(), 10);
    for running in 0..=10 {
        let busy = world.clone().with(|world| {
            for number in 0..running {
                let machine = Some(id(&format!("w{:02}", 15 - number)));
                world.fly(RunningAction { machine, ..acting("", actions::delete()) });
            }
        });
        assert_eq!(deleted(&busy).len(), 10 - running, "{running} have not ended");
        let hanging = id("w15");
        assert!(running == 0 || !deleted(&busy).contains(&hanging.to_string()));
    }
}

#[test]
fn what_the_pool_removes_and_templates_that_were_replaced_wait_for_the_same_places() {
    let unwanted = |number| pooled(&format!("provision-v2-{number:02}"));
    for (ended, running, removed) in [(0, 0, 10), (6, 0, 4), (6, 3, 1), (12, 0, 0)] {
        let plan = world(finished(ended).into_iter().chain((0..12).map(unwanted)))
            .with(|world| {
                for _ in 0..running {
                    world.fly(acting("", actions::delete()));
                }
            })
            .plan();
        assert_eq!(plan.removed().len(), removed, "{ended} {running}");
        assert!(plan.removed().len() + plan.swept().len() + running <= 10);
    }
    let heir = template_of(&model("buster"), OWNER.name());
    let old = |number| {
        let id = id(&format!("old{number}"));
        Machine { name: retired_name("buster", &id), id, ..heir.clone() }
    };
    let retired = |ended| world(finished(ended).into_iter().chain([heir.clone(), old(1), old(2)])).plan();
    assert_eq!([0, 9, 10].map(|ended| retired(ended).retired().len()), [2, 1, 0]);
}

#[test]
fn whoever_could_not_be_deleted_lets_the_others_go_first() {
    let heir = template_of(&model("buster"), OWNER.name());
    let old = |number| {
        let id = id(&format!("old{number}"));
        Machine { name: retired_name("buster", &id), id, ..heir.clone() }
    };
    let unwanted = |number| pooled(&format!("provision-v2-{number:02}"));
    let stubborn = |world: &mut World| {
        world.stubborn = ["old1", "w01", "provision-v2-00"].map(|name| (id(name), 1)).into();
    };
    let plan = world(finished(9).into_iter().chain([heir.clone(), old(1), old(2)])).with(stubborn).plan();
    assert_eq!(plan.retired(), [id("old2")]);
    let plan = world(finished(11)).with(stubborn).plan();
    assert!(!plan.swept().iter().any(|(machine, _)| *machine == id("w01")), "{:?}", plan.swept());
    let plan = world(finished(9).into_iter().chain((0..2).map(unwanted))).with(stubborn).plan();
    assert!(
        matches!(&*plan.removed(), [(machine, _)] if *machine == id("provision-v2-01")),
        "{:?}",
        plan.removed()
    );
}

fn wish(count: u32) -> HoldRequest {
    HoldRequest {
        id: "7f".to_owned(),
        of: Subject::Model("debian".to_owned()),
        count,
        keep: SignedDuration::from_hours(4),
        until: at("13:00:00"),
        reason: "why".to_owned(),
        taken: BTreeSet::new(),
    }
}

#[test]
fn a_failed_worker_that_somebody_wished_for_is_kept_and_not_swept() {
    let failed = |name: &str, number| Machine { power: Some(Power::Off), ..worker(name, &v2_job(number)) };
    let world = world([failed("a", 1), failed("b", 2)]).with(|world| world.wishes = vec![wish(1)]);
    let plan = world.plan();
    assert_eq!((plan.missing.outcomes.clone(), plan.held().len()), (vec![id("a"), id("b")], 0));
    assert!(plan.swept().is_empty(), "how their jobs ended is not known yet");
    let told = |outcome| Told { outcome, at: at("12:00:00") };
    let world = world.with(|world| {
        world.outcomes = [(id("a"), told(Outcome::Ended)), (id("b"), told(Outcome::Failed))].into();
    });
    let plan = world.plan();
    let deleted: Vec<_> = plan.swept().iter().map(|(id, _)| id.clone()).collect();
    assert_eq!((plan.missing.outcomes.clone(), deleted), (vec![], vec![id("a")]));
    let hold = hold::Hold { until: at("16:00:00"), reason: "why".to_owned(), wish: "7f".to_owned() };
    assert_eq!(plan.held(), [(id("b"), hold)]);
    let draining = world.clone().with(|world| world.draining = true).plan();
    assert_eq!(draining.held().len(), 1, "a hatchery that is drained keeps its promises");
    let busy = world.with(|world| world.avoid("b")).plan();
    assert!(busy.held().is_empty() && busy.swept().len() == 1);
}

#[test]
fn a_job_whose_machine_is_kept_after_a_failure_gets_another_one() {
    let kept = |wish: &str, power| {
        let machine = remark(worker("kept", &v2_job(1)), |mark| {
            (mark.hold_until, mark.hold_wish) = (Some(at("16:00:00")), wish.to_owned());
        });
        let machine = Machine { power: Some(power), ..machine };
        world([machine]).with(|world| world.demands = vec![demand(1)]).plan().spawns().len()
    };
    assert_eq!(kept("7f", Power::Off), 1);
    assert_eq!(kept("7f", Power::On), 1, "its worker never came");
    assert_eq!(kept("", Power::Off), 1);
    assert_eq!(kept("", Power::On), 0, "somebody named it while its worker is on the way");
}

// CDS shows such a job as being scheduled until it is released, which happened when the machine was deleted.
#[test]
fn the_job_of_a_worker_that_went_off_before_it_was_seen_at_work_is_looked_at_once() {
    let off = |name: &str| Machine { power: Some(Power::Off), ..worker(name, &v2_job(1)) };
    let found = |machine: Machine, change: &dyn Fn(&mut World)| {
        world([machine]).with(|world| change(world)).plan().abandoned()
    };
    assert_eq!(found(off("w"), &|_| {}), [id("w")]);
    assert_eq!(found(worker("w", &v2_job(1)), &|_| {}), [], "it is on");
    let v1 = Machine { power: Some(Power::Off), ..worker("w", &v1_job(1)) };
    assert_eq!(found(v1, &|_| {}), [], "a booking ends by itself");
    let seen_at_work = |world: &mut World| world.took_job = BTreeSet::from(["w".to_owned()]);
    assert_eq!(found(off("w"), &seen_at_work), []);
    assert_eq!(
        found(off("w"), &|world| world.carried.off_duty = BTreeSet::from([id("w")])),
        [],
        "it was looked at"
    );
    let condemned = |world: &mut World| world.condemn("w", Condemned::SpawnFailed);
    assert_eq!(found(off("w"), &condemned), []);
    assert_eq!(found(off("w"), &|world| world.view.complete = false), []);
    assert_eq!(found(off("w"), &|world| world.listing = None), [], "old news release nothing");
    let busy = |world: &mut World| world.fly(acting("w", actions::free(v2_job(2))));
    assert_eq!(found(off("w"), &busy), [], "somebody is at work on it");
    let theirs = Machine {
        recognised: Notes::Mark(Box::new(Mark { hatchery_name: "theirs".to_owned(), ..Mark::default() }))
            .into(),
        ..off("w")
    };
    assert_eq!(found(theirs, &|_| {}), []);
    let of_own =
        |number| Machine { power: Some(Power::Off), ..worker(&format!("w{number}"), &v2_job(number)) };
    let many: Vec<_> = (0..12).map(of_own).collect();
    assert_eq!(world(many).plan().abandoned().len(), 10, "so many at once");
    let twice = world([off("w1"), off("w2")]).plan();
    assert_eq!(twice.freed(), [v2_job(1)], "of two machines of one job one gives it back");
}

#[test]
fn a_machine_whose_job_was_given_back_serves_it_no_more() {
    let off = || Machine { power: Some(Power::Off), ..worker("w", &v2_job(1)) };
    let served = world([off()]).with(|world| world.demands = vec![demand(1)]);
    assert_eq!(served.why(), Some(WaitReason::Served { machine: "w".to_owned() }));
    let given_back = served.with(|world| {
        world.carried.off_duty.insert(id("w"));
    });
    assert_eq!(given_back.plan().spawns().len(), 1);
}

// Its row still showed the machine: the job was released, and its worker was running.
#[test]
fn no_job_is_released_on_account_of_a_machine_that_the_inventory_has_not_confirmed() {
    let given_up = |is_settled| {
        world([]).with(|world| {
            world.carried.freed = vec![(of_job(1), Some(id("w")))];
            world.view.overlaid = [(id("w"), Overlaid { row: None, is_gone: true, is_settled })].into();
        })
    };
    let waits = given_up(false).plan();
    assert_eq!((waits.freed().len(), waits.carried.freed.len()), (0, 1), "it waits, and is not forgotten");
    let plan = given_up(true).plan();
    assert_eq!((plan.freed(), plan.carried.freed.len()), (vec![v2_job(1)], 0));
}

#[test]
fn jobs_are_not_given_back_while_nothing_may_be_deleted() {
    let given_up = || world([]).with(|world| world.carried.freed = vec![(of_job(1), None)]);
    assert_eq!(given_up().plan().freed(), [v2_job(1)]);
    let old = given_up().with(|world| world.listing = None).plan();
    assert_eq!((old.freed().len(), old.carried.freed.len()), (0, 1));
}

// The booking of a start that was cut off was ended although another worker had been started for the job.
#[test]
fn a_job_is_not_given_back_if_another_machine_or_action_is_for_it() {
    let freed = |change: &dyn Fn(&mut World)| {
        let given_up = world([]).with(|world| world.carried.freed = vec![(of_job(1), Some(id("w")))]);
        let plan = given_up.with(change).plan();
        assert!(plan.carried.freed.is_empty(), "it is looked at once");
        plan.freed()
    };
    let beside = |machine: Machine| move |world: &mut World| world.view = view([template("debian"), machine]);
    assert_eq!(freed(&|_| {}), [v2_job(1)]);
    let own = |world: &mut World| beside(worker("w", &v2_job(1)))(world);
    assert_eq!(freed(&own), [v2_job(1)], "nobody knows how far its own machine came");
    assert_eq!(freed(&|world| beside(worker("other", &v2_job(1)))(world)), []);
    assert_eq!(freed(&|world| world.fly(acting("w2", start_of(&v2_job(1))))), []);
    let planned = |world: &mut World| world.demands = vec![demand(1)];
    assert_eq!(freed(&planned), [], "a worker is started for it in the same pass");
}

fn of_job(number: u32) -> ServedJob {
    ServedJob { job: v2_job(number).to_string(), worker: "w".to_owned() }
}
