//! A V1 model: its template is made from an image, a worker tells what it can do, and a job runs in a clone of it.

use rookery_cds_sim::{Control, Model, NewJob};
use rookery_hatchery_stories::Lab;
use rookery_kit::eventually;

use super::assert_ran_in;
use super::setup::{VcsimSetup, held};

const DOWNLOAD: &str =
    "curl -s -f -o /tmp/worker {{.API}}/download/worker/linux/amd64 && chmod +x /tmp/worker";

#[tokio::test(flavor = "multi_thread")]
async fn a_v1_model_gets_its_template_is_registered_and_runs_a_job() {
    let setup = VcsimSetup::start("", "").await;
    let before = setup.vms().await;
    let model = Model {
        name: "deb".to_owned(),
        image: "debian12".to_owned(),
        pre_cmd: DOWNLOAD.to_owned(),
        cmd: "PATH=$PATH /tmp/worker".to_owned(),
        user: "debian".to_owned(),
        password: "guest-secret".to_owned(),
        need_registration: true,
        ..Model::default()
    };
    setup.lab.cds.control(Control::PutModel(Box::new(model))).await.expect("the CDS runs");
    let scene = setup.lab.hatch().await;
    let job = NewJob { model: Some("shared.infra/deb".to_owned()), ..NewJob::v1(&held("model-4711")) };
    let job = setup.lab.enqueue(job).await;
    let vm = setup.at_work(&job).await;
    assert_eq!(vm.mark()["worker_model_path"], "shared.infra/deb");
    setup.let_job_end(&vm);
    assert_ran_in(&setup.lab.ended(&job).await, "model-4711", &vm);
    eventually("only the template is left", async || setup.ours().await.len() == 1).await;
    let template = setup.ours().await.remove(0);
    assert_eq!(template.name(), "deb");
    let mark = template.mark();
    assert_eq!((&mark["model"], &mark["worker_model_path"]), (&true.into(), &"shared.infra/deb".into()));
    assert_eq!(mark["hatchery_name"], Lab::NAME);
    let path = "/DC0/vm/deb";
    assert_eq!(setup.govc.property(path, "config.template").await, "true");
    assert!(setup.govc.run(&["snapshot.tree", "-vm", path]).await.contains("rookery"));
    let told = setup.govc.run(&["events", "-n", "1000"]).await;
    for step in ["deb-tmp", "register-"] {
        assert!(told.contains(step), "{step}: {told}");
    }
    let mut after = setup.vms().await;
    after.retain(|id, _| before.contains_key(id));
    assert_eq!(after, before, "all that is not the hatchery's is as it was");
    scene.stop().await;
    setup.close().await;
}
