mod converging;
mod removing;

use rand::SeedableRng;

use super::*;
use crate::machine::{Notes, Power, Role};
use crate::samples::{OWNER, at, id, marked, unsettled, view, vm, warm};

const NOW: &str = "12:00:00";
const OPEN: Limits = Limits { workers: Some(0), starting: 0, cpus: None, memory_mb: None, keep_smaller: 0 };

fn ready(origin: &str) -> TemplateState {
    let origin = Origin { incarnation: Some(origin.to_owned()), last_modified: None };
    TemplateState::Ready { id: id("deb"), origin, hardware: Some(Hardware { cpus: 2, memory_mb: 4096 }) }
}

fn wish(model: &str, number: u32) -> Wish {
    Wish { line: Line::V2, model: model.to_owned(), flavor: None, number, template: ready("one") }
}

fn kind(model: &str) -> Kind {
    Kind { line: Line::V2, model: model.to_owned(), flavor: String::new() }
}

fn making(name: &str, model: &str) -> Making {
    Making { kind: kind(model), name: name.to_owned(), machine: None }
}

/// All that a plan goes by; what a test does not say is empty and without limits.
#[derive(Debug)]
struct World {
    view: View,
    wishes: Vec<Wish>,
    making: Vec<Making>,
    busy: Vec<MachineId>,
    doomed: Vec<MachineId>,
    resting: BTreeMap<(Line, String), Timestamp>,
    networks: Vec<Network>,
    not_yet: bool,
    ledger: Ledger,
    room: Option<PoolRoom>,
    disks: Disks,
    pool_size: Option<usize>,
    refresh_budget: usize,
    max_age: Option<SignedDuration>,
    limits: Limits,
    flavors: Flavors,
    stop: Option<Stop>,
    reckoning: Reckoning,
}

fn world(machines: impl IntoIterator<Item = Machine>, wishes: Vec<Wish>) -> World {
    World {
        view: view(machines),
        wishes,
        making: Vec::new(),
        busy: Vec::new(),
        doomed: Vec::new(),
        resting: BTreeMap::new(),
        networks: Vec::new(),
        not_yet: false,
        ledger: Ledger::default(),
        room: None,
        disks: Disks::new(),
        pool_size: Some(100),
        refresh_budget: 1,
        max_age: None,
        limits: OPEN,
        flavors: Flavors::default(),
        stop: None,
        reckoning: Reckoning::default(),
    }
}

impl World {
    fn plan(&self) -> Plan {
        let reserved = self.making.iter().filter_map(|making| names::address_in(&making.name));
        let held = address::held(&self.networks, &self.view, reserved);
        let addresses = match (self.not_yet, self.networks.is_empty()) {
            (true, _) => Addresses::NotYet,
            (false, true) => Addresses::Dhcp,
            (false, false) => Addresses::From { networks: &self.networks, held: &held },
        };
        let observed = Observed {
            view: &self.view,
            owner: OWNER,
            now: at(NOW),
            stop: self.stop,
            reckoning: &self.reckoning,
            making: &self.making,
            busy: &|machine| self.busy.contains(&machine.id),
            doomed: &|id| self.doomed.contains(id),
            resting: &self.resting,
            addresses,
            ledger: self.ledger,
            room: self.room,
            disks: &self.disks,
        };
        let desired = Desired {
            wishes: &self.wishes,
            pool_size: self.pool_size,
            refresh_budget: self.refresh_budget,
            max_age: self.max_age,
            limits: &self.limits,
            flavors: &self.flavors,
        };
        plan(&observed, &desired, &mut StdRng::seed_from_u64(7))
    }

    fn makes(&self) -> String {
        self.plan().make.iter().map(|make| make.kind.model.clone()).collect::<Vec<_>>().join(" ")
    }

    fn waits(&self) -> Vec<(usize, u32, &'static str)> {
        self.plan()
            .waiting
            .iter()
            .map(|waiting| (waiting.wish, waiting.missing, waiting.why.as_str()))
            .collect()
    }

    fn removes(&self) -> Vec<(String, &'static str)> {
        let removed = self.plan().remove;
        removed.iter().map(|(id, removal)| (id.as_str().to_owned(), removal.as_str())).collect()
    }
}

fn on(machine: Machine) -> Machine {
    Machine { power: Some(Power::On), ..machine }
}

#[test]
fn wishes_take_turns_in_their_order() {
    let wishes = || vec![wish("a", 3), wish("b", 1), wish("c", 2)];
    assert_eq!(world([], wishes()).makes(), "a b c a c a");
    let narrow = World { pool_size: Some(4), ..world([], wishes()) };
    assert_eq!(narrow.makes(), "a b c a");
    assert_eq!(narrow.waits(), [(0, 1, "pool_size"), (2, 1, "pool_size")]);
}

#[test]
fn without_a_pool_size_all_that_is_missing_is_made_at_once() {
    let open = World { pool_size: None, ..world([], vec![wish("a", 150), wish("b", 1)]) };
    assert_eq!(open.plan().make.len(), 151);
    assert!(open.waits().is_empty());
}

#[test]
fn who_has_fewest_comes_first() {
    // With room for one at a time the first wish had all its machines before the others had any.
    let has = |count: usize| (0..count).map(|nth| warm(&format!("provision-v2-{nth}"), "a", ""));
    let wishes = || vec![wish("a", 4), wish("b", 2)];
    for (count, expected) in [(0, "a"), (1, "b"), (3, "b")] {
        let narrow = World { pool_size: Some(1), ..world(has(count), wishes()) };
        assert_eq!(narrow.makes(), expected, "{count}");
    }
    assert_eq!(world(has(2), wishes()).makes(), "b b a a");
}

#[test]
fn what_there_is_and_what_is_in_flight_counts_and_what_leaves_does_not() {
    let mut world = world(
        [
            warm("provision-v2-ready", "a", ""),
            on(warm("provision-v2-started", "a", "")),
            warm("provision-v2-dying", "a", ""),
            warm("provision-v2-claimed", "a", ""),
            warm("provision-v2-listed", "a", ""),
            warm("provision-v2-other", "b", ""),
            warm("brave-curie", "a", ""),
            vm("provision-v2-foreign"),
        ],
        vec![wish("a", 10), wish("b", 1)],
    );
    world.doomed.push(id("provision-v2-dying"));
    world.busy.push(id("provision-v2-claimed"));
    world.making = vec![making("provision-v2-listed", "a"), making("provision-v2-unlisted", "a")];
    let plan = world.plan();
    assert_eq!(plan.counts[0], Count { ready: 1, starting: 3, dying: 1 });
    assert_eq!(plan.make.len(), 6);
    assert_eq!(plan.finish, [id("provision-v2-started")]);
}

#[test]
fn a_number_of_zero_makes_none_and_leaves_none() {
    let world = world([warm("provision-v2-x", "a", "")], vec![wish("a", 0)]);
    assert_eq!(world.makes(), "");
    assert_eq!(world.removes(), [("vm-provision-v2-x".to_owned(), "excess")]);
}

#[test]
fn two_wishes_of_one_kind_are_one() {
    let world = world([warm("provision-v2-x", "a", "")], vec![wish("a", 1), wish("a", 2)]);
    assert_eq!(world.makes(), "a a");
    assert!(world.removes().is_empty());
}

#[test]
fn flavors_are_kinds_of_their_own() {
    let flavors = || crate::flavor::tests::three();
    let large = |number| Wish { flavor: Some("LARGE".to_owned()), ..wish("a", number) };
    let machines = || [warm("provision-v2-x", "a", "large"), warm("provision-v2-y", "a", "")];
    let world = |wishes| World { flavors: flavors(), ..world(machines(), wishes) };
    let made = world(vec![large(2), wish("a", 1)]).plan().make;
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].footprint, Footprint { cpus: Some(8), memory_mb: Some(16384) });
    assert_eq!(made[0].flavor.as_ref().map(|flavor| flavor.name.as_str()), Some("large"));

    let unknown =
        world(vec![Wish { flavor: Some("huge".to_owned()), ..wish("a", 1) }, wish("a", 1), large(1)]);
    assert_eq!(unknown.waits(), [(0, 1, "flavor_unknown")]);
    // Where none are configured, their names mean nothing.
    let none = World { flavors: Flavors::default(), ..world(vec![large(2)]) };
    assert_eq!(none.makes(), "a");
    assert_eq!(none.plan().make[0].flavor, None);
}

#[test]
fn a_wish_that_cannot_be_served_says_why_and_holds_up_nobody() {
    let not_now = TemplateState::NotNow("it needs registration".to_owned());
    let mut world = world(
        [],
        vec![
            Wish { template: TemplateState::Missing, ..wish("a", 2) },
            Wish { template: not_now, ..wish("b", 1) },
            wish("c", 3),
            wish("d", 1),
        ],
    );
    world.resting.insert((Line::V2, "c".to_owned()), at("12:05:00"));
    assert_eq!(world.makes(), "d");
    assert_eq!(world.waits(), [(0, 2, "template_missing"), (1, 1, "template_not_now"), (2, 3, "resting")]);
    assert_eq!(world.plan().waiting[1].why.to_string(), "it needs registration");
}

#[test]
fn hardware_limits_hold_and_limits_of_workers_do_not() {
    let mut world = world([], vec![wish("a", 9)]);
    world.limits.cpus = Some(7);
    world.ledger.cpus = 2;
    assert_eq!(world.makes(), "a a");
    assert_eq!(world.waits(), [(0, 7, "cpus")]);
    world.limits.cpus = None;
    world.room = Some(PoolRoom { memory_unreserved_bytes: Some(13 << 30), ..PoolRoom::default() });
    assert_eq!(world.makes(), "a a a");
    assert_eq!(world.waits(), [(0, 6, "pool_memory")]);
}

#[test]
fn each_machine_gets_an_address_of_its_own_and_its_name_holds_it() {
    let mut world = world([warm("provision-v2-ip-10-0-0-5-x", "a", "")], vec![wish("a", 9)]);
    let network = Network {
        ranges: vec!["10.0.0.4/30".parse().expect("a block")],
        prefix: 24,
        gateway: None,
        dns: Vec::new(),
    };
    world.networks.push(network);
    world.making.push(making("provision-v2-ip-10-0-0-6-y", "a"));
    let made = world.plan().make;
    let names: Vec<_> = made.iter().map(|make| names::address_in(&make.name)).collect();
    let given: Vec<_> = made.iter().map(|make| make.address.as_ref().map(|address| address.ip)).collect();
    assert_eq!(names, given);
    assert_eq!(given, [Some(Ipv4Addr::new(10, 0, 0, 4)), Some(Ipv4Addr::new(10, 0, 0, 7))]);
    assert_eq!(world.waits(), [(0, 5, "no_address")]);
    world.not_yet = true;
    assert_eq!(world.waits(), [(0, 7, "addresses_not_yet")]);
    assert_eq!(world.makes(), "");
}

#[test]
fn a_machine_not_told_yet_holds_a_slot_of_its_line() {
    let cloning = || Machine { notes: Notes::Unknown, role: Role::Unknown, ..vm("provision-v2-x") };
    let v1 = Wish { line: Line::V1, ..wish("b", 1) };
    let mut world = world([cloning()], vec![wish("a", 2), v1]);
    assert_eq!(world.makes(), "a b");
    assert_eq!(world.waits(), [(0, 1, "unknown")]);
    // Our own clone is already counted.
    world.making.push(making("provision-v2-x", "a"));
    assert_eq!(world.makes(), "b a");
    assert!(world.waits().is_empty());
}

#[test]
fn half_made_machines_are_finished_unless_somebody_is_at_them() {
    let half = |name| Machine { awaits_setup: true, ..warm(name, "a", "") };
    let mut world = world(
        [
            half("provision-v2-a"),
            on(warm("provision-v2-b", "a", "")),
            Machine { power: Some(Power::Suspended), ..warm("provision-v2-c", "a", "") },
            Machine { power: None, ..warm("provision-v2-d", "a", "") },
            on(warm("provision-v2-e", "a", "")),
            on(warm("provision-v2-f", "a", "")),
            on(warm("provision-v2-g", "unwanted", "")),
        ],
        vec![wish("a", 6)],
    );
    world.busy.push(id("provision-v2-e"));
    world.making.push(Making { machine: Some(id("provision-v2-f")), ..making("provision-v2-f", "a") });
    let plan = world.plan();
    assert_eq!(plan.finish, ["a", "b", "c"].map(|name| id(&format!("provision-v2-{name}"))));
    assert_eq!(plan.make.len(), 1);
    world.pool_size = Some(3);
    let plan = world.plan();
    assert_eq!((plan.finish.len(), plan.make.len()), (2, 0));
}

// They were started without asking, whatever the limits said.
#[test]
fn half_made_machines_that_are_off_are_started_only_where_there_is_room() {
    let half = |name| Machine { awaits_setup: true, ..warm(name, "a", "") };
    let machines = [half("provision-v2-a"), half("provision-v2-b"), on(warm("provision-v2-c", "a", ""))];
    let mut world = world(machines, vec![wish("a", 4)]);
    world.limits.cpus = Some(2);
    let plan = world.plan();
    assert_eq!(plan.finish, ["a", "c"].map(|name| id(&format!("provision-v2-{name}"))));
    assert_eq!(plan.make.len(), 0, "what is finished has taken the room");
}

#[test]
fn half_claimed_machines_are_given_back_and_count_as_ready() {
    let half = |name: &str, power| {
        let machine = marked(name, |mark| {
            mark.vmware_model_path = "a".to_owned();
            mark.job_id = "7".to_owned();
        });
        Machine { power, ..machine }
    };
    let mut world = world(
        [
            half("provision-v2-a", Some(Power::Off)),
            half("provision-v2-b", Some(Power::Off)),
            half("provision-v2-c", Some(Power::On)),
            half("provision-v2-d", None),
        ],
        vec![wish("a", 2)],
    );
    world.busy.push(id("provision-v2-b"));
    let plan = world.plan();
    assert_eq!(plan.give_back, [id("provision-v2-a")]);
    assert_eq!(plan.make.len(), 1);
}
