use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::flavor::tests::{flavor, three};
use crate::machine::{Hardware, Machine, MachineId, Notes, Power, View};
use crate::samples::{OWNER, any_view, at, marked, view, vm, warm, worker};
use crate::workers::{Listing, WorkerState};

const OPEN: Limits = Limits { workers: None, starting: 10, cpus: None, memory_mb: None, keep_smaller: 0 };
const NONE: Ledger =
    Ledger { workers: 0, starting: 0, registering: 0, cpus: 0, memory_mb: 0, unseen_memory_mb: 0 };

fn size(cpus: u32, memory_mb: u64) -> Footprint {
    Footprint { cpus: Some(cpus), memory_mb: Some(memory_mb) }
}

fn listing(workers: &[(&str, WorkerState)]) -> Listing {
    let workers: BTreeMap<_, _> = workers.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect();
    Listing { begun: at("12:00:00"), workers }
}

fn flight(name: &str, purpose: Purpose) -> Flight {
    Flight { name: name.to_owned(), machine: None, purpose, footprint: size(4, 8192) }
}

fn nobody(_: &MachineId) -> bool {
    false
}

fn used(view: &View, flights: &[Flight], listing: &Listing) -> Ledger {
    usage(view, OWNER, flights, listing, &nobody).ledger
}

#[test]
fn each_limit_refuses_on_its_own_and_says_its_numbers() {
    let ledger = Ledger { workers: 8, starting: 3, cpus: 16, memory_mb: 30_000, ..NONE };
    let next = size(4, 4096);
    for (limits, expected) in [
        (OPEN, None),
        (Limits { workers: Some(9), ..OPEN }, None),
        (Limits { workers: Some(8), ..OPEN }, Some("8 of 8 workers exist")),
        (Limits { workers: Some(0), ..OPEN }, Some("8 of 0 workers exist")),
        (Limits { starting: 3, ..OPEN }, Some("3 of 3 workers are starting at once")),
        (Limits { cpus: Some(20), ..OPEN }, None),
        (Limits { cpus: Some(19), ..OPEN }, Some("16 of 19 CPUs are in use, 4 more are needed")),
        (Limits { memory_mb: Some(34_096), ..OPEN }, None),
        (
            Limits { memory_mb: Some(34_095), ..OPEN },
            Some("30000 of 34095 MB of memory are in use, 4096 more are needed"),
        ),
    ] {
        let refused = admit(&ledger, &limits, None, &next, None, &Flavors::default()).err();
        assert_eq!(refused.map(|shortage| shortage.to_string()).as_deref(), expected, "{limits:?}");
    }
}

#[test]
fn the_pool_refuses_when_its_cpu_is_exhausted_or_its_memory_too_small() {
    let ledger = Ledger { unseen_memory_mb: 1000, ..NONE };
    let room = |max, cpu, memory: i64| PoolRoom {
        cpu_max_mhz: Some(max),
        cpu_unreserved_mhz: Some(cpu),
        memory_unreserved_bytes: Some(memory * MEGABYTE),
    };
    let known = size(2, 4096);
    let unknown = Footprint::default();
    for (room, next, label) in [
        (Some(room(1000, 1, 5096)), known, None),
        (Some(room(1000, 1, 5095)), known, Some("pool_memory")),
        (Some(room(1000, 0, 9000)), known, Some("pool_cpu")),
        (Some(room(1000, -5, 9000)), unknown, Some("pool_cpu")),
        (Some(room(0, 0, 9000)), known, None),
        (Some(room(1000, 1, 1001)), unknown, None),
        (Some(room(1000, 1, 1000)), unknown, Some("pool_memory")),
        (Some(room(1000, 1, -7)), unknown, Some("pool_memory")),
        (Some(PoolRoom::default()), known, None),
        (None, known, None),
    ] {
        for admit in [admit, admit_warm] {
            let refused = admit(&ledger, &OPEN, room.as_ref(), &next, None, &Flavors::default()).err();
            assert_eq!(refused.map(|shortage| shortage.as_str()), label, "{room:?} {next:?}");
        }
    }
}

#[test]
fn an_unknown_footprint_is_refused_only_where_nothing_is_left() {
    let limits = Limits { cpus: Some(8), memory_mb: Some(8192), ..OPEN };
    for (cpus, memory_mb, label) in
        [(7, 8191, None), (8, 0, Some("cpus")), (0, 8192, Some("memory")), (9, 0, Some("cpus"))]
    {
        let ledger = Ledger { cpus, memory_mb, ..NONE };
        let refused = admit(&ledger, &limits, None, &Footprint::default(), None, &Flavors::default());
        assert_eq!(refused.err().map(|shortage| shortage.as_str()), label);
    }
}

#[test]
fn warm_machines_pass_the_limits_of_workers_but_not_those_of_the_hardware() {
    let ledger = Ledger { workers: 10, starting: 10, cpus: 10, ..NONE };
    let limits = Limits { workers: Some(10), cpus: Some(12), ..OPEN };
    let next = |cpus| admit_warm(&ledger, &limits, None, &size(cpus, 1), None, &Flavors::default());
    assert_eq!(next(2), Ok(()));
    assert_eq!(next(3), Err(Shortage::Cpus { used: 10, next: 3, max: 12 }));
}

#[test]
fn registrations_have_a_limit_of_their_own_and_keep_those_of_workers() {
    let limits = Limits { workers: Some(3), ..OPEN };
    let mut ledger = Ledger { workers: 1, ..NONE };
    let next = size(2, 4096);
    let mut admitted = |max| {
        let fits = admit_registration(&ledger, &limits, max, None, &next);
        fits.map(|()| ledger.take_registration(&next)).map_err(|shortage| shortage.as_str())
    };
    assert_eq!(admitted(0), Err("registering"));
    assert_eq!([admitted(1), admitted(1)], [Ok(()), Err("registering")]);
    assert_eq!([admitted(9), admitted(9)], [Ok(()), Err("workers")]);
    let expected =
        Ledger { workers: 3, registering: 2, cpus: 4, memory_mb: 8192, unseen_memory_mb: 8192, ..NONE };
    assert_eq!(ledger, expected);
}

#[test]
fn a_large_flavor_leaves_room_for_small_ones() {
    let flavors = three();
    let large = flavors.get("large").expect("a flavor");
    let small = flavors.get("small").expect("a flavor");
    let limits = Limits { cpus: Some(64), memory_mb: Some(131_072), keep_smaller: 2, ..OPEN };
    for (flavor, cpus, memory_mb, label) in [
        (large, 52, 0, None),
        (large, 53, 0, Some("cpus_kept")),
        (large, 57, 0, Some("cpus")),
        (large, 0, 106_496, None),
        (large, 0, 106_497, Some("memory_kept")),
        (small, 62, 126_976, None),
        (small, 63, 0, Some("cpus")),
    ] {
        let ledger = Ledger { cpus, memory_mb, ..NONE };
        let next = size(flavor.cpus, flavor.memory_mb);
        let refused = admit(&ledger, &limits, None, &next, Some(flavor), &flavors).err();
        assert_eq!(refused.map(|shortage| shortage.as_str()), label, "{cpus} {memory_mb}");
    }
    // A flavor that leaves its size to the template is as large as that.
    let open = flavor("open", 0, 0);
    for (cpus, label) in [(52, None), (53, Some("cpus_kept"))] {
        let ledger = Ledger { cpus, ..NONE };
        let refused = admit(&ledger, &limits, None, &size(8, 16384), Some(&open), &flavors).err();
        assert_eq!(refused.map(|shortage| shortage.as_str()), label, "{cpus}");
    }
}

#[test]
fn only_our_machines_that_run_are_used_up() {
    let on = |machine: Machine| Machine { power: Some(Power::On), ..machine };
    let view = view([
        on(vm("web")),
        on(marked("theirs", |mark| mark.hatchery_name = "theirs".to_owned())),
        worker("brave-curie", "08:00:00"),
        on(warm("provision-v2-a", "deb", "")),
        warm("provision-v2-b", "deb", ""),
        Machine { power: Some(Power::Off), ..worker("finished-bohr", "07:00:00") },
        Machine { power: Some(Power::Suspended), ..worker("sleepy-bohr", "07:00:00") },
    ]);
    let expected = Ledger { workers: 2, starting: 2, cpus: 6, memory_mb: 12_288, ..NONE };
    assert_eq!(used(&view, &[], &listing(&[])), expected);
}

#[test]
fn a_machine_in_flight_is_counted_once() {
    let by_id = |machine: &Machine, flight: Flight| Flight { machine: Some(machine.id.clone()), ..flight };
    let claimed = warm("provision-v2-a", "deb", "");
    let cloned = Machine { notes: Notes::Unknown, hardware: None, power: None, ..vm("quick-wu") };
    let started = worker("brave-curie", "08:00:00");
    let flights = [
        by_id(&claimed, flight("calm-bose", Purpose::Work)),
        flight("quick-wu", Purpose::Work),
        flight("brave-curie", Purpose::Work),
        flight("not-listed", Purpose::Work),
        flight("provision-v2-new", Purpose::Warmth),
        flight("register-new", Purpose::Registration),
    ];
    let foreign = Machine { power: Some(Power::On), ..vm("not-listed") };
    let view = view([claimed, cloned, started, foreign]);
    let expected = Ledger {
        workers: 5,
        starting: 4,
        registering: 1,
        cpus: 5 * 4 + 2,
        memory_mb: 5 * 8192 + 4096,
        unseen_memory_mb: 5 * 8192,
    };
    assert_eq!(used(&view, &flights, &listing(&[])), expected);
}

#[test]
fn workers_are_the_registered_ones_and_those_on_their_way() {
    let off = |machine: Machine| Machine { power: Some(Power::Off), ..machine };
    let view = view([
        worker("waiting", "08:00:00"),
        worker("disabled", "08:00:00"),
        worker("booting", "08:00:00"),
        worker("doomed", "08:00:00"),
        off(worker("finished", "08:00:00")),
        worker("register-deb", "08:00:00"),
        Machine { power: Some(Power::On), ..marked("held", |mark| mark.hold_until = Some(at("23:00:00"))) },
        Machine { name: "provision-v2-x".to_owned(), ..worker("half-claimed", "08:00:00") },
    ]);
    let listing = listing(&[
        ("waiting", WorkerState::Alive),
        ("disabled", WorkerState::Disabled),
        ("half-claimed", WorkerState::Alive),
        ("without-a-machine", WorkerState::Alive),
    ]);
    let doomed = |id: &MachineId| id.as_str() == "vm-doomed";
    let Usage { ledger, starting } = usage(&view, OWNER, &[], &listing, &doomed);
    assert_eq!(starting.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["vm-booting"]);
    // waiting, half-claimed, without-a-machine, booting, doomed, register-deb, held
    assert_eq!((ledger.workers, ledger.starting, ledger.registering), (7, 1, 1));
    assert_eq!(ledger.cpus, 14);
}

fn any_footprint() -> impl Strategy<Value = Footprint> {
    (proptest::option::of(1..9u32), proptest::option::of(1..9u64))
        .prop_map(|(cpus, memory_mb)| Footprint { cpus, memory_mb })
}

proptest! {
    #[test]
    fn no_limit_is_ever_passed(
        wanted in proptest::collection::vec((any_footprint(), 0..4usize), 0..60),
        workers in proptest::option::of(0..30u32),
        starting in 0..30u32,
        cpus in proptest::option::of(0..60u64),
        memory_mb in proptest::option::of(0..60u64),
        pool_mb in proptest::option::of(0..60i64),
        keep_smaller in 0..3u32,
    ) {
        let limits = Limits { workers, starting, cpus, memory_mb, keep_smaller };
        let room = PoolRoom { memory_unreserved_bytes: pool_mb.map(|mb| mb * MEGABYTE), ..PoolRoom::default() };
        let flavors = Flavors::new([flavor("a", 1, 1), flavor("b", 2, 4), flavor("c", 8, 8)]).expect("flavors");
        let mut ledger = Ledger::default();
        for (footprint, which) in &wanted {
            let flavor = flavors.iter().nth(*which);
            let footprint = flavor.map_or(*footprint, |flavor| size(flavor.cpus, flavor.memory_mb));
            if admit(&ledger, &limits, Some(&room), &footprint, flavor, &flavors).is_ok() {
                ledger.take(&footprint);
                // So many of the smallest flavor below it still fit.
                let (mut kept_cpus, mut kept_mb) = (0, 0);
                if let Some(flavor) = flavor {
                    kept_cpus = u64::from(keep_smaller * flavors.smaller_cpus(flavor.cpus).unwrap_or(0));
                    kept_mb = u64::from(keep_smaller) * flavors.smaller_memory(flavor.memory_mb).unwrap_or(0);
                }
                prop_assert!(cpus.is_none_or(|max| ledger.cpus + kept_cpus <= max));
                prop_assert!(memory_mb.is_none_or(|max| ledger.memory_mb + kept_mb <= max));
            }
        }
        prop_assert!(workers.is_none_or(|max| ledger.workers <= max));
        prop_assert!(ledger.starting <= starting);
        prop_assert!(cpus.is_none_or(|max| ledger.cpus <= max));
        prop_assert!(memory_mb.is_none_or(|max| ledger.memory_mb <= max));
        prop_assert!(pool_mb.is_none_or(|max| ledger.memory_mb <= max.cast_unsigned()));
    }

    #[test]
    fn what_is_not_ours_is_never_counted(view in any_view(20)) {
        let ours = View {
            machines: view.machines.iter().filter(|machine| machine.possible_mark_of(OWNER).is_some()).cloned().collect(),
            ..view.clone()
        };
        prop_assert_eq!(used(&view, &[], &listing(&[])), used(&ours, &[], &listing(&[])));
        let whole = ours.iter().filter_map(|machine| machine.hardware).map(|Hardware { cpus, .. }| u64::from(cpus));
        prop_assert!(used(&view, &[], &listing(&[])).cpus <= whole.sum());
    }
}

#[test]
fn what_runs_on_a_host_that_cannot_be_reached_keeps_its_slot_and_its_size() {
    let lost = |machine: Machine| Machine { reachable: false, ..machine };
    let machines =
        [worker("w", "08:00:00"), worker("register-w", "08:00:00"), warm("provision-v2-x", "deb", "")];
    let reached = used(&view(machines.clone()), &[], &listing(&[]));
    assert_eq!((reached.workers, reached.starting, reached.registering, reached.cpus), (2, 1, 1, 4));
    assert_eq!(used(&view(machines.map(lost)), &[], &listing(&[])), reached);
}

#[test]
fn a_worker_that_somebody_has_moved_keeps_its_slot_and_holds_up_no_start() {
    let moved = |machine: Machine| Machine { is_outside: true, ..machine };
    let used = used(&view([moved(worker("w", "08:00:00"))]), &[], &listing(&[]));
    assert_eq!((used.workers, used.starting, used.cpus), (1, 0, 2));
}
