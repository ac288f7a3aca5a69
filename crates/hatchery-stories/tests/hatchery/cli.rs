//! The hatchery as people start it: the real program.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rookery_cds_sim::{CodeModel, Control, Fault, NewJob, Status, Trouble};
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Program, Vcsim, eventually};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::history;
use super::home::Home;

/// What the CDS was asked to do, without its answers.
async fn asked(lab: &Lab) -> Vec<String> {
    let requests = lab.cds.requests().await.expect("the CDS runs");
    requests.iter().map(|entry| format!("{} {}", entry.method, entry.path)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_serves_a_job_and_signs_out_at_a_signal() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let daemon = home.started().await;
    let job = lab.v2_job(Lab::DEBIAN, "echo nonce-8f31").await;
    let ended = lab.ended(&job).await;
    assert_eq!(ended.status, Status::Success, "{ended:#?}");
    assert!(ended.logs.contains("nonce-8f31"), "{ended:#?}");
    daemon.signal("TERM");
    let outcome = daemon.end().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let asked = asked(&lab).await;
    assert!(asked.contains(&"POST /auth/consumer/signout".to_owned()), "{asked:#?}");
    for secret in ["v1-token", "v2-token", "guest-secret", Vcsim::PASSWORD] {
        assert!(!outcome.stderr.contains(secret), "{}", outcome.stderr);
    }
    lab.close().await;
}

/// What becomes of the machines, as govc sees it.
async fn machines(lab: &Lab) -> String {
    lab.govc().run(&["find", "/", "-type", "m"]).await
}

fn pooled(number: u32) -> String {
    format!("[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = {number}\n")
}

async fn has_warm(lab: &Lab, number: usize) {
    eventually(&format!("{number} warm machines"), async || {
        machines(lab).await.lines().filter(|path| path.contains("provision-v2-")).count() == number
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_raises_the_number_of_warm_machines() {
    let lab = Lab::start(LabOptions { tables: pooled(1), ..LabOptions::default() }).await;
    let home = Home::of(&lab);
    let daemon = home.started().await;
    has_warm(&lab, 1).await;
    let text = lab.settings_text().replace(&pooled(1), &pooled(3));
    home.write(&text.replace("datacenterString", "folder = \"workers\"\ndatacenterString"));
    daemon.signal("HUP");
    has_warm(&lab, 3).await;
    daemon.signal("TERM");
    let outcome = daemon.end().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = outcome.stderr.lines().find(|line| line.contains("settings read again")).unwrap_or_default();
    assert!(told.contains("workerProvisioning[].number") && told.contains("folder"), "{told}");
    lab.close().await;
}

const TIGHT: &str = "maxWorker = 1\nmaxConcurrentProvisioning = 1\nmaxConcurrentRegistering = 1\n";
const WIDE: &str = "maxWorker = 5\nmaxConcurrentProvisioning = 5\nregion = \"gra\"\n\
    [flavors.large]\ncpus = 3\nmemoryMB = 1536\n[log]\nlevel = \"debug\"\n";
const ROCKY: &str = "modelVMWare = \"rocky9\"\nusername = \"debian\"\npassword = ";

/// Asks for a page as a proxy does for somebody else.
async fn ask_for(address: &str, caller: &str) {
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("it serves");
    let request =
        format!("GET /mon/version HTTP/1.1\r\nhost: h\r\nx-real-ip: {caller}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_changes_limits_sizes_credentials_and_what_is_logged_and_names_what_waits() {
    let tables = format!("[commonConfiguration.provision]\n{TIGHT}");
    let lab = Lab::start(LabOptions { tables, ..LabOptions::default() }).await;
    let wrong = format!("{ROCKY}\"wrong\"");
    let right = lab.settings_text().replace("port = 0", "port = 0\nheaderXForwardedFor = \"X-Real-IP\"");
    assert!(right.contains(ROCKY) && right.contains(TIGHT), "{right}");
    let home = Home::with(&right.replace(&format!("{ROCKY}\"guest-secret\""), &wrong));
    let mut daemon = home.started().await;
    let pages = daemon.line().await;
    let url = pages.strip_prefix("pages    http://").and_then(|rest| rest.strip_suffix("/mon/status"));
    let url = url.unwrap_or_else(|| panic!("{pages}"));
    let long = lab.v2_job(Lab::DEBIAN, "sleep 1000").await;
    eventually("the only worker runs", async || lab.job(&long).await.status == Status::Building).await;
    let next = lab.v2_job(Lab::DEBIAN, "true").await;
    eventually("the next job waits for its place", async || {
        let explained = home.program(&["explain", &next]).run().await;
        explained.stdout.contains("is waiting: 1 of 1 workers")
    })
    .await;
    ask_for(url, "192.0.2.7").await;

    home.write(&right.replace(TIGHT, WIDE));
    daemon.signal("HUP");
    assert_eq!(lab.ended(&next).await.status, Status::Success, "there is room for it now");
    let job = NewJob { flavor: Some("large".to_owned()), ..NewJob::v2("true", Lab::ROCKY, "default") };
    let sized = lab.enqueue(job).await;
    assert_eq!(lab.ended(&sized).await.status, Status::Success, "its guest can be entered now");
    let vms = lab.govc().vms(&["name", "config.hardware.numCPU", "config.hardware.memoryMB"]).await;
    let worker = lab.job(&sized).await.worker_name;
    let vm = vms.values().find(|vm| vm["name"] == worker.as_str()).expect("its machine");
    assert_eq!((&vm["config.hardware.numCPU"], &vm["config.hardware.memoryMB"]), (&3.into(), &1536.into()));
    ask_for(url, "192.0.2.8").await;
    daemon.signal("TERM");
    let outcome = daemon.end().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = outcome.stderr.lines().find(|line| line.contains("settings read again")).unwrap_or_default();
    let (changed, waiting) = told.split_once("waiting=").expect("both");
    for key in ["maxWorker", "flavors[].cpus", "guestCredentials[].password", "log.level"] {
        assert!(changed.contains(key) && !waiting.contains(key), "{key}: {told}");
    }
    assert!(waiting.contains("commonConfiguration.provision.region"), "{told}");
    let asked = |caller: &str| {
        outcome.stderr.lines().any(|line| line.contains("page asked for") && line.contains(caller))
    };
    assert!(asked("192.0.2.8") && !asked("192.0.2.7"), "what is logged has changed: {}", outcome.stderr);
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_again_changes_nothing() {
    let lab = Lab::start(LabOptions { tables: pooled(1), ..LabOptions::default() }).await;
    let home = Home::of(&lab);
    let mut daemon = home.started().await;
    has_warm(&lab, 1).await;
    home.write("user = 1");
    daemon.signal("HUP");
    while !daemon.remark().await.contains("the old ones stay") {}
    has_warm(&lab, 1).await;
    daemon.signal("INT");
    assert_eq!(daemon.end().await.code, Some(0));
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_text_json_or_nothing() {
    let lab = Lab::start(LabOptions::default()).await;
    let said = async |log: &str| {
        let home = Home::with(&format!("{}\n{log}", lab.settings_text()));
        let daemon = home.started().await;
        daemon.signal("TERM");
        let outcome = daemon.end().await;
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome.stderr
    };
    let signed_in = "signed in to CDS for V1 jobs";
    let text = said("favouriteColour = \"red\"\n").await;
    assert!(
        text.lines().any(|line| line.contains("WARN") && line.contains("favouriteColour")),
        "it runs all the same: {text}"
    );
    assert!(text.lines().any(|line| line.contains("INFO") && line.contains(signed_in)), "{text}");
    let json = said("[log]\nformat = \"json\"\n").await;
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(lines.iter().any(|line| line.to_string().contains(signed_in)), "{json}");
    assert_eq!(said("[log]\nformat = \"discard\"\n").await, "");
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn check_tells_every_problem_of_a_file_at_once() {
    let home = Home::with(
        r#"user = "me"
endpoint = "ftp://vc"
datacenterString = ""
usr = "me"
iprange = "10.0.0.1"
diskMove = "sideways"
[commonConfiguration]
rsaPrivateKey = "none"
[commonConfiguration.api.http]
url = "nowhere"
"#,
    );
    let outcome = home.program(&["hatchery", "check", "--offline"]).run().await;
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    for key in [
        "endpoint",
        "password",
        "datacenterString",
        "usr: unknown key; did you mean user?",
        "iprange",
        "diskMove",
        "commonConfiguration.name",
        "commonConfiguration.rsaPrivateKey",
        "commonConfiguration.api.token",
        "commonConfiguration.api.http.url",
    ] {
        assert!(outcome.stdout.contains(&format!("PROBLEM  {key}")), "{key}\n{}", outcome.stdout);
    }
    let run = home.run().run().await;
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_asks_both_servers() {
    let options = LabOptions {
        settings: "iprange = \"10.9.0.0/28\"\ngateway = \"10.9.0.14\"\n".to_owned(),
        tables: format!(
            "[commonConfiguration.provision]\nregion = \"elsewhere\"\n{}[[workerProvisioning]]\nmodelPath = \"shared.infra/none\"\nnumber = 1\n",
            pooled(1)
        ),
        ..LabOptions::default()
    };
    let lab = Lab::start(options).await;
    let home = Home::of(&lab);
    let outcome = home.program(&["hatchery", "check"]).run().await;
    assert_eq!(outcome.code, Some(1), "{}{}", outcome.stdout, outcome.stderr);
    for line in [
        "ok       settings: the file can be used",
        "ok       login: ",
        "ok       clock: ",
        "ok       datacenter",
        "ok       template debian12: ",
        "ok       site: folder, pool, datastore and network are there",
        "ok       addresses: 0 of ",
        "ok       other hatcheries: none of the name \"hatchery-lab\" has a session",
        "ok       Go hatchery: no Go program has used vCenter as our user in the last 3 minutes",
        "ok       V1 sign-in: signed in as service ",
        "ok       V1 region: region \"elsewhere\"",
        "PROBLEM  V1 model shared.infra/none: CDS has no such model",
        "warning  V2 region: CDS says \"default\", but V1 jobs are taken for \"elsewhere\"",
        "warning  CDN: CDS does not say where logs go",
    ] {
        assert!(outcome.stdout.contains(line), "{line}\n{}", outcome.stdout);
    }
    // CDS keeps the region of the first sign-in.
    home.write(&lab.settings_text().replace("\"elsewhere\"", "\"default\"").replace("v2-token", "wrong"));
    let outcome = home.program(&["hatchery", "check", "-o", "json"]).run().await;
    let checks: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let state = |name: &str| {
        let found = checks.as_array().expect("a list").iter().find(|check| check["check"] == name);
        found.map(|check| check["state"].clone()).unwrap_or_default()
    };
    assert_eq!(state("V1 region"), "warning", "{checks:#}");
    assert_eq!(state("V2 sign-in"), "problem", "{checks:#}");
    assert!(!outcome.stdout.contains("v1-token"), "{}", outcome.stdout);
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn check_warns_of_ranges_that_overlap() {
    let options = LabOptions::default();
    // In no process of ours: what it gives away is known by what its VMs show.
    let theirs = r#"
[[datacenter.vm]]
name = "their-worker"
annotation = '{"hatchery_name":"theirs","ip_address":"10.9.0.3"}'
"#;
    let options = LabOptions {
        settings: "iprange = \"10.9.0.0/28\"\ngateway = \"10.9.0.14\"\n".to_owned(),
        model: format!("{}{theirs}", options.model),
        ..options
    };
    let lab = Lab::start(options).await;
    let outcome = Home::of(&lab).program(&["hatchery", "check"]).run().await;
    let line = "are in use, some by machines of others: their-worker (hatchery theirs)";
    assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("the ranges overlap"), "{}", outcome.stdout);
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_changes_nothing() {
    let ghost = "PRJ/github/org/app/ghost";
    let mut options = LabOptions { tables: pooled(2), ..LabOptions::default() };
    options.cds.code_models.push(CodeModel::vsphere(ghost, "ghost"));
    let lab = Lab::start(options).await;
    let home = Home::of(&lab);
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    let hopeless = lab.v2_job(ghost, "true").await;
    let before = machines(&lab).await;
    let outcome = home.program(&["hatchery", "plan", "-o", "json"]).run().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let plan: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let acts: Vec<(&str, &str)> = plan["acts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|act| (act["act"].as_str().expect("a word"), act["what"].as_str().expect("a name")))
        .collect();
    assert_eq!(acts, [("serve", job.as_str()), ("make", "debian12")], "{plan:#}");
    assert_eq!(plan["waiting"][0]["job"], hopeless.as_str(), "{plan:#}");
    assert_eq!(plan["waiting"][0]["reason"], "template", "{plan:#}");
    assert_eq!(plan["warm_waiting"][0]["model"], "debian12", "{plan:#}");
    let table = home.program(&["hatchery", "plan"]).run().await.stdout;
    assert!(table.contains("in a clone of debian12, for the model"), "{table}");

    assert_eq!(machines(&lab).await, before);
    assert_eq!(lab.job(&job).await.status, Status::Waiting);
    let changes: Vec<String> =
        asked(&lab).await.into_iter().filter(|line| !line.starts_with("GET ")).collect();
    let harmless =
        ["/auth/consumer/hatchery/signin", "/auth/consumer/builtin/signin", "/auth/consumer/signout"];
    for change in &changes {
        assert!(harmless.iter().any(|path| change.ends_with(path)), "{changes:#?}");
    }
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hatchery_that_runs_is_asked_drained_and_resumed() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let daemon = home.started().await;
    let told = |outcome: rookery_kit::Outcome| {
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome.stdout
    };
    let drained = told(home.program(&["hatchery", "drain"]).run().await);
    assert!(drained.starts_with("the hatchery takes no new jobs"), "{drained}");
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    eventually("the job is known to wait", async || {
        let explained = told(home.program(&["explain", &job]).run().await);
        explained.contains("is waiting: the hatchery takes no new jobs: it is being drained")
            && explained.contains("CDS: its status is Waiting")
    })
    .await;
    let status = told(home.program(&["hatchery", "status", "-o", "json"]).run().await);
    let status: Value = serde_json::from_str(&status).expect("JSON");
    assert_eq!(status["draining"], true, "{status:#}");
    assert_eq!(status["waiting"][0]["reason"], "draining", "{status:#}");
    assert!(
        told(home.program(&["hatchery", "status"]).run().await)
            .contains("1 jobs; drained: it takes no new jobs")
    );
    assert_eq!(lab.job(&job).await.status, Status::Waiting);

    told(home.program(&["hatchery", "resume"]).run().await);
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    told(home.program(&["hatchery", "look"]).run().await);
    let wrong = home.program(&["explain", "no-job"]).run().await;
    assert_eq!(wrong.code, Some(7), "{}", wrong.stdout);

    let socket = home.folder().join("rookery-hatchery-hatchery-lab.sock");
    let mode = fs::metadata(&socket).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    let nobody = home.program(&["hatchery", "status"]).run().await;
    assert_eq!(nobody.code, Some(7));
    assert!(nobody.stderr.contains("no hatchery \"hatchery-lab\" runs here"), "{}", nobody.stderr);
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_of_the_name_is_refused_or_stands_by() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let first = home.started().await;
    let second = home.run().run().await;
    assert_eq!(second.code, Some(4));
    assert!(second.stderr.contains("\"hatchery-lab\" runs already on this machine"), "{}", second.stderr);
    assert!(second.stderr.contains("stop it, or start this one with --standby"), "{}", second.stderr);

    // As if it were on another machine: vCenter shows the session of the first.
    let elsewhere = Home::of(&lab);
    let signed_in = asked(&lab).await.len();
    let third = elsewhere.run().and(&["--instance", "elsewhere"]).run().await;
    assert_eq!(third.code, Some(4));
    assert!(third.stderr.contains("\"hatchery-lab\" runs already: "), "{}", third.stderr);
    assert!(third.stderr.contains("stop it, or start this one with --standby"), "{}", third.stderr);
    let asked = asked(&lab).await;
    let later = asked.get(signed_in..).unwrap_or_default();
    assert!(
        !later.iter().any(|line| line.contains("signin")),
        "the one that is refused signs in: {later:#?}"
    );

    let mut waiting = home.run().and(&["--standby"]).start();
    while !waiting.remark().await.contains("standing by") {}
    first.signal("TERM");
    assert_eq!(first.end().await.code, Some(0));
    assert!(waiting.line().await.contains("serves"));
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    waiting.signal("TERM");
    assert_eq!(waiting.end().await.code, Some(0));
    lab.close().await;
}

/// CDS answers nobody until its troubles are cleared.
async fn silence(lab: &Lab) {
    let fault = Fault { times: None, ..Fault::next(0, "*", Trouble::Html { status: 502 }) };
    lab.cds.control(Control::AddFault(fault)).await.expect("the CDS runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_a_hatchery_that_is_still_starting_is_told_so() {
    let lab = Lab::start(LabOptions::default()).await;
    silence(&lab).await;
    let home = Home::of(&lab);
    let mut daemon = home.run().start();
    while !daemon.remark().await.contains("sign-in to CDS failed; trying again") {}
    let status = home.program(&["hatchery", "status"]).run().await;
    assert_eq!(status.code, Some(1), "{}", status.stdout);
    assert!(status.stderr.contains("it is still starting"), "{}", status.stderr);
    daemon.signal("TERM");
    let outcome = daemon.end().await;
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_cds_refuses_ends_the_start_at_once() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::with(&lab.settings_text().replace("v2-token", "wrong-token"));
    let outcome = home.run().run().await;
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    for told in ["CDS refused the V2 sign-in of hatchery hatchery-lab", "commonConfiguration.api.tokenV2"] {
        assert!(outcome.stderr.contains(told), "{told}\n{}", outcome.stderr);
    }
    assert!(!outcome.stderr.contains("wrong-token"), "{}", outcome.stderr);
    // CDS let it in for V1 jobs: it does not go on counting on a hatchery that has ended.
    let last = history::requests(&lab).await.pop().map(|entry| (entry.path, entry.status));
    assert_eq!(last, Some(("/auth/consumer/signout".to_owned(), 200)));
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cds_does_not_answer_is_shown_and_logged_once() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let daemon = home.started().await;
    let troubles = async || {
        let status = home.program(&["hatchery", "status", "-o", "json"]).run().await;
        let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
        let troubles = status["troubles"].as_array().cloned().unwrap_or_default();
        troubles.iter().map(|one| one["source"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    eventually("all is well", async || troubles().await.is_empty()).await;
    silence(&lab).await;
    eventually("the workers are asked for in vain", async || {
        troubles().await.contains(&"workers".to_owned())
    })
    .await;
    let asked = asked(&lab).await.len();
    eventually("they are asked for again", async || {
        let requests = lab.cds.requests().await.expect("the CDS runs");
        requests.iter().skip(asked).filter(|entry| entry.path.starts_with("/worker")).count() > 1
    })
    .await;
    lab.cds.control(Control::ClearFaults).await.expect("the CDS runs");
    eventually("all is well again", async || troubles().await.is_empty()).await;
    daemon.signal("TERM");
    let outcome = daemon.end().await;
    let lines = |text: &str| outcome.stderr.lines().filter(|line| line.contains(text)).count();
    assert_eq!(lines("workers could not be read; "), 1, "{}", outcome.stderr);
    assert_eq!(lines("workers can be read again"), 1, "{}", outcome.stderr);
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_was_killed_starts_again() {
    let lab = Lab::start(LabOptions::default()).await;
    let home = Home::of(&lab);
    let killed = home.started().await;
    killed.signal("KILL");
    assert_eq!(killed.end().await.code, None);
    let again = home.started().await;
    assert!(home.program(&["hatchery", "status"]).run().await.stdout.contains("hatchery-lab"));
    again.signal("TERM");
    assert_eq!(again.end().await.code, Some(0));
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_worker_is_kept_over_a_kill_as_people_ask_for_it() {
    let settings = "finishedWorkerGracePeriod = 1\n".to_owned();
    let lab = Lab::start(LabOptions { settings, ..LabOptions::default() }).await;
    let home = Home::of(&lab);
    let told = async |arguments: &[&str]| {
        let outcome = home.program(arguments).run().await;
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {}", outcome.stderr);
        outcome.stdout
    };
    let killed = home.started().await;
    let hold = ["vm", "hold", "--model", "debian12", "--for", "4h", "--reason", "it fails at night"];
    let promised = told(&hold).await;
    assert!(
        promised.starts_with("the VM of the next worker of model debian12 that fails before "),
        "{promised}"
    );
    assert!(promised.ends_with(" is kept for 4h\n"), "{promised}");
    let wishes = told(&["vm", "holds"]).await;
    assert!(wishes.contains("model debian12           0 of 1  4h"), "{wishes}");
    killed.signal("KILL");
    killed.end().await;

    let daemon = home.started().await;
    let job = lab.v2_job(Lab::DEBIAN, "exit 1").await;
    let worker = lab.ended(&job).await.worker_name;
    eventually("its machine is kept", async || {
        let holds: Value = serde_json::from_str(&told(&["vm", "holds", "-o", "json"]).await).expect("JSON");
        let kept = &holds["held"][0];
        kept["machine"] == *worker && kept["job"] == *job && holds["wishes"] == serde_json::json!([])
    })
    .await;
    let status = told(&["hatchery", "status"]).await;
    assert!(status.contains("1 kept") && status.contains("it fails at night"), "{status}");
    let url = lab.world.url.replace("http://", &format!("http://{}:{}@", Vcsim::USER, Vcsim::PASSWORD));
    let listed = Program::new(&["vm", "ls", &worker]).with("GOVC_URL", format!("{url}/sdk")).run().await;
    assert!(listed.stdout.contains("off, held"), "{listed:?}");

    for (wrong, why) in [
        (["vm", "hold", "nobody", "--for", "1h", "--reason", "x"], "nobody is no machine of hatchery"),
        (["vm", "hold", &worker, "--for", "169h", "--reason", "x"], "between one second and seven days"),
        (["vm", "hold", &worker, "--for", "1h", "--reason", " "], "a reason of 1 to 200 characters"),
    ] {
        let outcome = home.program(&wrong).run().await;
        assert_ne!(outcome.code, Some(0));
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    }
    assert_eq!(
        told(&["vm", "release", &worker]).await,
        format!("{worker} is released: it is deleted as any other\n")
    );
    eventually("it is deleted", async || !machines(&lab).await.contains(&worker)).await;
    assert_eq!(told(&["vm", "holds"]).await, "nothing is kept, and no request to keep anything is open\n");
    daemon.signal("TERM");
    assert_eq!(daemon.end().await.code, Some(0));
    lab.close().await;
}
