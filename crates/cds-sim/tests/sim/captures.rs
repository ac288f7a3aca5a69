//! Every exchange that was captured with a real server, in its order, against the simulator: the same status, and an
//! answer of the same shape.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use rookery_cds_sim::{
    Body, BuiltinConsumer, CodeModel, Config, HatcheryConsumer, NewJob, Reply, Requirement,
};
use serde_json::{Value, json};

use super::kit::{Lab, hatchery_key, header, mint, request};

const V2_JOB: &str = "6ec08f8c-2b9f-4e0a-81ab-5e980012400a";

fn config() -> Config {
    let text = str::to_owned;
    Config {
        builtin: vec![BuiltinConsumer {
            name: text("rig"),
            token: "v1".into(),
            ..BuiltinConsumer::default()
        }],
        hatcheries: vec![HatcheryConsumer {
            name: text("rig-vsphere"),
            token: "v2".into(),
            region: Some(text("default")),
            disabled: false,
        }],
        code_models: vec![CodeModel::vsphere("RIG/rigvcs/gituser/rigrepo/rig-vsphere-model", "debian12")],
        ..Config::default()
    }
}

#[test]
fn every_captured_exchange_goes_as_it_went() {
    let mut lab = Lab::with(config());
    let model = "RIG/rigvcs/gituser/rigrepo/rig-vsphere-model@refs/heads/main";
    let v2_job = lab.enqueue(NewJob::v2("echo", model, "default"));
    let v1_job = String::new();
    let mut play = Play {
        lab,
        v1: String::new(),
        v2: String::new(),
        worker: String::new(),
        v1_job,
        v2_job,
        recorded: recorded_headers(),
        compared: BTreeSet::new(),
    };
    let exchanges = include_str!("../captures/exchanges.jsonl");
    // The hatchery had been there before: it hears what it said then.
    let before: Value = serde_json::from_str(exchanges.lines().nth(1).unwrap()).unwrap();
    let uri = before["uri"].as_str().unwrap();
    play.lab.ok("", "POST", uri, &play.body(&before, uri));
    let mut played = 0;
    for line in exchanges.lines() {
        play.exchange(&serde_json::from_str(line).unwrap());
        played += 1;
    }
    assert_eq!(played, 38);
    let left: Vec<_> = (0..play.recorded.len()).filter(|at| !play.compared.contains(at)).collect();
    let left: Vec<_> = left.iter().map(|at| &play.recorded[*at]).collect();
    assert!(left.iter().all(|left| left["status"] == 401 || left["status"] == 404), "not compared: {left:?}");
}

#[test]
fn refusals_have_the_recorded_headers_too() {
    let mut lab = Lab::new();
    let mut refused = 0;
    for recorded in recorded_headers().iter().filter(|recorded| recorded["status"].as_u64() > Some(400)) {
        let (method, uri) = (recorded["method"].as_str().unwrap(), recorded["route"].as_str().unwrap());
        let mut call = request("", method, uri, &Value::Null);
        call.headers.push(("accept-encoding".to_owned(), "gzip".to_owned()));
        let mut reply = lab.request(call).unwrap();
        assert_eq!(json!(reply.status), recorded["status"], "{method} {uri}");
        compare_headers(recorded, &reply);
        unpack(&mut reply);
        assert_eq!(reply.value()["id"], if reply.status == 404 { 38 } else { 10 });
        refused += 1;
    }
    assert_eq!(refused, 3);
}

fn recorded_headers() -> Vec<Value> {
    let lines = include_str!("../captures/headers.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The same names, and the same values where they do not depend on when and who. Lengths are the shell's matter.
fn compare_headers(recorded: &Value, reply: &Reply) {
    let at = format!("{} {}", recorded["method"], recorded["route"]);
    if reply.status == 101 {
        return;
    }
    let pairs = recorded["headers"].as_array().unwrap().iter();
    let pairs = pairs.map(|pair| (pair[0].as_str().unwrap().to_lowercase(), pair[1].as_str().unwrap()));
    let recorded: BTreeMap<_, _> = pairs.filter(|(name, _)| name != "content-length").collect();
    let ours: BTreeMap<_, _> =
        reply.headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_str())).collect();
    assert_eq!(ours.keys().collect::<Vec<_>>(), recorded.keys().collect::<Vec<_>>(), "{at}");
    for (name, value) in &recorded {
        match name.as_str() {
            "content-encoding" | "content-type" | "vary" => assert_eq!(&ours[name], value, "{at} {name}"),
            "set-cookie" => {
                let attributes = |cookie: &str| -> Vec<String> {
                    cookie
                        .split("; ")
                        .skip(1)
                        .map(|part| part.split('=').next().unwrap().to_owned())
                        .collect()
                };
                assert_eq!(attributes(ours[name]), attributes(value), "{at}");
            }
            _ => {
                let digits = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "0");
                if matches!(name.as_str(), "x-api-time" | "etag") {
                    assert_eq!(digits(ours[name]), digits(value), "{at} {name}");
                }
            }
        }
    }
}

/// What a client would read.
fn unpack(reply: &mut Reply) {
    if header(reply, "content-encoding").as_deref() != Some("gzip") {
        return;
    }
    if let Body::Content(content) = &mut reply.body {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&content[..]).read_to_end(&mut plain).unwrap();
        *content = plain.into();
    }
}

struct Play {
    lab: Lab,
    v1: String,
    v2: String,
    worker: String,
    v1_job: String,
    v2_job: String,
    recorded: Vec<Value>,
    compared: BTreeSet<usize>,
}

impl Play {
    fn exchange(&mut self, captured: &Value) {
        let (method, uri) = (captured["method"].as_str().unwrap(), captured["uri"].as_str().unwrap());
        if uri.starts_with("/queue/workflows/4/") && self.v1_job.is_empty() {
            self.v1_job = self.lab.enqueue(NewJob {
                project: "RIG".to_owned(),
                workflow: "rig-v1".to_owned(),
                requirements: vec![Requirement::new("os-architecture", "linux/amd64", "linux/amd64")],
                exec_groups: ["RIG", "grp", "shared.infra"].map(str::to_owned).to_vec(),
                ..NewJob::v1("echo")
            });
        }
        let uri = uri.replace(V2_JOB, &self.v2_job);
        let uri = uri.replace("/queue/workflows/4/", &format!("/queue/workflows/{}/", self.v1_job));
        let uri = uri.replace("/runs/4", &format!("/runs/{}", self.v1_job));
        let session = self.session(method, &uri);
        let mut call = request(&session, method, &uri, &self.body(captured, &uri));
        call.headers.push(("accept-encoding".to_owned(), "gzip".to_owned()));
        if captured["status"] == 101 {
            call.headers.push(("sec-websocket-key".to_owned(), "x".to_owned()));
        }
        // Two seconds passed before a job was taken, and are in the answer.
        self.lab.pass(if uri.ends_with("/take") { 2 } else { 0 });
        let mut reply = self.lab.request(call).unwrap();
        self.same_headers(method, captured["uri"].as_str().unwrap(), &reply);
        unpack(&mut reply);
        assert_eq!(json!(reply.status), captured["status"], "{method} {uri}: {}", reply.value());
        if reply.status != 101 {
            assert_eq!(header(&reply, "content-type").as_deref(), captured["resp_type"].as_str(), "{uri}");
        }
        if !captured["resp"].is_string() {
            same_shape(&captured["resp"], &reply.value(), &format!("{method} {uri}"));
        }
        let token = reply.value()["token"].as_str().map(str::to_owned);
        match (uri.as_str(), token) {
            ("/auth/consumer/builtin/signin", Some(token)) => self.v1 = token,
            (_, Some(token)) => self.v2 = token,
            (_, None) => {}
        }
        if let Some(session) = header(&reply, "x-cds-jwt") {
            self.worker = session;
        }
    }

    /// The headers of this route's recorded answer, if it was recorded.
    fn same_headers(&mut self, method: &str, uri: &str, reply: &Reply) {
        let path = uri.split('?').next().unwrap();
        let route = path.replace(V2_JOB, "{uuid}").replace("/queue/workflows/4/", "/queue/workflows/{n}/");
        let status = json!(reply.status);
        let recorded = self.recorded.iter().position(|recorded| {
            (&recorded["method"], &recorded["route"], &recorded["status"])
                == (&json!(method), &json!(route), &status)
        });
        let Some(recorded) = recorded else { return };
        compare_headers(&self.recorded[recorded], reply);
        self.compared.insert(recorded);
    }

    fn session(&self, method: &str, uri: &str) -> String {
        let v2 = uri.starts_with("/v2/");
        let of_worker = uri.contains("/worker/") && method == "POST"
            || uri.ends_with("/step")
            || uri.ends_with("/result")
            || uri.contains("/runs/")
            || uri.ends_with(&format!("workflows/{}/take", self.v1_job));
        match uri {
            _ if uri.ends_with("/builtin/signin") || uri.ends_with("/hatchery/signin") => String::new(),
            _ if uri.ends_with("/worker/signin") => mint(&json!({
                "worker_model": "dazzling-bartik", "model": {}, "model_name": "rig-vsphere-model",
                "job_id": self.v1_job.parse::<i64>().unwrap_or_default(), "run_job_id": self.v2_job,
                "hatchery_name": "rig-vsphere",
            })),
            _ if of_worker => self.worker.clone(),
            _ if v2 => self.v2.clone(),
            _ => self.v1.clone(),
        }
    }

    /// Tokens and keys were left out of the captures, and the number of the first protocol's job is another one.
    fn body(&self, captured: &Value, uri: &str) -> Value {
        let mut body = captured["req"].clone();
        let key = hatchery_key(false).public();
        match uri {
            "/auth/consumer/builtin/signin" => {
                body["token"] = "v1".into();
                body["service"]["public_key"] = key.into();
            }
            "/v2/auth/consumer/hatchery/signin" => {
                body["token"] = "v2".into();
                body["public_key"] = key.into();
            }
            _ => {}
        }
        if !body["buildID"].is_null() {
            body["buildID"] = self.v1_job.parse::<i64>().unwrap().into();
        }
        body
    }
}

/// The same keys everywhere, and the same kinds of values; null where null was.
fn same_shape(captured: &Value, ours: &Value, at: &str) {
    match (captured, ours) {
        (Value::Object(captured), Value::Object(ours)) => {
            let keys = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(captured), keys(ours), "{at}");
            for (key, value) in captured {
                same_shape(value, &ours[key], &format!("{at} {key}"));
            }
        }
        (Value::Array(captured), Value::Array(ours)) => {
            assert!(!captured.is_empty() || ours.is_empty(), "{at}: {ours:?}");
            for (captured, ours) in captured.iter().zip(ours) {
                same_shape(captured, ours, &format!("{at}[]"));
            }
        }
        _ => {
            let kind = |value: &Value| std::mem::discriminant(value);
            assert_eq!(kind(captured), kind(ours), "{at}: {captured} {ours}");
        }
    }
}

#[test]
fn shapes_that_differ_are_told_apart() {
    for (captured, ours, same) in [
        (json!({"a": 1}), json!({"a": 2}), true),
        (json!({"a": 1}), json!({"a": "2"}), false),
        (json!({"a": 1}), json!({}), false),
        (json!({"a": 1}), json!({"a": 1, "b": 1}), false),
        (json!([{"a": 1}]), json!([{"b": 1}]), false),
        (json!({"a": null}), json!({"a": 1}), false),
        (json!({"a": []}), json!({"a": null}), false),
        (json!({"a": null}), json!({"a": null}), true),
    ] {
        let compared = std::panic::catch_unwind(|| same_shape(&captured, &ours, ""));
        assert_eq!(compared.is_ok(), same, "{captured} {ours}");
    }
}
