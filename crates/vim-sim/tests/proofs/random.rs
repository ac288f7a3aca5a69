//! Random requests in random order.

use jiff::SignedDuration;
use proptest::prelude::*;
use rookery_vim_sim::{Control, Counts, Durations, GuestTimes, Input, RequestId, Settings, Span};

use super::asking::{Ask, Client, ask};
use super::lab::Lab;
use super::watcher::Watcher;

#[derive(Debug, Clone)]
enum Step {
    Ask(Ask),
    Time(u16),
    Poll { watcher: u8, seconds: u8, page: u8, lose: bool },
    Take { watcher: u8, lose: bool },
    Stale(u8),
    Rebuild(u8),
    CatchUp(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => ask().prop_map(Step::Ask),
        3 => (0..300u16).prop_map(Step::Time),
        6 => (any::<u8>(), 0..40u8, 0..4u8, any::<bool>())
            .prop_map(|(watcher, seconds, page, lose)| Step::Poll { watcher, seconds, page, lose }),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(watcher, lose)| Step::Take { watcher, lose }),
        1 => any::<u8>().prop_map(Step::Stale),
        1 => any::<u8>().prop_map(Step::Rebuild),
        3 => any::<u8>().prop_map(Step::CatchUp),
    ]
}

fn settings(page: usize, slow: bool) -> Settings {
    let seconds = |seconds| Span::Constant(SignedDuration::from_secs(seconds));
    let durations = Durations {
        create: seconds(3),
        clone: seconds(20),
        copy_per_gib: seconds(2),
        reconfigure: seconds(2),
        power: seconds(5),
        snapshot: seconds(4),
        destroy: seconds(3),
        file: seconds(1),
        ..Durations::default()
    };
    let guests = GuestTimes {
        tools: seconds(10),
        operations: seconds(2),
        addresses: seconds(5),
        shutdown: seconds(3),
        ..GuestTimes::default()
    };
    let settings = Settings { page, ..Settings::default() };
    if slow { Settings { durations, guests, ..settings } } else { settings }
}

const COUNTS: Counts = Counts {
    datacenters: 1,
    clusters: 1,
    cluster_hosts: 2,
    standalone_hosts: 1,
    pools: 0,
    datastores: 2,
    pods: 1,
    portgroups: 1,
    vms: 1,
    on: true,
};

/// Everything of all entities; some of VMs; tasks by way of their manager; VMs by way of folders.
fn watchers(lab: &mut Lab) -> Vec<Watcher> {
    let through_view = |view: &str, properties: &str| {
        format!(
            "{properties}<objectSet><obj type=\"ContainerView\">{view}</obj><skip>true</skip>\
             <selectSet xsi:type=\"TraversalSpec\"><type>ContainerView</type><path>view</path></selectSet></objectSet>"
        )
    };
    let everything = "<propSet><type>ManagedEntity</type><all>true</all></propSet>";
    let some = "<propSet><type>VirtualMachine</type><pathSet>name</pathSet><pathSet>parent</pathSet>\
        <pathSet>runtime.powerState</pathSet><pathSet>runtime.host</pathSet><pathSet>resourcePool</pathSet>\
        <pathSet>config.template</pathSet><pathSet>config.annotation</pathSet><pathSet>config.uuid</pathSet>\
        <pathSet>config.instanceUuid</pathSet><pathSet>config.hardware.numCPU</pathSet>\
        <pathSet>config.hardware.memoryMB</pathSet><pathSet>config.hardware.device</pathSet>\
        <pathSet>config.changeVersion</pathSet><pathSet>config.extraConfig</pathSet>\
        <pathSet>config.tools.pendingCustomization</pathSet><pathSet>guest.toolsRunningStatus</pathSet>\
        <pathSet>guest.guestOperationsReady</pathSet><pathSet>guest.ipAddress</pathSet><pathSet>guest.net</pathSet>\
        <pathSet>guest.hostName</pathSet><pathSet>summary.config.name</pathSet><pathSet>summary.storage.committed</pathSet>\
        <pathSet>network</pathSet><pathSet>datastore</pathSet><pathSet>snapshot</pathSet></propSet>";
    let tasks = "<propSet><type>Task</type><pathSet>info.state</pathSet><pathSet>info.progress</pathSet>\
        <pathSet>info.result</pathSet><pathSet>info.error</pathSet><pathSet>info.cancelable</pathSet>\
        <pathSet>info.completeTime</pathSet></propSet><objectSet><obj type=\"TaskManager\">TaskManager</obj>\
        <skip>true</skip><selectSet xsi:type=\"TraversalSpec\"><type>TaskManager</type><path>recentTask</path></selectSet>\
        </objectSet>";
    let on_hosts = "<propSet><type>VirtualMachine</type><pathSet>name</pathSet></propSet>\
        <propSet><type>Folder</type><pathSet>childEntity</pathSet></propSet>\
        <propSet><type>ResourcePool</type><pathSet>vm</pathSet><pathSet>runtime</pathSet></propSet>\
        <objectSet><obj type=\"Folder\">group-d1</obj><skip>false</skip>\
        <selectSet xsi:type=\"TraversalSpec\"><name>folder</name><type>Folder</type><path>childEntity</path>\
        <selectSet><name>folder</name></selectSet><selectSet><name>vms</name></selectSet>\
        <selectSet><name>hosts</name></selectSet><selectSet><name>pool</name></selectSet></selectSet>\
        <selectSet xsi:type=\"TraversalSpec\"><name>vms</name><type>Datacenter</type><path>vmFolder</path>\
        <selectSet><name>folder</name></selectSet></selectSet>\
        <selectSet xsi:type=\"TraversalSpec\"><name>hosts</name><type>Datacenter</type><path>hostFolder</path>\
        <selectSet><name>folder</name></selectSet></selectSet>\
        <selectSet xsi:type=\"TraversalSpec\"><name>pool</name><type>ComputeResource</type><path>resourcePool</path>\
        <selectSet><name>pools</name></selectSet></selectSet>\
        <selectSet xsi:type=\"TraversalSpec\"><name>pools</name><type>ResourcePool</type><path>resourcePool</path>\
        <selectSet><name>pools</name></selectSet></selectSet></objectSet>";
    vec![
        Watcher::new(lab, |view| through_view(view, everything)),
        Watcher::new(lab, |view| through_view(view, some)),
        Watcher::new(lab, |_| tasks.to_owned()),
        Watcher::new(lab, |_| on_hosts.to_owned()),
    ]
}

/// Runs everything; what came out.
fn run(steps: &[Step], page: usize, slow: bool) -> String {
    let mut lab = Lab::new(Settings { login: None, ..settings(page, slow) }, COUNTS);
    let mut client = Client::new(&mut lab);
    let mut watchers = watchers(&mut lab);
    let count = watchers.len();
    let of = |nth: u8| usize::from(nth) % count;
    for step in steps {
        match step {
            Step::Ask(ask) => client.ask(&mut lab, ask),
            Step::Time(seconds) => lab.advance(SignedDuration::from_secs(i64::from(*seconds))),
            Step::Poll { watcher, seconds, page, lose } => {
                watchers[of(*watcher)].poll(&mut lab, u32::from(*seconds), u32::from(*page), *lose);
            }
            Step::Take { watcher, lose } => {
                watchers[of(*watcher)].take(&mut lab, *lose);
            }
            Step::Stale(watcher) => watchers[of(*watcher)].ask_with_stale_version(&mut lab),
            Step::Rebuild(watcher) => watchers[of(*watcher)].rebuild(&mut lab),
            Step::CatchUp(watcher) => watchers[of(*watcher)].catch_up(&mut lab, u32::from(*watcher % 4)),
        }
    }
    for watcher in &mut watchers {
        watcher.catch_up(&mut lab, 3);
    }
    // Everything ends, given time.
    lab.advance(SignedDuration::from_hours(24 * 365));
    lab.step(Input::Control(RequestId(0), Control::Inspect));
    let inspection = lab.take(0).expect("an answer").value();
    assert_eq!(inspection["unfinished"].as_array().map(Vec::len), Some(0), "some tasks never end");
    for watcher in &mut watchers {
        watcher.catch_up(&mut lab, 0);
    }
    lab.transcript
}

fn config(cases: u32) -> ProptestConfig {
    // What fails is printed in full: there is nothing to keep in a file.
    ProptestConfig { cases, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn whatever_is_asked_the_world_agrees_with_itself_and_every_watcher_sees_it(
        steps in proptest::collection::vec(step(), 1..60),
        page in 1..6usize,
        slow in any::<bool>(),
    ) {
        run(&steps, page, slow);
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn the_same_inputs_give_the_same_bytes(
        steps in proptest::collection::vec(step(), 1..60),
        slow in any::<bool>(),
    ) {
        let (one, other) = (run(&steps, 1000, slow), run(&steps, 1000, slow));
        prop_assert!(one == other, "two runs of one log differ");
    }
}
