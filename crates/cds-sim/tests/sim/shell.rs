//! The shell: real HTTP and websockets, over pipes and on simulated time.

use std::io::Read as _;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use rookery_cds_sim::{Clock, Config, Control, Fault, NewJob, Notice, Running, Status, Trouble, World};
use rookery_daemon::{Clock as WallClock, Supervisor};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::kit::{PATH, api_key, config, sign_in_v1, sign_in_v2};

pub(super) fn start(config: Config, supervisor: &Supervisor) -> Running {
    let wall = WallClock::simulated("2031-02-03T04:05:06Z".parse().expect("a time"));
    let world = World::new(config, api_key(), wall.now());
    Running::start(world, Clock::wall(wall), supervisor)
}

/// One request over a connection of its own; none if the connection ended without an answer.
pub(super) async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    session: &str,
    method: &str,
    uri: &str,
    body: &Value,
) -> Option<(u16, Vec<u8>)> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("a connection");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = hyper::Request::builder().method(method).uri(uri).header("host", "cds.test");
    let request = request.header("authorization", format!("Bearer {session}")).header("connection", "close");
    let request = request.body(Full::new(bytes::Bytes::from(body))).expect("a request");
    let asked = async {
        let response = sender.send_request(request).await.ok()?;
        let status = response.status().as_u16();
        Some((status, response.into_body().collect().await.ok()?.to_bytes().to_vec()))
    };
    futures_util::future::join(connection, asked).await.1
}

/// What was said by a call over a pipe that must succeed.
pub(super) async fn ok(running: &Running, session: &str, method: &str, uri: &str, body: &Value) -> Value {
    let (status, said) = ask(running.pipe(), session, method, uri, body).await.expect("an answer");
    assert!((200..300).contains(&status), "{method} {uri}: {status} {}", String::from_utf8_lossy(&said));
    serde_json::from_slice(&said).unwrap_or_default()
}

pub(super) async fn v1(running: &Running) -> String {
    let said = ok(running, "", "POST", "/auth/consumer/builtin/signin", &sign_in_v1("one")).await;
    said["token"].as_str().expect("a token").to_owned()
}

pub(super) async fn v2(running: &Running) -> String {
    let said = ok(running, "", "POST", "/v2/auth/consumer/hatchery/signin", &sign_in_v2("one")).await;
    said["token"].as_str().expect("a token").to_owned()
}

async fn websocket(running: &Running, session: &str, path: &str) -> WebSocketStream<DuplexStream> {
    let request = hyper::Request::builder()
        .uri(format!("ws://cds.test{path}"))
        .header("host", "cds.test")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("authorization", format!("Bearer {session}"));
    let request = request.body(()).expect("a request");
    tokio_tungstenite::client_async(request, running.pipe()).await.expect("a websocket").0
}

async fn heard(socket: &mut WebSocketStream<DuplexStream>) -> Value {
    match socket.next().await {
        Some(Ok(Message::Text(text))) => serde_json::from_str(&text).expect("JSON"),
        other => unreachable!("no text: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn both_websockets_tell_of_jobs_until_they_are_dropped() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let (v1, v2) = (v1(&running).await, v2(&running).await);
    let mut first = websocket(&running, &v1, "/ws").await;
    first.send(Message::text("[]")).await.unwrap();
    first.send(Message::text("?")).await.unwrap();
    assert_eq!(heard(&mut first).await["status"], "KO");
    first
        .send(Message::text(json!({ "type": "queue", "hatchery_type": "vsphere" }).to_string()))
        .await
        .unwrap();
    first.send(Message::text("?")).await.unwrap();
    assert_eq!(heard(&mut first).await["status"], "KO", "so the filter before has been heard, too");
    let mut second = websocket(&running, &v2, "/v2/hatchery/ws").await;

    let id = running.enqueue(NewJob::v1("true")).await.unwrap();
    assert_eq!(heard(&mut first).await["event"]["payload"]["id"].to_string(), id);
    let id = running.enqueue(NewJob::v2("true", PATH, "rbx")).await.unwrap();
    assert_eq!(heard(&mut second).await["job_run_id"], id.as_str());

    running.control(Control::DropSockets { politely: true }).await.unwrap();
    assert!(
        matches!(first.next().await, Some(Ok(Message::Close(Some(frame)))) if u16::from(frame.code) == 1001)
    );
    let mut third = websocket(&running, &v2, "/v2/hatchery/ws").await;
    running.control(Control::Restart { keep_sessions: true }).await.unwrap();
    assert!(matches!(third.next().await, Some(Err(_)) | None));
    ok(&running, &v2, "GET", "/v2/worker", &Value::Null).await;
    supervisor.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn answers_can_be_late_or_never_come() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let session = v2(&running).await;
    let id = running.enqueue(NewJob::v2("true", PATH, "rbx")).await.unwrap();
    let take = format!("/v2/queue/rbx/job/{id}/hatchery/take");
    let trouble = |trouble| running.control(Control::AddFault(Fault::next(1, "*/take", trouble)));
    trouble(Trouble::Dropped).await.unwrap();
    assert_eq!(ask(running.pipe(), &session, "POST", &take, &Value::Null).await, None);
    assert_eq!(running.job(&id).await.unwrap().status, Status::Waiting);
    trouble(Trouble::LostReply).await.unwrap();
    assert_eq!(ask(running.pipe(), &session, "POST", &take, &Value::Null).await, None);
    assert_eq!(running.job(&id).await.unwrap().status, Status::Scheduling);
    trouble(Trouble::Slow { milliseconds: 7000 }).await.unwrap();
    let began = tokio::time::Instant::now();
    let (status, _) = ask(running.pipe(), &session, "POST", &take, &Value::Null).await.unwrap();
    assert_eq!((status, began.elapsed()), (404, Duration::from_secs(7)));
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_connections_that_idle_or_wait() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let (mut sender, idle) =
        hyper::client::conn::http1::handshake(TokioIo::new(running.pipe())).await.unwrap();
    let request =
        || hyper::Request::get("/mon/version").header("host", "cds").body(Full::<bytes::Bytes>::default());
    let restart = async {
        for _ in 0..2 {
            let response = sender.send_request(request().unwrap()).await.unwrap();
            response.into_body().collect().await.unwrap();
        }
        let slow = Trouble::Slow { milliseconds: 60_000 };
        running.control(Control::AddFault(Fault::next(1, "*", slow))).await.unwrap();
        let waits = ask(running.pipe(), "", "GET", "/mon/version", &Value::Null);
        let restarts = async {
            // The call must have come before the restart.
            while running.requests().await.unwrap().len() < 3 {
                tokio::task::yield_now().await;
            }
            running.control(Control::Restart { keep_sessions: true }).await.unwrap();
        };
        futures_util::future::join(waits, restarts).await.0
    };
    let began = tokio::time::Instant::now();
    let (idle, waited) = futures_util::future::join(idle, restart).await;
    assert!(idle.is_ok());
    assert_eq!((waited, began.elapsed()), (None, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn time_passes_by_itself_and_by_control_and_notices_tell_of_it() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let mut notices = running.notices();
    let session = v2(&running).await;
    let id = running.enqueue(NewJob::v2("true", PATH, "rbx")).await.unwrap();
    ok(&running, &session, "POST", &format!("/v2/queue/rbx/job/{id}/hatchery/take"), &Value::Null).await;
    for (status, after) in [(Status::Waiting, 0), (Status::Scheduling, 0), (Status::Waiting, 600)] {
        let began = tokio::time::Instant::now();
        assert_eq!(notices.recv().await.unwrap(), Notice::Job { id: id.clone(), status });
        assert_eq!(began.elapsed().as_secs(), after);
    }
    running.control(Control::Advance(jiff::SignedDuration::from_secs(3600))).await.unwrap();
    assert_eq!(notices.recv().await.unwrap(), Notice::Job { id, status: Status::Fail });
}

#[tokio::test]
async fn a_listener_is_served_and_every_connection_ends_with_its_answer() {
    let supervisor = Supervisor::new();
    let running = start(Config { url: String::new(), ..config() }, &supervisor);
    assert_eq!(running.url(), "http://cds-sim");
    running.serve(tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = running.url().strip_prefix("http://").unwrap().to_owned();
    let stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let body = sign_in_v2("one");
    let (status, said) = ask(stream, "", "POST", "/v2/auth/consumer/hatchery/signin", &body).await.unwrap();
    let said: Value = serde_json::from_slice(&said).unwrap();
    assert_eq!((status, &said["api_url"]), (200, &json!("http://cds.test")));
    supervisor.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(running.control(Control::Jobs).await.is_none());
}

/// The bytes of an answer to a client that offers gzip.
async fn raw(running: &Running, method: &str, uri: &str, session: &str) -> (String, Vec<u8>) {
    let mut stream = running.pipe();
    let request = format!(
        "{method} {uri} HTTP/1.1\r\nhost: cds\r\nauthorization: Bearer {session}\r\naccept-encoding: gzip\r\n\
         content-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let body = answer.split_off(end);
    (String::from_utf8(answer).unwrap(), body)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_offers_gzip_gets_it_even_with_an_empty_answer() {
    let supervisor = Supervisor::new();
    let running = start(config(), &supervisor);
    let session = v2(&running).await;
    let (head, body) = raw(&running, "POST", "/v2/hatchery/heartbeat", &session).await;
    assert!(head.starts_with("HTTP/1.1 204 ") && head.contains("content-encoding: gzip\r\n"), "{head}");
    assert!(!head.contains("content-length") && !head.contains("transfer-encoding"), "{head}");
    assert_eq!(body, b"");

    let (head, body) = raw(&running, "GET", "/v2/worker", &session).await;
    assert!(head.contains("content-encoding: gzip\r\n"), "{head}");
    assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut plain).unwrap();
    assert_eq!(plain, "null");

    // What does not fit Go's buffer comes in chunks.
    for _ in 0..200 {
        running.enqueue(NewJob::v2("true", PATH, "rbx")).await.unwrap();
    }
    let (head, body) = raw(&running, "GET", "/v2/queue/rbx", &session).await;
    assert!(head.contains("transfer-encoding: chunked\r\n") && !head.contains("content-length"), "{head}");
    assert!(body.len() > 2048 && body.ends_with(b"\r\n0\r\n\r\n"));
}
