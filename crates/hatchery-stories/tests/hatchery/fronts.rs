//! A hatchery beside another front of the same process, on one vCenter.

use std::net::Ipv4Addr;

use rookery_cds_sim::Status;
use rookery_daemon::Supervisor;
use rookery_fleet::Hardware;
use rookery_fleet::ownership::{Labels, Marking, Recogniser, Written};
use rookery_fleet::reservations::{FrontId, Reservation};
use rookery_fleet::{OwnerId, Ownership, Recognised};
use rookery_fleet_vsphere::{FrontReservations, Login, Sharing, Site, SiteNames, Vcenter, Vcenters};
use rookery_hatchery_stories::{Lab, LabOptions, Scene};
use rookery_kit::{Wire, eventually, options};
use rookery_vim_client::{Ceilings, Trust};

use super::witness::{clones_run, machines, reported, slow_down, with_cards};

/// Two addresses: 4 and 5.
const TWO: &str = r#"iprange = "192.0.2.4/31"
gateway = "192.0.2.1"
subnetMask = "255.255.255.248"
finishedWorkerGracePeriod = 1
"#;

/// A VM of the other front, with the first of them.
const THEIRS: &str = r#"
[[datacenter.vm]]
name = "node-4"
annotation = "node 192.0.2.4"
"#;

fn ip(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, last)
}

/// The other front marks its machines with `node`, and the address.
const NODES: Marking<Ipv4Addr> = Marking {
    extra_keys: &[],
    recognise: recognise_node,
    write: |_, _| Written::default(),
    protects: |_, _| false,
};

fn recognise_node(labels: &Labels<'_>) -> Recognised<Ipv4Addr> {
    let Some(config) = labels.config else { return Recognised::unknown() };
    match config.notes.strip_prefix("node ").and_then(|address| address.parse().ok()) {
        Some(address) => Recognised {
            ownership: Ownership::By(OwnerId::new("nodes", "n1")),
            mark: Some(Box::new(address)),
            addresses: vec![address],
            ..Recognised::nobody()
        },
        None => Recognised::nobody(),
    }
}

/// A hatchery and another front, with one session each.
struct Two {
    scene: Scene,
    vcenter: Vcenter,
    nodes: FrontReservations,
    pool: String,
}

impl Two {
    async fn start(lab: &Lab, supervisor: &Supervisor) -> Self {
        let vcenters = Vcenters::new(supervisor);
        let vcenter = lab.world.vcenter.clone();
        let login = Login {
            options: options("http://vcenter.sim"),
            dial: Wire::default().to(move || vcenter.pipe()),
            trust: Trust::Insecure,
            sharing: Sharing::Shared,
            ceilings: Ceilings::default(),
        };
        let vcenter = vcenters.connect(login).await.expect("it lets us in");
        let names = SiteNames { datacenter: "DC0".to_owned(), ..SiteNames::default() };
        let site = Site::find(vcenter.client(), &names).await.expect("a site");
        let nodes = vcenter.reservations(FrontId::new("nodes"));
        let child = supervisor.child();
        let scene = lab.hatch_from(&child, |parts| {
            parts.vcenters = vcenters;
            parts.beside = vec![Recogniser::for_others(NODES)];
        });
        Self { scene: scene.await, vcenter, nodes, pool: site.placement.pool.id().to_owned() }
    }

    /// What the other front wants for a machine.
    fn node(&self, last: u8, memory_mb: u64) -> Reservation {
        Reservation {
            names: [format!("node-{last}")].into(),
            addresses: [ip(last)].into(),
            footprint: Hardware { cpus: Some(1), memory_mb: Some(memory_mb) },
            pool: self.pool.clone(),
        }
    }

    async fn stop(self) {
        self.scene.stop().await;
        self.vcenter.close().await;
    }
}

fn lab(more: &str) -> Lab {
    let options = with_cards();
    let model = format!("{}{more}", options.model);
    Lab::paused(LabOptions { settings: TWO.to_owned(), model, ..options })
}

/// The addresses that the hatchery has given.
async fn given(lab: &Lab) -> Vec<String> {
    let given = machines(lab).await.into_iter().map(|machine| machine.given());
    given.filter(|address| !address.is_empty()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_address_that_another_front_has_reserved_is_not_given_to_a_worker() {
    let (lab, supervisor) = (lab(""), Supervisor::new());
    slow_down(&lab, "10s", "1s").await;
    let two = Two::start(&lab, &supervisor).await;
    let first = two.nodes.take(two.node(4, 1024), None).expect("it is free");
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    eventually("its machine is being cloned", async || clones_run(&lab).await == 1).await;

    // What the hatchery has in flight is seen by the other front, and cannot be taken.
    let flight = two.nodes.of_others(&two.pool);
    assert_eq!(flight.addresses, [ip(5)].into(), "4 is the other front's");
    assert_eq!((flight.names.len(), flight.cpus, flight.memory_mb), (1, 2, 2048));
    let conflict = two.nodes.take(two.node(5, 1024), None).expect_err("the hatchery has it");
    assert_eq!(conflict.addresses, [ip(5)].into());

    eventually("its machine is there", async || given(&lab).await == ["192.0.2.5"]).await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    eventually("its machine is gone", async || given(&lab).await.is_empty()).await;
    eventually("nothing is reserved for it", async || two.nodes.of_others(&two.pool).names.is_empty()).await;

    // With both taken a job waits, until one is given back.
    let second = two.nodes.take(two.node(5, 1024), None).expect("it is free again");
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    reported(&two.scene, "it waits for an address", |report| {
        report.waiting.values().any(|line| line.to_string().contains("configured addresses is free"))
    })
    .await;
    drop(first);
    eventually("it is served", async || given(&lab).await == ["192.0.2.4"]).await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    drop(second);
    two.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn room_that_another_front_has_reserved_is_not_used() {
    let (lab, supervisor) = (lab(""), Supervisor::new());
    let two = Two::start(&lab, &supervisor).await;
    // All but a little of what the only host has.
    let most = two.nodes.take(two.node(4, 511 << 10), None).expect("it is free");
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    reported(&two.scene, "it waits for room", |report| {
        report.waiting.values().any(|line| line.to_string().contains("MB"))
    })
    .await;
    drop(most);
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    two.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_mark_of_another_front_holds_its_address() {
    let (lab, supervisor) = (lab(THEIRS), Supervisor::new());
    let two = Two::start(&lab, &supervisor).await;
    let job = lab.v2_job(Lab::DEBIAN, "true").await;
    eventually("its machine is there", async || given(&lab).await == ["192.0.2.5"]).await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    two.stop().await;
    lab.close().await;
}
