//! What is true of every plan for every world.

use crate::plan::hold::serves_nobody;
use crate::standing::{Standing, standing};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_job_has_one_machine_at_most(world in any_world()) {
        let plan = world.plan();
        // A machine that was given up and is off cannot run anything any more, nor one that is kept after a failure, nor one
        // that is off whose V1 job is offered.
        let over = |machine: &Machine, mark: &Mark| {
            let of_v1 = matches!(mark.job_id.parse(), Ok(JobId::V1(_)));
            let is_off = machine.power == Some(Power::Off);
            (is_off && (of_v1 || world.condemned.contains(&machine.id))) || serves_nobody(machine, mark)
        };
        let serving = world.view.owned(&OWNER).filter(|(machine, mark)| !over(machine, mark));
        let served: BTreeSet<_> = serving.map(|(_, mark)| mark.job_id.clone()).collect();
        let in_flight = world.running.jobs();
        let mut jobs = BTreeSet::new();
        let given: Vec<_> = plan.spawns().into_iter().map(|spawn| spawn.job).chain(plan.given_up()).collect();
        for job in given.iter().chain(plan.waiting.iter().map(|waiting| &waiting.job)) {
            prop_assert!(jobs.insert(job.clone()), "{job} is decided once");
            prop_assert!(!in_flight.contains(job));
        }
        prop_assert!(given.iter().all(|job| !served.contains(&job.to_string())));
        let all: BTreeSet<_> = world.demands.iter().map(|demand| demand.job.clone()).collect();
        let rest = all.iter().filter(|job| !in_flight.contains(job)).cloned().collect::<BTreeSet<_>>();
        prop_assert_eq!(jobs, rest, "nobody is forgotten");
    }

    #[test]
    fn an_address_is_given_once_and_never_one_that_may_be_in_use(world in any_world()) {
        let plan = world.plan();
        let reserved = world.running.iter().filter_map(|action| action.address);
        let mut held = address::seen(&world.view);
        held.extend(reserved.chain(world.lingering.iter().copied()));
        let mut given = BTreeSet::new();
        for ip in addresses(&plan) {
            prop_assert!(given.insert(ip), "{ip} is given twice");
            prop_assert!(!held.contains(&ip), "{ip} is in use");
            prop_assert!(!matches!(ip.octets()[3], 0 | 1 | 255), "{ip} is the network's");
            prop_assert!(world.addresses_settled);
        }
        let needs = plan.actions.iter().filter(|action| is_new(action)).count();
        prop_assert_eq!(given.len(), if world.networks.is_empty() { 0 } else { needs });
    }

    #[test]
    fn no_limit_is_passed(world in any_world()) {
        let (before, plan) = (world.ledger(), world.plan());
        let after = world.clone().with(|world| world.track(&plan)).ledger();
        let limits = world.limits;
        prop_assert!(after.workers <= before.workers.max(limits.workers.unwrap_or(u32::MAX)));
        prop_assert!(after.starting <= before.starting.max(limits.starting));
        prop_assert!(after.registering <= before.registering.max(world.registering.unwrap_or(0)));
        prop_assert!(after.size.cpus <= before.size.cpus.max(limits.size.cpus.unwrap_or(u64::MAX)));
        prop_assert!(after.size.memory_mb <= before.size.memory_mb.max(limits.size.memory_mb.unwrap_or(u64::MAX)));
    }

    /// The ledger of a plan and what its actions are counted for in the next pass are the same: what was admitted is
    /// neither forgotten nor counted twice.
    #[test]
    fn what_a_plan_takes_is_what_its_actions_take(world in any_world()) {
        let plan = world.plan();
        let next = world.clone().with(|world| world.track(&plan));
        prop_assert_eq!(next.ledger(), plan.ledger);
        let again = next.plan();
        prop_assert!(again.spawns().iter().all(|spawn| plan.spawns().iter().all(|one| one.job != spawn.job)));
        let (first, second) = (addresses(&plan), addresses(&again));
        prop_assert!(second.iter().all(|ip| !first.contains(ip)), "an address in flight is not free");
        let touched = touched(&plan);
        prop_assert!(self::touched(&again).iter().all(|id| !touched.contains(id)), "somebody is at it");
    }

    #[test]
    fn nothing_that_is_not_surely_ours_is_touched(world in any_world()) {
        let plan = world.plan();
        let mut once = BTreeSet::new();
        for id in touched(&plan) {
            let machine = world.view.machines.get(&id).expect("a machine");
            prop_assert!(once.insert(id.clone()), "{id} is touched twice");
            prop_assert_eq!(machine.role, Role::Vm);
            prop_assert!(machine.mark_of(&OWNER).is_some(), "{:?}", machine);
            prop_assert!(!matches!(standing(machine, &OWNER), Standing::Template | Standing::Unknown));
            prop_assert!(!world.running.index().has(machine), "somebody is at {id}");
        }
        let registrations = plan.registrations();
        let remade = registrations.iter().filter_map(|one| one.remake.as_ref());
        let old = remade.flat_map(|remake| {
            let left = remake.left.as_ref().map(|(Left::Finished(id) | Left::InTheWay(id))| id);
            left.into_iter().chain(&remake.replaces)
        });
        for old in old {
            let template = world.view.machines.get(old).expect("a machine");
            prop_assert!(template.mark_of(&OWNER).is_some_and(|mark| mark.model), "{:?}", template);
        }
        if !world.view.complete {
            prop_assert!(once.is_empty() && plan.spawns().is_empty() && plan.made().is_empty());
        }
    }

    #[test]
    fn names_are_new(world in any_world()) {
        let plan = world.plan();
        let mut names = BTreeSet::new();
        let is_named = |action: &&Action| matches!(action, Action::Spawn(_) | Action::Register(_) | Action::Make(_));
        for name in plan.actions.iter().filter(is_named).map(|action| RunningAction::of(action.clone()).name) {
            let name = &name;
            prop_assert!(names.insert(name.clone()), "{name} is given twice");
            prop_assert!(world.view.named(name).next().is_none());
            prop_assert!(!world.running.index().has_name(name));
        }
    }

    #[test]
    fn the_order_in_which_jobs_and_models_are_told_does_not_matter(
        (world, turned) in any_world().prop_flat_map(|world| (Just(world.clone()), turned(world)))
    ) {
        prop_assert_eq!(format!("{:?}", world.plan()), format!("{:?}", turned.plan()));
    }

    #[test]
    fn the_same_world_and_seed_make_the_same_plan_and_another_seed_other_names_alone(world in any_world()) {
        prop_assert_eq!(format!("{:?}", world.plan()), format!("{:?}", world.plan()));
        let decisions = |plan: Plan| {
            let spawns: Vec<_> = plan.spawns().into_iter().map(|one| (one.job, one.path)).collect();
            let make: Vec<_> = plan.made().into_iter().map(|one| (one.model, one.address)).collect();
            let registered: Vec<_> = plan.registrations().into_iter().map(|one| one.model.path()).collect();
            (spawns, make, registered, plan.waiting.clone(), plan.kept.clone(), plan.swept(), plan.removed(), plan.ledger)
        };
        let other = world.clone().with(|world| world.seed += 1);
        prop_assert_eq!(decisions(world.plan()), decisions(other.plan()));
    }

    #[test]
    fn a_world_in_which_everything_succeeds_comes_to_rest(world in any_world()) {
        let mut calm = world;
        (calm.running, calm.view.complete, calm.room_is_asked) = (RunningActions::default(), true, false);
        (calm.skew, calm.draining, calm.addresses_settled) = (Some(SignedDuration::ZERO), false, true);
        calm.listing.get_or_insert(Listing { begun: at("11:59:59"), workers: BTreeMap::new() });
        calm.limits = Limits { workers: None, starting: 99, size: capacity::Limits::default() };
        calm.room = None;
        let last = calm.settled();
        for waiting in last.plan().waiting {
            let expected = matches!(
                waiting.why,
                WaitReason::Served { .. }
                    | WaitReason::Refused(_)
                    | WaitReason::NoAddress { .. }
                    | WaitReason::TemplateMissing { .. }
                    | WaitReason::TemplateAmbiguous { .. }
                    | WaitReason::TemplateBeingMade { .. }
                    | WaitReason::TemplateOfAnotherModel { .. }
                    | WaitReason::NameOfTemplateTaken { .. }
                    | WaitReason::TemplateOfAnotherHatchery { .. }
                    | WaitReason::InTheWay { .. }
                    | WaitReason::InventoryIncomplete
                    | WaitReason::BackOff { .. }
            );
            prop_assert!(expected, "{:?}", waiting);
        }
    }
}

impl World {
    fn ledger(&self) -> Ledger {
        self.observe(|seen, want, random| Pass::new(seen, seen.running, want, random).ledger)
    }

    /// Begins what was planned, as the reconciler does.
    fn track(&mut self, plan: &Plan) {
        for action in &plan.actions {
            self.fly(RunningAction::of(action.clone()));
        }
    }
}

/// Whether a machine is made by it.
fn is_new(action: &Action) -> bool {
    matches!(action, Action::Spawn(_) | Action::Register(_) | Action::Make(_))
        && RunningAction::of(action.clone()).machine.is_none()
}

/// The addresses that a plan gives.
fn addresses(plan: &Plan) -> Vec<Ipv4Addr> {
    let made = plan.actions.iter().filter(|action| is_new(action));
    made.filter_map(|action| RunningAction::of(action.clone()).address).collect()
}

/// The machines that a plan changes. Jobs of some are looked at besides.
fn touched(plan: &Plan) -> Vec<MachineId> {
    let changes = |action: &&Action| !matches!(action, Action::Free(_));
    plan.actions
        .iter()
        .filter(changes)
        .filter_map(|action| RunningAction::of(action.clone()).machine)
        .collect()
}

fn turned(world: World) -> impl Strategy<Value = World> {
    let models = world.models.clone().unwrap_or_default();
    (Just(world.demands.clone()).prop_shuffle(), Just(models).prop_shuffle()).prop_map(
        move |(demands, models)| {
            let models = world.models.as_ref().map(|_| models);
            World { demands, models, ..world.clone() }
        },
    )
}

fn any_job() -> impl Strategy<Value = JobId> {
    prop_oneof![(1..5i64).prop_map(v1_job), (1..9u32).prop_map(v2_job)]
}

fn any_demand() -> impl Strategy<Value = Demand> {
    let model = prop_oneof![
        4 => Just(v2_model("debian")),
        2 => Just(v2_model("suse")),
        1 => Just(v2_model("nowhere")),
        2 => Just(ResolvedModel::v1(&model("buster"), String::new())),
    ];
    (any_job(), model, select(vec!["P", "Q"]), 0..60u32).prop_map(|(job, model, project, minute)| Demand {
        queued: Some(at(&format!("11:{minute:02}:00"))),
        project: project.to_owned(),
        ..wants(job, model)
    })
}

fn any_mark() -> impl Strategy<Value = Mark> {
    let owner = prop_oneof![6 => Just("ours"), 1 => Just("theirs"), 1 => Just("")];
    let flag = |weight: f64| proptest::bool::weighted(weight);
    let job = prop_oneof![2 => Just(String::new()), 1 => any_job().prop_map(|job| job.to_string())];
    let hour =
        proptest::option::of(0..12u32).prop_map(|hour| hour.map(|hour| at(&format!("{hour:02}:50:00"))));
    let held = prop_oneof![8 => Just(None), 1 => Just(Some(at("01:00:00"))), 1 => Just(Some(at("23:00:00")))];
    (owner, "debian|suse", "g/buster|h/buster|", flag(0.1), flag(0.1), flag(0.6), job, hour, held, 0..16u8)
        .prop_map(|(owner, v2, v1, is_model, register_only, provisioning, job_id, start, held, last)| Mark {
            hatchery_name: owner.to_owned(),
            worker_name: "somebody".to_owned(),
            vmware_model_path: v2,
            worker_model_path: v1,
            worker_model_last_modified: "0".to_owned(),
            model: is_model,
            register_only,
            provisioning,
            job_id,
            worker_start_time: start,
            hold_until: held,
            ip_address: if last == 0 { String::new() } else { format!("10.0.0.{last}") },
            ..Mark::default()
        })
}

fn any_machine() -> impl Strategy<Value = Machine> {
    let role = prop_oneof![1 => Just(Role::Unknown), 1 => Just(Role::Template), 8 => Just(Role::Vm)];
    let power = prop_oneof![
        1 => Just(None),
        3 => Just(Some(Power::On)),
        5 => Just(Some(Power::Off)),
        1 => Just(Some(Power::Suspended)),
    ];
    let name = prop_oneof![
        4 => "provision-v2-[a-c]",
        2 => "provision-v2-ip-10-0-0-[0-9]-[a-c]",
        1 => "provision-v1-[a-c]",
        4 => "worker-[a-e]",
        1 => "register-[a-b]",
        1 => Just("buster-tmp".to_owned()),
        1 => Just("buster".to_owned()),
        1 => Just("suse".to_owned()),
    ];
    let notes = prop_oneof![
        1 => Just(Notes::Unknown),
        1 => Just(Notes::NoMark),
        8 => any_mark().prop_map(|mark| Notes::Mark(Box::new(mark))),
    ];
    let hardware = proptest::option::of((1..5u32, 1..5u64))
        .prop_map(|size| size.map(|(cpus, memory)| Hardware::new(cpus, memory * 1024)).unwrap_or_default());
    let addresses = vec((0..16u8).prop_map(|last| Ipv4Addr::new(10, 0, 0, last)), 0..2);
    (0..100u32, name, role, power, notes, hardware, addresses, proptest::bool::weighted(0.2)).prop_map(
        |(number, name, role, power, notes, hardware, addresses, awaits_setup)| Machine {
            id: MachineId::new(format!("vm-{number}")),
            role,
            power,
            recognised: notes.on(&name),
            hardware,
            addresses,
            awaits_setup,
            ..vm(&name)
        },
    )
}

/// Work under way: clones that nobody sees yet, claims under the new name, and housekeeping at machines.
fn any_actions(machines: Vec<MachineId>) -> impl Strategy<Value = Vec<RunningAction>> {
    let machine =
        if machines.is_empty() { Just(None).boxed() } else { proptest::option::of(select(machines)).boxed() };
    let work = prop_oneof![
        4 => any_job().prop_map(|job| start_of(&job)),
        1 => any_job().prop_map(actions::give_up),
        1 => Just(actions::make("debian")),
        1 => Just(actions::register("g/buster")),
        1 => Just(actions::delete()),
    ];
    let address = proptest::option::of((2..9u8).prop_map(|last| Ipv4Addr::new(10, 0, 0, last)));
    let one = (work, machine, address).prop_map(|(work, machine, address)| RunningAction {
        machine,
        address,
        ..acting("", work)
    });
    vec(one, 0..4).prop_map(|running| {
        let mut machines = BTreeSet::new();
        let distinct =
            |action: &RunningAction| action.machine.as_ref().is_none_or(|id| machines.insert(id.clone()));
        running
            .into_iter()
            .filter(distinct)
            .enumerate()
            .map(|(at, action)| RunningAction { name: format!("flying-{at}"), ..action })
            .collect()
    })
}

fn any_limits() -> impl Strategy<Value = Limits> {
    let some = |most: u64| proptest::option::of(0..most);
    (proptest::option::of(0..6u32), 0..5u32, some(12), some(20_000), 0..3u32).prop_map(
        |(workers, starting, cpus, memory_mb, keep_smaller)| Limits {
            workers,
            starting,
            size: capacity::Limits { cpus, memory_mb, keep_smaller },
        },
    )
}

fn any_world() -> impl Strategy<Value = World> {
    let machines = vec(any_machine(), 0..12);
    let model = (any::<bool>(), any::<bool>(), 0..3u32).prop_map(|(need, check, changed)| V1Model {
        need_registration: need,
        check_registration: check,
        user_last_modified: Some(if changed == 0 { at("10:00:00") } else { Timestamp::UNIX_EPOCH }),
        ..model("buster")
    });
    let listed = vec(
        ("worker-[a-e]", prop_oneof![3 => Just(WorkerState::Alive), 1 => Just(WorkerState::Disabled)]),
        0..4,
    );
    let odd = || proptest::bool::weighted(0.1);
    machines
        .prop_flat_map(move |machines| {
            let ids: Vec<_> = machines.iter().map(|machine| machine.id.clone()).collect();
            let condemned = proptest::sample::subsequence(ids.clone(), 0..=ids.len().min(2));
            let parts =
                (vec(any_demand(), 0..10), any_actions(ids), any_limits(), model.clone(), listed.clone());
            let rest = (0..3u32, any::<bool>(), [odd(), odd(), odd(), odd()], condemned, 0..5u32);
            (Just(machines), parts, rest)
        })
        .prop_map(|(machines, (demands, running, limits, model, listed), rest)| {
            let (pools, networked, [blind, asked, unsettled, unlisted], condemned, registering) = rest;
            let mut world = world(machines);
            let mut jobs = BTreeSet::new();
            world.demands = demands.into_iter().filter(|demand| jobs.insert(demand.job.clone())).collect();
            let mut jobs = BTreeSet::new();
            for action in running {
                if action.job().is_none_or(|job| jobs.insert(job.clone())) {
                    world.fly(action);
                }
            }
            (world.limits, world.models) = (limits, Some(vec![model, self::model("other")]));
            world.registering = registering.checked_sub(1);
            for (name, state) in listed {
                world.list(&name, state);
            }
            if unlisted {
                world.listing = None;
            }
            world.condemned = condemned.into_iter().map(|id| (id, Condemned::SpawnFailed)).collect();
            world.warm =
                warm([(ModelRef::V2("debian".to_owned()), pools), (ModelRef::V1("g/buster".to_owned()), 1)]);
            if networked {
                world.networks = network("10.0.0.0/28");
            }
            (world.view.complete, world.room_is_asked, world.addresses_settled) = (!blind, asked, !unsettled);
            world
        })
}
