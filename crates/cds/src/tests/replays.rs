//! The answers of a real CDS as they came over the wire, replayed byte for byte by a server that knows no HTTP library.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::Method;
use hyper::StatusCode;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rookery_daemon::{Clock, Lease, Supervisor};
use rookery_dial::{Dial, DialError, Dialing, Stream};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use super::kit::{NOW, REQUEST_TIMEOUT, identity};
use crate::api::{Api, Call, Repeat};
use crate::{
    ApiAddress, Cds, CdsError, ErrorId, InfoLevel, JobStatus, ModelPath, MonitoringStatus, Options,
    RegionFilter, SpawnInfo, V1JobId, V2JobId,
};

const ANSWERS: &str = include_str!("../../tests/captures/answers.jsonl");
/// Just within the time for a request.
const LATE: Duration = Duration::from_secs(9);
const V2_JOB: &str = "bef0c96e-a923-4025-b7f8-98e7a32988b3";

#[derive(Debug, Clone)]
struct Recorded {
    method: String,
    route: String,
    status: u16,
    headers: Vec<(String, String)>,
    /// As it was sent.
    body: Vec<u8>,
    /// What it says, as another program unpacked it.
    says: String,
}

/// How an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    AtOnce,
    /// Almost too late.
    Late,
    ByteByByte,
    /// The connection ends with it, which its header says.
    Closing,
    /// The connection seems to be kept, and ends when it is used again.
    Stale,
}

fn recorded() -> Vec<Recorded> {
    ANSWERS.lines().map(|line| Recorded::read(&serde_json::from_str(line).unwrap())).collect()
}

impl Recorded {
    fn read(line: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let route = text(&line["route"]);
        let pairs = line["headers"].as_array().unwrap().iter();
        let mut headers: Vec<_> = pairs.map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
        let (body, says) = if line["body"].is_null() {
            // It held tokens and was left out: ours has another length.
            let says = in_place_of(&route);
            let body = gzip(&says);
            let length = headers.iter_mut().find(|(name, _)| name == "Content-Length");
            if let Some((_, length)) = length {
                *length = body.len().to_string();
            }
            (body, says)
        } else {
            (STANDARD.decode(text(&line["body"])).unwrap(), text(&line["says"]))
        };
        let status = line["status"].as_u64().unwrap().try_into().unwrap();
        Self { method: text(&line["method"]), route, status, headers, body, says }
    }

    /// The bytes on the wire.
    fn wire(&self, delivery: Delivery) -> Vec<u8> {
        let reason = StatusCode::from_u16(self.status).unwrap().canonical_reason().unwrap();
        let mut head = vec![format!("HTTP/1.1 {} {reason}", self.status)];
        head.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if delivery == Delivery::Closing {
            head.push("Connection: close".to_owned());
        }
        let chunked = !self.body.is_empty() && !self.headers.iter().any(|(name, _)| name == "Content-Length");
        if chunked {
            head.push("Transfer-Encoding: chunked".to_owned());
        }
        let mut wire = format!("{}\r\n\r\n", head.join("\r\n")).into_bytes();
        if chunked {
            for chunk in self.body.chunks(2048) {
                wire.extend(format!("{:x}\r\n", chunk.len()).bytes());
                wire.extend(chunk);
                wire.extend(b"\r\n");
            }
            wire.extend(b"0\r\n\r\n");
        } else {
            wire.extend(&self.body);
        }
        wire
    }
}

fn in_place_of(route: &str) -> String {
    let times = URL_SAFE_NO_PAD.encode(json!({"iat": 1000, "exp": 4600}).to_string());
    let token = format!("e30.{times}.c2ln");
    let said = match route {
        "/auth/consumer/builtin/signin" => json!({"token": token, "service": {"id": 7, "region": "default"}}),
        "/v2/auth/consumer/hatchery/signin" => {
            json!({"token": token, "region": "default", "hatchery": {"id": "1925fbdb"}})
        }
        _ => json!({"left": "out", "padding": "x".repeat(3000)}),
    };
    said.to_string()
}

fn gzip(plain: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(plain.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

type Answers = Arc<dyn Fn(&str, &str) -> Recorded + Send + Sync>;

/// Answers each request with what was recorded for it, over TCP or over a pipe.
#[derive(Clone)]
struct Replay {
    answers: Answers,
    delivery: Delivery,
    tcp: Option<SocketAddr>,
    asked: Arc<Mutex<Vec<String>>>,
    /// How many connections there were, and which request came over which.
    connections: Arc<Mutex<usize>>,
    by_connection: Arc<Mutex<Vec<(usize, String)>>>,
    supervisor: Supervisor,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").finish_non_exhaustive()
    }
}

impl Replay {
    fn piped(delivery: Delivery, answers: impl Fn(&str, &str) -> Recorded + Send + Sync + 'static) -> Self {
        let (answers, supervisor) = (Arc::new(answers), Supervisor::new());
        Self {
            answers,
            delivery,
            tcp: None,
            asked: Arc::default(),
            connections: Arc::default(),
            by_connection: Arc::default(),
            supervisor,
        }
    }

    async fn listening(
        delivery: Delivery,
        answers: impl Fn(&str, &str) -> Recorded + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let replay = Self { tcp: listener.local_addr().ok(), ..Self::piped(delivery, answers) };
        let server = replay.clone();
        replay.supervisor.spawn("listener", async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                server.supervisor.spawn("connection", server.clone().serve(stream));
            }
        });
        replay
    }

    /// Requests are taken apart by hand: a head, and as many bytes as it says.
    async fn serve(self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        let connection = {
            let mut connections = self.connections.lock().unwrap();
            *connections += 1;
            *connections
        };
        for served in 0.. {
            let mut request = Vec::new();
            let head = loop {
                if let Some(at) = request.windows(4).position(|window| window == b"\r\n\r\n") {
                    break String::from_utf8(request[..at].to_vec()).unwrap();
                }
                if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                    return;
                }
            };
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
            });
            let whole = head.len() + 4 + length.unwrap_or(0);
            while request.len() < whole {
                assert_ne!(stream.read_buf(&mut request).await.unwrap_or(0), 0, "a whole request");
            }
            let mut line = head.lines().next().unwrap().split(' ');
            let (method, uri) = (line.next().unwrap(), line.next().unwrap());
            self.asked.lock().unwrap().push(format!("{method} {uri}"));
            self.by_connection.lock().unwrap().push((connection, method.to_owned()));
            if self.delivery == Delivery::Stale && served > 0 {
                return;
            }
            let wire = (self.answers)(method, uri).wire(self.delivery);
            if self.deliver(&mut stream, &wire).await.is_err() || self.delivery == Delivery::Closing {
                return;
            }
        }
    }

    async fn deliver(
        &self,
        stream: &mut (impl AsyncWrite + Unpin),
        wire: &[u8],
    ) -> Result<(), std::io::Error> {
        match self.delivery {
            Delivery::AtOnce | Delivery::Closing | Delivery::Stale => stream.write_all(wire).await,
            Delivery::Late => {
                sleep(LATE).await;
                stream.write_all(wire).await
            }
            Delivery::ByteByByte => {
                for byte in wire {
                    stream.write_all(&[*byte]).await?;
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
        }
    }

    fn api(&self) -> Api {
        self.api_by(Lease::unlimited())
    }

    fn api_by(&self, lease: Lease) -> Api {
        let address = ApiAddress::parse("http://cds.example.org:8081").unwrap();
        let clock = Clock::simulated(NOW.parse().unwrap());
        Api::new(address, Arc::new(self.clone()), "rookery-test", clock, lease, REQUEST_TIMEOUT)
    }

    fn cds(&self) -> Cds {
        Cds::new(Options {
            api: ApiAddress::parse("http://cds.example.org:8081").unwrap(),
            dial: Arc::new(self.clone()),
            identity: identity(),
            v1: Some("token-1".into()),
            v2: Some("token-2".into()),
            request_timeout: REQUEST_TIMEOUT,
            user_agent: "rookery-test".into(),
            clock: Clock::simulated(NOW.parse().unwrap()),
            lease: Lease::unlimited(),
            random: StdRng::seed_from_u64(1),
        })
    }
}

impl Dial for Replay {
    fn dial(&self) -> Dialing {
        let replay = self.clone();
        Box::pin(async move {
            if let Some(address) = replay.tcp {
                let stream = TcpStream::connect(address).await;
                let stream = stream.map_err(|error| DialError::Connect {
                    address: address.to_string(),
                    reason: error.to_string(),
                })?;
                return Ok(Box::new(stream) as Box<dyn Stream>);
            }
            let (ours, theirs) = duplex(1 << 16);
            replay.supervisor.spawn("connection", replay.clone().serve(theirs));
            Ok(Box::new(ours) as Box<dyn Stream>)
        })
    }
}

/// That one answer is understood.
async fn check(api: &Api, recorded: &Recorded, delivery: Delivery) {
    let method: Method = recorded.method.parse().unwrap();
    let call = Call::new("replay an answer", method, recorded.route.clone(), Repeat::Never);
    let at = format!("{delivery:?} {} {} {}", recorded.method, recorded.route, recorded.status);
    match api.send(&call, None).await {
        Ok(answer) => {
            assert!((200..300).contains(&recorded.status), "{at}");
            assert_eq!(String::from_utf8_lossy(&answer.body), recorded.says, "{at}");
        }
        Err(error) => {
            let refusal = error.refusal().unwrap_or_else(|| panic!("{at}: {error:?}"));
            assert_eq!(refusal.status, recorded.status, "{at}");
            let said: Value = serde_json::from_str(&recorded.says).unwrap();
            assert_eq!(refusal.id, ErrorId(said["id"].as_i64().unwrap()), "{at}");
            assert_eq!(refusal.request_id.as_deref(), said["request_id"].as_str(), "{at}");
        }
    }
}

/// Websockets have tests of their own: what was recorded of them is only that they open.
fn answers_to_requests() -> Vec<Recorded> {
    let answers: Vec<_> = recorded().into_iter().filter(|recorded| recorded.status != 101).collect();
    assert_eq!(answers.len(), 32);
    answers
}

#[tokio::test]
async fn every_recorded_answer_is_understood_over_tcp_however_it_comes() {
    for delivery in [Delivery::AtOnce, Delivery::ByteByByte, Delivery::Closing] {
        for recorded in answers_to_requests() {
            let replayed = recorded.clone();
            let replay = Replay::listening(delivery, move |_, _| replayed.clone()).await;
            // Twice: what is left of an answer would spoil the next one.
            let api = replay.api();
            check(&api, &recorded, delivery).await;
            check(&api, &recorded, delivery).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_recorded_answer_is_understood_just_before_it_would_be_too_late() {
    for recorded in answers_to_requests() {
        let replayed = recorded.clone();
        let replay = Replay::piped(Delivery::Late, move |_, _| replayed.clone());
        let began = Instant::now();
        check(&replay.api(), &recorded, Delivery::Late).await;
        assert_eq!(began.elapsed(), LATE);
        assert!(LATE < REQUEST_TIMEOUT);
    }
}

/// What was recorded for a request that succeeds.
fn success(method: &str, uri: &str) -> Recorded {
    let route = uri.split('?').next().unwrap().replace(V2_JOB, "{uuid}");
    let route = route.replace("/queue/workflows/10/", "/queue/workflows/{n}/");
    let found = recorded().into_iter().find(|recorded| recorded.method == method && recorded.route == route);
    found.unwrap_or_else(|| panic!("{method} {route} was not recorded"))
}

/// All that a hatchery asks of CDS while it serves one job of each protocol.
async fn converse(cds: &Cds) -> Result<(), CdsError> {
    let (v1, v2) = (cds.v1().unwrap(), cds.v2().unwrap());
    let status: MonitoringStatus = serde_json::from_value(json!({"now": NOW, "lines": []})).unwrap();
    // A hatchery whose heartbeats fail ends with the eleventh.
    for _ in 0..12 {
        v1.heartbeat(&status).await?;
        v2.heartbeat(&status).await?;
    }
    assert!(
        v1.models().await?.is_empty() && v1.workers().await?.is_empty() && v2.workers().await?.is_empty()
    );
    assert_eq!(v1.queue(&RegionFilter::new(Some("default"), false)).await?, []);
    assert_eq!(v2.queue(&[]).await?, []);

    let job = V1JobId::try_from(10).unwrap();
    assert_eq!(v1.job(job).await?.status, JobStatus::Waiting);
    v1.book(job, Duration::ZERO).await?;
    let (hatchery, worker, model) = ("rig-vsphere".into(), "w".into(), "m".into());
    v1.spawn_info(job, &[SpawnInfo::Starts { hatchery, worker, model }]).await?;

    let job = V2JobId::try_from(V2_JOB.to_owned()).unwrap();
    assert_eq!(v2.job(&job).await?.job.id, job);
    assert_eq!(v2.take(&job).await?.status, JobStatus::Scheduling);
    v2.info(&job, InfoLevel::Info, "starting").await?;
    let path = ModelPath {
        project: "RIG".into(),
        vcs: "rigvcs".into(),
        repository: "gituser/rigrepo".into(),
        name: "rig-vsphere-model".into(),
        branch: "main".into(),
    };
    assert_eq!(v2.model(&path).await?.spec.image, "debian12");
    v1.sign_out().await
}

#[tokio::test]
async fn a_whole_conversation_goes_well_with_the_recorded_answers() {
    for delivery in [Delivery::AtOnce, Delivery::ByteByByte, Delivery::Closing] {
        let replay = Replay::listening(delivery, success).await;
        converse(&replay.cds()).await.unwrap_or_else(|error| panic!("{delivery:?}: {error:?}"));
        let signed_in = replay.asked.lock().unwrap().iter().filter(|asked| asked.contains("signin")).count();
        assert_eq!(signed_in, 2, "{delivery:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_conversation_goes_well_with_answers_that_are_late() {
    converse(&Replay::piped(Delivery::Late, success).cds()).await.unwrap();
}

#[tokio::test]
async fn reads_share_a_connection_and_what_changes_something_has_its_own() {
    let replay = Replay::listening(Delivery::AtOnce, success).await;
    let cds = replay.cds();
    let status: MonitoringStatus = serde_json::from_value(json!({"now": NOW, "lines": []})).unwrap();
    for _ in 0..20 {
        cds.v2().unwrap().workers().await.unwrap();
        cds.v2().unwrap().queue(&[]).await.unwrap();
        cds.v2().unwrap().heartbeat(&status).await.unwrap();
    }
    let all = replay.by_connection.lock().unwrap().clone();
    let of = |method: &str| all.iter().filter(|(_, by)| by == method).map(|(at, _)| *at).collect::<Vec<_>>();
    let (reads, mut changes) = (of("GET"), of("POST"));
    assert_eq!((reads.len(), changes.len()), (40, 21));
    assert!(reads.iter().all(|connection| connection == &reads[0]), "{reads:?}");
    changes.dedup();
    assert!(changes.len() == 21 && !changes.contains(&reads[0]), "{changes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_that_has_ended_loses_no_answer_and_no_change_is_sent_over_one() {
    let replay = Replay::piped(Delivery::Stale, success);
    let cds = replay.cds();
    let status: MonitoringStatus = serde_json::from_value(json!({"now": NOW, "lines": []})).unwrap();
    for _ in 0..5 {
        assert!(cds.v2().unwrap().workers().await.unwrap().is_empty());
        cds.v2().unwrap().heartbeat(&status).await.unwrap();
    }
    let asked = replay.asked.lock().unwrap().clone();
    assert_eq!(asked.iter().filter(|asked| asked.starts_with("POST")).count(), 6, "{asked:?}");
    // Every second read finds that its connection has ended.
    assert_eq!(asked.iter().filter(|asked| asked.starts_with("GET")).count(), 7, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_compressed_refusal_of_a_session_signs_in_again() {
    let refused = Mutex::new(false);
    let replay = Replay::piped(Delivery::AtOnce, move |method, uri| {
        let mut refused = refused.lock().unwrap();
        if uri == "/v2/queue/default" && !std::mem::replace(&mut refused, true) {
            return recorded().into_iter().rfind(|recorded| recorded.route == uri).unwrap();
        }
        success(method, uri)
    });
    assert_eq!(replay.cds().v2().unwrap().queue(&[]).await.unwrap(), []);
    let asked = replay.asked.lock().unwrap().clone();
    let sign_in = "POST /v2/auth/consumer/hatchery/signin";
    assert_eq!(asked, [sign_in, "GET /v2/queue/default", sign_in, "GET /v2/queue/default"]);
}

/// An answer to `GET /v2/worker` that nobody recorded.
fn made(status: u16, encoding: &str, body: &[u8]) -> Recorded {
    let length = body.len().to_string();
    let headers =
        vec![("Content-Encoding".to_owned(), encoding.to_owned()), ("Content-Length".to_owned(), length)];
    let (method, route) = ("GET".to_owned(), "/v2/worker".to_owned());
    Recorded { method, route, status, headers, body: body.to_vec(), says: String::new() }
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_body_cannot_be_unpacked_keeps_its_status_and_another_encoding_is_named() {
    let asked = async |answer: Recorded| {
        let replay = Replay::piped(Delivery::AtOnce, move |_, _| answer.clone());
        let call = Call::get("list the V2 workers", "/v2/worker");
        replay.api().send(&call, None).await.unwrap_err()
    };
    for (status, encoding) in [(401, "gzip"), (403, "deflate"), (404, "br"), (502, "gzip"), (503, "zstd")] {
        let error = asked(made(status, encoding, b"<html>no")).await;
        assert!(
            matches!(error, CdsError::Unavailable { status: kept, .. } if kept == status),
            "{status} {encoding}: {error:?}"
        );
        assert_eq!(error.is_unauthorized(), status == 401);
        assert_eq!(error.may_have_happened(), status >= 500);
    }
    let error = asked(made(200, "br", b"whatever")).await;
    assert_eq!(
        error.to_string(),
        "CDS's answer to the request to list the V2 workers cannot be read: the answer's content encoding is \
         \"br\"; only gzip, deflate and identity can be read"
    );
    assert!(error.may_have_happened() && !error.is_transient());
    let error = asked(made(200, "gzip", b"whatever")).await;
    assert!(matches!(error, CdsError::Lost { .. }), "{error:?}");
}

// The refusal of a session whose text broke off was a lost answer, and nobody signed in again.
#[tokio::test(start_paused = true)]
async fn an_error_whose_body_breaks_off_keeps_its_status() {
    let asked = async |status: u16, encoding: &str| {
        let mut answer = made(status, encoding, &gzip("no"));
        for (_, length) in answer.headers.iter_mut().filter(|(name, _)| name == "Content-Length") {
            length.push('0');
        }
        let replay = Replay::piped(Delivery::Closing, move |_, _| answer.clone());
        let call = Call::get("list the V2 workers", "/v2/worker");
        replay.api().send(&call, None).await.unwrap_err()
    };
    for (status, encoding) in [(401, "gzip"), (403, "identity"), (404, "gzip"), (502, "identity")] {
        let error = asked(status, encoding).await;
        assert!(
            matches!(error, CdsError::Unavailable { status: kept, .. } if kept == status),
            "{status} {encoding}: {error:?}"
        );
        assert_eq!(error.is_unauthorized(), status == 401);
    }
    let error = asked(200, "gzip").await;
    assert!(matches!(error, CdsError::Lost { .. }), "{error:?}");
}

// What a request waited for in this process counted as CDS's slowness.
#[tokio::test(start_paused = true)]
async fn a_call_is_measured_from_when_it_is_sent() {
    let replay = Replay::piped(Delivery::AtOnce, |_, _| made(200, "identity", b"{}"));
    let lease = Lease::new(Clock::simulated(NOW.parse().unwrap()));
    let api = replay.api_by(lease.clone());
    let call = Call::new("release a job", Method::DELETE, "/v2/queue/default/job", Repeat::Never);
    let granting = async {
        sleep(Duration::from_secs(5)).await;
        lease.lift();
    };
    let (sent, ()) = tokio::join!(api.send(&call, None), granting);
    sent.unwrap();
    let took: Vec<Duration> = api.times.take().into_iter().map(|time| time.took).collect();
    assert!(matches!(&*took, [took] if *took < Duration::from_secs(1)), "{took:?}");
    lease.suspend();
    api.send(&call, None).await.unwrap_err();
    assert_eq!(api.times.take(), [], "it was not sent");
}

/// A connection that takes so long that the lease is over when it stands.
#[derive(Debug)]
struct SlowDial(Replay, Lease);

impl Dial for SlowDial {
    fn dial(&self) -> Dialing {
        self.1.suspend();
        self.0.dial()
    }
}

// A process that is paused while it connects must not send what it was about to when it wakes up.
#[tokio::test(start_paused = true)]
async fn a_request_whose_lease_ends_while_it_connects_is_not_sent() {
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&asked);
    let replay = Replay::piped(Delivery::AtOnce, move |_, _| {
        seen.fetch_add(1, Ordering::Relaxed);
        made(200, "identity", b"{}")
    });
    let clock = Clock::simulated(NOW.parse().unwrap());
    let lease = Lease::new(clock.clone());
    let address = ApiAddress::parse("http://cds.example.org:8081").unwrap();
    let dial = Arc::new(SlowDial(replay, lease.clone()));
    let api = Api::new(address, dial, "rookery-test", clock, lease.clone(), REQUEST_TIMEOUT);
    let release = Call::new("release a job", Method::DELETE, "/v2/queue/default/job", Repeat::Never);
    lease.lift();
    let error = api.send(&release, None).await.unwrap_err();
    assert!(matches!(error, CdsError::NoLease { .. }) && !error.may_have_happened(), "{error:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    // Whatever changes nothing needs no lease.
    api.send_freshly(&Call::new("read a job", Method::GET, "/v2/queue/job", Repeat::Never), None)
        .await
        .unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
