//! The same hatchery on VMware's own simulator, which knows nothing of ours. `govc` tells what became of its VMs.

mod go;
mod kills;
mod limits;
mod models;
mod setup;

use rookery_cds_sim::{Job, NewJob, Status};
use rookery_hatchery_stories::Lab;
use rookery_kit::eventually;

use super::witness::reported;
use setup::{Shown, VcsimSetup, held};

const FLAVORS: &str = "[[flavors]]\nname = \"large\"\ncpus = 2\nmemoryMB = 512\n";
const ADDRESSES: &str = "iprange = \"192.0.2.16/29\"\ngateway = \"192.0.2.1\"\nsubnetMask = \"255.255.255.0\"\ndns = \"192.0.2.2\"";
const WARM: &str = "[[workerProvisioning]]\nmodelVMWare = \"debian12\"\nnumber = 1\n";

/// The job went well, once, and in the guest of that VM.
fn assert_ran_in(job: &Job, nonce: &str, vm: &Shown) {
    assert_eq!(job.status, Status::Success, "{job:#?}");
    let said: Vec<_> = job.logs.lines().collect();
    assert_eq!(said, [nonce, vm.text("config.uuid")], "{job:#?}");
    assert_eq!(job.workers, [vm.name()], "{job:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_v2_job_runs_in_a_fresh_clone_of_the_wanted_size() {
    let setup = VcsimSetup::start("", FLAVORS).await;
    let before = setup.vms().await;
    let scene = setup.lab.hatch().await;
    let job = setup.v2_job(&held("fresh-4711"), Some("large")).await;
    let vm = setup.at_work(&job).await;
    assert_eq!(vm.size(), (2, 512));
    assert!(vm.is_on(), "{vm:?}");
    let mark = vm.mark();
    assert_eq!(mark["worker_name"], vm.name(), "{mark}");
    assert_eq!(
        (&mark["vmware_model_path"], &mark["flavor"]),
        (&"debian12".into(), &"large".into()),
        "{mark}"
    );
    setup.let_job_end(&vm);
    assert_ran_in(&setup.lab.ended(&job).await, "fresh-4711", &vm);
    setup.swept(0).await;
    assert_eq!(setup.vms().await, before, "all that is not the hatchery's is as it was");
    scene.stop().await;
    setup.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_both_protocols_claim_warm_machines_and_keep_their_addresses() {
    let defaults = format!("[[defaultWorkerModelsV2]]\nworkerModelV2 = \"{}@main\"\n", Lab::DEBIAN);
    let setup = VcsimSetup::start(ADDRESSES, &format!("{FLAVORS}{WARM}{defaults}")).await;
    let before = setup.vms().await;
    let scene = setup.lab.hatch().await;
    let v1 = NewJob::v1(&held("warm-v1"));
    let v2 =
        NewJob { flavor: Some("large".to_owned()), ..NewJob::v2(&held("warm-v2"), Lab::DEBIAN, "default") };
    for (job, nonce, size) in [(v1, "warm-v1", (1, 256)), (v2, "warm-v2", (2, 512))] {
        let warm = setup.swept(1).await.remove(0);
        reported(&scene, "the hatchery has it, too", |report| report.counts.warm == 1).await;
        assert!(warm.name().starts_with("provision-v2-"), "{warm:?}");
        assert_eq!(warm.size(), (1, 256), "{warm:?}");
        let job = setup.lab.enqueue(job).await;
        let vm = setup.at_work(&job).await;
        assert_eq!(vm.text("config.uuid"), warm.text("config.uuid"), "the warm one was taken");
        assert_eq!((vm.size(), vm.is_on()), (size, true), "{vm:?}");
        assert_ne!(vm.name(), warm.name());
        let (mark, was) = (vm.mark(), warm.mark());
        assert_eq!((&mark["ip_address"], &mark["created"]), (&was["ip_address"], &was["created"]), "{mark}");
        assert_ne!(mark["provisioning"], true, "{mark}");
        setup.let_job_end(&vm);
        assert_ran_in(&setup.lab.ended(&job).await, nonce, &vm);
        eventually("another one is warm", async || {
            setup.ours().await.iter().any(|vm| vm.mark()["provisioning"] == true)
        })
        .await;
    }
    setup.swept(1).await;
    let mut after = setup.vms().await;
    after.retain(|id, _| before.contains_key(id));
    assert_eq!(after, before, "all that is not the hatchery's is as it was");
    scene.stop().await;
    setup.close().await;
}
