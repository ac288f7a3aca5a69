use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::kit::{BUILTIN, HATCHERY, Kit, Reply, ServerSocket};
use crate::{V1JobId, V2JobId};

const UUID: &str = "6ec08f8c-2b9f-4e0a-81ab-5e980012400a";

fn kit() -> Kit {
    Kit::new(|asked| matches!(asked.uri.as_str(), "/api/ws" | "/api/v2/hatchery/ws").then_some(Reply::Socket))
}

fn v1_event(id: i64) -> Message {
    let event = json!({"type_event": "sdk.EventRunWorkflowJob", "status": "Waiting", "payload": {"id": id}});
    Message::text(json!({"status": "OK", "error": "", "event": event}).to_string())
}

/// What the client says first.
async fn filters(socket: &mut ServerSocket) -> Value {
    serde_json::from_slice(&socket.next().await.unwrap().unwrap().into_data()).unwrap()
}

fn job(id: i64) -> V1JobId {
    V1JobId::try_from(id).unwrap()
}

#[tokio::test(start_paused = true)]
async fn jobs_are_heard_of_and_the_filters_are_sent_on_each_connection() {
    let mut kit = kit();
    let mut jobs = kit.v1().watch(&kit.supervisor);
    let expected = json!([{"type": "queue", "project_key": "", "application_name": "", "pipeline_name": "",
        "environment_name": "", "workflow_name": "", "workflow_run_num": 0, "workflow_node_run_id": 0,
        "operation_uuid": "", "hatchery_type": "vsphere"}]);
    for id in 1..4 {
        let mut socket = kit.sockets.recv().await.unwrap();
        assert_eq!(filters(&mut socket).await, expected);
        socket.send(Message::text("not JSON")).await.unwrap();
        socket.send(Message::text(json!({"status": "KO", "error": "x"}).to_string())).await.unwrap();
        socket.send(v1_event(id)).await.unwrap();
        assert_eq!(jobs.recv().await, Some(job(id)));
        // The first ends politely, the others break.
        if id == 1 {
            socket.close(None).await.unwrap();
        }
    }
    let headers = &kit.server.asked()[1].headers;
    assert!(headers["authorization"].starts_with("Bearer e30."));
    assert_eq!(headers["date"], "5 Nov 2026 07:10:00 +0000");
    assert_eq!(headers["x-cds-remotetime"], headers["date"]);
    assert_eq!(kit.server.count(BUILTIN), 1, "one session serves all connections");
}

#[tokio::test(start_paused = true)]
async fn v2_jobs_are_heard_of_without_asking() {
    let mut kit = kit();
    let mut jobs = kit.v2().watch(&kit.supervisor);
    let mut socket = kit.sockets.recv().await.unwrap();
    let event = json!({"job_run_id": UUID, "region": "default", "model_type": "vsphere", "job_id": "build"});
    socket.send(Message::text(event.to_string())).await.unwrap();
    assert_eq!(jobs.recv().await, Some(V2JobId::try_from(UUID.to_owned()).unwrap()));
    let first = timeout(Duration::from_secs(60), socket.next()).await.unwrap().unwrap().unwrap();
    assert!(matches!(first, Message::Ping(_)), "{first:?}");
    assert_eq!(kit.server.count(HATCHERY), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_gone_silent_is_replaced() {
    let mut kit = kit();
    let _jobs = kit.v1().watch(&kit.supervisor);
    // Kept open, and never read: nobody answers the pings.
    let _silent = kit.sockets.recv().await.unwrap();
    let begun = Instant::now();
    let mut next = kit.sockets.recv().await.unwrap();
    assert!(
        begun.elapsed() >= Duration::from_secs(60) && begun.elapsed() <= Duration::from_secs(61),
        "{begun:?}"
    );
    filters(&mut next).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_news_lives_as_long_as_its_pings_are_answered() {
    let mut kit = kit();
    let mut jobs = kit.v1().watch(&kit.supervisor);
    let socket = kit.sockets.recv().await.unwrap();
    let (mut sink, mut stream) = socket.split();
    kit.supervisor.spawn("reader", async move { while stream.next().await.is_some() {} });
    sleep(Duration::from_secs(3600)).await;
    sink.send(v1_event(5)).await.unwrap();
    assert_eq!(jobs.recv().await, Some(job(5)));
    assert_eq!(kit.server.count("/api/ws"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_session_is_renewed_for_the_next_connection() {
    let mut kit = kit();
    kit.v1().service().await.unwrap();
    kit.server.forget_sessions();
    let _jobs = kit.v1().watch(&kit.supervisor);
    filters(&mut kit.sockets.recv().await.unwrap()).await;
    assert_eq!((kit.server.count("/api/ws"), kit.server.count(BUILTIN)), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_is_tried_ever_more_rarely_until_a_connection_lasts() {
    let mut failures = 0;
    let mut kit = Kit::new(move |asked| {
        (asked.uri == "/api/ws").then(|| {
            failures += 1;
            if failures < 20 { Reply::Answer(502, "<html>".into()) } else { Reply::Socket }
        })
    });
    let _jobs = kit.v1().watch(&kit.supervisor);
    let begun = Instant::now();
    let mut socket = kit.sockets.recv().await.unwrap();
    // Six doubling steps, then a minute at most; half of each is certain.
    let certain = (1 + 2 + 4 + 8 + 16 + 32 + 13 * 60) / 2;
    assert!(begun.elapsed() >= Duration::from_secs(certain), "{:?}", begun.elapsed());
    assert!(begun.elapsed() <= Duration::from_secs(2 * certain + 1), "{:?}", begun.elapsed());

    let lasting = async { while socket.next().await.is_some() {} };
    assert!(timeout(Duration::from_secs(120), lasting).await.is_err(), "it lasts");
    drop(socket);
    let begun = Instant::now();
    kit.sockets.recv().await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn news_that_nobody_reads_is_dropped_and_later_news_is_not() {
    let mut kit = kit();
    let mut jobs = kit.v1().watch(&kit.supervisor);
    let mut socket = kit.sockets.recv().await.unwrap();
    filters(&mut socket).await;
    for id in 1..=1000 {
        socket.send(v1_event(id)).await.unwrap();
    }
    socket.send(Message::Ping(vec![1].into())).await.unwrap();
    assert!(matches!(socket.next().await, Some(Ok(Message::Pong(_)))), "all was read");
    for id in 1..=256 {
        assert_eq!(jobs.try_recv(), Ok(job(id)));
    }
    assert!(jobs.try_recv().is_err());
    socket.send(v1_event(2000)).await.unwrap();
    assert_eq!(jobs.recv().await, Some(job(2000)));
}

#[tokio::test(start_paused = true)]
async fn listening_ends_with_the_supervisor_and_with_the_listener() {
    let mut kit = kit();
    let supervisor = kit.supervisor.child();
    let jobs = kit.v1().watch(&supervisor);
    let _socket = kit.sockets.recv().await.unwrap();
    drop(jobs);
    let other = kit.v2().watch(&supervisor);
    let _other = kit.sockets.recv().await.unwrap();
    assert_eq!(supervisor.shutdown(Duration::from_secs(30)).await, Ok(()));
    drop(other);
}
