//! The worker that is played inside a process.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rookery_cds_sim::{Control, Fault, NewJob, Running, Status, Trouble, WorkerStatus, worker};
use rookery_daemon::Supervisor;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::kit::{PATH, claims_v2, config, mint};
use super::shell::{ok, start, v1, v2};

async fn server(supervisor: &Supervisor) -> Running {
    let running = start(config(), supervisor);
    running.serve(TcpListener::bind("127.0.0.1:0").await.expect("a port"));
    running
}

fn encoded(running: &Running, mut config: Value) -> String {
    config["api_endpoint"] = running.url().into();
    config["region"] = "rbx".into();
    STANDARD.encode(config.to_string())
}

fn config_v1(running: &Running, id: &str) -> String {
    let number: i64 = id.parse().expect("a number");
    let claims =
        json!({ "worker_model": "brave-curie", "model": {}, "job_id": number, "hatchery_name": "one" });
    encoded(running, json!({ "api_token": mint(&claims), "booked_job_id": number }))
}

#[tokio::test]
async fn a_played_worker_takes_jobs_of_both_protocols_and_tells_how_they_went() {
    let supervisor = Supervisor::new();
    let running = server(&supervisor).await;
    v1(&running).await;
    let session = v2(&running).await;
    let first = running.enqueue(NewJob::v1("echo one\nexit 1")).await.unwrap();
    worker::play(&config_v1(&running, &first), false).await.unwrap();
    let second = running.enqueue(NewJob::v2("echo two\nsleep 0.01", PATH, "rbx")).await.unwrap();
    ok(&running, &session, "POST", &format!("/v2/queue/rbx/job/{second}/hatchery/take"), &Value::Null).await;
    let config = json!({ "api_token": mint(&claims_v2(&second)), "run_job_id": second });
    worker::play(&encoded(&running, config), false).await.unwrap();

    let (first, second) = (running.job(&first).await.unwrap(), running.job(&second).await.unwrap());
    assert_eq!((first.status, first.logs.as_str()), (Status::Fail, "one\n"), "{first:?}");
    assert_eq!((second.status, second.logs.as_str()), (Status::Success, "two\n"), "{second:?}");
    let workers = running.workers().await.unwrap();
    assert_eq!(workers.iter().map(|one| one.status).collect::<Vec<_>>(), [WorkerStatus::Disabled; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_played_worker_asks_again_while_the_server_is_in_trouble_and_gives_up_when_it_is_refused() {
    let supervisor = Supervisor::new();
    let running = server(&supervisor).await;
    v1(&running).await;
    let id = running.enqueue(NewJob::v1("echo one")).await.unwrap();
    for trouble in [Trouble::Html { status: 502 }, Trouble::Dropped] {
        running.control(Control::AddFault(Fault::next(2, "*", trouble))).await.unwrap();
    }
    let config = config_v1(&running, &id);
    worker::play(&config, false).await.unwrap();
    assert_eq!(running.job(&id).await.unwrap().status, Status::Success);
    let refused = worker::play(&config, false).await.unwrap_err().to_string();
    assert!(refused.starts_with("the worker could not sign in: 403"), "{refused}");
    assert!(worker::play("%", false).await.is_err());
}
