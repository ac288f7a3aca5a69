//! Which jobs get a worker, how, and why the others wait.

use crate::plan::capacity::Shortage;
use rookery_vim_client::Gate;

use super::*;
use crate::intake::demand::Refusal;
use rookery_fleet::capacity::Shortage as Short;

fn needed(name: &str) -> V1Model {
    V1Model { need_registration: true, ..model(name) }
}

/// One job that runs on `debian`, in a world of these machines.
fn waiting(machines: impl IntoIterator<Item = Machine>) -> World {
    world(machines).with(|world| world.demands = vec![demand(1)])
}

fn check(change: impl FnOnce(&mut World), expected: WaitReason) {
    assert_eq!(waiting([]).with(change).why(), Some(expected));
}

#[test]
fn an_ordinary_job_gets_a_clone() {
    let plan = waiting([]).plan();
    let [spawn] = &*plan.spawns() else { panic!("{:?}", plan.waiting) };
    assert_eq!(spawn.job, v2_job(1));
    let expected = WorkerPlacement::Clone { template: id("debian"), incarnation: None, address: None };
    assert_eq!(spawn.path, expected);
    assert_eq!((plan.ledger.workers, plan.ledger.starting, plan.ledger.size.cpus), (1, 1, 2));
}

#[test]
fn a_job_that_has_a_machine_gets_no_second_one() {
    let machine = "there".to_owned();
    let served = WaitReason::Served { machine };
    assert_eq!(waiting([worker("there", &v2_job(1))]).why(), Some(served.clone()));
    // Off, half claimed, and made by the Go hatchery: all of them are still the job's.
    let off = Machine { power: Some(Power::Off), ..worker("there", &v2_job(1)) };
    assert_eq!(waiting([off]).why(), Some(served));
    let half = Machine { name: "provision-v2-x".to_owned(), ..worker("there", &v2_job(1)) };
    assert_eq!(waiting([half]).why(), Some(WaitReason::Served { machine: "provision-v2-x".to_owned() }));
}

// After a stop and a start a V1 job waited for ten minutes for a machine that would never have a worker.
#[test]
fn a_v1_job_that_is_offered_is_not_served_by_a_machine_that_is_off() {
    let job = v1_job(7);
    for (power, served) in
        [(Some(Power::Off), false), (Some(Power::On), true), (Some(Power::Suspended), true), (None, true)]
    {
        let machine = Machine { power, ..worker("there", &job) };
        let world =
            world([machine]).with(|world| world.demands = vec![wants(job.clone(), v2_model("debian"))]);
        let expected = served.then(|| WaitReason::Served { machine: "there".to_owned() });
        assert_eq!(world.why(), expected, "{power:?}");
    }
}

#[test]
fn a_job_is_served_by_machines_of_ours_alone() {
    let of_others = marked("theirs", |mark| {
        (mark.hatchery_name, mark.job_id) = ("theirs".to_owned(), v2_job(1).to_string());
    });
    assert_eq!(waiting([of_others, worker("other", &v2_job(2))]).why(), None);
}

#[test]
fn a_job_in_flight_is_neither_served_again_nor_said_to_wait() {
    for action in [start_of(&v2_job(1)), actions::give_up(v2_job(1))] {
        let plan = waiting([]).with(|world| world.fly(acting("w", action.clone()))).plan();
        assert!(
            plan.spawns().is_empty() && plan.waiting.is_empty() && plan.given_up().is_empty(),
            "{action:?}"
        );
    }
    let other = waiting([]).with(|world| world.fly(acting("w", start_of(&v2_job(2)))));
    assert_eq!(other.plan().spawns().len(), 1);
}

#[test]
fn nothing_is_begun_before_everything_is_known() {
    check(|world| world.draining = true, WaitReason::Draining);
    check(|world| world.view.complete = false, WaitReason::InventoryIncomplete);
    check(|world| world.listing = None, WaitReason::WorkersUnknown);
    check(|world| world.room_is_asked = true, WaitReason::RoomIsAsked);
}

#[test]
fn a_job_that_was_tried_too_often_is_given_up_and_never_before() {
    for (tried, most, gives_up) in [(2, Some(3), false), (3, Some(3), true), (9, None, false)] {
        let plan = waiting([])
            .with(|world| (world.attempts, world.tried) = (most, Expiring::from_iter([(v2_job(1), tried)])))
            .plan();
        assert_eq!((plan.given_up().len(), plan.spawns().len()), if gives_up { (1, 0) } else { (0, 1) });
    }
    // What is not known is no reason to fail somebody's job.
    let blind = |world: &mut World| {
        (world.tried, world.view.complete) = (Expiring::from_iter([(v2_job(1), 3)]), false);
    };
    assert!(waiting([]).with(blind).plan().given_up().is_empty());
}

#[test]
fn what_cannot_run_here_waits_with_its_reason() {
    let refusal = Refusal::NoCommand { model: "m".to_owned() };
    check(|world| world.demands[0].model = Err(refusal.clone()), WaitReason::Refused(refusal.clone()));
    let huge = ResolvedModel { runs_on: "huge".to_owned(), ..v2_model("debian") };
    check(
        |world| {
            world.flavors = Flavors::new([flavor("small", 1, 1024)]).expect("flavors");
            world.demands = vec![wants(v2_job(1), huge)];
        },
        WaitReason::Refused(Refusal::UnknownFlavor {
            flavor: "huge".to_owned(),
            known: vec!["small".to_owned()],
        }),
    );
    let reason = "no credentials".to_owned();
    check(
        |world| {
            world.unusable.insert(("P".to_owned(), "debian".to_owned()), reason.clone(), Timestamp::MAX);
        },
        WaitReason::Unusable { model: "debian".to_owned(), reason: reason.clone() },
    );
}

// Two projects had a model `debian` each, and the jobs of one waited for the credentials of the other's.
#[test]
fn a_model_that_cannot_be_used_in_one_project_serves_the_others() {
    let world = waiting([]).with(|world| {
        let other = Demand { project: "Q".to_owned(), ..demand(2) };
        world.demands.push(other);
        world.unusable.insert(
            ("P".to_owned(), "debian".to_owned()),
            "no credentials".to_owned(),
            Timestamp::MAX,
        );
    });
    let plan = world.plan();
    let served: Vec<_> = plan.spawns().into_iter().map(|spawn| (spawn.job, spawn.project)).collect();
    assert_eq!(served, [(v2_job(2), "Q".to_owned())]);
    assert_eq!(plan.waiting.len(), 1);
}

#[test]
fn each_limit_keeps_one_more_worker_out() {
    let busy = || world([worker("w", &v2_job(9))]).with(|world| world.demands = vec![demand(1)]);
    let short = |change: &dyn Fn(&mut World)| match busy().with(change).why() {
        Some(WaitReason::Shortage(shortage)) => shortage,
        other => panic!("{other:?}"),
    };
    assert_eq!(short(&|world| world.limits.workers = Some(1)), Shortage::Workers { used: 1, max: 1 });
    assert_eq!(short(&|world| world.limits.starting = 1), Shortage::Starting { used: 1, max: 1 });
    assert_eq!(
        short(&|world| world.limits.size.cpus = Some(3)),
        Short::Cpus { used: 2, next: 2, max: 3 }.into()
    );
    let memory = Short::Memory { used: 4096, next: 4096, max: 8191 }.into();
    assert_eq!(short(&|world| world.limits.size.memory_mb = Some(8191)), memory);
    let room = PoolRoom { memory_unreserved_bytes: Some(4095 << 20), ..PoolRoom::default() };
    let pool = Short::PoolMemory { left_mb: 4095, next: 4096 }.into();
    assert_eq!(short(&|world| world.room = Some(room)), pool);
    let cpu = PoolRoom { cpu_max_mhz: Some(1000), cpu_unreserved_mhz: Some(0), ..PoolRoom::default() };
    assert_eq!(short(&|world| world.room = Some(cpu)), Short::PoolCpu { max_mhz: 1000 }.into());
    let exact = busy().with(|world| {
        world.limits = Limits {
            workers: Some(2),
            starting: 2,
            size: capacity::Limits { cpus: Some(4), memory_mb: Some(8192), keep_smaller: 0 },
        };
    });
    assert_eq!(exact.why(), None, "what fits exactly fits");
}

#[test]
fn what_was_started_after_the_pool_was_asked_is_taken_off_what_it_said() {
    let room = PoolRoom { memory_unreserved_bytes: Some(8191 << 20), ..PoolRoom::default() };
    let after = |changed: &str| {
        let world = world([worker("w", &v2_job(9))]).with(|world| {
            (world.demands, world.room, world.room_at) = (vec![demand(1)], Some(room), Some(at("11:59:00")));
            world.changed.insert(id("w"), at(changed));
        });
        world.why()
    };
    let left = WaitReason::Shortage(Short::PoolMemory { left_mb: 4095, next: 4096 }.into());
    assert_eq!((after("11:58:59"), after("11:59:00")), (None, Some(left)));
}

#[test]
fn what_other_fronts_have_in_flight_is_taken_off_what_the_pool_said() {
    let room = PoolRoom { memory_unreserved_bytes: Some(8192 << 20), ..PoolRoom::default() };
    let beside = |memory_mb: u64| {
        let world = waiting([]).with(|world| {
            (world.room, world.room_at) = (Some(room), Some(at("11:59:00")));
            world.reserved.memory_mb = memory_mb;
        });
        world.why()
    };
    let left = WaitReason::Shortage(Short::PoolMemory { left_mb: 4095, next: 4096 }.into());
    assert_eq!((beside(4096), beside(4097)), (None, Some(left)));
}

#[test]
fn a_name_that_another_front_has_reserved_is_not_given() {
    let named = |world: World| world.plan().spawns().into_iter().map(|spawn| spawn.name).next();
    let first = named(waiting([])).expect("it starts");
    let other = named(waiting([]).with(|world| world.reserved.names = [first.clone()].into()));
    assert!(other.is_some_and(|other| other != first));
}

#[test]
fn a_vcenter_that_refused_for_want_of_room_is_left_alone_for_a_while() {
    let until = at("12:00:01");
    check(|world| world.full_until = Some(until), WaitReason::Full { until });
    let over = waiting([]).with(|world| world.full_until = Some(at("12:00:00")));
    assert_eq!(over.why(), None);
}

#[test]
fn no_more_workers_start_than_a_slow_cds_bears() {
    let slow = |allowed: u32, on_their_way: u32| {
        waiting([])
            .with(|world| (world.allowed_by_cds, world.on_their_way) = (Some(allowed), on_their_way))
            .why()
    };
    for (allowed, on_their_way, expected) in [
        (4, 3, None),
        (4, 4, Some("CDS answers slowly: only 4 workers start at once")),
        (4, 9, Some("CDS answers slowly: only 4 workers start at once")),
        (1, 0, None),
        (1, 1, Some("CDS answers slowly: only 1 worker starts at once")),
    ] {
        let why = slow(allowed, on_their_way).map(|why| why.to_string());
        assert_eq!(why.as_deref(), expected, "{on_their_way} of {allowed}");
    }
    let many = world([]).with(|world| {
        world.demands = (1..=6).map(demand).collect();
        world.allowed_by_cds = Some(4);
    });
    let plan = many.plan();
    assert_eq!((plan.spawns().len(), plan.waiting.len()), (4, 2), "those of one pass count, too");
    let models = world([]).with(|world| {
        world.models = Some(["a", "b", "c"].map(needed).into());
        (world.demands, world.allowed_by_cds) = (vec![demand(1)], Some(2));
    });
    let plan = models.plan();
    assert_eq!((plan.spawns().len(), plan.registrations().len()), (1, 1), "workers of models count as well");
}

// With one worker allowed at once, a machine that never registered kept every job waiting for ten minutes.
#[test]
fn machines_whose_workers_do_not_register_for_long_do_not_hold_up_the_others() {
    let world = waiting([worker("w", &v2_job(9))]).with(|world| {
        world.allowed_by_cds = Some(1);
        world.fly(acting("boots", start_of(&v2_job(8))));
    });
    assert_eq!(world.plan().ledger.starting, 3);
    assert_eq!(world.why(), None);
}

#[test]
fn a_larger_flavor_leaves_room_for_smaller_ones() {
    let large = ResolvedModel { runs_on: "large".to_owned(), ..v2_model("debian") };
    let world = world([]).with(|world| {
        world.flavors = Flavors::new([flavor("small", 1, 1024), flavor("large", 4, 4096)]).expect("flavors");
        (world.limits.size.cpus, world.limits.size.keep_smaller) = (Some(5), 2);
        world.demands = vec![wants(v2_job(1), large)];
    });
    let kept = Short::CpusKept { used: 0, next: 4, kept: 2, max: 5 }.into();
    assert_eq!(world.why(), Some(WaitReason::Shortage(kept)));
}

#[test]
fn who_is_admitted_counts_for_the_next_one_in_the_same_pass() {
    let plan = world([])
        .with(|world| {
            world.demands = (1..=5).map(demand).collect();
            world.limits.workers = Some(3);
        })
        .plan();
    assert_eq!((plan.spawns().len(), plan.waiting.len()), (3, 2));
    let fourth = WaitReason::Shortage(Shortage::Workers { used: 3, max: 3 });
    assert!(plan.waiting.iter().all(|waiting| waiting.why == fourth));
}

#[test]
fn a_worker_that_registered_once_is_not_starting_any_more_and_a_doomed_one_never_will() {
    let world = world([worker("w", &v2_job(9))]).with(|world| {
        (world.demands, world.limits.starting) = (vec![demand(1)], 1);
    });
    assert!(world.why().is_some());
    let once = |world: &mut World| {
        world.registered_once.insert("w".to_owned());
    };
    assert_eq!(world.clone().with(once).why(), None);
    let condemned = |world: &mut World| {
        world.condemn("w", Condemned::SpawnFailed);
    };
    assert_eq!(world.with(condemned).why(), None);
}

#[test]
fn a_warm_machine_is_claimed_before_anything_is_cloned() {
    let plan = waiting([pooled("provision-v2-a")]).plan();
    let [Spawn { path: WorkerPlacement::Claim { machine, was, resize, mark }, name, .. }] = &*plan.spawns()
    else {
        panic!("{plan:?}")
    };
    assert_eq!((machine, was.as_str(), *resize), (&id("provision-v2-a"), "provision-v2-a", None));
    assert_eq!(mark.vmware_model_path, "debian");
    assert_ne!(name, was, "the worker has a name of its own");
}

#[test]
fn a_warm_machine_is_claimed_where_a_clone_could_not_be_made() {
    let change = |world: &mut World| {
        world.setbacks.insert((ModelKind::V2, "debian".to_owned()), rests_until("12:10:00"));
        world.networks = network("10.0.0.2/32");
        world.lingering.insert(Ipv4Addr::new(10, 0, 0, 2));
    };
    assert_eq!(waiting([pooled("provision-v2-a")]).with(change).why(), None);
    let without_template = waiting([pooled("provision-v2-a")]).with(|world| {
        world.view.machines.remove(&id("debian"));
    });
    assert_eq!(without_template.why(), None);
}

#[test]
fn a_warm_machine_that_somebody_is_at_is_not_claimed() {
    let clones = |change: &dyn Fn(&mut World)| {
        let plan = waiting([pooled("provision-v2-a")]).with(change).plan();
        matches!(plan.spawns().as_slice(), [Spawn { path: WorkerPlacement::Clone { .. }, .. }])
    };
    assert!(clones(&|world| {
        world.condemn("provision-v2-a", Condemned::RegistrationEnded);
    }));
    assert!(clones(&|world| {
        world.avoid("provision-v2-a");
    }));
    assert!(clones(&|world| {
        let claim =
            RunningAction { machine: Some(id("provision-v2-a")), ..acting("new", start_of(&v2_job(9))) };
        world.fly(claim);
    }));
    assert!(clones(&|world| world.fly(acting("provision-v2-a", actions::unclaim()))));
    let unknown = Machine { recognised: Notes::Unknown.into(), ..pooled("provision-v2-a") };
    assert!(clones(&|world| world.view = view([template("debian"), unknown.clone()])));
}

#[test]
fn two_jobs_never_get_the_same_warm_machine() {
    let plan =
        world([pooled("provision-v2-a")]).with(|world| world.demands = vec![demand(1), demand(2)]).plan();
    let claims =
        plan.spawns().iter().filter(|spawn| matches!(spawn.path, WorkerPlacement::Claim { .. })).count();
    assert_eq!((plan.spawns().len(), claims), (2, 1));
}

#[test]
fn a_claim_takes_what_the_machine_will_have() {
    let small = ResolvedModel { runs_on: "small".to_owned(), ..v2_model("debian") };
    let plan = world([pooled("provision-v2-a")])
        .with(|world| {
            world.flavors = Flavors::new([flavor("small", 1, 1024)]).expect("flavors");
            world.demands = vec![wants(v2_job(1), small)];
        })
        .plan();
    let size = Hardware::new(1, 1024);
    let [Spawn { path: WorkerPlacement::Claim { resize, .. }, footprint, .. }] = &*plan.spawns() else {
        panic!("{plan:?}")
    };
    assert_eq!((*resize, *footprint), (Some(size), size));
}

#[test]
fn a_clone_gets_the_first_address_that_nobody_has_and_waits_if_there_is_none() {
    let with = |change: &dyn Fn(&mut World)| {
        waiting([]).with(|world| world.networks = network("10.0.0.0/30")).with(change)
    };
    let address = |world: World| match world.plan().spawns().as_slice() {
        [Spawn { path: WorkerPlacement::Clone { address: Some(assigned), .. }, .. }] => {
            Some(assigned.ip.octets()[3])
        }
        _ => None,
    };
    // 0 is the subnet's own, 1 the gateway.
    assert_eq!(address(with(&|_| {})), Some(2));
    assert_eq!(
        address(with(&|world| {
            world.lingering.insert(Ipv4Addr::new(10, 0, 0, 2));
        })),
        Some(3)
    );
    let reserved = |world: &mut World| {
        let address = Some(Ipv4Addr::new(10, 0, 0, 2));
        world.fly(RunningAction { address, ..acting("w", start_of(&v2_job(9))) });
    };
    assert_eq!(address(with(&reserved)), Some(3));
    let by_another_front = |world: &mut World| {
        world.reserved.addresses.insert(Ipv4Addr::new(10, 0, 0, 2));
    };
    assert_eq!(address(with(&by_another_front)), Some(3));
    let foreign = Machine { addresses: vec![Ipv4Addr::new(10, 0, 0, 2)], ..vm("foreign") };
    assert_eq!(address(with(&|world| world.view = view([template("debian"), foreign.clone()]))), Some(3));
    let full = |world: &mut World| {
        reserved(world);
        world.lingering.insert(Ipv4Addr::new(10, 0, 0, 3));
    };
    assert_eq!(with(&full).why(), Some(WaitReason::NoAddress { total: 2 }));
    assert_eq!(
        with(&|world| world.addresses_settled = false).why(),
        Some(WaitReason::AddressesUnsettled { clones: 0 })
    );
}

#[test]
fn two_clones_of_one_pass_have_two_addresses() {
    let plan = world([])
        .with(|world| (world.demands, world.networks) = (vec![demand(1), demand(2)], network("10.0.0.0/30")))
        .plan();
    let addresses: BTreeSet<_> = plan
        .spawns()
        .iter()
        .filter_map(|spawn| match &spawn.path {
            WorkerPlacement::Clone { address, .. } => address.as_ref().map(|assigned| assigned.ip),
            WorkerPlacement::Claim { .. } => None,
        })
        .collect();
    assert_eq!(addresses.len(), 2);
}

#[test]
fn a_template_that_failed_rests_until_its_time() {
    let rests = |until: &str| {
        waiting([]).with(|world| {
            world.setbacks.insert((ModelKind::V2, "debian".to_owned()), rests_until(until));
        })
    };
    let until = at("12:00:01");
    assert_eq!(rests("12:00:01").why(), Some(WaitReason::BackOff { template: "debian".to_owned(), until }));
    assert_eq!(rests("12:00:00").why(), None);
    let of_v1 = waiting([]).with(|world| {
        world.setbacks.insert((ModelKind::V1, "debian".to_owned()), rests_until("13:00:00"));
    });
    assert_eq!(of_v1.why(), None, "another kind of model, another template");
}

#[test]
fn what_is_cloned_must_be_one_machine_that_is_nobodys_worker() {
    let on = |machines: Vec<Machine>| {
        let world = waiting([]).with(|world| world.view = view(machines));
        (world.why(), world.plan().spawns().first().map(|spawn| spawn.path.clone()))
    };
    let named = |id: &str, machine: Machine| Machine { id: MachineId::new(id), ..machine };
    let template_name = || "debian".to_owned();
    assert_eq!(on(vec![]).0, Some(WaitReason::TemplateMissing { template: template_name() }));
    let two = vec![template("debian"), named("vm-2", template("debian"))];
    assert_eq!(on(two).0, Some(WaitReason::TemplateAmbiguous { template: template_name(), count: 2 }));
    let two_vms = vec![vm("debian"), named("vm-2", vm("debian"))];
    assert_eq!(on(two_vms).0, Some(WaitReason::TemplateAmbiguous { template: template_name(), count: 2 }));
    let beside_a_vm = on(vec![named("vm-2", vm("debian")), template("debian")]);
    assert!(
        matches!(beside_a_vm, (None, Some(WorkerPlacement::Clone { template, .. })) if template == id("debian"))
    );
    let unknown = Machine { role: Role::Unknown, ..vm("debian") };
    assert_eq!(on(vec![unknown]).0, Some(WaitReason::InventoryIncomplete));
    assert_eq!(on(vec![vm("debian")]).0, None, "a VM of others may be cloned");
    let ours = on(vec![worker("debian", &v2_job(9))]);
    assert_eq!(
        ours.0,
        Some(WaitReason::TemplateMissing { template: template_name() }),
        "our workers may not"
    );
}

#[test]
fn a_v1_job_waits_for_the_template_of_its_model() {
    let v1 = |machines: Vec<Machine>, models: Option<Vec<V1Model>>| {
        let mut world = world(machines);
        world.models = models;
        world.registering = None;
        world.demands = vec![wants(v1_job(1), ResolvedModel::v1(&model("buster"), String::new()))];
        world.why()
    };
    let known = || Some(vec![model("buster")]);
    let being_made = Some(WaitReason::TemplateBeingMade { model: "g/buster".to_owned() });
    assert_eq!(v1(vec![template_of(&model("buster"), OWNER.name())], known()), None);
    assert_eq!(v1(vec![template_of(&model("buster"), "theirs")], known()), None, "as good as ours");
    assert_eq!(v1(vec![], known()), being_made);
    assert_eq!(v1(vec![], None), being_made);
    let changed = V1Model { user_last_modified: Some(at("11:00:00")), ..model("buster") };
    assert_eq!(v1(vec![template_of(&changed, OWNER.name())], known()), being_made);
    let in_the_way = |owner: Option<&str>| {
        Some(WaitReason::InTheWay { name: "buster-tmp".to_owned(), owner: owner.map(str::to_owned) })
    };
    assert_eq!(v1(vec![vm("buster-tmp")], known()), in_the_way(None), "nobody makes it");
    let theirs = marked("buster-tmp", |mark| mark.hatchery_name = "theirs".to_owned());
    assert_eq!(v1(vec![theirs], known()), in_the_way(Some("theirs")));
    let taken = |by: &str| {
        let (template, owner) = ("buster".to_owned(), by.to_owned());
        Some(WaitReason::TemplateOfAnotherModel { template, owner })
    };
    let other = V1Model { group: Group { name: "h".to_owned(), ..Group::default() }, ..model("buster") };
    assert_eq!(v1(vec![template_of(&other, OWNER.name())], known()), taken("h/buster"));
    let (name, of) = ("buster".to_owned(), "g/buster".to_owned());
    let no_template = WaitReason::NameOfTemplateTaken { name: name.clone(), model: of.clone() };
    assert_eq!(v1(vec![vm("buster")], known()), Some(no_template));
    let several = WaitReason::TemplateAmbiguous { template: name.clone(), count: 2 };
    let twin = Machine { id: MachineId::new("vm-2"), ..vm("buster") };
    assert_eq!(v1(vec![vm("buster"), twin], known()), Some(several));
    let hatchery = "theirs".to_owned();
    let of_theirs = WaitReason::TemplateOfAnotherHatchery { template: name, model: of, hatchery };
    assert_eq!(v1(vec![template_of(&changed, "theirs")], known()), Some(of_theirs));
    let unknown = Machine { recognised: Notes::Unknown.into(), ..template("buster") };
    assert_eq!(v1(vec![unknown], known()), Some(WaitReason::InventoryIncomplete));
}

#[test]
fn another_place_is_found_by_the_same_rules() {
    let again = |change: &dyn Fn(&mut World)| {
        let world = waiting([pooled("provision-v2-a"), pooled("provision-v2-b")]);
        let first = world.plan().spawns().remove(0);
        let mut world = world.with(|world| {
            world.avoid("provision-v2-a");
        });
        let task = world.running.begin(RunningAction::of(Action::Spawn(Box::new(first))));
        world.misplaced = vec![task];
        let mut plan = world.with(change).plan();
        assert_eq!((plan.spawns().len(), plan.waiting.len()), (0, 0), "its job is served once");
        let (of, placed) = plan.placed.remove(0);
        assert_eq!(of, task);
        placed.map(|spawn| spawn.path)
    };
    let other = |path: &WorkerPlacement| matches!(path, WorkerPlacement::Claim { machine, .. } if *machine == id("provision-v2-b"));
    assert!(again(&|_| {}).is_ok_and(|path| other(&path)));
    // A worker that is on its way must have a place even while no new jobs are taken.
    assert!(again(&|world| world.draining = true).is_ok());
    assert!(again(&|world| world.limits.workers = Some(1)).is_ok(), "the place that it had is free");
    // Its job is held: what keeps jobs in the queue does not keep it waiting.
    let gate = Gate { ceiling: 1, demand: 9, others: 0 };
    assert!(again(&|world| world.load = Load { gates: vec![gate], median: None }).is_ok());
    assert!(again(&|world| (world.room_is_asked, world.allowed_by_cds) = (true, Some(0))).is_ok());
    assert_eq!(again(&|world| world.view.complete = false), Err(WaitReason::InventoryIncomplete));
    assert_eq!(again(&|world| world.listing = None), Err(WaitReason::WorkersUnknown));
    let full = WaitReason::Shortage(Shortage::Workers { used: 0, max: 0 });
    assert_eq!(again(&|world| world.limits.workers = Some(0)), Err(full));
}

// Sixty jobs were taken for six places on a datastore; most of them were given back after ten minutes.
#[test]
fn a_job_waits_while_vcenter_is_busy() {
    let gate = |ceiling, demand| Gate { ceiling, demand, others: 0 };
    let median = Some(std::time::Duration::from_mins(5));
    let with = |demand: usize| {
        world([]).with(|world| {
            world.demands = vec![super::demand(1), super::demand(2), super::demand(3)];
            world.load = Load { gates: vec![gate(32, demand), gate(6, demand)], median };
        })
    };
    assert_eq!(with(3).why(), None);
    assert_eq!(with(6).why(), Some(WaitReason::Busy { ahead: 6 }));
    // Those of one pass count for each other.
    let plan = with(4).plan();
    assert_eq!((plan.spawns().len(), plan.waiting.len()), (2, 1));
    assert_eq!(plan.waiting[0].why.to_string(), "vCenter is busy: 6 before this one");
    assert_eq!(plan.waiting[0].why.as_str(), "vcenter_busy");
}
