//! The hatchery as a process of its own, and what it needs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{Proxy, eventually, read_page, resident};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use super::at_most;
use super::theatre::Theatre;

/// How many warm machines a job could take.
const READY: &str = "cds_hatchery_vsphere_provision_ready_count";

/// Beside so many VMs: memory after the first load and after the jobs, and how many milliseconds a pass took.
pub(crate) async fn memory_and_passes(vms: u32, jobs: u32) -> f64 {
    let players = Supervisor::new();
    let mut theatre = Theatre::open(vms, 10, &players).await;
    let begun = Instant::now();
    let hatchery = Hatchery::start(&theatre.lab.settings_text()).await;
    hatchery.until(|metrics| metrics.value(READY) >= 10.0).await;
    println!("{vms} VMs: all warm machines are there {:.1} s after the start", begun.elapsed().as_secs_f64());
    let goal = match vms {
        1_000 => Some(60.0),
        10_000 => Some(150.0),
        _ => None,
    };
    let tell = |when: &str| {
        let (what, memory) = (format!("  memory {when}"), hatchery.memory());
        match goal {
            Some(goal) => at_most(&what, memory, "MiB", goal),
            None => println!("{what}: {memory:.1} MiB"),
        }
    };
    tell("after the load");
    let before = hatchery.metrics().await;
    for _ in 0..jobs {
        let job = theatre.job().await;
        theatre.started.recv().await.expect("it starts");
        theatre.lab.ended(&job).await;
    }
    tell(&format!("after {jobs} jobs"));
    let after = hatchery.metrics().await;
    let grown = |name: &str| after.value(name) - before.value(name);
    let passes = grown("rookery_hatchery_pass_seconds_count");
    let mean = 1000.0 * grown("rookery_hatchery_pass_seconds_sum") / passes;
    let what = format!("  mean of {passes} passes (observe, plan, begin, report)");
    if vms <= 10_000 {
        at_most(&what, mean, "ms", 10.0);
    } else {
        println!("{what}: {mean:.1} ms");
    }
    players.shutdown(Duration::ZERO).await.ok();
    theatre.lab.close().await;
    mean
}

/// What is asked of vCenter while nothing happens, counted by a proxy between the two.
pub(crate) async fn idle(vms: u32, minutes: u32) {
    let players = Supervisor::new();
    let mut theatre = Theatre::open(vms, 2, &players).await;
    let proxy = Proxy::start(theatre.lab.world.url.trim_start_matches("http://"), &players).await;
    theatre.lab = theatre.lab.with_vcenter_at(proxy.address());
    let hatchery = Hatchery::start(&theatre.lab.settings_text()).await;
    hatchery.until(|metrics| metrics.value(READY) >= 2.0).await;
    // What follows a start has ended by then.
    tokio::time::sleep(Duration::from_secs(30)).await;
    let loaded = proxy.exchanges().len();
    tokio::time::sleep(Duration::from_secs(60 * u64::from(minutes))).await;
    let mut by_method = BTreeMap::<String, u32>::new();
    for exchange in proxy.exchanges().split_off(loaded) {
        *by_method.entry(exchange.method).or_default() += 1;
    }
    let a_minute = f64::from(by_method.values().sum::<u32>()) / f64::from(minutes);
    at_most(
        &format!("idle for {minutes} minutes at {vms} VMs, {by_method:?}"),
        a_minute,
        "requests/min",
        6.0,
    );
    let pushed = Instant::now();
    theatre.job().await;
    let started = theatre.started.recv().await.expect("it starts");
    println!("  then a job started within {} ms", (started - pushed).as_millis());
    players.shutdown(Duration::ZERO).await.ok();
    theatre.lab.close().await;
}

/// `rookery hatchery run`. It ends with this value.
struct Hatchery {
    child: Child,
    url: String,
    _files: TempDir,
}

impl Hatchery {
    async fn start(settings: &str) -> Self {
        let files = TempDir::new().expect("a folder");
        let file = files.path().join("hatchery.toml");
        std::fs::write(&file, settings).expect("a file");
        let program = std::env::current_exe().expect("our own path").with_file_name("rookery");
        let mut child = Self::command(&program, &file, files.path()).spawn().expect("the hatchery starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
        let url = loop {
            let line = lines.next_line().await.expect("text").expect("it says where its pages are");
            if let Some(status) = line.strip_prefix("pages    ") {
                break status.trim_end_matches("/mon/status").to_owned();
            }
        };
        Self { child, url, _files: files }
    }

    fn command(program: &Path, file: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .args(["hatchery", "run", "-c"])
            .arg(file)
            .args(["--listen", "127.0.0.1:0"])
            .env("ROOKERY_RUNTIME_DIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }

    async fn metrics(&self) -> Metrics {
        let (_, _, text) = read_page(&format!("{}/metrics", self.url)).await.expect("the page is there");
        Metrics::read(&text)
    }

    async fn until(&self, reached: impl Fn(&Metrics) -> bool) {
        eventually("the hatchery is ready", async || reached(&self.metrics().await)).await;
    }

    /// Resident memory in MiB.
    fn memory(&self) -> f64 {
        resident(self.child.id().expect("it runs"))
    }
}

/// A scrape: the samples of each metric together.
struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    fn read(text: &str) -> Self {
        let mut sums = BTreeMap::new();
        for (sample, value) in text.lines().filter_map(|line| line.rsplit_once(' ')) {
            let name = sample.split('{').next().unwrap_or(sample);
            *sums.entry(name.to_owned()).or_default() += value.parse().unwrap_or(0.0);
        }
        Self(sums)
    }

    fn value(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or_default()
    }
}
