//! The hands of a fleet, each act witnessed by `govc`.

mod changing;
mod copies;
mod deleting;
mod guests;
mod seeing;
mod sessions;
mod templates;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rookery_daemon::Supervisor;
use rookery_fleet::{Hardware, MachineId, OwnerId};
use rookery_fleet_vsphere::readiness::TimeOuts;
use rookery_fleet_vsphere::{Site, SiteNames};
use rookery_hatchery::machine::{ClaimSpec, CloneSpec, Hands};
use rookery_hatchery::mark::{self, Mark};
use rookery_kit::{Connected, Govc, Proxy, Vcsim, VcsimOptions, connect};
use rookery_vim_client::{DiskMove, Machines};
use serde_json::Value;

static OWNER: LazyLock<OwnerId> = LazyLock::new(|| mark::owner("h1"));
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
    site: Site,
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
        let machines = ours.machines.clone();
        let hands = hands(&ours, &site, machines);
        Self { govc: Govc::new(&vcsim), _vcsim: vcsim, proxy, ours, hands, site }
    }

    fn named(&self, name: &str) -> MachineId {
        let snapshot = self.ours.inventory.snapshot();
        MachineId::new(snapshot.named(name).next().expect(name).id.id())
    }

    /// Marks a VM as ours, in the words of the Go hatchery.
    async fn own(&self, name: &str) -> MachineId {
        let mark = Mark { hatchery_name: OWNER.name().to_owned(), ..Mark::default() };
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
        self.hands.clone_vm(&self.wish(template, POOLED, pooled())).await.expect("cloned")
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

    /// A clone as a story wants it, but for what it is about.
    fn wish(&self, template: MachineId, name: &str, mark: Mark) -> CloneSpec {
        CloneSpec {
            template,
            name: name.to_owned(),
            placement: self.site.placement.clone(),
            mark,
            hardware: Hardware::default(),
            first_disk_kb: None,
            address: None,
            power_on: false,
            disk_move: DiskMove::Auto,
            card_class: None,
        }
    }

    /// A claim of a VM as it is now.
    async fn claim(&self, machine: &MachineId) -> ClaimSpec {
        let chosen_by = Mark::read(&self.property(machine, "config.annotation").await).unwrap_or_default();
        ClaimSpec {
            machine: machine.clone(),
            was: POOLED.to_owned(),
            chosen_by,
            owner: OWNER.clone(),
            mark: Mark {
                worker_name: WORKER.to_owned(),
                provisioning: false,
                job_id: "4711".to_owned(),
                worker_start_time: "2026-06-23T10:00:00Z".parse().ok(),
                ..pooled()
            },
            name: WORKER.to_owned(),
            resize: Some(Hardware::new(4, 512)),
        }
    }
}

/// Hands of the hatchery on a site.
fn hands(ours: &Connected, site: &Site, machines: Machines) -> Hands {
    let ground = (site.datacenter.clone(), site.bounds.clone());
    let (client, inventory) = (ours.client.clone(), ours.inventory.clone());
    Hands::new(client, machines, inventory, ground, mark::recogniser(), TimeOuts::default())
}

fn names() -> SiteNames {
    SiteNames { datacenter: "DC0".to_owned(), network: Some("VM Network".to_owned()), ..SiteNames::default() }
}

fn pooled() -> Mark {
    Mark {
        hatchery_name: OWNER.name().to_owned(),
        worker_name: POOLED.to_owned(),
        provisioning: true,
        vmware_model_path: "DC0_H0_VM0".to_owned(),
        ..Mark::default()
    }
}
