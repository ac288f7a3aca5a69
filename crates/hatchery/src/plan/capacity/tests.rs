use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::samples::{Notes, OWNER, any_view, at, marked, view, vm, warm, worker};
use rookery_fleet::Hardware;

const SIZE: capacity::Limits = capacity::Limits { cpus: None, memory_mb: None, keep_smaller: 0 };
const OPEN: Limits = Limits { workers: None, starting: 10, size: SIZE };
const NONE: Ledger = Ledger { workers: 0, starting: 0, registering: 0, size: taken(0, 0, 0) };

const fn taken(cpus: u64, memory_mb: u64, unseen_memory_mb: u64) -> capacity::Ledger {
    capacity::Ledger { cpus, memory_mb, unseen_memory_mb }
}

fn size(cpus: u32, memory_mb: u64) -> Hardware {
    Hardware { cpus: Some(cpus), memory_mb: Some(memory_mb) }
}

fn listing(workers: &[(&str, WorkerState)]) -> Listing {
    let workers: BTreeMap<_, _> = workers.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect();
    Listing { begun: at("12:00:00"), workers }
}

fn action(name: &str, purpose: Purpose) -> (Purpose, InFlight) {
    (purpose, InFlight { name: name.to_owned(), machine: None, footprint: size(4, 8192) })
}

fn nobody(_: &MachineId) -> bool {
    false
}

fn used(view: &View, running: &[(Purpose, InFlight)], listing: &Listing) -> Ledger {
    usage(view, &OWNER, running, listing, &nobody).ledger
}

#[test]
fn each_limit_refuses_on_its_own_and_says_its_numbers() {
    let ledger = Ledger { workers: 8, starting: 3, size: taken(16, 30_000, 0), ..NONE };
    let next = size(4, 4096);
    for (limits, expected) in [
        (OPEN, None),
        (Limits { workers: Some(9), ..OPEN }, None),
        (Limits { workers: Some(8), ..OPEN }, Some("8 of 8 workers exist")),
        (Limits { workers: Some(0), ..OPEN }, Some("8 of 0 workers exist")),
        (Limits { starting: 3, ..OPEN }, Some("3 of 3 workers are starting at once")),
        (Limits { size: capacity::Limits { cpus: Some(20), ..SIZE }, ..OPEN }, None),
        (
            Limits { size: capacity::Limits { cpus: Some(19), ..SIZE }, ..OPEN },
            Some("16 of 19 CPUs are in use, 4 more are needed"),
        ),
        (Limits { size: capacity::Limits { memory_mb: Some(34_096), ..SIZE }, ..OPEN }, None),
        (
            Limits { size: capacity::Limits { memory_mb: Some(34_095), ..SIZE }, ..OPEN },
            Some("30000 of 34095 MB of memory are in use, 4096 more are needed"),
        ),
    ] {
        let refused = admit(&ledger, &limits, None, &next, None, &Flavors::default()).err();
        assert_eq!(refused.map(|shortage| shortage.to_string()).as_deref(), expected, "{limits:?}");
    }
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
    let expected = Ledger { workers: 3, registering: 2, size: taken(4, 8192, 8192), ..NONE };
    assert_eq!(ledger, expected);
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
    let expected = Ledger { workers: 2, starting: 2, size: taken(6, 12_288, 0), ..NONE };
    assert_eq!(used(&view, &[], &listing(&[])), expected);
}

#[test]
fn a_machine_in_flight_is_counted_once() {
    let by_id = |machine: &Machine, (purpose, action): (Purpose, InFlight)| {
        (purpose, InFlight { machine: Some(machine.id.clone()), ..action })
    };
    let claimed = warm("provision-v2-a", "deb", "");
    let cloned = Machine {
        recognised: Notes::Unknown.into(),
        hardware: Hardware::default(),
        power: None,
        ..vm("quick-wu")
    };
    let started = worker("brave-curie", "08:00:00");
    let running = [
        by_id(&claimed, action("calm-bose", Purpose::Work)),
        action("quick-wu", Purpose::Work),
        action("brave-curie", Purpose::Work),
        action("not-listed", Purpose::Work),
        action("provision-v2-new", Purpose::Warmth),
        action("register-new", Purpose::Registration),
    ];
    let foreign = Machine { power: Some(Power::On), ..vm("not-listed") };
    let view = view([claimed, cloned, started, foreign]);
    let expected =
        Ledger { workers: 5, starting: 4, registering: 1, size: taken(5 * 4 + 2, 5 * 8192 + 4096, 5 * 8192) };
    assert_eq!(used(&view, &running, &listing(&[])), expected);
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
    let condemned = |id: &MachineId| id.as_str() == "vm-doomed";
    let WorkerUsage { ledger, starting } = usage(&view, &OWNER, &[], &listing, &condemned);
    assert_eq!(starting.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["vm-booting"]);
    // waiting, half-claimed, without-a-machine, booting, condemned, register-deb, held
    assert_eq!((ledger.workers, ledger.starting, ledger.registering), (7, 1, 1));
    assert_eq!(ledger.size.cpus, 14);
}

proptest! {
    #[test]
    fn no_limit_of_workers_is_ever_passed(
        wanted in 0..60usize,
        workers in proptest::option::of(0..30u32),
        starting in 0..30u32,
    ) {
        let limits = Limits { workers, starting, ..OPEN };
        let mut ledger = Ledger::default();
        for _ in 0..wanted {
            if admit(&ledger, &limits, None, &size(1, 1), None, &Flavors::default()).is_ok() {
                ledger.take(&size(1, 1));
            }
        }
        prop_assert!(workers.is_none_or(|max| ledger.workers <= max));
        prop_assert!(ledger.starting <= starting);
    }

    #[test]
    fn what_is_not_ours_is_never_counted(view in any_view(20)) {
        let ours = View {
            machines: view.machines.iter().filter(|machine| machine.possible_mark_of(&OWNER).is_some()).cloned().collect(),
            ..view.clone()
        };
        prop_assert_eq!(used(&view, &[], &listing(&[])), used(&ours, &[], &listing(&[])));
        let whole = ours.iter().filter_map(|machine| machine.hardware.cpus).map(u64::from);
        prop_assert!(used(&view, &[], &listing(&[])).size.cpus <= whole.sum());
    }
}

#[test]
fn what_runs_on_a_host_that_cannot_be_reached_keeps_its_slot_and_its_size() {
    let lost = |machine: Machine| Machine { reachable: false, ..machine };
    let machines =
        [worker("w", "08:00:00"), worker("register-w", "08:00:00"), warm("provision-v2-x", "deb", "")];
    let reached = used(&view(machines.clone()), &[], &listing(&[]));
    assert_eq!((reached.workers, reached.starting, reached.registering, reached.size.cpus), (2, 1, 1, 4));
    assert_eq!(used(&view(machines.map(lost)), &[], &listing(&[])), reached);
}

#[test]
fn a_worker_that_somebody_has_moved_keeps_its_slot_and_holds_up_no_start() {
    let moved = |machine: Machine| Machine { is_outside: true, ..machine };
    let used = used(&view([moved(worker("w", "08:00:00"))]), &[], &listing(&[]));
    assert_eq!((used.workers, used.starting, used.size.cpus), (1, 0, 2));
}
