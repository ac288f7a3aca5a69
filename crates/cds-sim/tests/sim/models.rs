//! Worker models.

use rookery_cds_sim::{CodeModel, Config, Control, Model};
use serde_json::{Value, json};

use super::kit::{Lab, PATH, config, form, mint};

const NEW: &str = "/worker/model/shared.infra/new";

#[test]
fn a_registration_is_booked_once_for_six_minutes() {
    let mut lab = Lab::new();
    let (one, two) = (lab.v1("one"), lab.v1("two"));
    let book = format!("{NEW}/book");
    lab.ok(&one, "PUT", &book, &Value::Null);
    for session in [&one, &two] {
        assert_eq!(lab.refusal(session, "PUT", &book, &Value::Null), (403, 115));
    }
    lab.pass(359);
    assert_eq!(lab.refusal(&two, "PUT", &book, &Value::Null), (403, 115));
    lab.pass(1);
    lab.ok(&two, "PUT", &book, &Value::Null);
    lab.ok(&two, "PUT", &format!("{NEW}/error"), &json!({ "Error": "no", "Logs": "bG9n" }));
    lab.ok(&one, "PUT", &book, &Value::Null);
}

#[test]
fn errors_are_counted_and_a_registration_clears_them() {
    let mut lab = Lab::new();
    let session = lab.v1("one");
    let error = format!("{NEW}/error");
    lab.ok(&session, "PUT", &error, &json!({ "Error": "first", "Logs": null }));
    lab.ok(&session, "PUT", &error, &json!({ "Error": "second", "Logs": "bG9n" }));
    lab.ok(&session, "PUT", &error, &json!({ "Error": "", "Logs": "" }));
    assert_eq!(lab.refusal(&session, "PUT", &error, &json!({ "Error": "x", "Logs": "?" })), (400, 74));
    let model = lab.ok(&session, "GET", NEW, &Value::Null);
    assert_eq!((&model["nb_spawn_err"], &model["last_spawn_err"]), (&json!(2), &json!("second")));
    assert_eq!((&model["last_spawn_err_log"], &model["need_registration"]), (&json!("bG9n"), &json!(true)));

    let claims = json!({
        "worker_model": "register-w", "model": { "id": model["id"], "name": "new" }, "register_only": true,
        "hatchery_name": "one",
    });
    let worker = lab.ok(&mint(&claims), "POST", "/auth/consumer/worker/signin", &form());
    assert_eq!((&worker["job_run_id"], &worker["model_name"]), (&Value::Null, &json!("new")));
    let model = lab.ok(&session, "GET", NEW, &Value::Null);
    assert_eq!((&model["nb_spawn_err"], &model["last_spawn_err"]), (&json!(0), &Value::Null));
    assert_eq!((&model["need_registration"], &model["registered_arch"]), (&json!(false), &json!("arm64")));
    assert_eq!(model["registered_capabilities"][0]["value"], "sh");
    assert_ne!(model["last_registration"], "0001-01-01T00:00:00Z");
}

#[test]
fn models_are_listed_by_name_to_those_whose_groups_they_are_for() {
    let mut lab = Lab::new();
    let put = |name: &str, group: &str, restricted, disabled| {
        Control::PutModel(Box::new(Model {
            name: name.to_owned(),
            group: group.to_owned(),
            restricted,
            disabled,
            secrets: [("secrets.vsphere_password".to_owned(), "hidden".into())].into(),
            ..Model::default()
        }))
    };
    for control in
        [put("a", "team", false, false), put("b", "team", true, false), put("c", "shared.infra", false, true)]
    {
        lab.control(control);
    }
    for (name, expected) in [("one", ["a", "new", "old"].as_slice()), ("team", &["a", "b"])] {
        let session = lab.v1(name);
        let listed = lab.ok(&session, "GET", "/worker/model/enabled", &Value::Null);
        let names: Vec<_> = listed.as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected);
    }
    let session = lab.v1("one");
    let secrets = lab.ok(&session, "GET", "/worker/model/team/a/secret", &Value::Null);
    assert_eq!(
        (&secrets[0]["name"], &secrets[0]["value"]),
        (&json!("secrets.vsphere_password"), &json!("hidden"))
    );
    assert_eq!(lab.refusal(&session, "GET", "/worker/model/team/x", &Value::Null), (404, 29));
}

#[test]
fn a_model_from_a_repository_is_found_by_branch_or_by_default() {
    let other = CodeModel {
        branch: "dev".to_owned(),
        default_branch: false,
        spec: json!({ "image": "dev", "password": "${{ secrets.P }}" }),
        clear_spec: Some(json!({ "image": "dev", "password": "clear" })),
        ..CodeModel::vsphere(PATH, "")
    };
    let mut lab =
        Lab::with(Config { code_models: vec![CodeModel::vsphere(PATH, "debian"), other], ..config() });
    let session = lab.v2("one");
    let uri = "/v2/project/PRJ/vcs/vcs/repository/org%2Frepo/workermodel/debian";
    for (query, spec) in [
        ("", json!({ "image": "debian" })),
        ("?branch=main", json!({ "image": "debian" })),
        ("?branch=dev", json!({ "image": "dev", "password": "${{ secrets.P }}" })),
        ("?branch=main&ref=refs/heads/dev", json!({ "image": "dev", "password": "${{ secrets.P }}" })),
        ("?branch=dev&withSecrets=true", json!({ "image": "dev", "password": "clear" })),
    ] {
        assert_eq!(lab.ok(&session, "GET", &format!("{uri}{query}"), &Value::Null)["spec"], spec, "{query}");
    }
    assert_eq!(lab.refusal(&session, "GET", &format!("{uri}?branch=x"), &Value::Null), (404, 38));
    assert_eq!(lab.refusal(&session, "GET", &format!("{uri}?branch=x&tag=y"), &Value::Null), (400, 74));
    let v1 = lab.v1("one");
    assert_eq!(lab.refusal(&v1, "GET", uri, &Value::Null), (403, 11));
}

#[test]
fn the_worker_is_handed_out_for_known_systems() {
    let mut lab = Lab::new();
    for (what, status) in [
        ("linux/amd64", 200),
        ("linux/x86_64", 200),
        ("windows/386", 200),
        ("linux/aarch64", 400),
        ("beos/amd64", 400),
    ] {
        let reply = lab.reply("", "GET", &format!("/download/worker/{what}"), &Value::Null);
        assert_eq!(reply.status, status, "{what}");
    }
    let session = lab.v1("one");
    let cdn = lab.ok(&session, "GET", "/config/cdn", &Value::Null);
    assert_eq!(cdn, json!({ "tcp_url": "", "tcp_url_enable_tls": false, "http_url": "" }));
}
