//! What happens to the world itself.

use rookery_vim_sim::{Action, Control, Effect, Incident, Rule, Settings};

use super::kit::{Object, Sim, read, slow};

fn down(host: &str, restart_vms: bool) -> Control {
    Control::Do(Incident::HostDown { host: host.into(), restart_vms })
}

fn host_of(sim: &mut Sim, vm: &Object) -> Object {
    ("HostSystem".to_owned(), sim.get(vm, "runtime.host"))
}

fn class(answer: Result<rookery_vim::Node, String>) -> String {
    answer.map(drop).unwrap_err()
}

#[test]
fn a_restart_forgets_who_was_there_and_what_was_asked_but_not_what_hosts_do() {
    let mut sim = Sim::new(slow());
    sim.control(Control::Set(Box::new(rookery_vim_sim::Change {
        limits: Some(rookery_vim_sim::Limits { tasks_per_host: Some(1), ..Default::default() }),
        ..Default::default()
    })))
    .unwrap();
    let (first, second) = (sim.vm(0), sim.vm(1));
    let running = sim.power_on(&first);
    let queued = sim.clone(&first, "queued", false);
    assert_eq!([sim.state(&running), sim.state(&queued)], ["running", "queued"]);
    let collector = sim.watch(&second, "runtime.powerState");
    let wait = sim.wait(&collector, "", 600);
    sim.reply(wait).unwrap();
    let wait = sim.wait(&collector, "1", 600);

    sim.control(Control::Do(Incident::Restart { down: "30s".parse().unwrap() })).unwrap();
    assert_eq!(class(read(&sim.reply(wait).unwrap())), "cut");
    assert!(sim.effects.contains(&Effect::CutConnections));
    assert_eq!(sim.log_in().unwrap_err(), "503");
    sim.pass(29);
    assert_eq!(sim.log_in().unwrap_err(), "503");
    sim.pass(1);
    assert_eq!(class(sim.call("Fetch", &first, "<prop>name</prop>")), "NotAuthenticated");
    sim.log_in().unwrap();
    assert_eq!(sim.get(&first, "runtime.powerState"), "poweredOn", "the host had begun already");
    assert_eq!(sim.look_for("DC0/vm/queued"), None, "nobody had begun");
    for task in [&running, &queued] {
        assert_eq!(class(sim.call("Fetch", task, "<prop>info</prop>")), "ManagedObjectNotFound");
    }
    // Their places are free again.
    let task = sim.power_on(&second);
    sim.pass(8);
    assert_eq!(sim.state(&task), "success");
}

#[test]
fn a_restart_by_a_rule_cuts_the_call_that_meets_it() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let restart = Action::Do(Incident::Restart { down: "1s".parse().unwrap() });
    sim.rule(Rule { method: "PowerOnVM_Task".into(), count: Some(1), ..Rule::new(restart) });
    assert_eq!(class(sim.call("PowerOnVM_Task", &vm, "")), "cut");
    sim.pass(1);
    sim.log_in().unwrap();
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOff");
}

#[test]
fn all_sessions_can_end_at_once() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    let collector = sim.watch(&vm, "name");
    let wait = sim.wait(&collector, "", 600);
    sim.reply(wait).unwrap();
    let wait = sim.wait(&collector, "1", 600);
    sim.control(Control::Do(Incident::ExpireSessions)).unwrap();
    assert_eq!(class(read(&sim.reply(wait).unwrap())), "NotAuthenticated");
    assert_eq!(class(sim.call("Fetch", &vm, "<prop>name</prop>")), "NotAuthenticated");
}

#[test]
fn vms_of_a_host_that_is_down_cannot_be_worked_with_and_are_off_when_it_is_back() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    sim.power_on(&vm);
    let host = host_of(&mut sim, &vm);
    let collector = sim.watch(&vm, "runtime.connectionState");
    let wait = sim.wait(&collector, "", 600);
    sim.reply(wait).unwrap();
    let wait = sim.wait(&collector, "1", 600);

    sim.control(down(&host.1, false)).unwrap();
    assert!(sim.reply(wait).is_some(), "watchers are told");
    assert_eq!(sim.get(&host, "runtime.connectionState"), "notResponding");
    assert_eq!(sim.get(&vm, "runtime.connectionState"), "disconnected");
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOn", "as far as anybody knows");
    let task = sim.order("PowerOffVM_Task", &vm, "");
    assert_eq!(sim.task(&task).1.as_deref(), Some("HostNotConnected"));

    sim.control(Control::Do(Incident::HostUp { host: host.1.clone() })).unwrap();
    assert_eq!(sim.get(&host, "runtime.connectionState"), "connected");
    assert_eq!(sim.get(&vm, "runtime.connectionState"), "connected");
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOff");
    assert_eq!(sim.get(&host, "summary.quickStats.overallMemoryUsage"), "0");
    let task = sim.power_on(&vm);
    assert_eq!(sim.state(&task), "success");
}

#[test]
fn vms_of_a_host_that_is_down_are_started_elsewhere_if_that_is_wanted() {
    let mut settings = Settings::default();
    settings.guests.tools = "10s".parse().unwrap();
    let mut sim = Sim::new(settings);
    let vm = sim.vm(0);
    sim.power_on(&vm);
    sim.pass(10);
    let host = host_of(&mut sim, &vm);
    sim.control(down(&host.1, true)).unwrap();
    let other = host_of(&mut sim, &vm);
    assert_ne!(other, host);
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOn");
    assert_eq!(sim.get(&vm, "guest.toolsRunningStatus"), "guestToolsNotRunning", "it starts anew");
    assert_eq!(sim.get(&host, "summary.quickStats.overallMemoryUsage"), "0");
    assert_eq!(sim.get(&other, "summary.quickStats.overallMemoryUsage"), "32");
    sim.pass(10);
    assert_eq!(sim.get(&vm, "guest.toolsRunningStatus"), "guestToolsRunning");
}

#[test]
fn a_task_on_a_host_that_goes_down_fails_and_leaves_no_room_taken() {
    let mut sim = Sim::new(slow());
    let vm = sim.vm(0);
    let task = sim.power_on(&vm);
    let host = host_of(&mut sim, &vm);
    sim.control(down(&host.1, false)).unwrap();
    sim.pass(8);
    assert_eq!(sim.task(&task), ("error".to_owned(), Some("HostNotConnected".to_owned())));
    assert_eq!(sim.get(&host, "summary.quickStats.overallMemoryUsage"), "0");
}

#[test]
fn a_host_in_maintenance_gives_its_running_vms_away() {
    let mut sim = Sim::new(Settings::default());
    let vm = sim.vm(0);
    sim.power_on(&vm);
    let host = host_of(&mut sim, &vm);
    sim.control(Control::Do(Incident::HostMaintenance { host: host.1.clone(), on: true })).unwrap();
    assert_eq!(sim.get(&host, "runtime.inMaintenanceMode"), "true");
    assert_ne!(host_of(&mut sim, &vm), host);
    assert_eq!(sim.get(&vm, "guest.toolsRunningStatus"), "guestToolsRunning", "it runs on");
    sim.control(Control::Do(Incident::HostMaintenance { host: "*".into(), on: true })).unwrap();
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOn", "there was nowhere to go");
    let other = sim.vm(1);
    let task = sim.power_on(&other);
    assert_eq!(sim.task(&task).1.as_deref(), Some("NoCompatibleHost"));
}

#[test]
fn a_datastore_fills_up_and_has_its_space_again() {
    let mut sim = Sim::new(Settings::default());
    let (vm, store) = (sim.vm(0), sim.find("DC0/datastore/LocalDS_0"));
    let free = sim.get(&store, "summary.freeSpace");
    let set = |bytes| Control::Do(Incident::DatastoreFree { datastore: "LocalDS_0".into(), bytes });
    sim.control(set(0)).unwrap();
    assert_eq!(sim.get(&store, "summary.freeSpace"), "0");
    let task = sim.clone(&vm, "copy", false);
    assert_eq!(sim.task(&task).1.as_deref(), Some("NoDiskSpace"));
    sim.control(set(u64::MAX)).unwrap();
    assert_eq!(sim.get(&store, "summary.freeSpace"), free, "not more than there is");
    let task = sim.clone(&vm, "copy", false);
    assert_eq!(sim.state(&task), "success");
}

#[test]
fn vms_on_a_datastore_that_cannot_be_reached_run_on_but_nothing_new_is_done() {
    let mut sim = Sim::new(Settings::default());
    let (vm, store) = (sim.vm(0), sim.find("DC0/datastore/LocalDS_0"));
    sim.power_on(&vm);
    let reach =
        |accessible| Control::Do(Incident::DatastoreAccessible { datastore: "LocalDS_0".into(), accessible });
    sim.control(reach(false)).unwrap();
    assert_eq!(sim.get(&store, "summary.accessible"), "false");
    assert_eq!(sim.get(&vm, "runtime.connectionState"), "inaccessible");
    assert_eq!(sim.get(&vm, "runtime.powerState"), "poweredOn");
    let task = sim.clone(&vm, "copy", false);
    assert_eq!(sim.task(&task).1.as_deref(), Some("InaccessibleDatastore"));
    sim.control(reach(true)).unwrap();
    let task = sim.clone(&vm, "copy", false);
    assert_eq!(sim.state(&task), "success");
}

#[test]
fn what_is_not_there_cannot_fail() {
    let mut sim = Sim::new(Settings::default());
    assert_eq!(sim.control(down("nowhere", false)).unwrap_err(), "there is no HostSystem called `nowhere`");
}
