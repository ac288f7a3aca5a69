//! CDS as it is on bad days: others are faster, answers get lost, sessions end, connections drop.

use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{
    Config, Control, Fault, HatcheryConsumer, NewJob, Protocol, Requirement, Status, Trouble,
};
use rookery_hatchery::surface::control::Request;
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Wire, eventually};
use rookery_vim_sim::Span;
use serde_json::Value;
use tokio::time::sleep;

use super::history::{asked, line, lives, peace, refuse, requests, told, trouble};

const TAKE: &str = "/v2/queue/*/hatchery/take";
const BOOK: &str = "/queue/workflows/*/book";

/// A V1 job on a model in a repository.
fn v1_job(script: &str) -> NewJob {
    NewJob { model: Some(format!("{}@main", Lab::DEBIAN)), ..NewJob::v1(script) }
}

fn v2_job(script: &str) -> NewJob {
    NewJob::v2(script, Lab::DEBIAN, "default")
}

fn of(protocol: Protocol) -> NewJob {
    match protocol {
        Protocol::V1 => v1_job("true"),
        Protocol::V2 => v2_job("true"),
    }
}

fn slow_guests(milliseconds: i64) -> LabOptions {
    let mut options = LabOptions::default();
    options.vcenter.guests.tools = Span::Constant(SignedDuration::from_millis(milliseconds));
    options
}

fn provision(settings: &str) -> LabOptions {
    LabOptions { tables: format!("[commonConfiguration.provision]\n{settings}\n"), ..LabOptions::default() }
}

async fn control(lab: &Lab, control: Control) {
    lab.cds.control(control).await.expect("the CDS runs");
}

fn post(path: &str, times: u32, trouble: Trouble) -> Fault {
    Fault { method: Some("POST".to_owned()), ..Fault::next(times, path, trouble) }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_another_hatchery_takes_first_costs_nothing() {
    let races = [(Protocol::V1, BOOK, 403, 89), (Protocol::V2, TAKE, 404, 38)];
    for (protocol, path, status, id) in races {
        let lab = Lab::paused(LabOptions::default());
        trouble(&lab, post(path, 1, Trouble::Error { status, id })).await;
        let scene = lab.hatch().await;
        let job = lab.enqueue(of(protocol)).await;
        let hold = path.rsplit_once('*').expect("a pattern").1;
        eventually("the hatchery has tried", async || asked(&lab, "POST", hold).await == 1).await;
        assert!(lives(&lab).await.is_empty(), "no machine was made");
        assert_eq!(told(&lab.job(&job).await), "", "nobody was told of a failure");
        eventually("it tries again when the job is offered again", async || {
            scene.hatchery.control_state().answer(Request::Look).await;
            lab.job(&job).await.status == Status::Success
        })
        .await;
        assert_eq!(lives(&lab).await.len(), 1);
        scene.stop().await;
        lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_booking_outlasts_the_longest_start() {
    let lab = Lab::paused(slow_guests(2000));
    let scene = lab.hatch().await;
    let job = lab.enqueue(v1_job("true")).await;
    eventually("the job is booked", async || lab.job(&job).await.booking.is_some()).await;
    let held = lab.job(&job).await;
    let booking = held.booking.expect("it is booked");
    assert_eq!(booking.hatchery, Lab::NAME);
    let lasts = booking.until.duration_since(held.attempts[0].at);
    assert!(lasts > SignedDuration::from_secs(570), "{lasts}");
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_answers_get_lost_or_garbled_is_held_once_and_run_once() {
    let troubles =
        [Trouble::LostReply, Trouble::Dropped, Trouble::Html { status: 502 }, Trouble::Maintenance];
    for protocol in [Protocol::V1, Protocol::V2] {
        let lab = Lab::paused(LabOptions::default());
        let scene = lab.hatch().await;
        for each in &troubles {
            trouble(&lab, post(if protocol == Protocol::V1 { BOOK } else { TAKE }, 1, each.clone())).await;
            let job = lab.enqueue(of(protocol)).await;
            let ended = lab.ended(&job).await;
            assert_eq!((ended.status, ended.releases), (Status::Success, 0), "{each:?} {ended:#?}");
            assert_eq!((ended.attempts.len(), ended.workers.len()), (1, 1), "{each:?} {ended:#?}");
            peace(&lab).await;
        }
        assert_eq!(lives(&lab).await.len(), troubles.len(), "one machine for each job");
        scene.stop().await;
        lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn after_as_many_real_starts_as_allowed_a_job_fails_and_lost_answers_on_the_way_do_not_matter() {
    for protocol in [Protocol::V1, Protocol::V2] {
        let lab = Lab::paused(provision("maxAttemptsNumberBeforeFailure = 2"));
        refuse(&lab, "PowerOnVM_Task", None, "SystemError").await;
        let lost = |method: &str, path: &str| Fault {
            method: Some(method.to_owned()),
            ..Fault::next(1, path, Trouble::LostReply)
        };
        trouble(&lab, lost("DELETE", "*/take")).await;
        trouble(&lab, lost("DELETE", "*/book")).await;
        trouble(&lab, lost("POST", "*/result")).await;
        let scene = lab.hatch().await;
        let job = lab.enqueue(of(protocol)).await;
        eventually("the job has ended", async || {
            scene.hatchery.control_state().answer(Request::Look).await;
            lab.job(&job).await.status.is_final()
        })
        .await;
        let ended = lab.job(&job).await;
        assert_eq!((ended.status, ended.releases), (Status::Fail, 2), "{ended:#?}");
        assert_eq!(ended.attempts.len(), 3, "it was held for two starts, and once to end it: {ended:#?}");
        assert_eq!(lives(&lab).await.len(), 2, "two machines were made for it");
        let result = ended.result.clone().unwrap_or_default().to_string();
        assert!(result.contains("after 2 attempts"), "{ended:#?}");
        assert!(told(&ended).contains("a rule of the story"), "its users can read why: {}", told(&ended));
        scene.stop().await;
        lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_of_attempts_a_job_is_tried_until_it_works() {
    let lab = Lab::paused(provision("maxAttemptsNumberBeforeFailure = -1"));
    refuse(&lab, "PowerOnVM_Task", Some(7), "SystemError").await;
    let scene = lab.hatch().await;
    let job = lab.enqueue(v1_job("true")).await;
    eventually("the job has ended", async || {
        scene.hatchery.control_state().answer(Request::Look).await;
        lab.job(&job).await.status.is_final()
    })
    .await;
    let ended = lab.job(&job).await;
    assert_eq!(ended.status, Status::Success, "{ended:#?}");
    assert!(ended.releases > 5, "{ended:#?}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn trouble_while_looking_at_a_job_is_no_attempt() {
    let lab = Lab::paused(provision("maxAttemptsNumberBeforeFailure = 1"));
    trouble(&lab, Fault::next(6, "/v2/queue/default/job/*", Trouble::Html { status: 503 })).await;
    let scene = lab.hatch().await;
    let job = lab.enqueue(v2_job("true")).await;
    eventually("the job has ended", async || {
        scene.hatchery.control_state().answer(Request::Look).await;
        lab.job(&job).await.status.is_final()
    })
    .await;
    let ended = lab.job(&job).await;
    assert_eq!((ended.status, ended.attempts.len()), (Status::Success, 1), "{ended:#?}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn sessions_that_end_in_the_middle_are_opened_again() {
    for protocol in [Protocol::V1, Protocol::V2] {
        let lab = Lab::paused(slow_guests(1500));
        let scene = lab.hatch().await;
        control(&lab, Control::ExpireSessions).await;
        let job = lab.enqueue(of(protocol)).await;
        eventually("the job is held", async || !lab.job(&job).await.attempts.is_empty()).await;
        control(&lab, Control::ExpireSessions).await;
        let ended = lab.ended(&job).await;
        assert_eq!((ended.status, ended.attempts.len()), (Status::Success, 1), "{ended:#?}");
        scene.stop().await;
        lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_websocket_is_made_up_for_by_asking() {
    let lab = Lab::paused(LabOptions::default());
    let scene = lab.hatch().await;
    control(&lab, Control::FreezeSockets(true)).await;
    let jobs = [lab.enqueue(of(Protocol::V1)).await, lab.enqueue(of(Protocol::V2)).await];
    for job in &jobs {
        assert_eq!(lab.ended(job).await.status, Status::Success);
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_websocket_comes_back_with_its_filters() {
    let lab = Lab::paused(LabOptions::default());
    let scene = lab.hatch().await;
    for list in ["/queue/workflows", "/v2/queue/default"] {
        let always = Fault { times: None, ..Fault::next(0, list, Trouble::Html { status: 502 }) };
        trouble(&lab, always).await;
    }
    let sockets = async || (asked(&lab, "GET", "/ws").await, asked(&lab, "GET", "/v2/hatchery/ws").await);
    eventually("both websockets are open", async || sockets().await == (2, 1)).await;
    control(&lab, Control::DropSockets { politely: false }).await;
    eventually("both websockets are open again", async || sockets().await == (4, 2)).await;
    let jobs = [lab.enqueue(of(Protocol::V1)).await, lab.enqueue(of(Protocol::V2)).await];
    for job in &jobs {
        assert_eq!(lab.ended(job).await.status, Status::Success, "nothing but a push can have told of it");
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn cds_hears_every_half_minute_how_the_hatchery_is() {
    let stage = Stage::set(LabOptions::default());
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let lab = &stage.lab;
    for path in ["/services/heartbeat", "/v2/hatchery/heartbeat"] {
        eventually("a second heartbeat comes", async || asked(lab, "POST", path).await >= 2).await;
        let beats: Vec<_> = requests(lab).await.into_iter().filter(|entry| entry.path == path).collect();
        let pause = beats[1].at.duration_since(beats[0].at);
        assert!((SignedDuration::from_secs(29)..SignedDuration::from_secs(40)).contains(&pause), "{pause}");
        let status =
            if beats[1].body["lines"].is_array() { &beats[1].body } else { &beats[1].body["status"] };
        let lines = status["lines"].as_array().expect("lines");
        let value = |component: &str| {
            let line = lines.iter().find(|line| line["component"] == component);
            line.map_or(Value::Null, |line| line["value"].clone())
        };
        assert_eq!(value("Workers"), "0/10", "{lines:#?}");
        assert_eq!(value("CPUs"), "0/unlimited", "{lines:#?}");
        assert_eq!(value("VirtualMachines"), "3", "{lines:#?}");
        assert_eq!(value("goroutine/V2heartbeat"), "Running", "{lines:#?}");
    }
    scene.stop().await;
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_hatchery_whose_heartbeat_is_forbidden_ends() {
    for (v1, path) in [(true, "/services/heartbeat"), (false, "/v2/hatchery/heartbeat")] {
        let lab = Lab::paused(LabOptions { v1, ..LabOptions::default() });
        trouble(&lab, Fault::next(1, path, Trouble::Error { status: 403, id: 11 })).await;
        let scene = lab.hatch().await;
        let over = tokio::time::timeout(Duration::from_secs(60), scene.hatchery.over.cancelled()).await;
        assert!(over.is_ok(), "{path}");
        scene.stop().await;
        lab.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_heartbeat_of_v2_beside_v1_is_an_alarm() {
    let lab = Lab::paused(LabOptions::default());
    trouble(&lab, Fault::next(1, "/v2/hatchery/heartbeat", Trouble::Error { status: 403, id: 11 })).await;
    let scene = lab.hatch().await;
    eventually("the status has an alarm", async || {
        line(&scene, "goroutine/V2heartbeat").as_deref() == Some("AL: NOT running")
    })
    .await;
    assert!(!scene.hatchery.over.is_cancelled());
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn v1_jobs_are_served_by_the_region_of_the_settings_and_v2_jobs_by_that_of_cds() {
    let lab = Lab::paused(provision("region = \"rbx\"\nignoreJobWithNoRegion = true"));
    let scene = lab.hatch().await;
    let in_region = |region: Option<&str>| NewJob { region: region.map(str::to_owned), ..v1_job("true") };
    let never = [
        lab.enqueue(in_region(None)).await,
        lab.enqueue(in_region(Some("gra"))).await,
        lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "rbx")).await,
    ];
    let served = [lab.enqueue(in_region(Some("rbx"))).await, lab.enqueue(v2_job("true")).await];
    for job in &served {
        assert_eq!(lab.ended(job).await.status, Status::Success);
    }
    eventually("both queues were listed since", async || {
        scene.hatchery.control_state().answer(Request::Look).await;
        asked(&lab, "GET", "/queue/workflows").await > 2 && asked(&lab, "GET", "/v2/queue/default").await > 2
    })
    .await;
    for job in &never {
        let job = lab.job(job).await;
        assert_eq!((job.status, job.attempts.len()), (Status::Waiting, 0), "{job:#?}");
        assert_eq!(told(&job), "", "jobs of others are none of our business");
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_hatchery_that_stops_signs_out() {
    let lab = Lab::paused(LabOptions::default());
    let scene = lab.hatch().await;
    scene.stop().await;
    let out = requests(&lab).await.into_iter().find(|entry| entry.path == "/auth/consumer/signout");
    assert!(out.is_some_and(|entry| entry.status < 300));
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn v2_jobs_are_left_alone_if_the_settings_say_so() {
    let mut options = provision("disableV2QueuePolling = true");
    // Otherwise CDS gives the job up within the hour.
    options.cds.times.waiting = 7200;
    let stage = Stage::set(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let left = stage.lab.enqueue(v2_job("true")).await;
    let run = stage.lab.enqueue(v1_job("true")).await;
    sleep(Duration::from_hours(1)).await;
    assert_eq!(stage.lab.job(&run).await.status, Status::Success);
    assert_eq!(stage.lab.job(&left).await.status, Status::Waiting);
    for path in ["/v2/queue/default", "/v2/hatchery/ws"] {
        assert_eq!(asked(&stage.lab, "GET", path).await, 0, "{path}");
    }
    scene.stop().await;
    stage.lab.close().await;
}

/// Prints the configuration that the worker was started with.
const SHOW_CONFIG: &str = "tr '\\0' '\\n' </proc/$PPID/environ | sed -n 's/^CDS_CONFIG=//p' | base64 -d";

async fn config_of_worker(lab: &Lab) -> Value {
    let job = lab.enqueue(v2_job(SHOW_CONFIG)).await;
    let ended = lab.ended(&job).await;
    assert_eq!(ended.status, Status::Success, "{ended:#?}");
    serde_json::from_str(&ended.logs).unwrap_or_else(|error| panic!("{error}: {}", ended.logs))
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_are_told_where_logs_go_as_cds_says_or_else_as_the_settings_say() {
    let cdn = rookery_cds_sim::Cdn {
        tcp_url: "cdn.example.org:8090".to_owned(),
        tcp_url_enable_tls: true,
        http_url: "https://cdn.example.org".to_owned(),
    };
    let options = LabOptions { cds: Config { cdn, ..Config::default() }, ..LabOptions::default() };
    let lab = Lab::start(options.clone()).await;
    let scene = lab.hatch().await;
    let config = config_of_worker(&lab).await;
    assert_eq!(config["cdn_endpoint"], "https://cdn.example.org", "{config:#}");
    assert_eq!(config["gelf_service_addr"], "cdn.example.org:8090", "{config:#}");
    assert_eq!(config["gelf_service_addr_enable_tls"], true, "{config:#}");
    assert_eq!(config["api_endpoint"], lab.cds_url, "{config:#}");
    scene.stop().await;
    lab.close().await;

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let inside = format!("http://{}", listener.local_addr().expect("an address"));
    let tables = format!(
        "[commonConfiguration.provision.workerApiHttp]\nurl = \"{inside}\"\n[commonConfiguration.provision.workerCdn]\nurl = \
         \"http://cdn.inside\"\n[commonConfiguration.provision.workerCdn.tcp]\nurl = \"cdn.inside:9000\"\n"
    );
    let lab = Lab::start(LabOptions { tables, ..options }).await;
    lab.cds.serve(listener);
    let scene = lab.hatch().await;
    let config = config_of_worker(&lab).await;
    assert_eq!(config["api_endpoint"], inside, "{config:#}");
    assert_eq!(config["cdn_endpoint"], "http://cdn.inside", "{config:#}");
    assert_eq!(config["gelf_service_addr"], "cdn.inside:9000", "{config:#}");
    assert!(config["gelf_service_addr_enable_tls"].is_null(), "that was said of another address: {config:#}");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_are_told_what_the_settings_say_for_them() {
    let tables = r#"
[commonConfiguration.cdn]
url = "http://cdn.own"
[commonConfiguration.cdn.tcp]
url = "cdn.own:9001"
enableTLS = true
[commonConfiguration.provision]
workerBasedir = "/tmp/ci"
[commonConfiguration.provision.workerLogsOptions]
level = "warning"
[commonConfiguration.provision.workerLogsOptions.graylog]
host = "gray"
port = 12201
extraKey = "X-Token"
extraValue = "gray-token"
[commonConfiguration.provision.workerLogsOptions.syslog]
host = "sys"
port = 514
protocol = "udp"
extraTag = "ci"
"#;
    let lab = Lab::start(LabOptions { tables: tables.to_owned(), ..LabOptions::default() }).await;
    let scene = lab.hatch().await;
    let config = config_of_worker(&lab).await;
    for (path, expected) in [
        ("/basedir", "/tmp/ci"),
        ("/cdn_endpoint", "http://cdn.own"),
        ("/gelf_service_addr", "cdn.own:9001"),
        ("/region", "default"),
        ("/log/Level", "warning"),
        ("/log/GraylogHost", "gray"),
        ("/log/GraylogPort", "12201"),
        ("/log/GraylogExtraKey", "X-Token"),
        ("/log/GraylogExtraValue", "gray-token"),
        ("/log/SyslogHost", "sys"),
        ("/log/SyslogPort", "514"),
        ("/log/SyslogProtocol", "udp"),
        ("/log/SyslogExtraTag", "ci"),
    ] {
        assert_eq!(config.pointer(path), Some(&expected.into()), "{path}: {config:#}");
    }
    assert_eq!(config["gelf_service_addr_enable_tls"], true, "{config:#}");
    assert_eq!(asked(&lab, "GET", "/config/cdn").await, 0, "CDS need not be asked");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_machines_cannot_give_is_refused_with_a_reason_and_never_taken() {
    let lab = Lab::paused(LabOptions::default());
    let scene = lab.hatch().await;
    let requires =
        |kind: &str| NewJob { requirements: vec![Requirement::new(kind, "it", "it")], ..v1_job("true") };
    let side = [("postgres".to_owned(), "postgres:17".to_owned())];
    let jobs = [
        (requires("service"), "service"),
        (requires("memory"), "memory"),
        (requires("hostname"), "hostname"),
        (NewJob { services: side.into(), ..v2_job("true") }, "postgres"),
        (NewJob { memory: Some(4096), ..v2_job("true") }, "4096"),
    ];
    for (job, word) in jobs {
        let id = lab.enqueue(job).await;
        eventually("its user can read why", async || told(&lab.job(&id).await).contains(word)).await;
        let job = lab.job(&id).await;
        assert_eq!((job.status, job.attempts.len()), (Status::Waiting, 0), "{job:#?}");
        assert_eq!(job.infos.len(), 1, "it is said once: {job:#?}");
    }
    assert!(lives(&lab).await.is_empty());
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_hatchery_of_another_region_of_cds_is_told_its_own() {
    let mut options = LabOptions { v1: false, ..LabOptions::default() };
    options.cds.hatcheries.push(HatcheryConsumer {
        name: "other".to_owned(),
        token: "other-token".into(),
        region: Some("gra".to_owned()),
        ..HatcheryConsumer::default()
    });
    let lab = Lab::paused(options);
    let scene = lab.hatch().await;
    let job = lab.enqueue(NewJob::v2("true", Lab::DEBIAN, "gra")).await;
    let ours = lab.enqueue(v2_job("true")).await;
    assert_eq!(lab.ended(&ours).await.status, Status::Success);
    assert_eq!(lab.job(&job).await.status, Status::Waiting);
    assert!(
        requests(&lab).await.iter().all(|entry| !entry.path.contains("/gra")),
        "it never asks for another"
    );
    scene.stop().await;
    lab.close().await;
}
