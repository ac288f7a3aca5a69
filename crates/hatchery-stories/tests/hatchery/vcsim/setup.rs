//! VMware's simulator with templates and foreign VMs, and a CDS beside it.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use rookery_cds_sim::{Config, NewJob, Status, Times};
use rookery_daemon::Supervisor;
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{Govc, Vcsim, VcsimOptions, connect, eventually};
use rookery_vim::Node;
use rookery_vim::methods::ReconfigVmTask;
use rookery_vim::specs::{OptionValue, VirtualMachineConfigSpec};
use serde_json::Value;

/// What `govc` tells of a VM.
const TOLD: [&str; 8] = [
    "name",
    "config.annotation",
    "config.hardware.numCPU",
    "config.hardware.memoryMB",
    "config.uuid",
    "config.template",
    "config.modified",
    "runtime.powerState",
];

/// A VM as `govc` shows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown(BTreeMap<String, Value>);

pub(super) struct VcsimSetup {
    pub(super) lab: Lab,
    pub(super) vcsim: Vcsim,
    pub(super) govc: Govc,
    supervisor: Supervisor,
}

impl Shown {
    pub(super) fn text(&self, path: &str) -> &str {
        self.0.get(path).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn number(&self, path: &str) -> i64 {
        self.0.get(path).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        self.text("name")
    }

    pub(super) fn is_on(&self) -> bool {
        self.text("runtime.powerState") == "poweredOn"
    }

    /// What the notes say, if they are a hatchery's.
    pub(super) fn mark(&self) -> Value {
        serde_json::from_str(self.text("config.annotation")).unwrap_or(Value::Null)
    }

    /// CPUs and megabytes.
    pub(super) fn size(&self) -> (i64, i64) {
        (self.number("config.hardware.numCPU"), self.number("config.hardware.memoryMB"))
    }
}

impl VcsimSetup {
    /// With these settings of the hatchery: those at the top of the file, and those in tables of their own. All that
    /// takes minutes by default takes seconds here.
    pub(super) async fn start(settings: &str, tables: &str) -> Self {
        let quick = "networkString = \"VM Network\"\nkillAwolServersInterval = 1\n\
                     finishedWorkerGracePeriod = 1\nworkerProvisioningInterval = 1\n";
        let options = LabOptions {
            settings: format!("{quick}{settings}\n"),
            tables: tables.to_owned(),
            cds: Config { times: Times { scheduling: 60, ..Times::default() }, ..Config::default() },
            ..LabOptions::default()
        };
        let lab = Lab::start(options).await;
        let vcsim = Vcsim::start(VcsimOptions::plain(4).with("-autostart=false").with_boxes()).await;
        let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
        let proxy = vcsim.gateway(&supervisor).await;
        let setup = Self { lab: lab.with_vcenter_at(proxy.address()), vcsim, govc, supervisor };
        setup.furnish().await;
        setup
    }

    async fn furnish(&self) {
        let govc = &self.govc;
        for (number, name) in ["debian12", "rocky9", "jumphost", "letters"].iter().enumerate() {
            govc.run(&["object.rename", &format!("vm/DC0_H0_VM{number}"), name]).await;
        }
        for template in ["debian12", "rocky9"] {
            govc.run(&["vm.change", "-vm", template, "-c", "1", "-m", "256"]).await;
            govc.run(&["snapshot.create", "-vm", template, "base"]).await;
            govc.run(&["vm.markastemplate", template]).await;
        }
        let notes = "ask Jane before touching it";
        govc.run(&["vm.change", "-vm", "jumphost", "-annotation", notes]).await;
        govc.run(&["vm.power", "-on", "jumphost"]).await;
        // Another hatchery's, with all that ours would sweep at once.
        let notes = r#"{"hatchery_name":"somebody-else","worker_name":"letters","to_delete":true}"#;
        govc.run(&["vm.change", "-vm", "letters", "-annotation", notes]).await;
    }

    /// Lets the guest of a VM be worked in that was not cloned by the hatchery.
    pub(super) async fn make_ready(&self, name: &str) {
        let client = connect(self.vcsim.address()).await;
        let snapshot = client.inventory.complete().await.expect("it loads");
        let vm = snapshot.named(name).next().expect("it is there").id.clone();
        let ready = OptionValue {
            key: "SET.guest.guestOperationsReady".to_owned(),
            value: Node::leaf("value", "boolean", "true"),
        };
        let spec = VirtualMachineConfigSpec { extra_config: vec![ready], ..Default::default() };
        client.client.call(&ReconfigVmTask { this: vm, spec }).await.expect("it is set");
        client.close().await;
    }

    /// All VMs, by id.
    pub(super) async fn vms(&self) -> BTreeMap<String, Shown> {
        self.govc.vms(&TOLD).await.into_iter().map(|(id, told)| (id, Shown(told))).collect()
    }

    /// VMs that carry the hatchery's mark.
    pub(super) async fn ours(&self) -> Vec<Shown> {
        let is_ours = |vm: &Shown| vm.mark()["hatchery_name"] == Lab::NAME;
        self.vms().await.into_values().filter(is_ours).collect()
    }

    /// The VM that a job has, once its worker is at work.
    pub(super) async fn at_work(&self, job: &str) -> Shown {
        eventually("the job is at work", async || self.lab.job(job).await.status == Status::Building).await;
        let ours = self.ours().await;
        let found = ours.iter().find(|vm| vm.mark()["job_id"] == job);
        found.unwrap_or_else(|| panic!("no VM has {job}: {ours:?}")).clone()
    }

    /// Lets the job of a VM go on that has the script of [`held`].
    pub(super) fn let_job_end(&self, vm: &Shown) {
        let folder = self.vcsim.box_folder(vm.text("config.uuid")).expect("it has a guest");
        fs::write(folder.join("go"), "").expect("the guest has files");
    }

    pub(super) async fn v2_job(&self, script: &str, flavor: Option<&str>) -> String {
        let job = NewJob::v2(script, Lab::DEBIAN, "default");
        self.lab.enqueue(NewJob { flavor: flavor.map(str::to_owned), ..job }).await
    }

    /// Waits until no VM of the hatchery is left but warm ones.
    pub(super) async fn swept(&self, warm: usize) -> Vec<Shown> {
        eventually("all workers are swept", async || {
            let ours = self.ours().await;
            ours.len() == warm && ours.iter().all(|vm| vm.mark()["provisioning"] == true && !vm.is_on())
        })
        .await;
        self.ours().await
    }

    pub(super) async fn close(self) {
        self.lab.close().await;
        self.supervisor.shutdown(Duration::from_secs(10)).await.ok();
    }
}

/// A script that waits until it may go on, and then says a word and which machine it runs on.
pub(super) fn held(nonce: &str) -> String {
    format!("until [ -e /tmp/go ]; do sleep 0.1; done; echo {nonce}; uname -n")
}
