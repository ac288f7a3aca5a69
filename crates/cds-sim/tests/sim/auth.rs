//! Who gets in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rookery_cds_sim::{BuiltinConsumer, Control};
use serde_json::{Value, json};

use super::kit::{Lab, config, hatchery_key, header, request, sign_in_v1, sign_in_v2};

type Change = fn(&mut Value);

const V1: &str = "/auth/consumer/builtin/signin";
const V2: &str = "/v2/auth/consumer/hatchery/signin";

fn spki() -> String {
    let pem = STANDARD.decode(hatchery_key(false).public()).unwrap();
    STANDARD.encode(String::from_utf8(pem).unwrap().replace("RSA PUBLIC", "PUBLIC"))
}

#[test]
fn a_sign_in_of_either_protocol_is_refused_for_each_thing_that_is_wrong() {
    let pinned = BuiltinConsumer {
        name: "pinned".to_owned(),
        token: "v1-pinned".into(),
        service_name: Some("pinned".to_owned()),
        service_region: Some("rbx".to_owned()),
        service_ignore_job_with_no_region: Some(true),
        ..BuiltinConsumer::default()
    };
    let v1_cases: [(&str, Change, u16, i64); 8] = [
        ("one", |body| body["token"] = "other".into(), 403, 11),
        ("one", |body| body["token"] = "".into(), 403, 11),
        ("one", |body| body["service"] = 7.into(), 400, 74),
        ("one", |body| body["service"]["name"] = "".into(), 400, 74),
        ("one", |body| body["service"]["type"] = "api".into(), 403, 11),
        ("one", |body| body["service"]["public_key"] = spki().into(), 403, 11),
        ("pinned", |_| {}, 403, 11),
        ("pinned", |body| body["service"] = Value::Null, 403, 11),
    ];
    let mut with_pins = config();
    with_pins.builtin.push(pinned);
    let mut lab = Lab::with(with_pins);
    for (name, change, status, id) in v1_cases {
        let mut body = sign_in_v1(name);
        change(&mut body);
        assert_eq!(lab.refusal("", "POST", V1, &body), (status, id), "{body}");
    }
    let mut pinned = sign_in_v1("pinned");
    pinned["service"]["ignore_job_with_no_region"] = true.into();
    lab.ok("", "POST", V1, &pinned);
    for (key, value) in [("name", json!("other")), ("region", json!("gra")), ("region", Value::Null)] {
        let mut body = pinned.clone();
        body["service"][key] = value;
        assert_eq!(lab.refusal("", "POST", V1, &body), (403, 11), "{body}");
    }
    let v2_cases: [(&str, Change); 4] = [
        ("one", |body| body["token"] = "v2-two".into()),
        ("one", |body| body["name"] = "two".into()),
        ("one", |body| body["public_key"] = spki().into()),
        ("none", |_| {}),
    ];
    for (name, change) in v2_cases {
        let mut body = sign_in_v2(name);
        change(&mut body);
        assert_eq!(lab.refusal("", "POST", V2, &body), (403, 11), "{body}");
    }
}

#[test]
fn a_sign_in_hands_out_the_key_and_a_session_of_an_hour() {
    let mut lab = Lab::new();
    let reply = lab.reply("", "POST", V2, &sign_in_v2("one"));
    let key = header(&reply, "x-api-pub-signing-key").unwrap();
    let pem = String::from_utf8(STANDARD.decode(key).unwrap()).unwrap();
    assert!(pem.starts_with("-----BEGIN RSA PUBLIC KEY-----\n"), "{pem}");
    assert_eq!(reply.value()["region"], "rbx");
    assert_eq!(reply.value()["up_to_date"], true);

    // The signature is right for whoever reads tokens with another library.
    let token = reply.value()["token"].as_str().unwrap().to_owned();
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::RS512);
    rules.validate_exp = false;
    let der: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let key = jsonwebtoken::DecodingKey::from_rsa_der(&STANDARD.decode(der).unwrap());
    let claims = jsonwebtoken::decode::<Value>(&token, &key, &rules).unwrap().claims;
    let (issued, expires) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
    assert_eq!(expires - issued, 3600);

    lab.pass(3599);
    lab.ok(&token, "GET", "/v2/worker", &Value::Null);
    lab.pass(2);
    assert_eq!(lab.refusal(&token, "GET", "/v2/worker", &Value::Null), (401, 10));
}

#[test]
fn sessions_end_by_signing_out_by_expiry_and_by_a_restart() {
    let mut lab = Lab::new();
    let asks = |lab: &mut Lab, session: &str| lab.call(session, "GET", "/worker", &Value::Null).0;
    assert_eq!(asks(&mut lab, ""), 401);
    assert_eq!(asks(&mut lab, "nonsense"), 401);
    let session = lab.v1("one");
    assert_eq!(asks(&mut lab, &session), 200);
    lab.ok(&session, "POST", "/auth/consumer/signout", &Value::Null);
    assert_eq!(asks(&mut lab, &session), 401);
    for (control, after) in [
        (Control::ExpireSessions, 401),
        (Control::Restart { keep_sessions: false }, 401),
        (Control::Restart { keep_sessions: true }, 200),
    ] {
        let session = lab.v1("one");
        lab.control(control.clone());
        assert_eq!(asks(&mut lab, &session), after, "{control:?}");
    }
}

#[test]
fn the_region_of_a_service_stays_as_it_was_first() {
    let mut lab = Lab::new();
    lab.v1("one");
    let mut other = sign_in_v1("one");
    other["service"]["region"] = "gra".into();
    other["service"]["http_url"] = "http://elsewhere".into();
    let said = lab.ok("", "POST", V1, &other);
    assert_eq!(said["service"]["region"], "rbx");
    assert_eq!(said["service"]["http_url"], "http://elsewhere");
}

#[test]
fn a_sign_in_answers_the_hatchery_as_it_was_before() {
    let mut lab = Lab::new();
    let first = lab.ok("", "POST", V2, &sign_in_v2("one"));
    assert_eq!(first["hatchery"]["model_type"], "");
    assert_eq!(first["hatchery"]["last_heartbeat"], "0001-01-01T00:00:00Z");
    let second = lab.ok("", "POST", V2, &sign_in_v2("one"));
    assert_eq!(second["hatchery"]["model_type"], "vsphere");
    assert_eq!(second["hatchery"]["id"], first["hatchery"]["id"]);
}

#[test]
fn a_heartbeat_is_a_status_with_lines_and_a_time() {
    let mut lab = Lab::new();
    for (session, uri) in [(lab.v1("one"), "/services/heartbeat"), (lab.v2("one"), "/v2/hatchery/heartbeat")]
    {
        lab.ok(&session, "POST", uri, &json!({ "now": "2031-02-03T04:05:06Z", "lines": [] }));
        for bad in [Value::Null, json!([]), json!({ "lines": {} }), json!({ "now": "now", "lines": [] })] {
            assert_eq!(lab.refusal(&session, "POST", uri, &bad), (400, 74), "{bad}");
        }
    }
}

#[test]
fn the_line_of_the_version_is_judged_by_the_server() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    for (version, expected) in [("snapshot", "OK"), ("0.1.0", "WARN")] {
        let line = json!({ "component": "Version", "status": "AL", "value": version });
        lab.ok(&session, "POST", "/services/heartbeat", &json!({ "lines": [line] }));
        let world = lab.control(Control::Dump);
        assert_eq!(world["services"]["one"]["status"]["lines"][0]["status"], expected);
    }
}

#[test]
fn whoever_is_no_hatchery_has_null_for_workers() {
    let mut lab = Lab::new();
    let mut body = sign_in_v1("one");
    body["service"] = Value::Null;
    let said = lab.ok("", "POST", V1, &body);
    assert!(said.get("service").is_none(), "{said}");
    let reply = lab.reply(said["token"].as_str().unwrap(), "GET", "/worker", &Value::Null);
    assert_eq!(reply.body, rookery_cds_sim::Body::Content("null".into()));
    // A hatchery without workers has an empty list in the first protocol, and null in the second.
    let (v1, v2) = (lab.v1("one"), lab.v2("one"));
    assert_eq!(lab.ok(&v1, "GET", "/worker", &Value::Null), json!([]));
    let reply = lab.reply(&v2, "GET", "/v2/worker", &Value::Null);
    assert_eq!(reply.body, rookery_cds_sim::Body::Content("null".into()));
}

#[test]
fn a_session_in_a_cookie_may_read_and_not_write() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    for (method, uri, status) in [
        ("GET", "/worker", 200),
        ("POST", "/services/heartbeat", 403),
        ("POST", "/auth/consumer/signout", 403),
    ] {
        let mut call = request("", method, uri, &json!({ "lines": [] }));
        call.headers.push(("cookie".to_owned(), format!("a=b; jwt_token={session}")));
        let reply = lab.request(call).unwrap();
        assert_eq!(reply.status, status, "{method} {uri}");
    }
}

#[test]
fn the_two_protocols_do_not_open_each_others_doors() {
    let mut lab = Lab::new();
    let (v1, v2) = (lab.v1("one"), lab.v2("one"));
    for (session, uri) in [
        (&v2, "/worker"),
        (&v2, "/queue/workflows"),
        (&v2, "/worker/model/enabled"),
        (&v1, "/worker/brave-curie"),
        (&v2, "/v2/worker/brave-curie"),
        (&v1, "/v2/worker"),
        (&v1, "/v2/queue/rbx"),
        (&v1, "/v2/config/cdn"),
        (&v2, "/config/cdn"),
    ] {
        assert_eq!(lab.refusal(session, "GET", uri, &Value::Null), (403, 11), "{uri}");
    }
    assert_eq!(lab.refusal(&v2, "GET", "/v2/queue/gra", &Value::Null), (403, 11));
    lab.ok(&v1, "GET", "/config/cdn", &Value::Null);
    lab.ok(&v2, "GET", "/v2/config/cdn", &Value::Null);
    assert_eq!(lab.refusal(&v2, "POST", "/auth/consumer/signout", &Value::Null), (403, 11));
    assert_eq!(lab.refusal(&v1, "POST", "/services/register", &Value::Null), (404, 38));
}

#[test]
fn scopes_and_disabled_consumers_are_looked_at() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let consumer = |scopes: &[&str], disabled| {
        Control::PutBuiltin(Box::new(BuiltinConsumer {
            name: "one".to_owned(),
            token: "v1-one".into(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            disabled,
            ..BuiltinConsumer::default()
        }))
    };
    lab.control(consumer(&["Hatchery"], false));
    lab.ok(&session, "GET", "/worker", &Value::Null);
    assert_eq!(lab.refusal(&session, "GET", "/queue/workflows", &Value::Null), (401, 10));
    lab.control(consumer(&[], true));
    assert_eq!(lab.refusal(&session, "GET", "/worker", &Value::Null), (401, 10));
    assert_eq!(lab.refusal("", "POST", V1, &sign_in_v1("one")), (403, 11));
}

#[test]
fn errors_say_who_asked_and_why() {
    let mut lab = Lab::new();
    let id = "5d2c0f6e-0000-4000-8000-000000000000";
    let mut call = request("", "GET", "/worker", &Value::Null);
    call.headers.push(("request-id".to_owned(), id.to_owned()));
    let reply = lab.request(call).unwrap();
    assert_eq!(header(&reply, "request-id").unwrap(), id);
    assert_eq!(reply.value()["request_id"], id);
    let session = lab.v1("one");
    let (_, said) = lab.call(&session, "GET", "/queue/workflows/99/infos", &Value::Null);
    assert_eq!(said["from"], "there is no job 99");
    assert!(said["message"].as_str().unwrap().contains("(from: there is no job 99, request_id: "), "{said}");
}
