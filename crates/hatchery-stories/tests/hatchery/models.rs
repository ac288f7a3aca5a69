//! V1 models: their templates are made, their workers tell what they can do, and then their jobs run.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use rookery_cds_sim::{Config, Control, Model, NewJob, Status, Token};
use rookery_hatchery_stories::{Lab, LabOptions, Stage};
use rookery_kit::{Wire, eventually};
use serde_json::Value;
use tokio::time::sleep;

use super::history::{asked, lives_by, why};
use super::witness::{Seen, history, machines, named, nonce, probe, ran, reported, warm, was_told};

const PRE: &str = "curl -s -f -o /tmp/worker {{.API}}/download/worker/linux/amd64 && chmod +x /tmp/worker\n\
    {{if .FromWorkerImage}}echo from-the-image >/tmp/kind{{else}}exit 1{{end}}";
const POST: &str = "sudo shutdown -h now";

pub(super) fn model(name: &str) -> Model {
    Model {
        name: name.to_owned(),
        image: "debian12".to_owned(),
        pre_cmd: PRE.to_owned(),
        cmd: "PATH=$PATH /tmp/worker".to_owned(),
        post_cmd: POST.to_owned(),
        user: "debian".to_owned(),
        secrets: BTreeMap::from([("secrets.vsphere_password".to_owned(), Token::from("guest-secret"))]),
        need_registration: true,
        ..Model::default()
    }
}

fn with(models: Vec<Model>, options: LabOptions) -> LabOptions {
    let cds = Config { models, ..Config::default() };
    LabOptions { cds, v2: false, ..options }
}

fn lab_with(models: Vec<Model>, options: LabOptions) -> Lab {
    Lab::paused(with(models, options))
}

async fn v1_job(lab: &Lab, model: &str, script: &str) -> String {
    lab.enqueue(NewJob { model: Some(model.to_owned()), ..NewJob::v1(script) }).await
}

/// A model as the CDS has it.
async fn in_cds(lab: &Lab, name: &str) -> Value {
    let dump = lab.cds.control(Control::Dump).await.expect("the CDS runs");
    let rookery_cds_sim::Body::Content(bytes) = dump.body else { panic!("an answer at once") };
    let dump: Value = serde_json::from_slice(&bytes).expect("JSON");
    let models = dump["models"].as_array().expect("a list").clone();
    models.into_iter().find(|row| row["model"]["name"] == name).expect("the model")
}

/// Somebody changes a model, some time later.
async fn change(lab: &Lab, model: Model) {
    lab.cds.control(Control::Advance(SignedDuration::from_secs(2))).await.expect("the CDS runs");
    lab.cds.control(Control::PutModel(Box::new(model))).await.expect("the CDS runs");
}

async fn template(lab: &Lab, name: &str) -> Option<Seen> {
    named(lab, name).await.filter(|machine| machine.is_template)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_registered_and_its_job_runs_with_the_v1_token_alone() {
    let lab = Lab::start(with(vec![model("deb")], LabOptions::default())).await;
    let foreign = lab.v2_job(Lab::DEBIAN, "true").await;
    let scene = lab.hatch().await;
    // The parent of the worker is what the tools started.
    let script = "cat /tmp/kind\nread -r _ _ _ started _ </proc/$PPID/stat\n\
         tr '\\0' '|' </proc/$started/cmdline";
    let nonce = nonce();
    let job = v1_job(&lab, "shared.infra/deb", &format!("{}\n{script}", probe(&nonce))).await;
    let (job, machine) = ran(&lab, &job, &nonce).await;
    assert_eq!(machine.mark("worker_model_path"), "shared.infra/deb");
    let api = &lab.cds_url;
    let expected = format!(
        "from-the-image\n/bin/sh|-c|\"/bin/echo\" -n ;curl -s -f -o /tmp/worker {api}/download/worker/linux/amd64 \
         && chmod +x /tmp/worker\necho from-the-image >/tmp/kind\nPATH=$PATH /tmp/worker 1>/tmp/worker.log 2>&1;\n\
         sudo shutdown -h now|"
    );
    assert!(job.logs.ends_with(&expected), "{}", job.logs);

    let made = template(&lab, "deb").await.expect("a template");
    assert_eq!(made.mark("model"), true);
    assert_eq!(made.mark("worker_model_path"), "shared.infra/deb");
    assert_eq!(made.mark("worker_model_last_modified"), machine.mark("worker_model_last_modified"));
    assert!(named(&lab, "deb-tmp").await.is_none());
    let row = in_cds(&lab, "deb").await;
    assert_eq!(row["model"]["need-registration"], false, "{row}");
    assert!(row["model"]["binaries"].as_array().is_some_and(|found| found.contains(&"sh".into())), "{row}");
    let steps = history(&lab).await;
    let at = |what: &str| {
        steps.iter().position(|step| step.contains(what)).unwrap_or_else(|| panic!("{what}: {steps:#?}"))
    };
    assert_eq!(steps.iter().filter(|step| step.ends_with("to deb-tmp")).count(), 1, "{steps:#?}");
    assert!(at("to deb-tmp") < at("Renamed deb-tmp"), "{steps:#?}");
    assert!(at("Renamed deb-tmp") < at("to register-"), "{steps:#?}");
    let foreign = lab.job(&foreign).await;
    assert_eq!((foreign.status, foreign.attempts.len()), (Status::Waiting, 0), "there is no token for it");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_warm_machine_of_a_v1_model_is_claimed_for_its_job() {
    let tables = "[[workerProvisioning]]\nmodelPath = \"shared.infra/deb\"\nnumber = 1\n".to_owned();
    let lab = lab_with(vec![model("deb")], LabOptions { tables, ..LabOptions::default() });
    let scene = lab.hatch().await;
    let before = warm(&lab, &scene, 1).await;
    let before = before.first().expect("a warm one");
    assert!(before.name.starts_with("provision-v1-") && !before.is_on, "{before:?}");
    let nonce = nonce();
    let job = v1_job(&lab, "deb", &probe(&nonce)).await;
    let (_, after) = ran(&lab, &job, &nonce).await;
    assert_eq!(after.id, before.id, "the warm machine was taken");
    let keys = [
        "hatchery_name",
        "worker_name",
        "worker_model_path",
        "worker_model_last_modified",
        "created",
        "worker_start_time",
        "job_id",
        "rookery_template",
        "rookery_instance",
    ];
    assert_eq!(after.keys(), keys, "{}", after.notes);
    assert_eq!(after.mark("worker_model_path"), "shared.infra/deb");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_was_changed_gets_a_new_template_and_the_old_one_goes_when_nothing_needs_it() {
    let lab = lab_with(vec![model("deb")], LabOptions::default());
    let scene = lab.hatch().await;
    let long = v1_job(&lab, "deb", "sleep 600").await;
    eventually("a worker is at work", async || lab.job(&long).await.status == Status::Building).await;
    let worker = lab.job(&long).await.worker_name;
    let old = template(&lab, "deb").await.expect("a template");

    change(&lab, Model { need_registration: false, ..model("deb") }).await;
    eventually("there is another template", async || {
        template(&lab, "deb").await.is_some_and(|machine| machine.id != old.id)
    })
    .await;
    let new = template(&lab, "deb").await.expect("a template");
    assert_ne!(new.mark("worker_model_last_modified"), old.mark("worker_model_last_modified"));
    let all = machines(&lab).await;
    let kept = all.iter().find(|machine| machine.id == old.id);
    let kept = kept.unwrap_or_else(|| panic!("disks of {worker} stand on it: {all:#?}"));
    assert_eq!(kept.name, format!("deb-old-{}", old.id));
    let nonce = nonce();
    let job = v1_job(&lab, "deb", &probe(&nonce)).await;
    let (_, next) = ran(&lab, &job, &nonce).await;
    assert_eq!(next.mark("worker_model_last_modified"), new.mark("worker_model_last_modified"));

    lab.govc().run(&["vm.destroy", &worker]).await;
    eventually("the old template is gone", async || {
        machines(&lab).await.iter().all(|machine| machine.id != old.id)
    })
    .await;
    assert!(template(&lab, "deb").await.is_some_and(|machine| machine.id == new.id));
    scene.stop().await;
    lab.close_with_cut_down(&[&worker]).await;
}

#[tokio::test(start_paused = true)]
async fn a_template_of_another_model_is_left_alone_and_the_job_is_told() {
    let options = LabOptions::default();
    let mark = format!(
        r#"{{"hatchery_name":"{}","worker_model_path":"team/deb","worker_model_last_modified":"1","model":true}}"#,
        Lab::NAME
    );
    let model_file = format!(
        "{}\n[[datacenter.vm]]\nname = \"deb\"\ntemplate = true\nannotation = '{mark}'\n",
        options.model
    );
    let registered = Model { need_registration: false, ..model("deb") };
    let lab = lab_with(vec![registered], LabOptions { model: model_file, ..options });
    let before = machines(&lab).await;
    let scene = lab.hatch().await;
    let job = v1_job(&lab, "shared.infra/deb", "true").await;
    let why = "is the template of the model";
    eventually("the job is told", async || was_told(&lab.job(&job).await, why)).await;
    assert!(was_told(&lab.job(&job).await, "team/deb"));
    reported(&scene, "it is shown that the model cannot be registered", |report| {
        report
            .not_made
            .iter()
            .any(|(model, text)| model == "shared.infra/deb" && text.to_string().contains(why))
    })
    .await;
    let told = lab.job(&job).await;
    assert_eq!((told.status, told.attempts.len()), (Status::Waiting, 0));
    let names =
        |machines: &[Seen]| machines.iter().map(|m| (m.id.clone(), m.notes.clone())).collect::<Vec<_>>();
    assert_eq!(names(&machines(&lab).await), names(&before), "nothing was made, changed or destroyed");
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_orphaned_template_in_the_making_goes_after_a_quarter_of_an_hour() {
    let options = LabOptions::default();
    let orphan = |model: &str, age: i64| {
        let created = Lab::paused_from() - SignedDuration::from_mins(age);
        let mark = format!(
            r#"{{"hatchery_name":"{}","worker_model_path":"shared.infra/{model}","model":true,"created":"{created}"}}"#,
            Lab::NAME
        );
        format!("[[datacenter.vm]]\nname = \"{model}-tmp\"\nannotation = '{mark}'\n")
    };
    let file = format!("{}\n{}{}", options.model, orphan("old", 16), orphan("young", 5));
    let age = SignedDuration::from_mins(20);
    let lab = lab_with(vec![], LabOptions { model: file, age, ..options });
    let scene = lab.hatch().await;
    eventually("the old one is gone", async || named(&lab, "old-tmp").await.is_none()).await;
    assert!(named(&lab, "young-tmp").await.is_some());
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn no_model_is_registered_where_that_is_off() {
    let options = LabOptions {
        cds: Config { models: vec![model("one")], ..Config::default() },
        tables: "[commonConfiguration.provision]\nmaxConcurrentRegistering = -1\n".to_owned(),
        ..LabOptions::default()
    };
    let stage = Stage::set(options);
    let scene = stage.hatch(&Wire::default()).await.expect("the hatchery starts");
    let job = v1_job(&stage.lab, "one", "true").await;
    sleep(Duration::from_hours(1)).await;
    let why = why(&scene, &job);
    assert_eq!(why.as_deref(), Some("worker model shared.infra/one is not registered yet"));
    assert_eq!(stage.lab.job(&job).await.status, Status::Waiting);
    scene.stop().await;
    let (clones, booked) = (stage.witness(lives_by).await, asked(&stage.lab, "PUT", "/book").await);
    assert_eq!((clones.len(), booked), (0, 0), "{clones:?}");
    stage.lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_the_model_does_not_have_is_refused_by_name() {
    let lab = lab_with(vec![Model { secrets: BTreeMap::new(), ..model("deb") }], LabOptions::default());
    let scene = lab.hatch().await;
    eventually("CDS is told", async || !in_cds(&lab, "deb").await["last_error"].is_null()).await;
    let row = in_cds(&lab, "deb").await;
    let error = row["last_error"]["text"].as_str().expect("text");
    let why = "the password for guests of model shared.infra/deb, from the model itself, still contains a placeholder";
    assert!(error.contains(why), "{error}");
    assert!(machines(&lab).await.iter().all(|machine| machine.mark("hatchery_name").is_null()));
    scene.stop().await;
    lab.close().await;
}
