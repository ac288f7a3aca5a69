//! Two fronts on one core: the hatchery with its marks in notes, and another one with its marks in extra configuration, on
//! one vCenter in one process.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use rookery_daemon::Supervisor;
use rookery_fleet::address::{self, Network};
use rookery_fleet::brake::Brake;
use rookery_fleet::capacity::{self, Limits, PoolRoom, Shortage};
use rookery_fleet::deletion::{self, Case, Gate, Kept};
use rookery_fleet::flavor::Flavors;
use rookery_fleet::ownership::{Identity, Labels, Marking, Recogniser, Written};
use rookery_fleet::reckoning::Reckoning;
use rookery_fleet::reservations::{FrontId, Reservation};
use rookery_fleet::{Hardware, MachineId, OwnerId, Ownership, Recognised, View};
use rookery_fleet_vsphere::readiness::TimeOuts;
use rookery_fleet_vsphere::{
    ActError, CloneSpec, Hands, Journal, Login, Observer, Proof, Refusal, Sharing, Site, SiteNames, Vcenter,
    Vcenters,
};
use rookery_hatchery::mark::{self, Mark};
use rookery_kit::{Govc, Vcsim, VcsimOptions, eventually, options};
use rookery_vim_client::{
    Ceilings, DiskMove, ExtraConfigKey, Order, Priority, Site as WorkSite, TcpDial, Trust,
};

/// The mark of the second front.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tag {
    owner: String,
    ip: Ipv4Addr,
}

const KEY: &str = "rookery.story.owner";

/// `owner address instance`: clones inherit the extra configuration of their template.
const TAGS: Marking<Tag> = Marking {
    extra_keys: &[KEY],
    recognise: recognise_tag,
    write: |tag, instance| {
        let value = format!("{} {} {}", tag.owner, tag.ip, instance.unwrap_or_default());
        Written { notes: None, extra: vec![(KEY, value)] }
    },
    protects: |_, _| false,
};

fn recognise_tag(labels: &Labels<'_>) -> Recognised<Tag> {
    let Some(config) = labels.config else { return Recognised::unknown() };
    let words: Vec<_> = config.extra.get(KEY).map(|value| value.split(' ').collect()).unwrap_or_default();
    let [owner, ip, instance] = words[..] else { return Recognised::nobody() };
    let Ok(ip) = ip.parse() else { return Recognised::nobody() };
    let id = OwnerId::new("tags", owner);
    let is_its_own = labels.instance == Some(instance);
    Recognised {
        ownership: if is_its_own { Ownership::By(id) } else { Ownership::Copied(id) },
        mark: Some(Box::new(Tag { owner: owner.to_owned(), ip })),
        addresses: vec![ip],
        held_until: None,
        identity: Some(Identity { name: "".into(), is_proven: true }),
    }
}

static HATCHERY: LazyLock<OwnerId> = LazyLock::new(|| mark::owner("h1"));
static TAGGER: LazyLock<OwnerId> = LazyLock::new(|| OwnerId::new("tags", "t1"));

/// A front with all that it has of the vCenter.
struct Front<M> {
    owner: OwnerId,
    vcenter: Vcenter,
    hands: Hands<M>,
    observer: Observer<M>,
    site: Site,
}

impl<M: Clone + PartialEq + std::fmt::Debug + 'static> Front<M> {
    async fn start(vcenters: &Vcenters, address: &str, owner: &OwnerId, recogniser: Recogniser<M>) -> Self {
        let options = options(address);
        let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("TLS can be set up");
        let (trust, sharing) = (Trust::Insecure, Sharing::Shared);
        let ceilings = Ceilings { total: 3, ..Ceilings::default() };
        let login = Login { options, dial: Arc::new(dial), trust, sharing, ceilings };
        let vcenter = vcenters.connect(login).await.expect("it lets us in");
        let names = SiteNames {
            datacenter: "DC0".to_owned(),
            network: Some("VM Network".to_owned()),
            ..SiteNames::default()
        };
        let site = Site::find(vcenter.client(), &names).await.expect("a site");
        let keys: BTreeSet<_> =
            recogniser.extra_keys().map(|key| ExtraConfigKey::try_from(key).expect("a key")).collect();
        let inventory = vcenter.inventory(&site.datacenter, &keys);
        inventory.complete().await.expect("it loads");
        let journal = Journal::default();
        let hands = Hands::new(
            vcenter.client().clone(),
            vcenter.machines().clone(),
            inventory.clone(),
            (site.datacenter.clone(), site.bounds.clone()),
            recogniser.clone(),
            TimeOuts::default(),
        );
        let hands = hands.with_journal(journal.clone()).with_priority(Priority::Demand);
        let observer = Observer::beside(inventory, recogniser, site.bounds.clone(), journal);
        Self { owner: owner.clone(), vcenter, hands, observer, site }
    }

    async fn make(&self, template: &MachineId, name: &str, mark: M) -> MachineId {
        let wish = CloneSpec {
            template: template.clone(),
            name: name.to_owned(),
            placement: self.site.placement.clone(),
            mark,
            hardware: Hardware::default(),
            first_disk_kb: None,
            address: None,
            power_on: true,
            disk_move: DiskMove::Auto,
            card_class: None,
        };
        self.hands.clone_vm(&wish).await.expect("cloned")
    }

    fn view(&mut self) -> View<M> {
        self.observer.view(at(1))
    }

    async fn sees(&mut self, machine: &MachineId, expected: &Ownership) -> View<M> {
        eventually(&format!("{} sees whose {machine} is", self.owner), || {
            let view = self.observer.view(at(1));
            let seen = view.machines.get(machine).map(|machine| &machine.recognised.ownership);
            std::future::ready(seen == Some(expected))
        })
        .await;
        self.view()
    }

    /// What the gate lets this front delete when it wants to delete everything.
    fn would_delete(&self, view: &View<M>) -> Vec<MachineId> {
        let (brake, reckoning) = (Brake::default(), Reckoning::default());
        let gate = Gate {
            view,
            owner: &self.owner,
            now: at(100),
            evidence_begun: at(100),
            budget: usize::MAX,
            brake: &brake,
            also: Vec::new(),
            busy: &|_| false,
            changed_at: &|_| None,
            reckoning: &reckoning,
            stubborn: &std::collections::BTreeMap::new(),
        };
        let all = deletion::decide::<_, &str, Kept>(&gate, &|_, _| {
            Ok(Case {
                reason: "everything goes",
                urgency: 0,
                age: jiff::SignedDuration::ZERO,
                weight: rookery_fleet::brake::Weight::None,
                by_evidence: true,
            })
        });
        all.delete.into_iter().map(|(id, _)| id).collect()
    }

    async fn is_refused(&self, machine: &MachineId, name: &str, expected: &dyn Fn(&Refusal) -> bool) {
        let proof = Proof { owner: self.owner.clone(), name: name.to_owned(), now: at(100), power: None };
        let acts = [
            self.hands.delete(machine, &proof).await,
            self.hands.stop(machine, &self.owner, name).await,
            self.hands.rename(machine, &self.owner, "mine").await,
            self.hands.mark_anew(machine, &self.owner, M::clone).await,
        ];
        for act in acts {
            assert!(matches!(&act, Err(ActError::Refused { why, .. }) if expected(why)), "{act:?}");
        }
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a moment")
}

fn ip(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, last)
}

fn hatchery_mark(last: u8) -> Mark {
    Mark {
        hatchery_name: HATCHERY.name().to_owned(),
        worker_name: format!("w{last}"),
        vmware_model_path: "DC0_H0_VM0".to_owned(),
        ip_address: ip(last).to_string(),
        ..Mark::default()
    }
}

fn tag(last: u8) -> Tag {
    Tag { owner: TAGGER.name().to_owned(), ip: ip(last) }
}

#[tokio::test]
async fn two_fronts_on_one_vcenter_leave_each_others_machines_alone_and_share_its_room() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    govc.run(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    govc.run(&["snapshot.create", "-vm", "DC0_H0_VM0", "base"]).await;
    govc.run(&["vm.markastemplate", "DC0_H0_VM0"]).await;

    let vcenters = Vcenters::new(&supervisor);
    let marks = Recogniser::new(mark::MARKING).beside([Recogniser::for_others(TAGS)]);
    let tags = Recogniser::new(TAGS).beside([Recogniser::for_others(mark::MARKING)]);
    let mut hatchery = Front::start(&vcenters, vcsim.address(), &HATCHERY, marks).await;
    let mut tagger = Front::start(&vcenters, vcsim.address(), &TAGGER, tags).await;
    assert_eq!(govc.sessions().await.len(), 1, "they share a session");

    let template = hatchery.view().named("DC0_H0_VM0").next().expect("the template").id.clone();
    let ours = hatchery.make(&template, "worker-1", hatchery_mark(11)).await;
    let theirs = tagger.make(&template, "node-1", tag(12)).await;

    // Each sees both, knows whose they are, and counts its own.
    let (of_hatchery, of_tagger) = (Ownership::By(HATCHERY.clone()), Ownership::By(TAGGER.clone()));
    hatchery.sees(&ours, &of_hatchery).await;
    let seen_by_hatchery = hatchery.sees(&theirs, &of_tagger).await;
    tagger.sees(&theirs, &of_tagger).await;
    let seen_by_tagger = tagger.sees(&ours, &of_hatchery).await;
    let one = capacity::ledger(&seen_by_hatchery, &HATCHERY, &[], &mut |_, _| {});
    let other = capacity::ledger(&seen_by_tagger, &TAGGER, &[], &mut |_, _| {});
    assert_eq!((one.cpus, other.cpus), (1, 1), "each counts the one that is its own");
    assert_eq!(hatchery.would_delete(&seen_by_hatchery), std::slice::from_ref(&ours));
    assert_eq!(tagger.would_delete(&seen_by_tagger), std::slice::from_ref(&theirs));

    // One ledger of addresses, whoever gave them away and however it is written down.
    let network = [Network {
        ranges: vec!["192.0.2.8/29".parse().expect("a block")],
        prefix: 24,
        gateway: None,
        dns: Vec::new(),
    }];
    let expected = BTreeSet::from([ip(11), ip(12)]);
    assert_eq!(address::held(&network, &seen_by_hatchery, std::iter::empty()), expected);
    assert_eq!(address::held(&network, &seen_by_tagger, std::iter::empty()), expected);

    // Nothing is done to the other's machine, read again at that moment.
    let before = govc.vms(&["name", "config.annotation", "config.extraConfig", "runtime.powerState"]).await;
    let foreign = |why: &Refusal| matches!(why, Refusal::Foreign { .. });
    hatchery.is_refused(&theirs, "node-1", &foreign).await;
    tagger.is_refused(&ours, "worker-1", &foreign).await;
    let after = govc.vms(&["name", "config.annotation", "config.extraConfig", "runtime.powerState"]).await;
    assert_eq!(before, after);

    let order = Order {
        what: "a clone".to_owned(),
        priority: Priority::Demand,
        site: WorkSite::default(),
        measured: false,
    };
    let turn = hatchery.vcenter.governor().admit(order).await;
    assert_eq!(tagger.vcenter.governor().running(), 1, "one governor lets both act");
    drop(turn);
    in_flight(&hatchery, &tagger, &network, &seen_by_tagger);
    contested(&mut hatchery, &mut tagger, &govc, &ours).await;

    // Each deletes its own.
    let proof = |owner: &OwnerId, name: &str| Proof {
        owner: owner.clone(),
        name: name.to_owned(),
        now: at(100),
        power: None,
    };
    hatchery.hands.delete(&ours, &proof(&HATCHERY, "worker-1")).await.expect("deleted");
    tagger.hands.delete(&theirs, &proof(&TAGGER, "node-1")).await.expect("deleted");
    assert_eq!(govc.run(&["find", "/", "-type", "m"]).await.trim(), "/DC0/vm/DC0_H0_VM0");
    let (one, other) = (hatchery.vcenter, tagger.vcenter);
    drop((hatchery.hands, hatchery.observer, tagger.hands, tagger.observer));
    one.close().await;
    other.close().await;
}

/// What either has in flight neither takes: names, addresses, turns and room.
fn in_flight(hatchery: &Front<Mark>, tagger: &Front<Tag>, network: &[Network], view: &View<Tag>) {
    let pool = hatchery.site.placement.pool.id().to_owned();
    let [one, other] = [(&hatchery.vcenter, "hatchery"), (&tagger.vcenter, "tags")]
        .map(|(vcenter, front)| vcenter.reservations(FrontId::new(front)));
    let size = |memory_mb| Hardware::new(1, memory_mb);
    let machine = |name: &str, last: u8, memory_mb: u64| Reservation {
        names: [name.to_owned()].into(),
        addresses: [ip(last)].into(),
        footprint: size(memory_mb),
        pool: pool.clone(),
    };
    let taken = one.take(machine("worker-2", 13, 3000), Some(4096)).expect("there is room");
    let conflict = other.take(machine("worker-2", 13, 2000), Some(4096)).expect_err("the hatchery has it");
    assert_eq!((conflict.names.len(), conflict.addresses.len()), (1, 1));
    assert_eq!(conflict.memory_left_mb, Some(1096), "what the pool has left, less what is in flight");

    // A plan of the second front sees the same.
    let others = other.of_others(&pool);
    let held = address::held(network, view, others.addresses.iter().copied());
    assert!(held.contains(&ip(13)), "{held:?}");
    let mut ledger = capacity::ledger(view, &TAGGER, &[], &mut |_, _| {});
    ledger.unseen_memory_mb += others.memory_mb;
    let room = PoolRoom { memory_unreserved_bytes: Some(4096 << 20), ..PoolRoom::default() };
    let admit = |limits: &Limits, memory_mb| {
        capacity::admit(&ledger, limits, Some(&room), &size(memory_mb), None, &Flavors::default())
    };
    assert_eq!(admit(&Limits::default(), 1096), Ok(()));
    assert_eq!(admit(&Limits::default(), 1097), Err(Shortage::PoolMemory { left_mb: 1096, next: 1097 }));
    // And keeps its own limits, which the other's machines do not touch.
    let own = Limits { cpus: Some(2), ..Limits::default() };
    assert_eq!(admit(&own, 1), Ok(()), "one of two is in use");
    drop(taken);
    let _taken = other.take(machine("worker-2", 13, 2000), Some(4096)).expect("it was given back");
}

/// A machine that both claim is neither's.
async fn contested(hatchery: &mut Front<Mark>, tagger: &mut Front<Tag>, govc: &Govc, machine: &MachineId) {
    let instance = govc.property(&format!("VirtualMachine:{machine}"), "config.instanceUuid").await;
    let value = format!("{KEY}=t1 192.0.2.11 {instance}");
    govc.run(&["vm.change", "-vm", "worker-1", "-e", &value]).await;
    let seen = hatchery.sees(machine, &Ownership::Unknown).await;
    assert_eq!(hatchery.would_delete(&seen), []);
    let seen = tagger.sees(machine, &Ownership::Unknown).await;
    assert!(!tagger.would_delete(&seen).contains(machine));
    let unknown = |why: &Refusal| *why == Refusal::Unknown;
    hatchery.is_refused(machine, "worker-1", &unknown).await;
    tagger.is_refused(machine, "worker-1", &unknown).await;
    govc.run(&["vm.change", "-vm", "worker-1", "-e", &format!("{KEY}=")]).await;
    hatchery.sees(machine, &Ownership::By(HATCHERY.clone())).await;
}
