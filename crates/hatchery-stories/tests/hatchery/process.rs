//! The hatchery as a process: a log that nobody takes, and parts that fail.

use std::fs::OpenOptions;
use std::io::{PipeReader, Write as _, pipe};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use rookery_cds_sim::{Control, Fault, NewJob, Status, Trouble};
use rookery_daemon::pages::Pages as _;
use rookery_hatchery::run::Ended;
use rookery_hatchery_stories::{Lab, LabOptions, Scene, Stage};
use rookery_kit::{Program, Tripwire, Wire, eventually, read_page, workspace};
use tokio::time::{sleep, timeout};

use super::home::Home;

/// As much as a pipe of Linux holds.
const PIPE: usize = 64 << 10;

/// What standard output and standard error are.
enum Sink {
    /// A disk that is full.
    Full,
    /// A pipe whose reader has left.
    Closed,
    /// A pipe that is full, and that nobody reads.
    Unread,
}

impl Sink {
    /// Both ends, and what has to live as long as the process.
    fn open(&self) -> (Stdio, Stdio, Option<PipeReader>) {
        if let Self::Full = self {
            let full = OpenOptions::new().write(true).open("/dev/full").expect("the system has it");
            let other = full.try_clone().expect("another one");
            return (full.into(), other.into(), None);
        }
        let (reader, mut writer) = pipe().expect("a pipe");
        let reader = match self {
            Self::Unread => {
                writer.write_all(&vec![b'\n'; PIPE]).expect("it fits");
                Some(reader)
            }
            Self::Full | Self::Closed => None,
        };
        let other = writer.try_clone().expect("another one");
        (writer.into(), other.into(), reader)
    }
}

async fn sample(address: &str, metric: &str) -> Option<u64> {
    let (_, _, text) = read_page(&format!("http://{address}/metrics")).await.ok()?;
    text.lines().find_map(|line| line.strip_prefix(metric)?.trim().parse().ok())
}

/// A job runs, status and pages answer, and the process ends when it is told to.
async fn works_whatever_becomes_of_its_log(sink: Sink) {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let address = free.to_string();
    let (stdout, stderr, reader) = sink.open();
    // Every call is logged.
    let run = home.program(&["hatchery", "run", "-vv", "--listen", &address]);
    let mut daemon = run.start_writing_to(stdout, stderr);
    let job = lab.v2_job(Lab::DEBIAN, "echo nonce-51f0").await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    let status = home.program(&["hatchery", "status"]).run().await;
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    if reader.is_none() {
        eventually("lost lines are counted", async || {
            sample(&address, "rookery_log_lines_lost_total").await.is_some_and(|lost| lost > 10)
        })
        .await;
    }
    assert_eq!(sample(&address, "rookery_panics_total").await, Some(0));
    daemon.signal("TERM");
    assert!(daemon.ends_within(Duration::from_secs(60)).await, "it waits for nobody to read its log");
    assert_eq!(daemon.end().await.code, Some(0));
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_below_the_log_stops_no_work() {
    works_whatever_becomes_of_its_log(Sink::Full).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_the_log_that_has_left_stops_no_work() {
    works_whatever_becomes_of_its_log(Sink::Closed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_nobody_reads_stops_no_work() {
    works_whatever_becomes_of_its_log(Sink::Unread).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_nobody_reads_keeps_no_process_from_its_end() {
    let home = Home::with("not = \"a hatchery\"\n");
    let (stdout, stderr, _unread) = Sink::Unread.open();
    let mut daemon = home.run().start_writing_to(stdout, stderr);
    assert!(daemon.ends_within(Duration::from_secs(60)).await);
    assert_eq!(daemon.end().await.code, Some(2));
}

fn stage() -> Stage {
    Stage::set(LabOptions::default())
}

fn metric(scene: &Scene, name: &str) -> u64 {
    let text = scene.hatchery.published.metrics_text();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or_else(|| panic!("{name}: {text}"))
}

/// What ends the hatchery when the task that logs this panics.
async fn ends_by(message: &'static str, about: &'static str, jobs: usize) -> Ended {
    let stage = stage();
    let tripwire = Tripwire::set();
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    tripwire.panic_at(message, about);
    for _ in 0..jobs {
        stage.lab.v2_job(Lab::DEBIAN, "true").await;
    }
    let ended = timeout(Duration::from_hours(1), scene.hatchery.ended()).await.expect("it does not go on");
    assert_eq!(metric(&scene, "rookery_panics_total"), 1);
    scene.stop_after_panics(1).await;
    stage.lab.close().await;
    ended
}

#[tokio::test(start_paused = true)]
async fn without_its_reconciler_the_hatchery_ends() {
    assert_eq!(ends_by("pass planned", "", 0).await, Ended::Broken { task: "keeper" });
}

#[tokio::test(start_paused = true)]
async fn without_its_inventory_the_hatchery_ends() {
    // Without jobs nobody else waits for updates.
    assert_eq!(ends_by("called vCenter", "WaitForUpdatesEx", 0).await, Ended::Broken { task: "inventory" });
}

#[tokio::test(start_paused = true)]
async fn without_its_watcher_of_tasks_the_hatchery_ends() {
    assert_eq!(ends_by("called vCenter", "ModifyListView", 1).await, Ended::Broken { task: "tasks" });
}

/// Its slot must not be counted for ever, its job not be kept from everybody, and its machine not be left.
async fn a_start_panics(job: NewJob) {
    let stage = stage();
    let tripwire = Tripwire::set();
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    tripwire.panic_at("called vCenter", "CloneVM_Task");
    let job = stage.lab.enqueue(job).await;
    while metric(&scene, "rookery_panics_total") == 0 {
        sleep(Duration::from_millis(10)).await;
    }
    // Nobody takes it again for now.
    scene.hatchery.drain(true).await;
    sleep(Duration::from_mins(1)).await;
    let given_back = stage.lab.job(&job).await;
    assert_eq!((given_back.attempts.len(), given_back.releases), (1, 1), "{given_back:#?}");
    assert_eq!((given_back.status, given_back.booking), (Status::Waiting, None), "it is half-booked");
    let report = scene.hatchery.published.report.borrow().clone();
    assert_eq!(
        (report.running.len(), report.running.iter().filter(|one| one.is_start()).count()),
        (0, 0),
        "{:?}",
        report.running
    );
    assert_eq!(stage.machines_of(Lab::NAME).await, [], "the clone that nobody waits for");

    scene.hatchery.drain(false).await;
    stage.all_jobs_end().await;
    let after = stage.lab.job(&job).await;
    assert_eq!((after.status, after.workers.len(), after.releases), (Status::Success, 1, 1), "{after:#?}");
    assert_eq!(metric(&scene, "rookery_panics_total"), 1);
    scene.stop_after_panics(1).await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_start_of_a_v1_job_that_panics_is_counted_and_leaves_nothing_half_booked() {
    a_start_panics(NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1("true") }).await;
}

#[tokio::test(start_paused = true)]
async fn a_start_of_a_v2_job_that_panics_is_counted_and_leaves_nothing_half_booked() {
    a_start_panics(NewJob::v2("true", Lab::DEBIAN, "default")).await;
}

/// The status of a page, and what it says.
fn page(scene: &Scene, path: &str) -> (u16, String) {
    let page = scene.hatchery.published.page(path).expect("there is such a page");
    (page.status, page.body)
}

#[tokio::test(start_paused = true)]
async fn it_is_ready_while_cds_takes_its_heartbeats_and_alive_meanwhile() {
    let stage = stage();
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let is_ready = || page(&scene, "/readyz").0 == 200;
    stage.until("it is ready", async || is_ready()).await;
    let fault = Fault::next(3, "/v2/hatchery/heartbeat", Trouble::Html { status: 502 });
    stage.lab.cds.control(Control::AddFault(fault)).await.expect("CDS runs");
    stage.until("it is not ready", async || !is_ready()).await;
    let (status, told) = page(&scene, "/readyz");
    assert_eq!(status, 503);
    assert!(told.contains("CDS: it has not taken the last V2 heartbeat"), "{told}");
    assert_eq!(page(&scene, "/mon/status").0, 200, "for CDS's own monitoring that is no alarm yet");
    stage.until("it is ready again", async || is_ready()).await;
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_waits_for_cds_the_process_is_alive_and_not_ready() {
    let lab = Lab::start(LabOptions::default()).await;
    // Nobody listens there.
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let home = Home::with(&lab.settings_text().replace(&lab.cds_url, &format!("http://{nobody}")));
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let daemon = home.program(&["hatchery", "run", "--listen", &free.to_string()]).start();
    let status = async |path: &str| read_page(&format!("http://{free}{path}")).await.ok().map(|page| page.0);
    eventually("the process is alive", async || status("/healthz").await == Some(200)).await;
    assert_eq!((status("/readyz").await, status("/mon/status").await), (Some(503), Some(503)));
    daemon.signal("TERM");
    let outcome = daemon.end().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("commonConfiguration.api.http.url: http:// is not encrypted"));
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_has_the_commit_that_it_was_built_from() {
    let version = Program::new(&["--version"]).run().await.stdout;
    let version = version.trim().strip_prefix("rookery ").expect("its name");
    let git = std::process::Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .current_dir(workspace())
        .output();
    let commit = git.ok().filter(|_| workspace().join(".git").exists());
    let expected = commit.map(|commit| String::from_utf8_lossy(&commit.stdout).trim().to_owned());
    let (_, built_from) = version.split_once('+').unwrap_or((version, ""));
    // Sources that have no history know only their version.
    assert_eq!(built_from, expected.unwrap_or_default(), "{version}");
}
