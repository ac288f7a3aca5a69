//! The hands of a fleet, each act witnessed by `govc`.

mod changing;
mod company;
mod copies;
mod deleting;
mod guests;
mod seeing;
mod templates;

use std::collections::BTreeMap;

use rookery_daemon::Supervisor;
use rookery_fleet::{Hardware, MachineId, Mark};
use rookery_fleet_vsphere::readiness::TimeOuts;
use rookery_fleet_vsphere::{ClaimWish, CloneWish, Hands, Site, SiteNames};
use rookery_kit::{Connected, Govc, Proxy, Vcsim, VcsimOptions, connect};
use rookery_vim_client::DiskMove;
use serde_json::Value;

const OWNER: &str = "h1";
const POOLED: &str = "provision-v2-brave-curie";
const WORKER: &str = "worker-swift-noether";

/// A vCenter behind a proxy, with hands on it.
struct World {
    // Ends with the story.
    _vcsim: Vcsim,
    govc: Govc,
    proxy: Proxy,
    ours: Connected,
    hands: Hands,
}

impl World {
    async fn start(options: VcsimOptions) -> Self {
        Self::over(Vcsim::start(options).await).await
    }

    async fn over(vcsim: Vcsim) -> Self {
        Self::at(vcsim, &names()).await
    }

    async fn at(vcsim: Vcsim, names: &SiteNames) -> Self {
        let proxy = Proxy::start(vcsim.socket(), &Supervisor::new()).await;
        let ours = connect(proxy.address()).await;
        ours.inventory.complete().await.expect("it loads");
        let site = Site::find(&ours.client, names).await.expect("a site");
        let (client, machines) = (ours.client.clone(), ours.machines.clone());
        let hands = Hands::new(client, machines, ours.inventory.clone(), site, TimeOuts::default());
        Self { govc: Govc::new(&vcsim), _vcsim: vcsim, proxy, ours, hands }
    }

    fn named(&self, name: &str) -> MachineId {
        let snapshot = self.ours.inventory.snapshot();
        MachineId::new(snapshot.named(name).next().expect(name).id.id())
    }

    /// Marks a VM as ours, in the words of the Go hatchery.
    async fn own(&self, name: &str) -> MachineId {
        let mark = Mark { hatchery_name: OWNER.to_owned(), ..Mark::default() };
        self.govc.run(&["vm.change", "-vm", name, "-annotation", &mark.write()]).await;
        self.named(name)
    }

    /// Makes the first VM a template.
    async fn template(&self) -> MachineId {
        self.govc.run(&["vm.power", "-off", "DC0_H0_VM0"]).await;
        self.govc.run(&["snapshot.create", "-vm", "DC0_H0_VM0", "base"]).await;
        self.govc.run(&["vm.markastemplate", "DC0_H0_VM0"]).await;
        self.named("DC0_H0_VM0")
    }

    /// A VM that waits for a job.
    async fn pooled(&self) -> MachineId {
        let template = self.template().await;
        self.hands.clone_vm(&wish(template, POOLED, pooled())).await.expect("cloned")
    }

    async fn property(&self, machine: &MachineId, path: &str) -> String {
        self.govc.property(&format!("VirtualMachine:{machine}"), path).await
    }

    /// Its mark, which was written for it.
    async fn mark(&self, machine: &MachineId) -> Mark {
        let mark = Mark::read(&self.property(machine, "config.annotation").await).expect("a mark");
        let instance = self.property(machine, "config.instanceUuid").await;
        assert_eq!(mark.instance, instance, "it is the mark of another VM");
        Mark { instance: String::new(), ..mark }
    }

    /// All that is compared of every VM.
    async fn everything(&self) -> BTreeMap<String, BTreeMap<String, Value>> {
        let paths = ["name", "config.annotation", "config.template", "runtime.powerState", "config.hardware"];
        self.govc.vms(&paths).await
    }

    fn asked(&self, method: &str) -> usize {
        self.proxy.exchanges().iter().filter(|exchange| exchange.method == method).count()
    }
}

fn names() -> SiteNames {
    SiteNames { datacenter: "DC0".to_owned(), network: Some("VM Network".to_owned()), ..SiteNames::default() }
}

fn pooled() -> Mark {
    Mark {
        hatchery_name: OWNER.to_owned(),
        worker_name: POOLED.to_owned(),
        provisioning: true,
        vmware_model_path: "DC0_H0_VM0".to_owned(),
        ..Mark::default()
    }
}

fn wish(template: MachineId, name: &str, mark: Mark) -> CloneWish {
    CloneWish {
        template,
        name: name.to_owned(),
        mark,
        resize: None,
        address: None,
        power_on: false,
        disk_move: DiskMove::Auto,
        card_class: None,
    }
}

fn claim(machine: &MachineId) -> ClaimWish {
    ClaimWish {
        machine: machine.clone(),
        was: POOLED.to_owned(),
        owner: OWNER.to_owned(),
        mark: Mark {
            worker_name: WORKER.to_owned(),
            provisioning: false,
            job_id: "4711".to_owned(),
            worker_start_time: "2026-06-23T10:00:00Z".parse().ok(),
            ..pooled()
        },
        name: WORKER.to_owned(),
        resize: Some(Hardware { cpus: 4, memory_mb: 512 }),
    }
}
