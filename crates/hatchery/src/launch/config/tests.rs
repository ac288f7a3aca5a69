use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn job(id: &str) -> JobId {
    id.parse().expect("a job")
}

fn brave_curie() -> WorkerConfig {
    WorkerConfig {
        name: "brave-curie".to_owned(),
        base_dir: String::new(),
        log: LogOptions { level: "info".to_owned(), ..LogOptions::default() },
        hatchery_name: "hatchery-rbx-1".to_owned(),
        addresses: Addresses {
            api: http("https://cds.example.org/api", false),
            cdn: cdn("https://cdn.example.org", "cdn.example.org:4545", true),
        },
        token: "eyJhbGciOi".into(),
        model: "debian12".to_owned(),
        job: Some(job("3f0c2a60-1111-4222-8333-444455556666")),
        region: "rbx".to_owned(),
        injected: BTreeMap::new(),
    }
}

fn http(url: &str, insecure: bool) -> HttpAddress {
    HttpAddress { url: url.to_owned(), insecure }
}

fn cdn(http: &str, tcp: &str, tls: bool) -> Cdn {
    Cdn { http_url: http.to_owned(), tcp_url: tcp.to_owned(), tcp_url_enable_tls: tls }
}

fn text(config: &WorkerConfig) -> String {
    let encoded = config.encoded();
    String::from_utf8(STANDARD.decode(encoded.expose_secret()).unwrap()).unwrap()
}

fn read(config: &WorkerConfig) -> Value {
    serde_json::from_str(&text(config)).unwrap()
}

#[test]
fn the_document_is_the_go_hatchery_s_byte_for_byte() {
    let expected = concat!(
        r#"{"name":"brave-curie","basedir":"","log":{"Level":"info","Format":"","TextFields":null,"#,
        r#""SkipTextFields":null,"GraylogHost":"","GraylogPort":"0","GraylogProtocol":"","GraylogExtraKey":"","#,
        r#""GraylogExtraValue":"","GraylogFieldCDSServiceType":"worker","#,
        r#""GraylogFieldCDSServiceName":"brave-curie","GraylogFieldCDSVersion":"","GraylogFieldCDSOS":"","#,
        r#""GraylogFieldCDSArch":"","SyslogHost":"","SyslogPort":"0","SyslogProtocol":"","SyslogExtraTag":""},"#,
        r#""hatchery_name":"hatchery-rbx-1","api_endpoint":"https://cds.example.org/api","#,
        r#""api_token":"eyJhbGciOi","cdn_endpoint":"https://cdn.example.org","#,
        r#""gelf_service_addr":"cdn.example.org:4545","gelf_service_addr_enable_tls":true,"model":"debian12","#,
        r#""run_job_id":"3f0c2a60-1111-4222-8333-444455556666","region":"rbx"}"#
    );
    assert_eq!(text(&brave_curie()), expected);
}

#[test]
fn what_the_example_omits_stands_at_its_place() {
    let config = WorkerConfig {
        addresses: Addresses { api: http("https://api", true), ..brave_curie().addresses },
        job: Some(job("1234")),
        injected: [("B".to_owned(), "2".into()), ("A".to_owned(), "x=y".into())].into(),
        ..brave_curie()
    };
    let text = text(&config);
    assert!(
        text.contains(r#""api_endpoint":"https://api","api_endpoint_insecure":true,"api_token":"#),
        "{text}"
    );
    assert!(
        text.ends_with(
            r#""model":"debian12","booked_job_id":1234,"region":"rbx","inject_env_vars":{"A":"x=y","B":"2"}}"#
        ),
        "{text}"
    );
}

#[test]
fn a_worker_knows_its_job_by_the_key_of_its_kind() {
    let uuid = "3f0c2a60-1111-4222-8333-444455556666";
    for (job, booked, run) in [
        (Some(job("1234")), json!(1234), Value::Null),
        (Some(job(uuid)), Value::Null, json!(uuid)),
        (None, Value::Null, Value::Null),
    ] {
        let document = read(&WorkerConfig { job, ..brave_curie() });
        assert_eq!((&document["booked_job_id"], &document["run_job_id"]), (&booked, &run));
        // Go omits what is empty; `null` would be something else.
        for key in ["booked_job_id", "run_job_id"] {
            assert!(document.get(key).is_none_or(|value| !value.is_null()), "{document}");
        }
    }
}

#[test]
fn an_empty_region_and_flags_that_are_off_are_left_out() {
    let mut config = WorkerConfig { region: String::new(), ..brave_curie() };
    config.addresses.cdn.tcp_url_enable_tls = false;
    let document = read(&config);
    for key in ["region", "gelf_service_addr_enable_tls", "api_endpoint_insecure", "inject_env_vars"] {
        assert!(document.get(key).is_none(), "{key}");
    }
}

#[test]
fn the_options_of_logs_have_go_s_names_and_ports_of_text() {
    let log = LogOptions {
        level: "debug".to_owned(),
        graylog: LogServer { host: "gray".to_owned(), port: 12_201, protocol: "udp".to_owned() },
        graylog_extra_key: "key".to_owned(),
        graylog_extra_value: "value".into(),
        syslog: LogServer { host: "sys".to_owned(), port: 514, protocol: "tcp".to_owned() },
        syslog_extra_tag: "tag".to_owned(),
    };
    let document = read(&WorkerConfig { log, ..brave_curie() });
    for (key, value) in [
        ("Level", "debug"),
        ("GraylogHost", "gray"),
        ("GraylogPort", "12201"),
        ("GraylogProtocol", ""),
        ("GraylogExtraKey", "key"),
        ("GraylogExtraValue", "value"),
        ("SyslogHost", "sys"),
        ("SyslogPort", "514"),
        ("SyslogProtocol", "tcp"),
        ("SyslogExtraTag", "tag"),
    ] {
        assert_eq!(document["log"][key], json!(value), "{key}");
    }
}

#[test]
fn an_address_for_workers_comes_with_its_own_flag() {
    let own =
        Addresses { api: http("https://inside", true), cdn: cdn("https://cdn-inside", "inside:1", true) };
    // Only flags and no addresses: nothing is overridden.
    let flags = Addresses { api: http("", false), cdn: cdn("", "", false) };
    assert_eq!(own.clone().overridden_by(&flags), own);

    let api = Addresses { api: http("https://outside", false), ..Addresses::default() };
    assert_eq!(own.clone().overridden_by(&api), Addresses { api: api.api.clone(), ..own.clone() });
    let over = |other: Cdn| own.clone().overridden_by(&Addresses { cdn: other, ..Addresses::default() });
    let with = |cdn: Cdn| Addresses { cdn, ..own.clone() };
    assert_eq!(
        over(cdn("https://cdn-outside", "", false)),
        with(cdn("https://cdn-outside", "inside:1", true))
    );
    assert_eq!(over(cdn("", "outside:2", false)), with(cdn("https://cdn-inside", "outside:2", false)));
}

#[test]
fn neither_token_nor_variables_are_shown() {
    let config = WorkerConfig {
        token: "hunter2".into(),
        injected: [("A".to_owned(), "hunter2".into())].into(),
        ..brave_curie()
    };
    assert!(!format!("{config:?} {:?}", config.encoded()).contains("hunter2"));
}

proptest! {
    #[test]
    fn every_text_arrives(name in ".*", url in ".*", token in ".*") {
        let addresses = Addresses { api: http(&url, false), ..Addresses::default() };
        let config =
            WorkerConfig { name: name.clone(), addresses, token: token.clone().into(), ..brave_curie() };
        let document = read(&config);
        prop_assert_eq!(&document["name"], &json!(name));
        prop_assert_eq!(&document["api_endpoint"], &json!(url));
        prop_assert_eq!(&document["api_token"], &json!(token));
    }
}
