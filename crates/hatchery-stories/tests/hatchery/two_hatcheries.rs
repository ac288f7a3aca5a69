//! Two hatcheries of different names at one CDS and one vCenter, which both may take the same jobs; and clocks that do
//! not agree.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{
    BuiltinConsumer, Config, Control as Cds, Entry, HatcheryConsumer, Model, NewJob, Status,
};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Govc, Vcsim, Wire};
use rookery_vim_sim::{Control, Settings};
use serde_json::{Deserializer, Value};
use tokio::time::sleep;

use super::witness::administrators;

const OTHER: &str = "hatchery-two";
const OTHER_USER: &str = "second";
const ADDRESSES: &str = "iprange = \"10.9.0.2/31\"\ngateway = \"10.9.0.254\"\n";

/// Both hatcheries have their own users, tokens and two addresses.
fn stage(settings: &str) -> Stage {
    let options = LabOptions::default();
    let access = administrators(&[(Vcsim::USER, Vcsim::PASSWORD), (OTHER_USER, Vcsim::PASSWORD)]);
    let model = Model {
        name: "deb".to_owned(),
        image: "debian12".to_owned(),
        user: "debian".to_owned(),
        password: "guest-secret".to_owned(),
        need_registration: true,
        ..Model::default()
    };
    let v1 = BuiltinConsumer {
        name: "second".to_owned(),
        token: "two-v1-token".into(),
        ..BuiltinConsumer::default()
    };
    let v2 = HatcheryConsumer {
        name: OTHER.to_owned(),
        token: "two-v2-token".into(),
        region: Some("default".to_owned()),
        ..HatcheryConsumer::default()
    };
    let options = LabOptions {
        vcenter: Settings { login: None, access, ..options.vcenter },
        cds: Config { models: vec![model], builtin: vec![v1], hatcheries: vec![v2], ..Config::default() },
        settings: settings.to_owned(),
        ..options
    };
    Stage::set(options)
}

fn job(number: usize) -> NewJob {
    if number.is_multiple_of(2) {
        NewJob::v2("true", Lab::DEBIAN, "default")
    } else {
        NewJob { model: Some("shared.infra/deb".to_owned()), ..NewJob::v1("true") }
    }
}

#[tokio::test(start_paused = true)]
async fn two_hatcheries_that_race_for_jobs_run_each_of_them_once() {
    let stage = stage(&format!("{ADDRESSES}finishedWorkerGracePeriod = 60\n"));
    let second = [
        (Lab::NAME, OTHER),
        ("v1-token", "two-v1-token"),
        ("v2-token", "two-v2-token"),
        ("user = \"user\"", "user = \"second\""),
        ("10.9.0.2/31", "10.9.0.4/31"),
    ];
    let hatcheries =
        [stage.hatch_with(&Wire::default(), &[]).await, stage.hatch_with(&Wire::default(), &second).await];
    for _ in 0..2 {
        for number in 0..10 {
            stage.lab.enqueue(job(number)).await;
        }
        sleep(Duration::from_mins(3)).await;
    }
    stage.all_jobs_end().await;
    let own = async |name| stage.machines_of(name).await;
    stage
        .until("no machine is left", async || own(Lab::NAME).await.is_empty() && own(OTHER).await.is_empty())
        .await;
    // Who had lost an address in a race would wait for it now.
    for number in 0..8 {
        stage.lab.enqueue(job(number)).await;
    }
    stage.all_jobs_end().await;
    let at_work = stage.witness(at_work).await;
    for hatchery in hatcheries {
        hatchery.stop().await;
    }

    let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
    assert_eq!(jobs.len(), 28);
    for job in &jobs {
        assert_eq!((job.status, job.workers.len(), job.releases), (Status::Success, 1, 0), "{job:#?}");
    }
    assert_eq!(stage.findings(), []);
    let asked = stage.lab.cds.requests().await.expect("CDS runs");
    for ending in ["/hatchery/take", "/book"] {
        let of = |entry: &&Entry| entry.path.contains("/queue/") && entry.path.ends_with(ending);
        let (won, lost): (Vec<_>, Vec<_>) = asked.iter().filter(of).partition(|entry| entry.status < 300);
        assert_eq!(won.len(), 14, "{won:#?}");
        assert!(!lost.is_empty(), "nobody raced for {ending}");
        let winners: BTreeSet<_> = won.iter().map(|entry| &entry.by).collect();
        assert_eq!(winners.len(), 2, "one had no luck at all: {winners:?}");
    }
    assert!(at_work.len() > 28, "{at_work:?}");
    assert!(at_work.values().all(|users| users.len() == 1), "{at_work:?}");
    stage.lab.close().await;
}

/// Who worked on which VMs, as the vCenter remembers it: a VM that is cloned is only looked at.
async fn at_work(govc: &Govc) -> BTreeMap<String, BTreeSet<String>> {
    let text = govc.run(&["tasks", "-json", "-n", "5000", "-b", "24h", "-r", "/DC0"]).await;
    let pages = Deserializer::from_str(&text).into_iter::<Value>();
    let tasks = |page: Value| page["tasks"].as_array().expect("a list").clone();
    let mut users = BTreeMap::<_, BTreeSet<_>>::new();
    for task in pages.flat_map(|page| tasks(page.expect("JSON"))) {
        let vm = if task["name"] == "CloneVM_Task" { &task["result"] } else { &task["entity"] };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if let (Some(vm), Some(user)) = (text(&vm["value"]), text(&task["reason"]["userName"])) {
            users.entry(vm).or_default().insert(user);
        }
    }
    users
}

/// How far the clocks of vCenter and of CDS are ahead of ours, in seconds.
const APART: [(i64, i64); 6] = [(0, 0), (50, 0), (-50, 0), (0, 900), (0, -900), (-50, 900)];

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_a_little_cost_nobody_a_job_or_a_machine() {
    let mut agreed = None;
    for (vcenter, cds) in APART {
        let mut stage = stage(ADDRESSES);
        set_clocks(&mut stage, vcenter, cds).await;
        let scene = stage.hatch_with(&Wire::default(), &[]).await;
        for number in 0..4 {
            stage.lab.enqueue(job(number)).await;
        }
        // The one that goes on has never seen how the first machines began.
        sleep(Duration::from_secs(45)).await;
        scene.crash().await;
        let scene = stage.hatch_with(&Wire::default(), &[]).await;
        let stays = stays(&stage).await;
        scene.stop().await;

        let case = format!("vCenter {vcenter} s, CDS {cds} s");
        let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
        for job in &jobs {
            assert_eq!((job.status, job.workers.len()), (Status::Success, 1), "{case}: {job:#?}");
        }
        assert_eq!(stage.findings(), [], "{case}");
        assert_eq!(stays.len(), 4, "{case}: {stays:?}");
        // Whoever believes that it is later deletes no sooner.
        let agreed = agreed.get_or_insert_with(|| stays.clone());
        assert_eq!(&stays, agreed, "{case}");
        stage.lab.close().await;
    }
}

/// Clocks can only be set forward, so the one that is behind all others stays as it is.
async fn set_clocks(stage: &mut Stage, vcenter: i64, cds: i64) {
    let ours = 0.max(-vcenter).max(-cds);
    let ahead = |seconds: i64| SignedDuration::from_secs(ours + seconds);
    stage.set_clock_ahead(SignedDuration::from_secs(ours));
    stage.lab.world.ask(Control::Advance(ahead(vcenter))).await;
    stage.lab.cds.control(Cds::Advance(ahead(cds))).await.expect("CDS runs");
}

/// Waits until all jobs have ended and no machine is left; how long each worker's machine stayed after it was off.
async fn stays(stage: &Stage) -> BTreeMap<String, Duration> {
    const STEP: Duration = Duration::from_secs(5);
    let mut stays = BTreeMap::<String, Duration>::new();
    for _ in 0..720 {
        let mut own = stage.vms().await;
        own.retain(|_, vm| !vm.template && vm.mark()["hatchery_name"] == Lab::NAME);
        let jobs = stage.lab.cds.jobs().await.expect("CDS runs");
        if own.is_empty() && jobs.iter().all(|job| job.status.is_final()) {
            return stays;
        }
        for (id, vm) in own {
            if !vm.on && vm.mark().get("job_id").is_some() {
                *stays.entry(id).or_default() += STEP;
            }
        }
        sleep(STEP).await;
    }
    panic!("machines stay: {:?}", stage.machines_of(Lab::NAME).await);
}
