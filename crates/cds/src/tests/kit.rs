//! A server that is told what to answer. It keeps sessions as CDS does; all else is up to the test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rookery_daemon::{Clock, Lease, Supervisor};
use rookery_dial::{Dial, DialError, Dialing, Stream};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::{ApiAddress, Cds, HatcheryKey, Identity, Options, V1, V2};

pub(super) const BUILTIN: &str = "/api/auth/consumer/builtin/signin";
pub(super) const HATCHERY: &str = "/api/v2/auth/consumer/hatchery/signin";
pub(super) const NOW: &str = "2026-11-05T07:10:00Z";
/// The server's clock stands still, a quarter of an hour behind.
pub(super) const API_TIME: &str = "2026-11-05T06:55:00Z";
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) type ServerSocket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct ReceivedRequest {
    pub(super) method: String,
    pub(super) uri: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

/// What the server does.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Answer(u16, String),
    /// Closes the connection without a word.
    Lost,
    /// Says nothing, for ever.
    Hang,
    /// Makes it a websocket.
    Socket,
}

pub(super) fn answer(status: u16, body: &Value) -> Reply {
    Reply::Answer(status, body.to_string())
}

pub(super) fn refusal(status: u16, id: i64) -> Reply {
    answer(
        status,
        &json!({"id": id, "message": format!("error {id}"), "request_id": "r", "from": "elsewhere"}),
    )
}

pub(super) fn empty() -> Reply {
    Reply::Answer(204, String::new())
}

type Script = Box<dyn FnMut(&ReceivedRequest) -> Option<Reply> + Send>;

struct State {
    script: Script,
    asked: Vec<ReceivedRequest>,
    sessions: BTreeSet<String>,
    granted: usize,
    lifetime: i64,
    refuses_connections: bool,
    wants_tls: bool,
    sockets: mpsc::UnboundedSender<ServerSocket>,
}

#[derive(Clone)]
pub(super) struct Server {
    state: Arc<Mutex<State>>,
    supervisor: Supervisor,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

/// A client and its server.
pub(super) struct Kit {
    pub(super) cds: Cds,
    pub(super) server: Server,
    pub(super) supervisor: Supervisor,
    pub(super) sockets: mpsc::UnboundedReceiver<ServerSocket>,
}

impl Kit {
    /// The script has the first word on each request with a valid session, and on each sign-in.
    pub(super) fn new(script: impl FnMut(&ReceivedRequest) -> Option<Reply> + Send + 'static) -> Self {
        Self::with(identity(), Some("token-1"), Some("token-2"), NOW, script)
    }

    pub(super) fn with(
        identity: Identity,
        v1: Option<&str>,
        v2: Option<&str>,
        now: &str,
        script: impl FnMut(&ReceivedRequest) -> Option<Reply> + Send + 'static,
    ) -> Self {
        let (sender, sockets) = mpsc::unbounded_channel();
        let state = State {
            script: Box::new(script),
            asked: vec![],
            sessions: BTreeSet::new(),
            granted: 0,
            lifetime: 3600,
            refuses_connections: false,
            wants_tls: false,
            sockets: sender,
        };
        let supervisor = Supervisor::new();
        let server = Server { state: Arc::new(Mutex::new(state)), supervisor: supervisor.clone() };
        let cds = Cds::new(Options {
            api: ApiAddress::parse("http://cds.example.org:8081/api").unwrap(),
            dial: Arc::new(server.clone()),
            identity,
            v1: v1.map(Into::into),
            v2: v2.map(Into::into),
            request_timeout: REQUEST_TIMEOUT,
            user_agent: "rookery-test".into(),
            clock: Clock::simulated(now.parse().unwrap()),
            lease: Lease::unlimited(),
            random: StdRng::seed_from_u64(1),
        });
        Self { cds, server, supervisor, sockets }
    }

    pub(super) fn v1(&self) -> &V1 {
        self.cds.v1().unwrap()
    }

    pub(super) fn v2(&self) -> &V2 {
        self.cds.v2().unwrap()
    }
}

pub(super) fn identity() -> Identity {
    let key = include_str!("../../tests/keys/pkcs8.pem");
    Identity {
        name: "rig-vsphere".into(),
        http_url: "http://127.0.0.1:28086".into(),
        config: serde_json::from_value(json!({"commonConfiguration": {"osArch": []}})).unwrap(),
        region: Some("default".into()),
        ignore_job_with_no_region: false,
        os_arch: vec![],
        key: HatcheryKey::from_pem(&key.into()).unwrap(),
        version: "snapshot".into(),
    }
}

impl Server {
    /// All requests so far, as `METHOD path`.
    pub(super) fn lines(&self) -> Vec<String> {
        self.asked().iter().map(|asked| format!("{} {}", asked.method, asked.uri)).collect()
    }

    pub(super) fn asked(&self) -> Vec<ReceivedRequest> {
        self.state.lock().unwrap().asked.clone()
    }

    pub(super) fn count(&self, uri: &str) -> usize {
        self.asked().iter().filter(|asked| asked.uri == uri).count()
    }

    pub(super) fn forget_sessions(&self) {
        self.state.lock().unwrap().sessions.clear();
    }

    pub(super) fn set_lifetime(&self, seconds: i64) {
        self.state.lock().unwrap().lifetime = seconds;
    }

    pub(super) fn refuse_connections(&self, refuse: bool) {
        self.state.lock().unwrap().refuses_connections = refuse;
    }

    /// From now on it answers only who speaks TLS.
    pub(super) fn want_tls(&self) {
        self.state.lock().unwrap().wants_tls = true;
    }

    /// What to do with a request.
    fn judge(&self, asked: &ReceivedRequest) -> Reply {
        let mut state = self.state.lock().unwrap();
        state.asked.push(asked.clone());
        if state.wants_tls {
            return Reply::Lost;
        }
        let signs_in = asked.uri == BUILTIN || asked.uri == HATCHERY;
        let bearer = asked.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
        if !signs_in && !bearer.is_some_and(|token| state.sessions.contains(token)) {
            return refusal(401, 10);
        }
        if let Some(reply) = (state.script)(asked) {
            return reply;
        }
        if !signs_in {
            return Reply::Answer(404, "<html>no such page</html>".into());
        }
        state.granted += 1;
        let times = json!({"iat": 1000, "exp": 1000 + state.lifetime, "n": state.granted}).to_string();
        let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(times));
        state.sessions.insert(token.clone());
        if asked.uri == BUILTIN {
            answer(200, &json!({"token": token, "service": {"id": 7, "region": "default"}}))
        } else {
            answer(200, &json!({"token": token, "region": "default", "hatchery": {"id": "1925fbdb"}}))
        }
    }

    async fn respond(self, mut request: Request<Incoming>) -> Result<Response<Full<Bytes>>, io::Error> {
        let upgrade = hyper::upgrade::on(&mut request);
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let text = |value: &hyper::header::HeaderValue| value.to_str().unwrap().to_owned();
        let headers: BTreeMap<_, _> =
            parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let asked = ReceivedRequest {
            method: parts.method.to_string(),
            uri: parts.uri.to_string(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            headers,
        };
        let response =
            Response::builder().header("x-api-pub-signing-key", "key").header("x-api-time", API_TIME);
        let response = match self.judge(&asked) {
            Reply::Answer(status, body) => response.status(status).body(Full::from(body)),
            Reply::Lost => return Err(io::Error::other("lost")),
            Reply::Hang => std::future::pending().await,
            Reply::Socket => {
                let sockets = self.state.lock().unwrap().sockets.clone();
                self.supervisor.spawn("socket", async move {
                    let stream = TokioIo::new(upgrade.await.unwrap());
                    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
                    sockets.send(socket).ok();
                });
                let key = derive_accept_key(parts.headers[SEC_WEBSOCKET_KEY].as_bytes());
                let response = response.header(CONNECTION, "Upgrade").header(UPGRADE, "websocket");
                response.status(101).header(SEC_WEBSOCKET_ACCEPT, key).body(Full::default())
            }
        };
        response.map_err(io::Error::other)
    }
}

impl Dial for Server {
    fn dial(&self) -> Dialing {
        let server = self.clone();
        Box::pin(async move {
            if server.state.lock().unwrap().refuses_connections {
                return Err(DialError::Connect { address: "cds".into(), reason: "refused".into() });
            }
            let (ours, theirs): (DuplexStream, DuplexStream) = duplex(1 << 16);
            let supervisor = server.supervisor.clone();
            let service = service_fn(move |request| server.clone().respond(request));
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(theirs), service)
                .with_upgrades();
            supervisor.spawn("connection", async move { drop(connection.await) });
            Ok(Box::new(ours) as Box<dyn Stream>)
        })
    }

    fn why_no_answer(&self) -> Pin<Box<dyn Future<Output = Option<DialError>> + Send>> {
        let wants_tls = self.state.lock().unwrap().wants_tls;
        let why =
            wants_tls.then(|| DialError::Scheme { address: "cds.example.org:8081".into(), in_tls: true });
        Box::pin(std::future::ready(why))
    }
}
