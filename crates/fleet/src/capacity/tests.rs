use proptest::prelude::*;

use super::*;
use crate::flavor::tests::{flavor, three};
use crate::machine::{Hardware, Machine, Power, View};
use crate::samples::{Mark, OWNER, any_view, marked, on, running, untold, view, vm, warm};

const OPEN: Limits = Limits { cpus: None, memory_mb: None, keep_smaller: 0 };
const NONE: Ledger = Ledger { cpus: 0, memory_mb: 0, unseen_memory_mb: 0 };

fn size(cpus: u32, memory_mb: u64) -> Hardware {
    Hardware { cpus: Some(cpus), memory_mb: Some(memory_mb) }
}

fn flight(name: &str) -> InFlight {
    InFlight { name: name.to_owned(), machine: None, footprint: size(4, 8192) }
}

fn used(view: &View<Mark>, flights: &[InFlight]) -> Ledger {
    ledger(view, &OWNER, flights, &mut |_, _| {})
}

#[test]
fn each_limit_refuses_on_its_own_and_says_its_numbers() {
    let ledger = Ledger { cpus: 16, memory_mb: 30_000, ..NONE };
    let next = size(4, 4096);
    for (limits, expected) in [
        (OPEN, None),
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
    let unknown = Hardware::default();
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
        let refused = admit(&ledger, &OPEN, room.as_ref(), &next, None, &Flavors::default()).err();
        assert_eq!(refused.map(|shortage| shortage.as_str()), label, "{room:?} {next:?}");
    }
}

#[test]
fn an_unknown_footprint_is_refused_only_where_nothing_is_left() {
    let limits = Limits { cpus: Some(8), memory_mb: Some(8192), ..OPEN };
    for (cpus, memory_mb, label) in
        [(7, 8191, None), (8, 0, Some("cpus")), (0, 8192, Some("memory")), (9, 0, Some("cpus"))]
    {
        let ledger = Ledger { cpus, memory_mb, ..NONE };
        let refused = admit(&ledger, &limits, None, &Hardware::default(), None, &Flavors::default());
        assert_eq!(refused.err().map(|shortage| shortage.as_str()), label);
    }
}

#[test]
fn a_large_flavor_leaves_room_for_small_ones() {
    let flavors = three();
    let large = flavors.get("large").expect("a flavor");
    let small = flavors.get("small").expect("a flavor");
    let limits = Limits { cpus: Some(64), memory_mb: Some(131_072), keep_smaller: 2 };
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
        let next =
            size(flavor.hardware.cpus.unwrap_or_default(), flavor.hardware.memory_mb.unwrap_or_default());
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
    let power = |power, machine: Machine<Mark>| Machine { power: Some(power), ..machine };
    let view = view([
        on(vm("web")),
        on(marked("theirs", |mark| mark.owner = "theirs".to_owned())),
        running("brave-curie", "08:00:00"),
        on(warm("pool-a-a", "deb", "")),
        warm("pool-a-b", "deb", ""),
        power(Power::Off, running("finished-bohr", "07:00:00")),
        power(Power::Suspended, running("sleepy-bohr", "07:00:00")),
    ]);
    let expected = Ledger { cpus: 6, memory_mb: 12_288, ..NONE };
    assert_eq!(used(&view, &[]), expected);
}

#[test]
fn a_machine_in_flight_is_counted_once() {
    let claimed = warm("pool-a-a", "deb", "");
    let cloned = Machine { hardware: Hardware::default(), power: None, ..untold(vm("quick-wu")) };
    let started = running("brave-curie", "08:00:00");
    let flights = [
        InFlight { machine: Some(claimed.id.clone()), ..flight("calm-bose") },
        flight("quick-wu"),
        flight("brave-curie"),
        flight("not-listed"),
        flight("pool-a-new"),
        flight("node-new"),
    ];
    let foreign = on(vm("not-listed"));
    let view = view([claimed, cloned, started, foreign, running("calm-wu", "08:00:00")]);
    let expected = Ledger { cpus: 5 * 4 + 2 * 2, memory_mb: 5 * 8192 + 2 * 4096, unseen_memory_mb: 5 * 8192 };
    let mut counted = Vec::new();
    let found =
        ledger(&view, &OWNER, &flights, &mut |machine, flight| counted.push((&*machine.name, flight)));
    assert_eq!(found, expected);
    let each = [("brave-curie", Some(2)), ("calm-wu", None), ("pool-a-a", Some(0)), ("quick-wu", Some(1))];
    assert_eq!(counted, each, "each machine that counts is told of, and which flight it is");
}

// A machine that is known by its reference is that flight, and no other one of its name is.
#[test]
fn an_action_whose_machine_is_known_is_no_other_machine_of_its_name() {
    let other = running("calm-bose", "08:00:00");
    let flight = InFlight { machine: Some(crate::samples::id("elsewhere")), ..flight("calm-bose") };
    let expected = Ledger { cpus: 4 + 2, memory_mb: 8192 + 4096, unseen_memory_mb: 8192 };
    assert_eq!(used(&view([other]), &[flight]), expected);
}

fn any_footprint() -> impl Strategy<Value = Hardware> {
    (proptest::option::of(1..9u32), proptest::option::of(1..9u64))
        .prop_map(|(cpus, memory_mb)| Hardware { cpus, memory_mb })
}

proptest! {
    #[test]
    fn no_limit_is_ever_passed(
        wanted in proptest::collection::vec((any_footprint(), 0..4usize), 0..60),
        cpus in proptest::option::of(0..60u64),
        memory_mb in proptest::option::of(0..60u64),
        pool_mb in proptest::option::of(0..60i64),
        keep_smaller in 0..3u32,
    ) {
        let limits = Limits { cpus, memory_mb, keep_smaller };
        let room = PoolRoom { memory_unreserved_bytes: pool_mb.map(|mb| mb * MEGABYTE), ..PoolRoom::default() };
        let flavors = Flavors::new([flavor("a", 1, 1), flavor("b", 2, 4), flavor("c", 8, 8)]).expect("flavors");
        let mut ledger = Ledger::default();
        for (footprint, which) in &wanted {
            let flavor = flavors.iter().nth(*which);
            let footprint = flavor.map_or(*footprint, |flavor| size(flavor.hardware.cpus.unwrap_or_default(), flavor.hardware.memory_mb.unwrap_or_default()));
            if admit(&ledger, &limits, Some(&room), &footprint, flavor, &flavors).is_ok() {
                ledger.take(&footprint);
                // So many of the smallest flavor below it still fit.
                let (mut kept_cpus, mut kept_mb) = (0, 0);
                if let Some(flavor) = flavor {
                    kept_cpus = u64::from(keep_smaller * flavors.smaller_cpus(flavor.hardware.cpus.unwrap_or_default()).unwrap_or(0));
                    kept_mb = u64::from(keep_smaller) * flavors.smaller_memory(flavor.hardware.memory_mb.unwrap_or_default()).unwrap_or(0);
                }
                prop_assert!(cpus.is_none_or(|max| ledger.cpus + kept_cpus <= max));
                prop_assert!(memory_mb.is_none_or(|max| ledger.memory_mb + kept_mb <= max));
            }
        }
        prop_assert!(cpus.is_none_or(|max| ledger.cpus <= max));
        prop_assert!(memory_mb.is_none_or(|max| ledger.memory_mb <= max));
        prop_assert!(pool_mb.is_none_or(|max| ledger.memory_mb <= max.cast_unsigned()));
    }

    #[test]
    fn what_is_not_ours_is_never_counted(view in any_view(20)) {
        let ours = View {
            machines: view.machines.iter().filter(|machine| machine.possible_mark_of(&OWNER).is_some()).cloned().collect(),
            ..view.clone()
        };
        prop_assert_eq!(used(&view, &[]), used(&ours, &[]));
        let whole = ours.iter().filter_map(|machine| machine.hardware.cpus).map(u64::from);
        prop_assert!(used(&view, &[]).cpus <= whole.sum());
    }
}

#[test]
fn what_runs_on_a_host_that_cannot_be_reached_or_was_moved_keeps_its_size() {
    let machines = [running("a", "08:00:00"), running("b", "08:00:00"), warm("pool-a-x", "deb", "")];
    let reached = used(&view(machines.clone()), &[]);
    assert_eq!(reached, Ledger { cpus: 4, memory_mb: 8192, ..NONE });
    let lost = |machine: Machine<Mark>| Machine { reachable: false, ..machine };
    assert_eq!(used(&view(machines.clone().map(lost)), &[]), reached);
    let moved = |machine: Machine<Mark>| Machine { is_outside: true, ..machine };
    assert_eq!(used(&view(machines.map(moved)), &[]), reached);
}
