use proptest::prelude::*;

use super::*;
use crate::disks::{DiskSizes, KB_PER_GB};
use crate::flavor::tests::{flavor, three};
use crate::machine::{MachineId, Role};
use crate::origin::Origin;
use crate::ownership::Recognised;
use crate::samples::{self, Mark, OWNER, any_machine, at, id, marked, origin, untold, view, vm, warm};

const BOTH: Resizing = Resizing { unflavored: true, named: true };
const NEITHER: Resizing = Resizing { unflavored: false, named: false };
static NO_DISKS: Disks = Disks::new();

fn wanted(flavor: Option<&Flavor>) -> ClaimRequest<'_> {
    ClaimRequest { flavor, template: Hardware::new(2, 4096), disks: &NO_DISKS }
}

fn idle(_: &Machine<Mark>) -> bool {
    false
}

/// What a machine is to a demand for a `deb`.
fn candidacy(machine: &Machine<Mark>) -> Candidacy<'_> {
    samples::candidacy(machine, "deb", &Origin::default())
}

fn found(
    machines: &[Machine<Mark>],
    wanted: &ClaimRequest<'_>,
    resizing: Resizing,
) -> Result<(String, Fit), String> {
    let view = view(machines.iter().cloned());
    let found = find(&view, wanted, &candidacy, &idle, resizing);
    found.map(|(machine, fit)| (machine.name.clone(), fit)).map_err(|misses| misses.to_string())
}

#[test]
fn a_machine_is_ready_by_its_state() {
    let ready = || warm("pool-a-a", "deb", "");
    let none = "there is no warm machine";
    let unready = "no warm machine fits: 1 still being made";
    for (machine, expected) in [
        (ready(), Ok(())),
        (Machine { power: Some(Power::On), ..ready() }, Err(unready)),
        (Machine { power: Some(Power::Suspended), ..ready() }, Err(unready)),
        (Machine { power: None, ..ready() }, Err(unready)),
        (Machine { awaits_setup: true, ..ready() }, Err(unready)),
        (Machine { role: Role::Unknown, ..ready() }, Err("no warm machine fits: 1 not known yet")),
        (untold(ready()), Err("no warm machine fits: 1 not known yet")),
        (Machine { reachable: false, ..ready() }, Err("no warm machine fits: 1 not known yet")),
        (Machine { role: Role::Template, ..ready() }, Err(none)),
        (Machine { recognised: Recognised::nobody(), ..ready() }, Err(none)),
        (warm("pool-a-a", "suse", ""), Err(none)),
        (warm("pool-b-a", "deb", ""), Err(none)),
        (warm("brave-curie", "deb", ""), Err(none)),
        (vm("pool-a-a"), Err(none)),
        (
            marked("pool-a-a", |mark| mark.kind = "deb".to_owned()),
            Err("no warm machine fits: 1 half claimed"),
        ),
        (
            marked("pool-a-a", |mark| {
                mark.pooled = true;
                mark.kind = "deb".to_owned();
                mark.held_until = Some(at("01:00:00"));
            }),
            Err("no warm machine fits: 1 kept to be looked at"),
        ),
        (
            marked("pool-a-a", |mark| {
                mark.owner = "theirs".to_owned();
                mark.pooled = true;
                mark.kind = "deb".to_owned();
            }),
            Err(none),
        ),
    ] {
        let found = found(std::slice::from_ref(&machine), &wanted(None), BOTH);
        let expected = expected.map(|()| (machine.name.clone(), Fit::AsIs)).map_err(str::to_owned);
        assert_eq!(found, expected, "{machine:?}");
    }
}

#[test]
fn a_machine_that_somebody_is_at_is_left_alone() {
    let view = view([warm("pool-a-a", "deb", "")]);
    let misses = find(&view, &wanted(None), &candidacy, &|machine| machine.id == id("pool-a-a"), BOTH);
    assert_eq!(misses.expect_err("it is busy").as_str(), "busy");
}

#[test]
fn the_flavor_decides_which_machine_fits_and_how() {
    let flavors = three();
    let large = flavors.get("large");
    let to_large = Fit::Resize(Hardware::new(8, 16384));
    let of = |name, flavor: &str, cpus, memory_mb| Machine {
        hardware: Hardware::new(cpus, memory_mb),
        ..warm(name, "deb", flavor)
    };
    let plain = of("pool-a-plain", "", 2, 4096);
    let small = of("pool-a-small", "small", 2, 4096);
    let same = of("pool-a-zz", "LARGE", 8, 16384);
    let outdated = of("pool-a-old", "large", 6, 16384);
    let another = || Err("no warm machine fits: 1 of another flavor".to_owned());
    let take = |machine: &Machine<Mark>, fit| Ok((machine.name.clone(), fit));
    for (machines, flavor, resizing, expected) in [
        (vec![&plain, &small, &outdated, &same], large, BOTH, take(&same, Fit::AsIs)),
        (vec![&plain, &small, &outdated], large, BOTH, take(&outdated, to_large)),
        (vec![&plain, &small], large, BOTH, take(&plain, to_large)),
        (vec![&small], large, BOTH, take(&small, to_large)),
        (vec![&small], large, Resizing::default(), another()),
        (vec![&plain], large, Resizing::default(), take(&plain, to_large)),
        (vec![&plain], large, NEITHER, another()),
        (vec![&outdated], large, NEITHER, another()),
        (vec![&plain], flavors.get("small"), Resizing::default(), take(&plain, Fit::AsIs)),
        (vec![&small, &plain], None, NEITHER, take(&plain, Fit::AsIs)),
        (vec![&same], None, NEITHER, take(&same, Fit::AsIs)),
    ] {
        let machines: Vec<_> = machines.into_iter().cloned().collect();
        assert_eq!(found(&machines, &wanted(flavor), resizing), expected, "{machines:?}");
    }
}

#[test]
fn a_machine_with_a_smaller_or_unknown_disk_does_not_match() {
    let roomy = Flavor { disk_gb: Some(40), ..flavor("roomy", 0, 0) };
    let machine = warm("pool-a-a", "deb", "roomy");
    let with = |first_kb| Disks::from([(machine.id.clone(), DiskSizes { all_kb: u64::MAX, first_kb })]);
    let small = || Err("no warm machine fits: 1 with a disk that is too small or not known yet".to_owned());
    for (disks, expected) in [
        (with(Some(40 * KB_PER_GB)), Ok(("pool-a-a".to_owned(), Fit::AsIs))),
        (with(Some(39 * KB_PER_GB)), small()),
        (with(None), small()),
        (Disks::new(), small()),
    ] {
        let wanted = ClaimRequest { disks: &disks, ..wanted(Some(&roomy)) };
        assert_eq!(found(std::slice::from_ref(&machine), &wanted, BOTH), expected, "{disks:?}");
        // Who asks for no disk takes it as it is.
        assert!(
            found(std::slice::from_ref(&machine), &ClaimRequest { flavor: None, ..wanted }, BOTH).is_ok()
        );
    }
}

#[test]
fn a_dimension_that_is_the_templates_must_be_known_to_change_it() {
    let fast = flavor("fast", 8, 0);
    let wanted = ClaimRequest { template: Hardware::default(), ..wanted(Some(&fast)) };
    let plain = warm("pool-a-plain", "deb", "");
    let to_fast = Fit::Resize(Hardware::new(8, 4096));
    assert_eq!(found(&[plain], &wanted, BOTH), Ok(("pool-a-plain".to_owned(), to_fast)));
    let small = warm("pool-a-small", "deb", "small");
    assert!(found(&[small], &wanted, BOTH).is_err());
}

#[test]
fn among_equals_the_current_template_comes_first_and_then_the_oldest() {
    let origin = origin("new");
    let of = |name: &str, from: &str, hour: Option<&str>| {
        let machine = marked(name, |mark| {
            mark.pooled = true;
            mark.kind = "deb".to_owned();
            mark.origin = from.to_owned();
        });
        Machine { created: hour.map(at), ..machine }
    };
    let mut machines = vec![
        of("pool-a-a", "old", Some("01:00:00")),
        of("pool-a-b", "new", None),
        of("pool-a-d", "", Some("03:00:00")),
        of("pool-a-c", "new", Some("03:00:00")),
        of("pool-a-e", "new", Some("02:00:00")),
    ];
    let mut order = String::new();
    loop {
        let view = view(machines.iter().cloned());
        let current = |machine| samples::candidacy(machine, "deb", &origin);
        let Ok((found, _)) = find(&view, &wanted(None), &current, &idle, NEITHER) else { break };
        machines.retain(|machine| machine.name != found.name);
        order.push_str(found.name.trim_start_matches("pool-a-"));
    }
    assert_eq!(order, "ecdba");
}

proptest! {
    #[test]
    fn only_our_own_idle_warm_machine_is_ever_taken(
        machines in proptest::collection::vec(any_machine(), 0..30),
        which in 0..4usize,
        unflavored: bool,
        named: bool,
        busy in 0..1000u32,
    ) {
        let flavors = three();
        let view = view(machines);
        let wanted = wanted(flavors.iter().nth(which));
        let is_busy = |machine: &Machine<Mark>| machine.id > MachineId::new(format!("vm-{busy}"));
        if let Ok((machine, fit)) = find(&view, &wanted, &candidacy, &is_busy, Resizing { unflavored, named }) {
            let mark = machine.mark_of(&OWNER).expect("our mark");
            prop_assert_eq!(machine.role, Role::Vm);
            prop_assert_eq!(machine.power, Some(Power::Off));
            prop_assert!(mark.pooled && !mark.protected && machine.name.starts_with("pool-a-"));
            prop_assert!(!is_busy(machine) && !machine.awaits_setup && mark.kind == "deb");
            let same = wanted.flavor.is_none_or(|flavor| flavor.is_named(&mark.flavor));
            let allowed = (mark.flavor.is_empty() && unflavored) || (!mark.flavor.is_empty() && named);
            prop_assert!(same || allowed);
            prop_assert!(fit == Fit::AsIs || unflavored || named);
        }
    }
}
