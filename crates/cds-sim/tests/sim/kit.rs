//! A world to try things in, and tokens minted by another library than the simulator's.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rookery_cds_sim::{
    Body, BuiltinConsumer, CodeModel, Config, Control, Effect, HatcheryConsumer, Input, Job, Model, NewJob,
    Output, Reply, Request, RequestId, SigningKey, SocketId, World,
};
use serde_json::{Value, json};

static KEYS: LazyLock<[SigningKey; 3]> = LazyLock::new(|| {
    let key = || SigningKey::generate().expect("a key");
    [key(), key(), key()]
});

pub(super) fn api_key() -> SigningKey {
    KEYS[0].clone()
}

/// The key of a hatchery: the first one's or anybody else's.
pub(super) fn hatchery_key(other: bool) -> &'static SigningKey {
    &KEYS[usize::from(other) + 1]
}

pub(super) const PATH: &str = "PRJ/vcs/org/repo/debian";

pub(super) fn config() -> Config {
    let builtin = |name: &str, groups: &[&str]| BuiltinConsumer {
        name: name.to_owned(),
        token: format!("v1-{name}").as_str().into(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..BuiltinConsumer::default()
    };
    let hatchery = |name: &str, region: Option<&str>| HatcheryConsumer {
        name: name.to_owned(),
        token: format!("v2-{name}").as_str().into(),
        region: region.map(str::to_owned),
        disabled: false,
    };
    let model = |name: &str| Model { name: name.to_owned(), image: "debian".to_owned(), ..Model::default() };
    Config {
        url: "http://cds.test".to_owned(),
        builtin: vec![
            builtin("one", &["shared.infra"]),
            builtin("two", &["shared.infra"]),
            builtin("team", &["team"]),
        ],
        hatcheries: vec![
            hatchery("one", Some("rbx")),
            hatchery("two", Some("rbx")),
            hatchery("far", Some("gra")),
            hatchery("none", None),
        ],
        models: vec![Model { need_registration: true, ..model("new") }, model("old")],
        code_models: vec![CodeModel::vsphere(PATH, "debian")],
        control_token: Some("open".into()),
        ..Config::default()
    }
}

pub(super) struct Lab {
    pub(super) world: World,
    pub(super) now: Timestamp,
    last: u64,
    /// What the world asked of its shell, in order.
    pub(super) effects: Vec<Effect>,
    pub(super) wake_at: Option<Timestamp>,
}

impl Lab {
    pub(super) fn new() -> Self {
        Self::with(config())
    }

    pub(super) fn with(config: Config) -> Self {
        let now: Timestamp = "2031-02-03T04:05:06Z".parse().expect("a time");
        Self { world: World::new(config, api_key(), now), now, last: 0, effects: Vec::new(), wake_at: None }
    }

    fn step(&mut self, input: Input) -> Vec<(RequestId, Reply)> {
        let Output { replies, effects, wake_at } = self.world.step(self.now, input);
        self.effects.extend(effects);
        self.wake_at = wake_at;
        replies
    }

    /// What became of a request, whenever it was asked.
    pub(super) fn request(&mut self, request: Request) -> Option<Reply> {
        self.last += 1;
        let id = RequestId(self.last);
        self.step(Input::Request(id, request)).into_iter().find(|(of, _)| *of == id).map(|(_, reply)| reply)
    }

    pub(super) fn reply(&mut self, session: &str, method: &str, uri: &str, body: &Value) -> Reply {
        self.request(request(session, method, uri, body)).expect("an answer at once")
    }

    /// The status, and what was said.
    pub(super) fn call(&mut self, session: &str, method: &str, uri: &str, body: &Value) -> (u16, Value) {
        let reply = self.reply(session, method, uri, body);
        (reply.status, reply.value())
    }

    /// What was said by a call that must succeed.
    pub(super) fn ok(&mut self, session: &str, method: &str, uri: &str, body: &Value) -> Value {
        let (status, said) = self.call(session, method, uri, body);
        assert!((200..300).contains(&status), "{method} {uri}: {status} {said}");
        said
    }

    /// Status and number of the error of a call that must fail.
    pub(super) fn refusal(&mut self, session: &str, method: &str, uri: &str, body: &Value) -> (u16, i64) {
        let (status, said) = self.call(session, method, uri, body);
        assert!(status >= 400, "{method} {uri}: {status} {said}");
        (status, said["id"].as_i64().unwrap_or_default())
    }

    pub(super) fn control(&mut self, control: Control) -> Value {
        self.last += 1;
        let replies = self.step(Input::Control(RequestId(self.last), control));
        let (_, reply) = replies.into_iter().next_back().expect("an answer");
        assert_eq!(reply.status, 200, "{}", reply.value());
        reply.value()
    }

    pub(super) fn text(&mut self, socket: SocketId, text: &str) {
        self.step(Input::Text(socket, text.to_owned()));
    }

    pub(super) fn pass(&mut self, seconds: i64) -> Vec<(RequestId, Reply)> {
        self.now = self.now.saturating_add(SignedDuration::from_secs(seconds)).expect("a time");
        self.step(Input::Timer)
    }

    pub(super) fn enqueue(&mut self, job: NewJob) -> String {
        let id = self.control(Control::Enqueue(Box::new(job)))["id"].clone();
        id.as_str().expect("an id").to_owned()
    }

    pub(super) fn job(&mut self, id: &str) -> Job {
        serde_json::from_value(self.control(Control::Job(id.to_owned()))).expect("a job")
    }

    pub(super) fn v1(&mut self, name: &str) -> String {
        let said = self.ok("", "POST", "/auth/consumer/builtin/signin", &sign_in_v1(name));
        said["token"].as_str().expect("a token").to_owned()
    }

    pub(super) fn v2(&mut self, name: &str) -> String {
        let said = self.ok("", "POST", "/v2/auth/consumer/hatchery/signin", &sign_in_v2(name));
        said["token"].as_str().expect("a token").to_owned()
    }

    /// A worker of the first protocol signs in, and may.
    pub(super) fn worker_v1(&mut self, job: &str) -> String {
        self.worker_v1_called("w1", job)
    }

    pub(super) fn worker_v1_called(&mut self, name: &str, job: &str) -> String {
        let job: i64 = job.parse().expect("a number");
        let token =
            mint(&json!({ "worker_model": name, "model": {}, "job_id": job, "hatchery_name": "one" }));
        self.admitted(&token, "/auth/consumer/worker/signin")
    }

    /// A worker of the second protocol signs in, and may.
    pub(super) fn worker_v2(&mut self, job: &str) -> String {
        self.worker_v2_called("w2", job)
    }

    pub(super) fn worker_v2_called(&mut self, name: &str, job: &str) -> String {
        let mut claims = claims_v2(job);
        claims["worker_model"] = name.into();
        let token = mint(&claims);
        self.admitted(&token, &format!("/v2/queue/rbx/job/{job}/worker/signin"))
    }

    fn admitted(&mut self, token: &str, uri: &str) -> String {
        let reply = self.reply(token, "POST", uri, &form());
        assert_eq!(reply.status, 200, "{}", reply.value());
        header(&reply, "x-cds-jwt").expect("a session")
    }

    pub(super) fn socket(&mut self, session: &str, uri: &str) -> SocketId {
        let mut request = request(session, "GET", uri, &Value::Null);
        request.headers.push(("sec-websocket-key".to_owned(), "x".to_owned()));
        match self.request(request).expect("an answer").body {
            Body::Socket(id) => id,
            other @ (Body::Empty | Body::Content(_) | Body::Cut) => {
                unreachable!("not a websocket: {other:?}")
            }
        }
    }

    /// What was said on a websocket since the last look at anything.
    pub(super) fn said(&mut self, socket: SocketId) -> Vec<Value> {
        let mut said = Vec::new();
        for effect in std::mem::take(&mut self.effects) {
            if let Effect::Send(to, text) = effect
                && to == socket
            {
                said.push(serde_json::from_str(&text).expect("JSON"));
            }
        }
        said
    }
}

pub(super) fn header(reply: &Reply, name: &str) -> Option<String> {
    reply.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone())
}

pub(super) fn request(session: &str, method: &str, uri: &str, body: &Value) -> Request {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let mut headers = Vec::new();
    if !session.is_empty() {
        headers.push(("authorization".to_owned(), format!("Bearer {session}")));
    }
    Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }.into(),
        peer: Some(([127, 0, 0, 1], 5000).into()),
    }
}

pub(super) fn sign_in_v1(name: &str) -> Value {
    json!({
        "token": format!("v1-{name}"),
        "service": {
            "id": 0, "name": name, "type": "hatchery", "http_url": "http://h", "config": {},
            "public_key": hatchery_key(false).public(), "region": "rbx", "ignore_job_with_no_region": null,
            "last_heartbeat": "0001-01-01T00:00:00Z",
            "monitoring_status": { "now": "0001-01-01T00:00:00Z", "lines": null },
            "version": "", "up_to_date": false,
        },
    })
}

pub(super) fn sign_in_v2(name: &str) -> Value {
    json!({
        "token": format!("v2-{name}"), "name": name, "type": "vsphere", "http_url": "http://h",
        "config": { "osArch": ["linux/amd64"] }, "public_key": hatchery_key(false).public(), "version": "snapshot",
    })
}

pub(super) fn form() -> Value {
    json!({ "BinaryCapabilities": ["sh"], "Version": "snapshot", "OS": "linux", "Arch": "arm64" })
}

pub(super) fn claims_v2(job: &str) -> Value {
    json!({ "worker_model": "w2", "model_name": "debian", "run_job_id": job, "hatchery_name": "one" })
}

/// A worker's token that is right: signed by the first hatchery's key, and valid for an hour of the lab's first.
pub(super) fn mint(worker: &Value) -> String {
    mint_as(worker, Algorithm::RS512, false, 3600)
}

pub(super) fn mint_as(worker: &Value, algorithm: Algorithm, other_key: bool, seconds: i64) -> String {
    let issued = 1_927_857_906;
    let claims = json!({
        "iss": "one", "sub": worker["worker_model"], "jti": "x", "iat": issued, "exp": issued + seconds, "Worker": worker,
    });
    let pkcs8 = hatchery_key(other_key).to_pkcs8().expect("a key");
    // The library wants what is inside, which begins after a head of fixed length.
    let key = EncodingKey::from_rsa_der(&pkcs8[26..]);
    jsonwebtoken::encode(&Header::new(algorithm), &claims, &key).expect("a token")
}
