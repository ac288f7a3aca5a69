//! The worker that the simulator hands out, run for real by the shell of this machine.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rookery_cds_sim::{Control, Entry, Fault, NewJob, Running, Status, Trouble, WorkerStatus};
use rookery_daemon::Supervisor;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::kit::{PATH, claims_v2, config, mint};
use super::shell::{ask, ok, start, v1, v2};

/// Programs that the worker may use, besides one to speak HTTP with.
const PROGRAMS: [&str; 8] = ["sh", "base64", "sleep", "mkdir", "rm", "date", "cat", "printenv"];

/// A machine: a directory with nothing but a few programs, and the worker as it was downloaded.
struct Machine {
    home: tempfile::TempDir,
    running: Running,
}

impl Machine {
    /// With `curl` or `wget`.
    async fn new(running: &Running, speaker: &str) -> Self {
        running.serve(TcpListener::bind("127.0.0.1:0").await.expect("a port"));
        let home = tempfile::tempdir().expect("a directory");
        for program in PROGRAMS.into_iter().chain([speaker]) {
            let found = ["/bin", "/usr/bin"].map(|dir| Path::new(dir).join(program));
            let found = found.into_iter().find(|path| path.exists()).expect("the program is here");
            symlink(found, home.path().join(program)).expect("a link");
        }
        let address = running.url().replace("http://", "");
        let stream = TcpStream::connect(address).await.expect("a connection");
        let (_, program) =
            ask(stream, "", "GET", "/download/worker/linux/amd64", &Value::Null).await.expect("a worker");
        std::fs::write(home.path().join("worker"), program).expect("a file");
        Self { home, running: running.clone() }
    }

    /// Half minutes pass quickly on this machine from now on.
    fn hasten(&self) {
        let sleep = self.home.path().join("sleep");
        std::fs::remove_file(&sleep).expect("it was there");
        symlink("/bin/true", &sleep).expect("a link");
    }

    async fn work(&self, config: &Value, argument: Option<&str>, ci: &str) -> Output {
        let mut config = config.clone();
        config["name"] = "brave-curie".into();
        config["hatchery_name"] = "one".into();
        config["api_endpoint"] = self.running.url().into();
        config["basedir"] = self.home.path().to_str().expect("text").into();
        config["region"] = "rbx".into();
        config["inject_env_vars"] = json!({ "FIRST": "a b", "SECOND": "c=d" });
        config["log"] = json!({ "Level": "info", "GraylogPort": "0", "TextFields": null });
        let mut command = tokio::process::Command::new(self.home.path().join("sh"));
        command.arg(self.home.path().join("worker")).args(argument).current_dir(self.home.path());
        command.env_clear().env("PATH", self.home.path()).env("CI", ci);
        command.env("CDS_CONFIG", STANDARD.encode(config.to_string()));
        command.output().await.expect("a shell")
    }
}

fn config_v1(id: &str) -> Value {
    let number: i64 = id.parse().expect("a number");
    let claims =
        json!({ "worker_model": "brave-curie", "model": {}, "job_id": number, "hatchery_name": "one" });
    json!({ "api_token": mint(&claims), "model": "", "booked_job_id": number })
}

async fn config_v2(running: &Running, session: &str, id: &str) -> Value {
    ok(running, session, "POST", &format!("/v2/queue/rbx/job/{id}/hatchery/take"), &Value::Null).await;
    json!({ "api_token": mint(&claims_v2(id)), "model": "debian", "run_job_id": id })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const SCRIPT: &str = r#"x=12
printf 'nonce-%s-"quoted"-\\back\n' $((x * 1000 + 345))
echo "region $HATCHERY_REGION, worker $HATCHERY_WORKER, $FIRST, $SECOND" >&2
echo "${CDS_CONFIG:-no config}""#;

async fn runs_jobs_of_both_protocols(speaker: &str) {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let machine = Machine::new(&running, speaker).await;
    v1(&running).await;
    let session = v2(&running).await;

    let id = running.enqueue(NewJob::v1(SCRIPT)).await.unwrap();
    let v1_config = config_v1(&id);
    let worked = machine.work(&v1_config, None, "").await;
    assert!(worked.status.success(), "{}", text(&worked.stderr));
    let v1_job = running.job(&id).await.unwrap();

    let id = running.enqueue(NewJob::v2(SCRIPT, PATH, "rbx")).await.unwrap();
    let v2_config = config_v2(&running, &session, &id).await;
    let worked = machine.work(&v2_config, None, "").await;
    assert!(worked.status.success(), "{}", text(&worked.stderr));
    let v2_job = running.job(&id).await.unwrap();

    for job in [v1_job, v2_job] {
        assert_eq!((job.status, job.history.len()), (Status::Success, job.attempts.len() + 3), "{job:?}");
        assert_eq!(
            job.logs,
            "nonce-12345-\"quoted\"-\\back\nregion rbx, worker brave-curie, a b, c=d\nno config\n"
        );
        assert_eq!(job.workers, std::slice::from_ref(&job.worker_name));
    }
    let workers = running.workers().await.unwrap();
    let statuses: Vec<_> = workers.iter().map(|worker| worker.status).collect();
    assert_eq!(statuses, [WorkerStatus::Disabled; 2]);
    let left: Vec<_> =
        std::fs::read_dir(machine.home.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), PROGRAMS.len() + 2, "{left:?}");
}

#[tokio::test]
async fn a_worker_with_curl_runs_jobs_of_both_protocols() {
    runs_jobs_of_both_protocols("curl").await;
}

#[tokio::test]
async fn a_worker_with_wget_runs_jobs_of_both_protocols() {
    runs_jobs_of_both_protocols("wget").await;
}

#[tokio::test]
async fn a_script_that_fails_fails_its_job_and_its_log_is_kept() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let machine = Machine::new(&running, "curl").await;
    v1(&running).await;
    let id = running.enqueue(NewJob::v1("echo before\nfalse\necho after")).await.unwrap();
    let worked = machine.work(&config_v1(&id), None, "").await;
    assert!(worked.status.success(), "{}", text(&worked.stderr));
    let job = running.job(&id).await.unwrap();
    assert_eq!((job.status, job.logs.as_str()), (Status::Fail, "before\n"));
}

#[tokio::test]
async fn a_worker_says_that_it_is_there_while_its_job_runs() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let machine = Machine::new(&running, "curl").await;
    machine.hasten();
    let session = v2(&running).await;
    let id = running.enqueue(NewJob::v2("until [ -e ../go ]; do :; done", PATH, "rbx")).await.unwrap();
    let config = config_v2(&running, &session, &id).await;
    let refreshed = async {
        let refresh = format!("/v2/queue/rbx/job/{id}/worker/refresh");
        let beaten = |entry: &Entry| entry.path == refresh && entry.status == 204;
        while running.requests().await.unwrap().iter().filter(|entry| beaten(entry)).count() < 2 {
            tokio::task::yield_now().await;
        }
        std::fs::write(machine.home.path().join("go"), "").unwrap();
    };
    let (worked, ()) = tokio::join!(machine.work(&config, None, ""), refreshed);
    assert!(worked.status.success(), "{}", text(&worked.stderr));
    assert_eq!(running.job(&id).await.unwrap().status, Status::Success);
}

async fn ends_with_its_job(speaker: &str) {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let machine = Machine::new(&running, speaker).await;
    machine.hasten();
    v1(&running).await;
    let session = v2(&running).await;
    let begun = machine.home.path().join("begun");
    let script = "echo begun\n: >../begun\nwhile :; do :; done";
    let first = running.enqueue(NewJob::v1(script)).await.unwrap();
    let second = running.enqueue(NewJob::v2(script, PATH, "rbx")).await.unwrap();
    for (id, config) in [(&first, config_v1(&first)), (&second, config_v2(&running, &session, &second).await)]
    {
        let stopped = async {
            while !begun.exists() {
                tokio::task::yield_now().await;
            }
            running.control(Control::Stop(id.clone())).await.unwrap();
        };
        let (worked, ()) = tokio::join!(machine.work(&config, None, ""), stopped);
        assert!(worked.status.success(), "{}", text(&worked.stderr));
        assert!(text(&worked.stderr).contains("was ended by somebody"), "{}", text(&worked.stderr));
        let job = running.job(id).await.unwrap();
        assert_eq!((job.status, job.logs.as_str()), (Status::Stopped, ""));
        std::fs::remove_file(&begun).unwrap();
    }
    let workers = running.workers().await.unwrap();
    assert_eq!(workers.iter().map(|one| one.status).collect::<Vec<_>>(), [WorkerStatus::Disabled; 2]);
    let told = running.requests().await.unwrap();
    assert!(!told.iter().any(|entry| entry.path.ends_with("/result")), "{told:?}");
}

#[tokio::test]
async fn a_worker_with_curl_ends_when_somebody_stops_its_job() {
    ends_with_its_job("curl").await;
}

#[tokio::test]
async fn a_worker_with_wget_ends_when_somebody_stops_its_job() {
    ends_with_its_job("wget").await;
}

#[tokio::test]
async fn a_worker_asks_again_while_the_server_is_in_trouble() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let machine = Machine::new(&running, "curl").await;
    machine.hasten();
    v1(&running).await;
    let id = running.enqueue(NewJob::v1("echo done")).await.unwrap();
    for (path, trouble) in [
        ("*/signin", Trouble::Error { status: 503, id: 60 }),
        ("*/take", Trouble::Dropped),
        ("*/script", Trouble::Html { status: 502 }),
        ("*/log", Trouble::Dropped),
        ("*/result", Trouble::Maintenance),
        ("*/signout", Trouble::LostReply),
    ] {
        running.control(Control::AddFault(Fault::next(2, path, trouble))).await.unwrap();
    }
    machine.work(&config_v1(&id), None, "").await;
    let job = running.job(&id).await.unwrap();
    assert_eq!((job.status, job.logs.as_str(), job.workers.len()), (Status::Success, "done\n", 1));
    assert_eq!(running.workers().await.unwrap()[0].status, WorkerStatus::Disabled);
}

#[tokio::test]
async fn a_worker_registers_its_model() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let machine = Machine::new(&running, "curl").await;
    let session = v1(&running).await;
    let model = ok(&running, &session, "GET", "/worker/model/shared.infra/new", &Value::Null).await;
    let claims = json!({
        "worker_model": "register-w", "model": { "id": model["id"], "name": "new" }, "register_only": true,
        "hatchery_name": "one",
    });
    let config = json!({ "api_token": mint(&claims), "model": "shared.infra/new" });
    let worked = machine.work(&config, Some("register"), "").await;
    assert!(worked.status.success(), "{}", text(&worked.stderr));
    let model = ok(&running, &session, "GET", "/worker/model/shared.infra/new", &Value::Null).await;
    assert_eq!(model["need_registration"], false);
    let found = model["registered_capabilities"].as_array().unwrap().iter().map(|c| c["value"].clone());
    assert_eq!(found.collect::<Value>(), json!(["sh", "curl"]));
}

#[tokio::test]
async fn a_worker_that_may_not_work_says_why() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let machine = Machine::new(&running, "curl").await;
    v1(&running).await;
    let id = running.enqueue(NewJob::v1("true")).await.unwrap();
    let mut bad_token = config_v1(&id);
    bad_token["api_token"] = "nonsense".into();
    let mut no_job = config_v1(&id);
    no_job.as_object_mut().unwrap().remove("booked_job_id");
    for (config, ci, why) in [
        (&config_v1(&id), "1", "CI=1"),
        (&bad_token, "", "could not sign in: HTTP/1.1 401"),
        (&no_job, "", "no booked_job_id"),
    ] {
        let worked = machine.work(config, None, ci).await;
        assert!(!worked.status.success());
        assert!(text(&worked.stderr).contains(why), "{}", text(&worked.stderr));
    }
    assert_eq!(running.job(&id).await.unwrap().status, Status::Waiting);
}
