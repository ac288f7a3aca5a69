//! Everything at once, at random: whatever happens, the accounts are right in the end.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rookery_vim_sim::{Action, Control, FaultSpec, Incident, Limits, Remains, Rule, Settings};

use super::kit::{Object, Sim, slow};

const VM_MEMORY: u64 = 32;

fn names(sim: &mut Sim) -> Vec<String> {
    let folder = sim.find("DC0/vm");
    let children = sim.value(&folder, "childEntity").map(|list| list.children).unwrap_or_default();
    let vms: Vec<Object> = children.into_iter().map(|c| ("VirtualMachine".to_owned(), c.text)).collect();
    vms.iter().map(|vm| sim.get(vm, "name")).collect()
}

/// One thing that a client, an operator or fate may do. Refusals are fine.
fn act(sim: &mut Sim, random: &mut StdRng, round: usize) {
    let all = names(sim);
    let name = all[random.random_range(0..all.len())].clone();
    let vm = sim.find(&format!("DC0/vm/{name}"));
    let host = format!("DC0_C0_H{}", random.random_range(0..2));
    let incident = match random.random_range(0..16) {
        0 | 1 => return drop(sim.call("PowerOnVM_Task", &vm, "")),
        2 | 3 => return drop(sim.call("PowerOffVM_Task", &vm, "")),
        4 => return drop(sim.clone(&vm, &format!("c{round}"), random.random())),
        5 => return drop(sim.call("Destroy_Task", &vm, "")),
        6 => {
            let snapshot = "<name>s</name><memory>false</memory><quiesce>false</quiesce>";
            return drop(sim.call("CreateSnapshot_Task", &vm, snapshot));
        }
        7 => return drop(sim.call("RemoveAllSnapshots_Task", &vm, "")),
        8 => {
            let task = sim.call("ResetVM_Task", &vm, "").unwrap();
            let task = ("Task".to_owned(), task.child_text("returnval").unwrap().to_owned());
            return drop(sim.call("CancelTask", &task, ""));
        }
        9 => return sim.pass(random.random_range(0..20)),
        10 => Incident::HostDown { host, restart_vms: random.random() },
        11 => Incident::HostUp { host: "*".into() },
        12 => Incident::HostMaintenance { host, on: random.random() },
        13 => Incident::DatastoreFree { datastore: "*".into(), bytes: random.random_range(0..1 << 36) },
        14 => Incident::Restart { down: "1s".parse().unwrap() },
        _ => {
            let dump = sim.control(Control::Dump).unwrap();
            sim.control(Control::Load(dump.to_string())).unwrap();
            sim.log_in().unwrap();
            return;
        }
    };
    let restarted = matches!(incident, Incident::Restart { .. });
    sim.control(Control::Do(incident)).unwrap();
    if restarted {
        sim.pass(1);
        sim.log_in().unwrap();
    }
}

/// All is well again, and nothing is under way.
fn calm_down(sim: &mut Sim) {
    sim.control(Control::ClearRules).unwrap();
    for incident in [
        Incident::HostUp { host: "*".into() },
        Incident::HostMaintenance { host: "*".into(), on: false },
        Incident::DatastoreFree { datastore: "*".into(), bytes: u64::MAX },
    ] {
        sim.control(Control::Do(incident)).unwrap();
    }
    sim.pass(3600);
    let inside = sim.control(Control::Inspect).unwrap();
    assert_eq!(inside["unfinished"], serde_json::json!([]), "every task ends");
}

fn check(sim: &mut Sim, untouched: &str) {
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for name in names(sim) {
        let vm = sim.find(&format!("DC0/vm/{name}"));
        assert_eq!(sim.get(&vm, "runtime.connectionState"), "connected");
        let power = sim.get(&vm, "runtime.powerState");
        let host = sim.get(&vm, "runtime.host");
        *expected.entry(host).or_default() += if power == "poweredOn" { VM_MEMORY } else { 0 };
    }
    for nth in 0..2 {
        let host = sim.find(&format!("DC0/host/DC0_C0/DC0_C0_H{nth}"));
        let used: u64 = sim.get(&host, "summary.quickStats.overallMemoryUsage").parse().unwrap();
        assert_eq!(used, expected.get(&host.1).copied().unwrap_or(0), "{host:?}");
    }
    for name in names(sim) {
        let vm = sim.find(&format!("DC0/vm/{name}"));
        sim.call("PowerOffVM_Task", &vm, "").ok();
        sim.pass(3600);
        let task = sim.order("Destroy_Task", &vm, "");
        sim.pass(60);
        assert_eq!(sim.task(&task), ("success".to_owned(), None), "{name} goes");
    }
    let store = sim.find("DC0/datastore/LocalDS_0");
    assert_eq!(sim.get(&store, "summary.freeSpace"), untouched, "all space is there again");
}

fn story(seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let limits = Limits { tasks_per_host: random.random::<bool>().then_some(2), ..Limits::default() };
    let mut settings = Settings { seed, limits, ..slow() };
    settings.durations.destroy = "2s".parse().unwrap();
    settings.durations.snapshot = "exp 3s".parse().unwrap();
    let mut sim = Sim::new(settings);
    let store = sim.find("DC0/datastore/LocalDS_0");
    let untouched = sim.get(&store, "summary.capacity");
    let fault = FaultSpec::new("SystemError", "by chance");
    sim.rule(Rule {
        method: "*_Task".into(),
        probability: Some(0.2),
        ..Rule::new(Action::TaskError { fault, after: "1s..5s".parse().unwrap(), remains: Remains::Nothing })
    });
    for round in 0..60 {
        act(&mut sim, &mut random, round);
        if names(&mut sim).is_empty() {
            break;
        }
    }
    calm_down(&mut sim);
    check(&mut sim, &untouched);
}

#[test]
fn whatever_happens_every_task_ends_and_the_accounts_are_right() {
    for seed in 0..50 {
        let told = std::panic::catch_unwind(|| story(seed));
        assert!(told.is_ok(), "seed {seed}");
    }
}
