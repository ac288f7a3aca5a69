use rookery_vim::MoRef;

use super::super::tests::{datastore as fast, id, lost, network as lan, pool as workers, reach};
use super::*;

fn states(cases: impl IntoIterator<Item = (Finding, State, &'static str)>) {
    for (finding, state, word) in cases {
        assert_eq!(finding.state, state, "{finding:?}");
        assert!(finding.seen.contains(word), "{word:?} is not in {finding:?}");
    }
}

#[test]
fn a_datastore_must_be_reachable_in_use_and_not_full() {
    use State::{Ok as Fine, Problem, Warning};
    let with = |change: fn(&mut Datastore)| {
        let mut datastore = fast();
        change(&mut datastore);
        self::datastore(&datastore, PoolReach::NoPoolNamed)
    };
    states([
        (with(|_| ()), Fine, "/DC0/datastore/fast, 50 GiB free of 100 GiB"),
        (with(|it| it.accessible = Some(false)), Problem, "not accessible"),
        (with(|it| it.accessible = None), Warning, "does not tell whether it is accessible"),
        (
            with(|it| it.maintenance = Some("inMaintenance".to_owned())),
            Problem,
            "maintenance (inMaintenance)",
        ),
        (with(|it| it.maintenance = None), Fine, "free"),
        (with(|it| it.free = Some(10 << 30)), Fine, "10 GiB free"),
        (with(|it| it.free = Some((10 << 30) - 1)), Warning, "less than 10 %"),
        (with(|it| it.free = None), Warning, "does not tell how much space"),
        (with(|it| (it.capacity, it.free) = (Some(i64::MAX), Some(i64::MAX))), Fine, "free"),
    ]);
}

#[test]
fn a_cluster_of_datastores_will_do_if_there_are_any_in_it() {
    let mut cluster = fast();
    cluster.id = id("StoragePod", "group-p1");
    (cluster.accessible, cluster.maintenance) = (None, None);
    assert_eq!(datastore(&cluster, PoolReach::Known(&reach())).state, State::Ok);
    cluster.members = None;
    assert_eq!(datastore(&cluster, PoolReach::Known(&reach())).state, State::Ok, "unknown is not empty");
    cluster.members = Some(Vec::new());
    assert_eq!(datastore(&cluster, PoolReach::NoPoolNamed).state, State::Problem);
}

#[test]
fn a_datastore_that_the_pool_does_not_reach_is_a_problem() {
    let mut far = fast();
    far.members = Some(vec![id("Datastore", "ds-9")]);
    let finding = datastore(&far, PoolReach::Known(&reach()));
    assert_eq!(finding.state, State::Problem);
    assert!(finding.seen.starts_with("no host of the resource pool reaches it; "), "{finding:?}");
    // Unknown is not absent.
    assert_eq!(datastore(&far, PoolReach::Unknown).state, State::Ok);
    assert_eq!(datastore(&far, PoolReach::Known(&Reach::default())).state, State::Ok);
    assert_eq!(datastore(&far, PoolReach::NoPoolNamed).state, State::Ok);
}

#[test]
fn a_network_should_be_on_all_hosts_of_the_pool() {
    use State::{Ok as Fine, Problem, Warning};
    let on = |hosts: &[&str]| {
        let mut network = lan();
        network.hosts = hosts.iter().map(|host| id("HostSystem", host)).collect();
        self::network(&network, PoolReach::Known(&reach()))
    };
    let mut other = lan();
    other.id = MoRef::new("Network", "n-9");
    states([
        (on(&["h-1", "h-2", "h-3"]), Fine, "/DC0/network/lan"),
        (on(&["h-1"]), Warning, "1 of the 2 hosts"),
        // The server does not list them.
        (on(&[]), Fine, "on the hosts"),
        (self::network(&other, PoolReach::Known(&reach())), Problem, "no host of the resource pool has it"),
        (self::network(&other, PoolReach::NoPoolNamed), Fine, "name a resource pool"),
        (self::network(&other, PoolReach::Unknown), Fine, "not known"),
        (self::network(&other, PoolReach::Known(&Reach::default())), Fine, "not known"),
    ]);
}

#[test]
fn a_pool_that_was_not_found_is_not_one_that_was_not_named() {
    let missing = Sought { name: "rp".to_owned(), found: Err(Miss::Vm { similar: Vec::new() }) };
    let unread = Pool { reach: Err(lost()), ..workers() };
    let unread = Sought { name: "rp".to_owned(), found: Ok(unread) };
    for pool in [missing, unread] {
        assert!(matches!(pool_reach(Some(&pool)), PoolReach::Unknown), "{pool:?}");
    }
    assert!(matches!(pool_reach(None), PoolReach::NoPoolNamed));
}

#[test]
fn a_pool_shows_its_alarms_its_limits_and_its_hosts() {
    use State::{Ok as Fine, Problem, Warning};
    let with = |change: fn(&mut Pool)| {
        let mut pool = workers();
        change(&mut pool);
        self::pool(&pool)
    };
    let hosts = |pool: &mut Pool, count| pool.reach.as_mut().unwrap().usable_hosts = count;
    states([
        (with(|_| ()), Fine, "/DC0/host/C0/Resources"),
        (with(|it| it.status = Some("gray".to_owned())), Fine, "Resources"),
        (with(|it| it.status = Some("yellow".to_owned())), Warning, "yellow"),
        (with(|it| it.status = Some("red".to_owned())), Problem, "red"),
        (with(|it| it.status = None), Warning, "does not tell its status"),
        (with(|it| it.cpu.used = Some(89)), Fine, "Resources"),
        (with(|it| it.cpu.used = Some(90)), Warning, "90 of 100 MHz are in use"),
        (with(|it| it.memory.used = Some(100 << 20)), Warning, "100 of 100 MiB"),
        (with(|it| it.memory.most = Some(0)), Fine, "Resources"),
        (with(|it| it.reach = Err(lost())), Problem, "cannot be read"),
    ]);
    let mut dark = workers();
    hosts(&mut dark, Some(0));
    assert_eq!(self::pool(&dark).state, Problem);
    hosts(&mut dark, None);
    assert_eq!(self::pool(&dark).state, Fine);
}

#[test]
fn several_complaints_about_one_thing_are_all_told() {
    let mut pool = workers();
    pool.status = Some("yellow".to_owned());
    pool.cpu.used = Some(100);
    pool.reach.as_mut().unwrap().usable_hosts = Some(0);
    let finding = self::pool(&pool);
    assert_eq!(finding.state, State::Problem);
    for word in ["none of its hosts", "yellow", "100 of 100 MHz"] {
        assert!(finding.seen.contains(word), "{finding:?}");
    }
    let advice = finding.advice.unwrap();
    assert!(advice.contains("maintenance modes") && advice.contains("raise its limits"), "{advice}");
}

#[test]
fn a_folder_must_be_one_for_vms() {
    let folder = |holds: Option<&[&str]>| {
        let holds = holds.map(|classes| classes.iter().map(|class| (*class).to_owned()).collect());
        self::folder(&Folder { id: id("Folder", "f"), path: "/DC0/vm".to_owned(), holds }).state
    };
    assert_eq!(folder(Some(&["VirtualMachine", "Folder"])), State::Ok);
    assert_eq!(folder(Some(&["Datastore"])), State::Problem);
    assert_eq!(folder(None), State::Warning);
}

#[test]
fn no_datacenter_at_all_is_a_problem() {
    assert_eq!(datacenter(&Datacenter::All(Vec::new())).state, State::Problem);
    let both = Datacenter::All(vec!["/DC0".to_owned(), "/DC1".to_owned()]);
    assert_eq!(datacenter(&both).seen, "none is named, so all: /DC0, /DC1");
}
