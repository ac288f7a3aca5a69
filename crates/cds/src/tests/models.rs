use secrecy::ExposeSecret as _;
use serde_json::json;

use super::kit::{Kit, answer, empty, refusal};
use crate::{ErrorId, RequirementKind, Worker, WorkerStatus};

fn debian() -> serde_json::Value {
    json!({
        "id": 12, "name": "debian12", "description": "", "type": "vsphere", "disabled": false, "restricted": false,
        "registered_os": "linux", "registered_arch": null, "need_registration": true,
        "last_registration": "0001-01-01T00:00:00Z", "check_registration": false,
        "user_last_modified": "2026-05-30T08:00:00Z", "created_by": {"username": "jane"}, "group_id": 3,
        "nb_spawn_err": 2, "last_spawn_err": null, "is_deprecated": false,
        "model_virtual_machine": {"image": "debian12-base", "flavor": "medium", "pre_cmd": "#!/bin/bash\n",
            "cmd": "./worker", "post_cmd": "sudo shutdown -h now", "user": "debian",
            "password": "{{.secrets.vsphere_password}}"},
        "model_docker": {}, "group": {"id": 3, "name": "shared.infra"},
        "registered_capabilities": [{"id": 1, "action_id": 0, "name": "git", "type": "binary", "value": "git"}],
        "is_official": true
    })
}

#[tokio::test(start_paused = true)]
async fn a_model_is_read_with_its_secrets_out_of_sight() {
    let kit = Kit::new(|asked| match asked.uri.as_str() {
        "/api/worker/model/enabled" => Some(answer(200, &json!([debian()]))),
        "/api/worker/model/shared.infra/debian12" => Some(answer(200, &debian())),
        "/api/worker/model/shared.infra/debian12/secret" => {
            let secret = json!({"id": "x", "name": "secrets.vsphere_password", "value": "hunter2"});
            Some(answer(200, &json!([secret])))
        }
        _ => None,
    });
    let [listed] = kit.v1().models().await.unwrap().try_into().unwrap();
    let model = kit.v1().model("shared.infra", "debian12").await.unwrap();
    assert_eq!(
        (listed.path(), model.display_path()),
        ("shared.infra/debian12".to_owned(), "debian12".to_owned())
    );
    assert!(model.need_registration && !model.check_registration);
    assert_eq!(model.nb_spawn_err, 2);
    assert_eq!(model.user_last_modified, Some("2026-05-30T08:00:00Z".parse().unwrap()));
    assert_eq!((model.registered_os.as_deref(), model.registered_arch.as_deref()), (Some("linux"), None));
    assert_eq!(model.registered_capabilities[0].kind, RequirementKind::Binary);
    let password = model.model_virtual_machine.password.as_ref().unwrap();
    assert_eq!(password.expose_secret(), "{{.secrets.vsphere_password}}");
    let secrets = kit.v1().model_secrets("shared.infra", "debian12").await.unwrap();
    assert_eq!(secrets[0].value.as_ref().unwrap().expose_secret(), "hunter2");
    let shown = format!("{model:?} {secrets:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("{{"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_model_is_booked_by_one_hatchery_at_a_time() {
    let mut booked = false;
    let kit = Kit::new(move |asked| {
        (asked.method == "PUT")
            .then(|| if std::mem::replace(&mut booked, true) { refusal(403, 115) } else { empty() })
    });
    kit.v1().book_model("my group", "a/b").await.unwrap();
    let error = kit.v1().book_model("my group", "a/b").await.unwrap_err();
    assert!(error.is_lost_race() && error.is(ErrorId::MODEL_ALREADY_BOOKED), "{error:?}");
    assert_eq!(kit.server.lines()[1], "PUT /api/worker/model/my%20group/a%2Fb/book");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_model_is_told_under_the_servers_own_names_and_never_twice() {
    let kit = Kit::new(|asked| (asked.method == "PUT").then_some(super::kit::Reply::Lost));
    let error = kit.v1().model_error("g", "m", "no IP", b"\xff log").await.unwrap_err();
    assert!(error.may_have_happened(), "{error:?}");
    assert_eq!(kit.server.lines()[1..], ["PUT /api/worker/model/g/m/error"]);
    assert_eq!(kit.server.asked()[1].body, json!({"Error": "no IP", "Logs": "/yBsb2c="}));
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_disabled_by_its_id_and_logs_have_an_address() {
    let kit = Kit::new(|asked| match asked.uri.as_str() {
        "/api/worker/44e64930-543e/disable" => Some(empty()),
        "/api/config/cdn" | "/api/v2/config/cdn" => Some(answer(
            200,
            &json!({"tcp_url": "cdn.example.org:4545", "tcp_url_enable_tls": true, "http_url": "https://cdn"}),
        )),
        _ => None,
    });
    let worker = Worker {
        id: "44e64930-543e".into(),
        name: "brave-curie".into(),
        status: WorkerStatus::Building,
        last_beat: None,
        job: None,
        model: None,
        hatchery: "rig-vsphere".into(),
    };
    kit.v1().disable(&worker).await.unwrap();
    let cdn = kit.v1().cdn().await.unwrap();
    assert_eq!((cdn.tcp_url.as_str(), cdn.tcp_url_enable_tls), ("cdn.example.org:4545", true));
    assert_eq!(kit.v2().cdn().await.unwrap(), cdn);
}
