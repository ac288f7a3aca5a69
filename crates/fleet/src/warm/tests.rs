mod converging;
mod removing;

use rand::SeedableRng;

use super::*;
use crate::machine::Role;
use crate::names;
use crate::samples::{
    Mark, OWNER, POOL_A, POOL_B, address_in, at, id, key, marked, membership, on, times, unsettled, untold,
    view, vm, warm,
};

const NOW: &str = "12:00:00";
const OPEN: Limits = Limits { cpus: None, memory_mb: None, keep_smaller: 0 };

fn ready(origin: &str) -> TemplateState {
    let origin = crate::samples::origin(origin);
    TemplateState::Ready { id: id("deb"), origin, hardware: Hardware::new(2, 4096) }
}

fn wish(kind: &str, number: u32) -> PoolTarget {
    PoolTarget { key: key(POOL_A, kind, ""), flavor: None, number, template: ready("one"), rests_until: None }
}

fn flavored(kind: &str, flavor: &str, number: u32) -> PoolTarget {
    PoolTarget { key: key(POOL_A, kind, flavor), flavor: Some(flavor.to_owned()), ..wish(kind, number) }
}

fn making(name: &str, kind: &str) -> Making {
    Making { key: key(POOL_A, kind, ""), name: name.to_owned(), machine: None }
}

/// A name that holds the address.
fn new_name(
    key: &PoolKey,
    at: Option<Ipv4Addr>,
    random: &mut StdRng,
    taken: &dyn Fn(&str) -> bool,
) -> String {
    let held = at.map_or_else(String::new, |ip| format!("ip-{ip}-").replace('.', "-"));
    names::fresh(&format!("{}{held}", key.family), random, taken)
}

/// All that a plan goes by; what a test does not say is empty and without limits.
#[derive(Debug)]
struct World {
    view: View<Mark>,
    wishes: Vec<PoolTarget>,
    making: Vec<Making>,
    busy: Vec<MachineId>,
    condemned: Vec<MachineId>,
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

fn world(machines: impl IntoIterator<Item = Machine<Mark>>, wishes: Vec<PoolTarget>) -> World {
    World {
        view: view(machines),
        wishes,
        making: Vec::new(),
        busy: Vec::new(),
        condemned: Vec::new(),
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
        let reserved = self.making.iter().filter_map(|making| address_in(&making.name));
        let held = address::held(&self.networks, &self.view, reserved);
        let addresses = match (self.not_yet, self.networks.is_empty()) {
            (true, _) => Addresses::NotYet,
            (false, true) => Addresses::Dhcp,
            (false, false) => Addresses::From { networks: &self.networks, held: &held },
        };
        let observed = Observed {
            view: &self.view,
            membership: &membership,
            name: &new_name,
            now: at(NOW),
            stop: self.stop,
            reckoning: &self.reckoning,
            making: &self.making,
            busy: &|machine| self.busy.contains(&machine.id),
            condemned: &|id| self.condemned.contains(id),
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
        self.plan().make.iter().map(|make| &*self.wishes[make.wish].key.kind).collect::<Vec<_>>().join(" ")
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
    let has = |count: usize| (0..count).map(|nth| warm(&format!("pool-a-{nth}"), "a", ""));
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
            warm("pool-a-ready", "a", ""),
            on(warm("pool-a-started", "a", "")),
            warm("pool-a-dying", "a", ""),
            warm("pool-a-claimed", "a", ""),
            warm("pool-a-listed", "a", ""),
            warm("pool-a-other", "b", ""),
            warm("brave-curie", "a", ""),
            vm("pool-a-foreign"),
        ],
        vec![wish("a", 10), wish("b", 1)],
    );
    world.condemned.push(id("pool-a-dying"));
    world.busy.push(id("pool-a-claimed"));
    world.making = vec![making("pool-a-listed", "a"), making("pool-a-unlisted", "a")];
    let plan = world.plan();
    assert_eq!(plan.counts[0], Count { ready: 1, starting: 3, dying: 1 });
    assert_eq!(plan.make.len(), 6);
    assert_eq!(plan.finish, [id("pool-a-started")]);
}

#[test]
fn a_number_of_zero_makes_none_and_leaves_none() {
    let world = world([warm("pool-a-x", "a", "")], vec![wish("a", 0)]);
    assert_eq!(world.makes(), "");
    assert_eq!(world.removes(), [("vm-pool-a-x".to_owned(), "excess")]);
}

#[test]
fn two_wishes_of_one_kind_are_one() {
    let world = world([warm("pool-a-x", "a", "")], vec![wish("a", 1), wish("a", 2)]);
    assert_eq!(world.makes(), "a a");
    assert!(world.removes().is_empty());
}

#[test]
fn flavors_are_kinds_of_their_own() {
    let flavors = || crate::flavor::tests::three();
    let large = |number| flavored("a", "LARGE", number);
    let machines = || [warm("pool-a-x", "a", "large"), warm("pool-a-y", "a", "")];
    let world = |wishes| World { flavors: flavors(), ..world(machines(), wishes) };
    let made = world(vec![large(2), wish("a", 1)]).plan().make;
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].footprint, Hardware { cpus: Some(8), memory_mb: Some(16384) });
    assert_eq!(made[0].flavor.as_ref().map(|flavor| flavor.name.as_str()), Some("large"));

    let unknown = world(vec![flavored("a", "huge", 1), wish("a", 1), large(1)]);
    assert_eq!(unknown.waits(), [(0, 1, "flavor_unknown")]);
    // An empty name is none.
    let unnamed = world(vec![large(1), PoolTarget { flavor: Some(String::new()), ..wish("a", 2) }]);
    assert_eq!((unnamed.makes().as_str(), unnamed.waits()), ("a", vec![]));
}

#[test]
fn a_wish_that_cannot_be_served_says_why_and_holds_up_nobody() {
    let not_now = TemplateState::NotNow("it is being made".to_owned());
    let world = world(
        [],
        vec![
            PoolTarget { template: TemplateState::Missing, ..wish("a", 2) },
            PoolTarget { template: not_now, ..wish("b", 1) },
            PoolTarget { rests_until: Some(at("12:05:00")), ..wish("c", 3) },
            wish("d", 1),
        ],
    );
    assert_eq!(world.makes(), "d");
    assert_eq!(world.waits(), [(0, 2, "template_missing"), (1, 1, "template_not_now"), (2, 3, "resting")]);
    assert_eq!(world.plan().waiting[1].why.to_string(), "it is being made");
}

#[test]
fn limits_and_room_hold() {
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
    let mut world = world([warm("pool-a-ip-10-0-0-5-x", "a", "")], vec![wish("a", 9)]);
    let network = Network {
        ranges: vec!["10.0.0.4/30".parse().expect("a block")],
        prefix: 24,
        gateway: None,
        dns: Vec::new(),
    };
    world.networks.push(network);
    world.making.push(making("pool-a-ip-10-0-0-6-y", "a"));
    let made = world.plan().make;
    let names: Vec<_> = made.iter().map(|make| address_in(&make.name)).collect();
    let given: Vec<_> = made.iter().map(|make| make.address.as_ref().map(|address| address.ip)).collect();
    assert_eq!(names, given);
    assert_eq!(given, [Some(Ipv4Addr::new(10, 0, 0, 4)), Some(Ipv4Addr::new(10, 0, 0, 7))]);
    assert_eq!(world.waits(), [(0, 5, "no_address")]);
    world.not_yet = true;
    assert_eq!(world.waits(), [(0, 7, "addresses_not_yet")]);
    assert_eq!(world.makes(), "");
}

#[test]
fn a_machine_not_told_yet_holds_a_slot_of_its_family() {
    let cloning = || Machine { role: Role::Unknown, ..untold(vm("pool-a-x")) };
    let other = PoolTarget { key: key(POOL_B, "b", ""), ..wish("b", 1) };
    let mut world = world([cloning()], vec![wish("a", 2), other]);
    assert_eq!(world.makes(), "a b");
    assert_eq!(world.waits(), [(0, 1, "unknown")]);
    // Our own clone is already counted.
    world.making.push(making("pool-a-x", "a"));
    assert_eq!(world.makes(), "b a");
    assert!(world.waits().is_empty());
}

#[test]
fn half_made_machines_are_finished_unless_somebody_is_at_them() {
    let half = |name| Machine { awaits_setup: true, ..warm(name, "a", "") };
    let mut world = world(
        [
            half("pool-a-a"),
            on(warm("pool-a-b", "a", "")),
            Machine { power: Some(Power::Suspended), ..warm("pool-a-c", "a", "") },
            Machine { power: None, ..warm("pool-a-d", "a", "") },
            on(warm("pool-a-e", "a", "")),
            on(warm("pool-a-f", "a", "")),
            on(warm("pool-a-g", "unwanted", "")),
        ],
        vec![wish("a", 6)],
    );
    world.busy.push(id("pool-a-e"));
    world.making.push(Making { machine: Some(id("pool-a-f")), ..making("pool-a-f", "a") });
    let plan = world.plan();
    assert_eq!(plan.finish, ["a", "b", "c"].map(|name| id(&format!("pool-a-{name}"))));
    assert_eq!(plan.make.len(), 1);
    world.pool_size = Some(3);
    let plan = world.plan();
    assert_eq!((plan.finish.len(), plan.make.len()), (2, 0));
}

// They were started without asking, whatever the limits said.
#[test]
fn half_made_machines_that_are_off_are_started_only_where_there_is_room() {
    let half = |name| Machine { awaits_setup: true, ..warm(name, "a", "") };
    let machines = [half("pool-a-a"), half("pool-a-b"), on(warm("pool-a-c", "a", ""))];
    let mut world = world(machines, vec![wish("a", 4)]);
    world.limits.cpus = Some(2);
    let plan = world.plan();
    assert_eq!(plan.finish, ["a", "c"].map(|name| id(&format!("pool-a-{name}"))));
    assert_eq!(plan.make.len(), 0, "what is finished has taken the room");
}

#[test]
fn half_claimed_machines_are_given_back_and_count_as_ready() {
    let half = |name: &str, power| {
        let machine = marked(name, |mark| mark.kind = "a".to_owned());
        Machine { power, ..machine }
    };
    let mut world = world(
        [
            half("pool-a-a", Some(Power::Off)),
            half("pool-a-b", Some(Power::Off)),
            half("pool-a-c", Some(Power::On)),
            half("pool-a-d", None),
        ],
        vec![wish("a", 2)],
    );
    world.busy.push(id("pool-a-b"));
    let plan = world.plan();
    assert_eq!(plan.give_back, [id("pool-a-a")]);
    assert_eq!(plan.make.len(), 1);
}
