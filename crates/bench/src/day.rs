//! A day of a hatchery beside 5,000 machines of others, on paused time: jobs come all the time, the
//! inventory is late, and both servers restart every hour. Nothing may leak, nothing may be given twice, every job must
//! end, and the hatchery must hold as much memory after a day as after two hours. Run it with `cargo xtask bench day`.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::SignedDuration;
use peak_alloc::PeakAlloc;
use rookery_cds_sim::{Control as Cds, Job, NewJob, Status};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Vm, Wire};
use rookery_vim_sim::{Action, Control, Incident, Rule, Span};
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, sleep_until};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const USAGE: &str = "bench-day [--hours 24] [--vms 5000]";
const WARM: usize = 10;
/// Twenty a minute.
const BETWEEN_JOBS: Duration = Duration::from_secs(3);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut hours, mut vms) = (24, 5_000);
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { panic!("{USAGE}") };
        let number = value.parse().unwrap_or_else(|_| panic!("{value:?} is not a number; {USAGE}"));
        match name.as_str() {
            "--hours" => hours = number,
            "--vms" => vms = number,
            _ => panic!("{USAGE}"),
        }
    }
    let early = day(2.min(hours), vms);
    let late = day(hours, vms);
    let mib = |bytes: usize| bytes / 1024 / 1024;
    println!("memory held by the hatchery: {} MiB after 2 h, {} MiB after {hours} h", mib(early), mib(late));
    assert!(late <= early + early / 4, "the hatchery grows: {early} bytes, then {late}");
}

/// Plays so many hours; how many bytes the hatchery held at their end.
fn day(hours: u64, vms: u64) -> usize {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let stage = set(vms);
        let foreign = others(&stage).await;
        let late = Action::Delay { by: Span::Constant(SignedDuration::from_secs(2)) };
        let late = Rule { method: "WaitForUpdatesEx".to_owned(), ..Rule::new(late) };
        stage.lab.world.ask(Control::AddRule(late)).await;
        let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
        let most = play(&stage, hours).await;

        stage.all_jobs_end().await;
        stage.until("only warm machines are left", async || rests(&own(&stage).await)).await;
        assert_eq!(others(&stage).await, foreign, "machines of others have changed");
        let before = ALLOCATED.current_usage();
        scene.stop().await;
        let held = before.saturating_sub(ALLOCATED.current_usage());
        tell(hours, &stage.lab.cds.jobs().await.expect("CDS runs"), most);
        stage.lab.close().await;
        held
    })
}

fn set(vms: u64) -> Stage {
    let options = LabOptions::default();
    let foreign = format!("\n[[datacenter.vm]]\nname = \"theirs-#\"\ncount = {vms}\non = true\n");
    let host = "\"64TiB\"\ncores = 20000";
    let cards = "snapshots = [\"base\"]\nnetworks = [\"VM Network\"]";
    let options = LabOptions {
        model: options.model.replace("snapshots = [\"base\"]", cards).replace("\"512GiB\"", host) + &foreign,
        settings: "iprange = \"10.9.0.0/24\"\ngateway = \"10.9.0.254\"\n".to_owned(),
        tables: format!(
            "[commonConfiguration.provision]\nmaxWorker = 100\n\
             [[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = {WARM}\n"
        ),
        ..options
    };
    Stage::set(options)
}

/// Jobs come, both servers restart every hour, and every ten minutes somebody looks; the most machines that were seen.
async fn play(stage: &Stage, hours: u64) -> usize {
    let start = Instant::now();
    let jobs = hours * 3600 / BETWEEN_JOBS.as_secs();
    let mut most = 0;
    for number in 0..u32::try_from(jobs).expect("a number of jobs") {
        sleep_until(start + BETWEEN_JOBS * number).await;
        let model = if number % 4 == 3 { Lab::ROCKY } else { Lab::DEBIAN };
        stage.lab.enqueue(NewJob::v2("true", model, "default")).await;
        match number % 1200 {
            400 => {
                let down = Span::Constant(SignedDuration::from_secs(30));
                stage.lab.world.ask(Control::Do(Incident::Restart { down })).await;
            }
            800 => {
                stage.lab.cds.control(Cds::Restart { keep_sessions: false }).await.expect("CDS runs");
            }
            _ => {}
        }
        if number % 200 == 199 {
            stage.lab.cds.control(Cds::ForgetRequests).await.expect("CDS runs");
            let own = own(stage).await;
            no_doubles(&own);
            most = most.max(own.len());
        }
    }
    sleep(Duration::from_mins(1)).await;
    most
}

async fn own(stage: &Stage) -> Vec<Vm> {
    stage.machines_of(Lab::NAME).await
}

async fn others(stage: &Stage) -> Vec<(String, Vm)> {
    let all = stage.vms().await.into_iter();
    all.filter(|(_, vm)| vm.mark()["hatchery_name"] != Lab::NAME).collect()
}

fn rests(own: &[Vm]) -> bool {
    own.len() == WARM && own.iter().all(|vm| !vm.on && vm.mark()["provisioning"] == true)
}

/// No address and no job has two machines.
fn no_doubles(machines: &[Vm]) {
    for key in ["ip_address", "job_id"] {
        let mut seen = BTreeSet::new();
        for vm in machines {
            let value = vm.mark()[key].as_str().unwrap_or_default().to_owned();
            assert!(value.is_empty() || seen.insert(value.clone()), "two machines have {key} {value}");
        }
    }
}

/// Every job has ended, and one that did not end well has a reason that people can read.
fn tell(hours: u64, jobs: &[Job], most: usize) {
    let good = jobs.iter().filter(|job| job.status == Status::Success).count();
    let again: usize = jobs.iter().map(|job| job.workers.len().saturating_sub(1)).sum();
    println!("{hours} h: {} jobs, {good} good, {again} further workers, {most} machines at most", jobs.len());
    for job in jobs {
        assert!(job.status.is_final(), "{job:#?}");
        assert!(job.status == Status::Success || !job.infos.is_empty(), "no reason: {job:#?}");
        let allowed = 1 + (job.retry + job.releases) as usize;
        assert!(job.workers.len() <= allowed, "two workers for one job: {job:#?}");
    }
    assert!(good * 1000 >= jobs.len() * 995, "{good} of {} jobs are good", jobs.len());
}
