//! `rookery up` with the real thing in place of a simulator: another process is as real as anything to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rookery_daemon::Supervisor;
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Govc, Outcome, Program, Running, Sim, Terminal, Vcsim, VcsimOptions, eventually};
use serde_json::Value;
use tempfile::TempDir;

use super::simulated;

/// What a vCenter of somebody's has: a template, a machine that is no business of ours, and one of another hatchery with
/// all that ours would sweep at once.
const MODEL: &str = r#"
[[datacenter]]
name = "Paris"
networks = ["VM Network"]
[[datacenter.datastore]]
name = "fast"
capacity = "8TiB"
[[datacenter.cluster]]
name = "C0"
[[datacenter.cluster.host]]
name = "esx-1"
memory = "512GiB"
[[datacenter.vm]]
name = "debian12"
template = true
cpus = 2
memory = "2GiB"
disks = ["10GiB"]
guest-id = "debian12_64Guest"
snapshots = ["base"]
[[datacenter.vm]]
name = "jumphost"
on = true
annotation = "ask Jane before touching it"
[[datacenter.vm]]
name = "letters"
annotation = '{"hatchery_name":"somebody-else","worker_name":"letters","to_delete":true}'
"#;

/// The hatchery's file, for the vCenter of the model.
const FILE: &str = r#"
endpoint = "https://vcenter.example.org"
user = "user"
password = "pass"
insecure = true
datacenterString = "Paris"
workerProvisioningInterval = 1
[commonConfiguration]
name = "trial"
[commonConfiguration.api]
token = "of the real CDS"
[commonConfiguration.api.http]
url = "https://cds.example.org"
[[workerProvisioning]]
modelVMWare = "debian12"
number = 1
[[guestCredentials]]
modelVMWare = "debian12"
username = "debian"
password = "guest-secret"
"#;

/// What `govc` tells of a VM.
const TOLD: [&str; 7] = [
    "name",
    "config.annotation",
    "config.hardware.numCPU",
    "config.hardware.memoryMB",
    "config.template",
    "config.modified",
    "runtime.powerState",
];

type Vms = BTreeMap<String, BTreeMap<String, Value>>;

/// A folder for files, and for what the program keeps while it runs.
struct WorkFolder(TempDir);

impl WorkFolder {
    fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a private file");
        path.to_str().expect("text").to_owned()
    }

    fn up(&self, arguments: &[&str]) -> Program {
        let runtime = self.0.path().to_str().expect("text");
        Program::new(&["up"])
            .and(arguments)
            .with("PATH", "/usr/bin:/bin")
            .with("ROOKERY_RUNTIME_DIR", runtime)
    }
}

/// Somebody's vCenter: a process that speaks TLS, wants a password, and runs programs in guests.
struct Theirs {
    sim: Sim,
    folder: WorkFolder,
}

impl Theirs {
    async fn start(flags: &[&str]) -> Self {
        let folder = WorkFolder::new();
        let model = folder.file("model.toml", MODEL);
        let guests = ["--allow-local-exec", "--guest-user", "debian", "--guest-password", "guest-secret"];
        let sim = Sim::start_with_tls(&[&["--model", &model], guests.as_slice(), flags].concat()).await;
        Self { sim, folder }
    }

    /// Its address with the user and the password in it.
    fn url(&self) -> String {
        let login = format!("https://{}:{}@", Vcsim::USER, Vcsim::PASSWORD);
        format!("{}/sdk", self.sim.address().replacen("https://", &login, 1))
    }

    async fn vms(&self) -> Vms {
        Govc::at(&self.url()).vms(&TOLD).await
    }

    /// `up` there, without a file.
    fn up(&self, arguments: &[&str]) -> Program {
        self.folder
            .up(&["--vcenter", &self.url(), "--insecure"])
            .and(arguments)
            .with("GOVC_GUEST_LOGIN", "debian:guest-secret")
    }
}

/// The names of VMs that were not there before, once all that was is found as it was.
fn added(before: &Vms, after: &Vms) -> Vec<String> {
    for (id, vm) in before {
        assert_eq!(after.get(id), Some(vm), "what was there is as it was");
    }
    let new = after.iter().filter(|(id, _)| !before.contains_key(*id));
    new.map(|(_, vm)| vm["name"].as_str().expect("a name").to_owned()).collect()
}

/// Runs to the end, however long that takes as long as something is said.
async fn ended(mut up: Running) -> Outcome {
    let mut said = String::new();
    loop {
        let line = up.line().await;
        // A story that fails here tells how far it came.
        println!("{line}");
        said = format!("{said}{line}\n");
        if line.starts_with("recounted") || line.starts_with("wrong") {
            break;
        }
    }
    let rest = up.end().await;
    Outcome { stdout: said + &rest.stdout, ..rest }
}

/// The jobs that were told of.
fn jobs(said: &str) -> BTreeSet<&str> {
    said.lines().filter_map(|line| line.split_once(" job ")?.1.split_once(" (")).map(|(job, _)| job).collect()
}

fn assert_said(outcome: &Outcome, code: i32, words: &[&str]) {
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.code, Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
    for secret in [":pass@", "guest-secret", "of the real CDS"] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[tokio::test]
async fn sample_jobs_succeed_on_a_real_vcenter_and_nothing_is_left_there() {
    let theirs = Theirs::start(&[]).await;
    let before = theirs.vms().await;
    assert_eq!(before.len(), 3);
    let folder = theirs.folder.0.path().join("dump");
    let arguments = ["--jobs", "6", "--exit", "--dump", folder.to_str().expect("text")];
    let outcome = ended(theirs.up(&arguments).start()).await;
    assert_said(
        &outcome,
        0,
        &[
            &format!("between the vCenter at {} and a simulated CDS", theirs.sim.address()),
            "addresses    from DHCP",
            "workers      in guests must reach the simulated CDS at http://127.0.0.1:",
            "recounted    6 results, 6 of them good",
            "is left, counted by a new session",
        ],
    );
    assert_eq!(added(&before, &theirs.vms().await), [""; 0]);
    // The CDS itself bears it out; of somebody's vCenter there is no dump.
    let dump = fs::read_to_string(folder.join("cds.json")).expect("a dump");
    let dump: Value = serde_json::from_str(&dump).expect("JSON");
    let jobs = dump["jobs"].as_object().expect("jobs");
    let well = |job: &Value| {
        job["status"] == "Success" && job["logs"].as_str().is_some_and(|log| log.contains("done"))
    };
    assert!(jobs.len() == 6 && jobs.values().all(well), "{dump:#}");
    assert!(!folder.join("vcenter.json").exists());
}

#[tokio::test]
async fn a_signal_in_the_middle_leaves_nothing_on_a_real_vcenter() {
    let theirs = Theirs::start(&["--clone-time", "1s..2s", "--boot-time", "100ms..1s"]).await;
    let before = theirs.vms().await;
    let mut up = theirs.up(&["--every", "0.2"]).start();
    while !up.line().await.contains(" succeeded after ") {}
    assert!(!added(&before, &theirs.vms().await).is_empty(), "machines are at work");
    up.signal("TERM");
    let outcome = up.end().await;
    let removing =
        "removing the VMs that this run made on the vCenter; another signal (Ctrl-C) ends this at once";
    assert_said(&outcome, 0, &["no machine of hatchery \"up-", removing]);
    assert_eq!(added(&before, &theirs.vms().await), [""; 0]);
}

// A process that is ended at once drops nothing: the terminal stayed without a cursor and echoed nothing.
#[tokio::test]
async fn a_second_ctrl_c_ends_at_once_and_gives_the_terminal_back() {
    // Clones take longer than anybody waits.
    let theirs = Theirs::start(&["--clone-time", "10m"]).await;
    let terminal = Terminal::start(&theirs.up(&["--every", "0.2"]), 100, 30);
    let shows = async |text: &str| {
        eventually(&format!("the screen shows {text:?}"), async || terminal.screen().contains(text)).await;
    };
    shows(" starting").await;
    shows(" is taken after ").await;
    terminal.press("C-c");
    // What is said beside the page is an event of it, and the page goes on.
    shows("stopping… the VMs that this run made are removed; Ctrl-C ends it at once").await;
    shows(" removing the VMs that this run made on the vCenter").await;
    assert!(terminal.screen().contains("[1 Overview]") && !terminal.shows_cursor(), "{}", terminal.screen());
    // What follows a signal closely is the same request.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    terminal.press("C-c");
    eventually("the program has ended", async || terminal.exit_code() == Some(130)).await;
    let screen = terminal.screen();
    assert!(terminal.shows_cursor() && !screen.contains("[1 Overview]"), "{screen}");
    // It was lost with the page, just when it mattered.
    assert!(screen.contains("removing the VMs that this run made on the vCenter"), "{screen}");
}

#[tokio::test]
async fn a_second_one_beside_it_is_refused_and_not_told_to_do_what_it_cannot() {
    let theirs = Theirs::start(&[]).await;
    let mut first = theirs.up(&["--every", "600"]).start();
    while !first.line().await.contains(" waits") {}
    let second = theirs.up(&[]).run().await;
    assert_said(&second, 1, &["runs already on this machine (it holds ", "); stop it\n"]);
    first.signal("TERM");
    assert_said(&first.end().await, 0, &["no machine of hatchery \"up-"]);
}

#[tokio::test]
async fn what_a_killed_run_left_on_a_real_vcenter_goes_with_the_next_one() {
    let theirs = Theirs::start(&[]).await;
    let before = theirs.vms().await;
    let mut up = theirs.up(&["--every", "0.2"]).start();
    let mut said = String::new();
    while !said.contains(" succeeded after ") {
        said = format!("{said}{}\n", up.line().await);
    }
    up.signal("KILL");
    assert_eq!(up.end().await.code, None);
    assert!(!added(&before, &theirs.vms().await).is_empty(), "machines are left");
    let outcome = ended(theirs.up(&["--jobs", "2", "--exit", "--faults"]).start()).await;
    assert_said(&outcome, 0, &["trouble      on purpose, on the simulated side", "recounted    2 results"]);
    // Otherwise what is left would seem to be there for the new jobs.
    let (before_it, after_it) = (jobs(&said), jobs(&outcome.stdout));
    assert!(!before_it.is_empty() && before_it.is_disjoint(&after_it), "{before_it:?} {after_it:?}");
    assert_eq!(added(&before, &theirs.vms().await), [""; 0]);
}

// What an interrupted start found there was taken for what it had made.
#[tokio::test]
async fn a_signal_during_the_start_removes_nothing_from_a_real_vcenter() {
    let theirs = Theirs::start(&[]).await;
    let before = theirs.vms().await;
    let mut up = theirs.up(&["--every", "0.2"]).start();
    while !up.line().await.contains(" succeeded after ") {}
    up.signal("KILL");
    up.end().await;
    let left: BTreeSet<String> = theirs.vms().await.into_keys().collect();
    assert!(left.len() > before.len(), "machines are left");
    let mut interrupted = 0;
    for moment in 1.. {
        let up = theirs.up(&["--every", "600"]).start();
        tokio::time::sleep(std::time::Duration::from_millis(400 * moment)).await;
        up.signal("TERM");
        let outcome = up.end().await;
        if outcome.code == Some(0) {
            break;
        }
        interrupted += 1;
        assert_said(&outcome, 130, &[]);
        assert!(!outcome.stderr.contains("removing the VMs that this run made"), "{outcome:?}");
        let there: BTreeSet<String> = theirs.vms().await.into_keys().collect();
        assert_eq!(left.difference(&there).count(), 0, "{outcome:?}");
    }
    assert!(interrupted > 0, "no signal came during a start");
}

#[tokio::test]
async fn warm_machines_that_a_file_asks_for_stay_and_are_named() {
    let theirs = Theirs::start(&[]).await;
    let before = theirs.vms().await;
    let file = theirs.folder.file("hatchery.toml", FILE);
    let with_file =
        |more: &[&str]| theirs.folder.up(&["--vcenter", theirs.sim.address(), "-c", &file]).and(more);
    // Until it is there, since a hatchery that is told to end makes no more.
    let mut up = with_file(&["--every", "600"]).start();
    while !up.line().await.contains(" succeeded after ") {}
    eventually("a machine is warm", async || {
        let vms = theirs.vms().await;
        vms.values().any(|vm| {
            vm["name"].as_str().is_some_and(|name| name.starts_with("provision-v2-"))
                && vm["runtime.powerState"] == "poweredOff"
                && vm["config.annotation"]
                    .as_str()
                    .is_some_and(|notes| notes.contains("\"provisioning\":true"))
        })
    })
    .await;
    up.signal("INT");
    let outcome = up.end().await;
    let left = added(&before, &theirs.vms().await);
    assert_eq!(left.len(), 1, "{left:?} {outcome:?}");
    assert!(left[0].starts_with("provision-v2-"), "{left:?}");
    assert_said(&outcome, 0, &[&format!("left         {} (off), kept warm as {file} asks", left[0])]);

    // They are somebody's: who tries once more is asked whose.
    let refused = with_file(&["--jobs", "2", "--exit"]).run().await;
    assert_said(&refused, 2, &[&left[0], "--take-over"]);
    assert_eq!(added(&before, &theirs.vms().await), left);

    // As it was told.
    let command = outcome.stdout.lines().find_map(|line| line.trim().strip_prefix("rookery vm destroy "));
    let command: Vec<_> =
        command.expect("how to remove it").split_whitespace().map(|word| word.trim_matches('\'')).collect();
    let destroyed =
        Program::new(&["vm", "destroy", "--yes"]).and(&command).with("GOVC_PASSWORD", Vcsim::PASSWORD);
    assert_said(&destroyed.run().await, 0, &["destroyed"]);
    assert_eq!(added(&before, &theirs.vms().await), [""; 0]);
}

#[tokio::test]
async fn what_cannot_be_guessed_on_a_real_vcenter_is_one_clear_error() {
    let theirs = Theirs::start(&[]).await;
    let before = theirs.vms().await;
    let there = ["--vcenter", theirs.sim.address(), "--insecure", "--user", "user"];
    let file = |text: &str| theirs.folder.file("wrong.toml", text);
    let password = theirs.folder.file("password", "wrong");
    let up = |more: &[&str]| theirs.folder.up(&there).and(more);
    let check = async |program: Program, code: i32, words: &[&str]| {
        let outcome = program.run().await;
        assert_said(&outcome, code, words);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.matches("error:").count()),
            ("", 1),
            "{outcome:?}"
        );
    };
    let refused = "refused the user name or password of user";
    check(up(&["--password-file", &password]), 3, &[refused]).await;
    let guest = ["no guest credentials", "--guest-user", "modelVMWare = \"debian12\""];
    let no_guest = theirs.up(&[]).without("GOVC_GUEST_LOGIN");
    check(no_guest, 2, &guest).await;
    check(theirs.up(&["--template", "nope"]), 2, &["no template \"nope\"; it has debian12"]).await;
    let missing = theirs.folder.0.path().join("missing.toml");
    check(theirs.up(&["-c", missing.to_str().expect("text")]), 2, &["missing.toml: cannot be read"]).await;
    let other = file(&FILE.replace("modelVMWare = \"debian12\"", "modelVMWare = \"centos\""));
    check(theirs.up(&["-c", &other]), 2, &["no template \"centos\"; it has debian12"]).await;
    let other = file(&FILE.replace("insecure", "unsafe").replace("number = 1", "number = \"x\""));
    check(theirs.up(&["-c", &other]), 2, &["workerProvisioning[0].number", "unsafe: unknown key"]).await;
    check(theirs.folder.up(&["--vcenter", "user:pass"]), 2, &["user"]).await;
    assert_eq!(theirs.vms().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn sample_jobs_succeed_on_vmwares_own_simulator() {
    let (vcsim, supervisor) =
        (Vcsim::start(VcsimOptions::plain(2).with("-autostart=false").with_boxes()).await, Supervisor::new());
    let govc = Govc::new(&vcsim);
    govc.run(&["object.rename", "vm/DC0_H0_VM0", "debian12"]).await;
    govc.run(&["vm.change", "-vm", "debian12", "-c", "1", "-m", "256"]).await;
    govc.run(&["snapshot.create", "-vm", "debian12", "base"]).await;
    govc.run(&["vm.markastemplate", "debian12"]).await;
    let before = govc.vms(&TOLD).await;
    let (folder, gateway) = (WorkFolder::new(), vcsim.gateway(&supervisor).await);
    // One by one: vcsim locks a VM and a filter in one order when a clone comes, in the other when a filter looks at all
    // VMs anew, and hangs if both happen at once.
    let one_by_one = "[commonConfiguration.provision]\nmaxConcurrentProvisioning = 1\n";
    let text = FILE.replace("Paris", "DC0").replace("number = 1", "number = 0");
    let file = folder.file("hatchery.toml", &format!("networkString = \"VM Network\"\n{text}{one_by_one}"));
    let arguments = ["--vcenter", gateway.address(), "-c", &file, "--jobs", "2", "--exit"];
    let outcome = ended(folder.up(&arguments).start()).await;
    assert_said(
        &outcome,
        0,
        &[
            "recounted    2 results, 2 of them good",
            "no machine of hatchery \"trial\" is left, counted by a new session",
        ],
    );
    assert_eq!(added(&before, &govc.vms(&TOLD).await), [""; 0]);
    supervisor.shutdown(std::time::Duration::from_secs(10)).await.ok();
}

/// Somebody's CDS: a process, and what only its owner may ask it.
struct TheirCds {
    url: String,
    _program: Running,
}

impl TheirCds {
    async fn start(folder: &WorkFolder) -> Self {
        let (model, token) =
            (folder.file("cds.toml", simulated::MODEL), folder.file("control", "control-secret"));
        let arguments =
            ["sim", "cds", "--listen", "127.0.0.1:0", "--model", &model, "--control-token-file", &token];
        let mut program = Program::new(&arguments).start();
        let line = program.line().await;
        let url = line.strip_prefix("serving ").unwrap_or_else(|| panic!("it said {line:?}")).to_owned();
        Self { url, _program: program }
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let asked = tokio::process::Command::new("curl")
            .args(["-s", "-f", "-X", method, "-H", "Authorization: Bearer control-secret", "-d", body])
            .arg(format!("{}/control/{path}", self.url))
            .output()
            .await
            .expect("curl runs");
        assert!(asked.status.success(), "{method} {path}: {asked:?}");
        serde_json::from_slice(&asked.stdout).expect("JSON")
    }

    /// A new job; its id.
    async fn enqueue(&self, job: &Value) -> String {
        self.ask("POST", "jobs", &job.to_string()).await["id"].as_str().expect("an id").to_owned()
    }

    async fn job(&self, id: &str) -> Value {
        self.ask("GET", &format!("jobs/{id}"), "").await
    }
}

#[tokio::test]
async fn the_jobs_of_a_real_cds_run_in_a_simulated_vcenter() {
    let folder = WorkFolder::new();
    let cds = TheirCds::start(&folder).await;
    // A file as people have it: it names another vCenter, whose places are not simulated, and another CDS.
    let lab = Lab::start(LabOptions {
        settings: "resourcePool = \"small\"\nfolder = \"ci\"\niprange = \"192.0.2.0/28\"\ngateway = \"192.0.2.14\"\n"
            .to_owned(),
        ..LabOptions::default()
    })
    .await;
    let text = lab.settings_text().replace(&lab.cds_url, "https://cds.example.org");
    lab.close().await;
    let file = folder.file("hatchery.toml", &text);
    let mut up = folder.up(&["--cds", &cds.url, "-c", &file, "--guests", "real"]).start();
    let mut said = String::new();
    while !said.contains("/mon/version") {
        said = format!("{said}{}\n", up.line().await);
    }
    let v2 = serde_json::json!({ "protocol": "v2", "model": "PRJ/github/org/app/debian12", "region": "default", "script": "echo nonce-v2" });
    let v1 = serde_json::json!({ "protocol": "v1", "model": "PRJ/github/org/app/debian12@main", "script": "echo nonce-v1" });
    let jobs = [(cds.enqueue(&v2).await, "nonce-v2"), (cds.enqueue(&v1).await, "nonce-v1")];
    for (job, nonce) in &jobs {
        eventually("the job succeeds", async || cds.job(job).await["status"] == "Success").await;
        let job = cds.job(job).await;
        assert_eq!(job["logs"].as_str().map(str::trim_end), Some(*nonce), "{job:#}");
    }
    for (job, _) in &jobs {
        while !said.contains(&format!("job {job}  is served by ")) {
            said = format!("{said}{}\n", up.line().await);
        }
    }
    up.signal("TERM");
    let rest = up.end().await;
    let outcome = Outcome { stdout: said + &rest.stdout, ..rest };
    assert_said(
        &outcome,
        0,
        &[
            &format!("between a simulated vCenter and the CDS at {}", cds.url),
            "queue        0 wait, 0 are served",
            " of 14 used",
            &format!("jobs of the CDS at {} run on this machine. They share its network", cds.url),
            "read files that anybody may read",
            "use a throw-away machine",
        ],
    );
    for secret in ["v1-token", "v2-token"] {
        assert!(!format!("{outcome:?}").contains(secret), "{outcome:?}");
    }
}

#[tokio::test]
async fn between_two_real_ends_nothing_is_simulated_and_warm_machines_stay() {
    let (theirs, folder) = (Theirs::start(&[]).await, WorkFolder::new());
    let cds = TheirCds::start(&folder).await;
    let before = theirs.vms().await;
    let warm = "[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = 1\n".to_owned();
    let lab = Lab::start(LabOptions { tables: warm, ..LabOptions::default() }).await;
    let file = folder.file("hatchery.toml", &lab.settings_text().replace("DC0", "Paris"));
    lab.close().await;
    let ends = ["--vcenter", theirs.sim.address(), "--insecure", "--cds", &cds.url, "-c", &file];
    let mut up = folder.up(&ends).start();
    let line = up.line().await;
    let expected = format!("between the vCenter at {} and the CDS at {}", theirs.sim.address(), cds.url);
    assert!(line.ends_with(&expected), "{line}");
    let job = serde_json::json!({ "protocol": "v2", "model": "PRJ/github/org/app/debian12", "region": "default", "script": "echo nonce" });
    let job = cds.enqueue(&job).await;
    eventually("the job succeeds", async || cds.job(&job).await["status"] == "Success").await;
    eventually("a machine is warm", async || {
        added(&before, &theirs.vms().await).iter().any(|name| name.starts_with("provision-v2-"))
    })
    .await;
    up.signal("TERM");
    let outcome = up.end().await;
    assert_said(&outcome, 0, &["workers go on when this ends"]);
    let left = added(&before, &theirs.vms().await);
    assert!(left.iter().any(|name| name.starts_with("provision-v2-")), "{left:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_real_cds_is_one_clear_error() {
    let folder = WorkFolder::new();
    let cds = TheirCds::start(&folder).await;
    let lab = Lab::start(LabOptions::default()).await;
    let text = lab.settings_text();
    lab.close().await;
    let right = folder.file("right.toml", &text);
    let up =
        |file: &str, more: &[&str]| folder.up(&["--cds", &cds.url, "-c", file, "--guests", "real"]).and(more);
    let check = async |program: Program, code: i32, words: &[&str]| {
        let outcome = program.run().await;
        assert_said(&outcome, code, words);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.matches("error:").count()),
            ("", 1),
            "{outcome:?}"
        );
    };
    check(up(&right, &["--jobs", "3"]), 2, &["--jobs: a real CDS has jobs of its own"]).await;
    check(folder.up(&["--cds", &cds.url]), 2, &["--hatchery"]).await;
    let secret = ["--cds", "http://me:pass@cds", "-c", &right, "--guests", "real"];
    check(folder.up(&secret), 2, &["--cds: holds a user or password"]).await;
    // It took the jobs of a real CDS and ran them on whatever machine it was tried on.
    let unasked = ["--cds", &cds.url, "-c", &right];
    let why =
        ["--guests: the jobs of a real CDS would run on this machine", "--guests real", "throw-away machine"];
    check(folder.up(&unasked), 2, &why).await;
    check(
        up(&folder.file("token.toml", &text.replace("v2-token", "other")), &[]),
        3,
        &[&format!(
            "CDS at {} does not take the token for V2 jobs (commonConfiguration.api.tokenV2)",
            cds.url
        )],
    )
    .await;
    let nothing = text.replace("[[guestCredentials]]\nmodelVMWare", "[[guestCredentials]]\nmodelPath");
    let nothing = nothing.replace("\"debian12\"", "\"a/b\"").replace("\"rocky9\"", "\"a/c\"");
    check(
        up(&folder.file("nothing.toml", &nothing), &[]),
        2,
        &["template: the file names none", "--template"],
    )
    .await;
}

#[tokio::test]
async fn a_simulated_vcenter_says_what_programs_in_local_guests_can_reach() {
    let arguments = ["sim", "vcenter", "--listen", "127.0.0.1:0", "--no-tls", "--allow-local-exec"];
    let mut sim = Program::new(&arguments).with("PATH", "/usr/bin:/bin").start();
    let line = sim.line().await;
    assert!(line.starts_with("serving http://127.0.0.1:"), "{line}");
    sim.signal("TERM");
    let reach = ["share its network", "read files that anybody may read", "use a throw-away machine"];
    assert_said(&sim.end().await, 0, &reach);
    // Without the flag nothing runs here, and there is nothing to say.
    let mut quiet = Program::new(&["sim", "vcenter", "--listen", "127.0.0.1:0", "--no-tls"]).start();
    quiet.line().await;
    quiet.signal("TERM");
    assert_eq!(quiet.end().await.stderr, "");
}
