//! The real program, killed again and again at moments that nobody chose.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rookery_cds_sim::Status;
use rookery_kit::{binary, eventually};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::setup::VcsimSetup;
use super::{ADDRESSES, FLAVORS};

/// Each one costs half a minute: whoever was killed leads again after two looks at the sessions.
const KILLS: u32 = 3;

/// Where the program is at home. Whoever fails shows what it logged.
struct Home(TempDir);

impl Home {
    fn log(&self) -> String {
        fs::read_to_string(self.0.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("{}", self.log());
        }
    }
}

/// Starts the program; what it logs and prints goes to files.
fn start(Home(folder): &Home) -> Child {
    let log = fs::OpenOptions::new().append(true).create(true).open(folder.path().join("log"));
    let printed = fs::File::create(folder.path().join("printed"));
    Command::new(binary())
        .args(["hatchery", "run", "--listen", "127.0.0.1:0", "-c"])
        .arg(folder.path().join("hatchery.toml"))
        .env_clear()
        .env("ROOKERY_RUNTIME_DIR", folder.path())
        .stdin(Stdio::null())
        .stdout(printed.expect("a file"))
        .stderr(log.expect("a file"))
        .kill_on_drop(true)
        .spawn()
        .expect("rookery starts")
}

/// Waits until it leads and acts.
async fn serves(Home(folder): &Home) {
    eventually("it serves", async || {
        fs::read_to_string(folder.path().join("printed")).is_ok_and(|printed| printed.contains(" serves "))
    })
    .await;
}

/// Lets through what the brake holds back, as somebody does who knows of the kills: workers that never registered because
/// of them are most that this hatchery has.
async fn confirms(Home(folder): &Home) {
    loop {
        sleep(Duration::from_secs(5)).await;
        let mut confirm = Command::new(binary());
        confirm.args(["hatchery", "confirm", "--yes", "-c"]).arg(folder.path().join("hatchery.toml"));
        confirm.env_clear().env("ROOKERY_RUNTIME_DIR", folder.path());
        confirm.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        confirm.status().await.expect("rookery starts");
    }
}

/// Addresses in the marks of the hatchery's VMs; none is there twice.
async fn addresses(setup: &VcsimSetup) -> BTreeSet<String> {
    let ours = setup.ours().await;
    let held: Vec<_> =
        ours.iter().filter_map(|vm| Some(vm.mark()["ip_address"].as_str()?.to_owned())).collect();
    let distinct: BTreeSet<_> = held.iter().cloned().collect();
    assert_eq!(distinct.len(), held.len(), "an address is held twice: {ours:#?}");
    distinct
}

/// Until vcsim does not tell of its VMs any more. It locks itself up now and then where clones, changes and somebody who
/// listens meet; that is no fault of the hatchery, and nothing can be shown on it from then on.
async fn locks_up(setup: &VcsimSetup) {
    while timeout(Duration::from_secs(45), setup.vms()).await.is_ok() {
        sleep(Duration::from_secs(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_moments_it_loses_no_job_and_leaks_no_machine() {
    let seed = std::env::var("ROOKERY_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(3);
    println!("ROOKERY_SEED={seed}");
    let tables = format!(
        "[commonConfiguration.provision]\nmaxWorker = 8\nmaxConcurrentProvisioning = 8\n{FLAVORS}\
         [[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = 1\n"
    );
    // Whether a worker was started that nobody waited for is not known before it should have registered.
    let settings = format!("{}\nworkerRegistrationTTL = 1", ADDRESSES.replace("/29", "/28"));
    for _ in 0..3 {
        let setup = VcsimSetup::start(&settings, &tables).await;
        let is_shown = tokio::select! {
            biased;
            () = Box::pin(killed_again_and_again(&setup, seed)) => true,
            () = locks_up(&setup) => false,
        };
        setup.close().await;
        if is_shown {
            return;
        }
        println!("vcsim has locked itself up; once more on a new one");
    }
    panic!("vcsim locked itself up three times in a row");
}

async fn killed_again_and_again(setup: &VcsimSetup, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let before = setup.vms().await;
    let home = Home(TempDir::new().expect("a folder"));
    let file = home.0.path().join("hatchery.toml");
    fs::write(&file, setup.lab.settings_text()).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");

    let mut jobs = Vec::new();
    let mut reached = Vec::new();
    for number in 0..KILLS {
        let mut hatchery = start(&home);
        // One at a time: with five clones at once vcsim locked itself up at each kill.
        let script = format!("sleep 1; echo nonce-{number}");
        jobs.push((number, setup.v2_job(&script, None).await));
        serves(&home).await;
        sleep(Duration::from_millis(random.random_range(300..4000))).await;
        hatchery.kill().await.expect("it can be killed");
        let ours = setup.ours().await;
        reached.push((ours.len(), ours.iter().filter(|vm| vm.is_on()).count()));
        addresses(setup).await;
    }
    println!("VMs and running VMs at each kill: {reached:?}");

    let mut hatchery = start(&home);
    let ended = async {
        for (number, job) in &jobs {
            // A kill between the take and the order of a machine leaves a job that CDS itself queues again.
            let ended = setup.lab.ended(job).await;
            assert_eq!(ended.status, Status::Success, "{ended:#?}");
            assert_eq!(ended.logs.trim_end(), format!("nonce-{number}"), "{ended:#?}");
            let successes = ended.history.iter().filter(|(_, status)| *status == Status::Success).count();
            assert_eq!((successes, ended.workers.len()), (1, 1), "{ended:#?}");
            addresses(setup).await;
        }
        setup.swept(1).await;
    };
    tokio::select! {
        biased;
        () = ended => {}
        () = confirms(&home) => {}
    }
    assert_eq!(addresses(setup).await.len(), 1);
    let mut after = setup.vms().await;
    after.retain(|id, _| before.contains_key(id));
    assert_eq!(after, before, "all that is not the hatchery's is as it was");
    hatchery.kill().await.expect("it can be killed");
}
