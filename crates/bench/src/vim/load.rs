//! First load: our client beside govmomi with the same properties, and beside the property set of a hatchery in Go.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use rookery_kit::{Govc, Vcsim, VcsimOptions, connect, tool};
use rookery_vim::objects::{PowerState, ToolsRunning};
use rookery_vim_client::{Nic, Vm, WATCHED_PATHS};
use serde::Deserialize;
use tokio::process::Command;

use crate::table::{Series, compare as line};

/// What one load cost.
#[derive(Debug, Deserialize)]
struct Cost {
    vms: usize,
    wall_us: u64,
    cpu_us: u64,
}

/// One contestant's loads.
#[derive(Default)]
struct Loads {
    wall: Series,
    cpu: Series,
}

impl Loads {
    fn add(&mut self, cost: &Cost) {
        self.wall.add(cost.wall_us);
        self.cpu.add(cost.cpu_us);
    }
}

/// Loads in turn (A/B/C, A/B/C, …), each in a process of its own, and prints the medians side by side.
pub(crate) async fn compare(vms: usize, rounds: usize) {
    println!("\nfirst load of {vms} VMs; starting vcsim takes a while …");
    let vcsim = Vcsim::start(VcsimOptions::tls(vms).with("-autostart=false")).await;
    // One VM that is not like the others.
    let govc = Govc::new(&vcsim);
    govc.run(&["vm.change", "-vm", "DC0_H0_VM3", "-annotation", "{\"a\": \"<&> é\"}\n", "-c", "7"]).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (ours_rows, theirs_rows) = (folder.path().join("ours"), folder.path().join("theirs"));
    let (mut ours, mut theirs, mut hatchery) = (Loads::default(), Loads::default(), Loads::default());
    // The first round warms the caches of all and is not counted.
    for round in 0..=rounds {
        let costs = [
            run_ours(&vcsim, &ours_rows).await,
            run_theirs(&vcsim, "narrow", &theirs_rows).await,
            run_theirs(&vcsim, "hatchery", &folder.path().join("unused")).await,
        ];
        assert!(costs.iter().all(|c| c.vms == vms), "everybody sees all VMs: {costs:?}");
        assert_same(&ours_rows, &theirs_rows);
        if round > 0 {
            ours.add(&costs[0]);
            theirs.add(&costs[1]);
            hatchery.add(&costs[2]);
        }
    }
    println!("decoded values of {vms} VMs are equal on both sides, in each of {rounds} rounds");
    line("client CPU, same properties", ("rookery", &ours.cpu), ("govmomi", &theirs.cpu), 4.0);
    line("wall, same properties", ("rookery", &ours.wall), ("govmomi", &theirs.wall), 1.0);
    line("wall, the hatchery's properties", ("rookery", &ours.wall), ("govmomi", &hatchery.wall), 3.0);
    line("client CPU, the hatchery's properties", ("rookery", &ours.cpu), ("govmomi", &hatchery.cpu), 1.0);
}

async fn run_ours(vcsim: &Vcsim, rows: &Path) -> Cost {
    let program = std::env::current_exe().expect("our own path");
    parse(Command::new(program).arg("load").arg(vcsim.address()).arg(rows)).await
}

async fn run_theirs(vcsim: &Vcsim, set: &str, rows: &Path) -> Cost {
    let url =
        vcsim.address().replacen("://", &format!("://{}:{}@", Vcsim::USER, Vcsim::PASSWORD), 1) + "/sdk";
    let mut command = Command::new(tool("loadprobe"));
    command.args(["-url", &url, "-set", set, "-paths", &WATCHED_PATHS.join(","), "-rows"]).arg(rows);
    parse(&mut command).await
}

async fn parse(command: &mut Command) -> Cost {
    let output = command.output().await.expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{command:?}: {error}: {text}"))
}

type Rows = BTreeMap<String, BTreeMap<String, String>>;

fn assert_same(ours: &Path, theirs: &Path) {
    let read = |path: &Path| -> Rows {
        serde_json::from_slice(&std::fs::read(path).expect("rows were written")).expect("rows are JSON")
    };
    let (mut ours, mut theirs) = (read(ours), read(theirs));
    for rows in [&mut ours, &mut theirs] {
        // Go knows no difference between an empty text and none.
        for row in rows.values_mut() {
            row.retain(|_, value| !value.is_empty());
        }
    }
    for (id, row) in &ours {
        assert_eq!(Some(row), theirs.get(id), "{id}");
    }
    assert_eq!(ours.len(), theirs.len());
}

/// The child: loads with the product's own inventory, and prints what that cost.
pub(crate) async fn ours(address: &str, rows: &str) {
    // Logging in and starting up is measured on neither side.
    let connected = connect(address).await;
    let (cpu, began) = (cpu_us(), Instant::now());
    let snapshot = connected.inventory.complete().await.expect("it loads");
    let (wall_us, cpu_us) = (began.elapsed().as_micros(), cpu_us() - cpu);
    let table: Rows = snapshot.vms().map(|vm| (vm.id.id().to_owned(), row(vm))).collect();
    std::fs::write(rows, serde_json::to_string(&table).expect("rows are JSON")).expect("a writable folder");
    connected.close().await;
    println!("{{\"vms\": {}, \"wall_us\": {wall_us}, \"cpu_us\": {cpu_us}}}", table.len());
}

/// The values in the form of the Go program: reference → property → text.
fn row(vm: &Vm) -> BTreeMap<String, String> {
    let config = &vm.config;
    let nic = |n: &Nic| format!("{}={};", n.mac.as_deref().unwrap_or_default(), n.ips.join("+"));
    let nics = vm.guest.nics.iter().map(nic).collect::<Vec<_>>().concat();
    let values = [
        ("name", Some(vm.name.clone())),
        ("power", vm.power.as_ref().map(PowerState::as_str).map(str::to_owned)),
        ("host", vm.host.as_ref().map(|h| h.id().to_owned())),
        ("template", config.template.map(|t| t.to_string())),
        ("annotation", config.annotation.clone()),
        ("uuid", config.uuid.clone()),
        ("instance_uuid", config.instance_uuid.clone()),
        ("cpus", config.cpus.map(|n| n.to_string())),
        ("memory_mb", config.memory_mb.map(|n| n.to_string())),
        ("created", config.created.map(|t| t.as_nanosecond().to_string())),
        ("tools", vm.guest.tools.as_ref().map(ToolsRunning::as_str).map(str::to_owned)),
        ("ip", vm.guest.ip.clone()),
        ("nics", Some(nics)),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// CPU time of all threads so far, from the kernel's own books.
fn cpu_us() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let spent = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    spent.sum::<u64>() / 1000
}
