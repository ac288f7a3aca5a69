//! What the fronts of a process share of a vCenter.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use rookery_daemon::Supervisor;
use rookery_fleet::reservations::{Conflict, FrontId, Reservation};
use rookery_fleet_vsphere::{Login, Sharing, Vcenter, Vcenters};
use rookery_kit::{Govc, Proxy, Vcsim, VcsimOptions, eventually, options};
use rookery_vim::MoRef;
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::CurrentTime;
use rookery_vim_client::{
    CallError, Ceilings, ExtraConfigKey, Kind, Order, Places, PowerChange, Priority, Site, TcpDial, Trust,
};

/// Only ends a test that has failed already.
const PATIENCE: Duration = Duration::from_secs(60);

fn login(address: &str, sharing: Sharing) -> Login {
    let options = options(address);
    let dial = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("TLS can be set up");
    Login { options, dial: Arc::new(dial), trust: Trust::Insecure, sharing, ceilings: Ceilings::default() }
}

async fn shared(vcenters: &Vcenters, address: &str) -> Vcenter {
    vcenters.connect(login(address, Sharing::Shared)).await.expect("it lets us in")
}

/// A way to the server on which somebody else may log in, too.
async fn with_another_user(vcsim: &Vcsim, supervisor: &Supervisor) -> Proxy {
    let proxy = Proxy::start(vcsim.socket(), supervisor).await;
    proxy.amend("Login", |login| {
        let [user, password] = [Vcsim::USER, Vcsim::PASSWORD].map(|word| format!(">{word}<"));
        Some(login.replace(">other<", &user).replace(">secret<", &password))
    });
    proxy
}

fn as_another_user(address: &str) -> Login {
    let mut login = login(address, Sharing::Shared);
    (login.options.user, login.options.password) = ("other".to_owned(), "secret".into());
    login
}

fn root(vcenter: &Vcenter) -> MoRef {
    vcenter.client().content().root_folder.clone()
}

fn count(proxy: &Proxy, method: &str) -> usize {
    proxy.exchanges().iter().filter(|exchange| exchange.method == method).count()
}

fn order(what: &str) -> Order {
    Order { what: what.to_owned(), priority: Priority::Demand, site: Site::default(), measured: false }
}

fn machine(name: &str) -> Reservation {
    let addresses = [Ipv4Addr::new(192, 0, 2, 7)].into();
    Reservation { names: [name.to_owned()].into(), addresses, ..Reservation::default() }
}

#[tokio::test]
async fn two_users_share_a_session_and_an_inventory_that_go_with_the_last_of_them() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let vcenters = Vcenters::new(&supervisor);
    let (one, two) = tokio::join!(shared(&vcenters, proxy.address()), shared(&vcenters, proxy.address()));
    assert_eq!((count(&proxy, "Login"), govc.sessions().await.len()), (1, 1));

    let key = ExtraConfigKey::try_from("rookery.owner").expect("a key");
    let first = one.inventory(&root(&one), &BTreeSet::new());
    first.complete().await.expect("it loads");
    let second = two.inventory(&root(&two), &BTreeSet::new());
    let seen = second.complete().await.expect("it is there");
    assert_eq!((seen.vms().len(), count(&proxy, "CreateContainerView")), (2, 1));
    let third = two.inventory(&root(&two), &[key].into());
    third.complete().await.expect("it loads again, with the key");
    assert_eq!(count(&proxy, "CreateContainerView"), 2);

    one.close().await;
    drop((first, third));
    let vm = seen.vms().next().expect("a VM").id.clone();
    two.machines().power(&vm, PowerChange::Off, PATIENCE).await.expect("it still works");
    assert_eq!(count(&proxy, "DestroyView"), 1, "of the watch without the key");
    drop(second);
    eventually("the watch is gone", async || count(&proxy, "DestroyView") == 2).await;
    assert_eq!(govc.sessions().await.len(), 1);
    two.close().await;
    assert_eq!(govc.sessions().await, Vec::<String>::new());
    assert_eq!(supervisor.panics(), 0);
}

#[tokio::test]
async fn another_user_has_another_session_and_the_same_governor_and_reservations() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    let proxy = with_another_user(&vcsim, &supervisor).await;
    let vcenters = Vcenters::new(&supervisor);
    let one = shared(&vcenters, proxy.address()).await;
    let lower = Ceilings { total: 1, ..Ceilings::default() };
    let two = Login { ceilings: lower, ..as_another_user(proxy.address()) };
    let two = vcenters.connect(two).await.expect("it lets us in");
    assert_eq!(govc.sessions().await.len(), 2);

    let permit = one.governor().admit(order("one")).await;
    assert_eq!(two.governor().running(), 1);
    let waiting = one.governor().clone();
    let waits = tokio::time::timeout(Duration::from_millis(50), waiting.admit(order("two"))).await;
    assert!(waits.is_err(), "the lower limit counts for all");
    drop(permit);

    let (nests, eggs) = (one.reservations(FrontId::new("nests")), two.reservations(FrontId::new("eggs")));
    let reserved = nests.take(machine("a"), None).expect("it is free");
    let conflict = eggs.take(machine("b"), None).expect_err("the address is taken");
    assert_eq!(conflict, Conflict { addresses: machine("a").addresses, ..Conflict::default() });
    assert_eq!(eggs.of_others("").names, machine("a").names);
    assert_eq!(nests.of_others("").names, BTreeSet::new());
    drop(reserved);
    let _reserved = eggs.take(machine("b"), None).expect("it was given back");
    one.close().await;
    two.close().await;
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_session_of_ones_own_is_shared_with_nobody() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    let vcenters = Vcenters::new(&supervisor);
    let own = async || vcenters.connect(login(vcsim.address(), Sharing::Own)).await.expect("it lets us in");
    let (one, two) = (own().await, own().await);
    let three = shared(&vcenters, vcsim.address()).await;
    assert_eq!(govc.sessions().await.len(), 3);
    let _permit = one.governor().admit(order("one")).await;
    assert_eq!((two.governor().running(), three.governor().running()), (1, 1));
    drop((one, two));
    eventually("nobody waits for these logouts", async || govc.sessions().await.len() == 1).await;
    three.close().await;
}

#[tokio::test]
async fn each_datacenter_has_an_inventory() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2).with("-dc=2")).await;
    let supervisor = Supervisor::new();
    let vcenter = shared(&Vcenters::new(&supervisor), vcsim.address()).await;
    let places = Places::load(vcenter.client()).await.expect("they load");
    let mut all = BTreeSet::new();
    for name in ["DC0", "DC1"] {
        let datacenter = places.find(Kind::Datacenter, Some(name), &root(&vcenter)).expect(name).id.clone();
        let inventory = vcenter.inventory(&datacenter, &BTreeSet::new());
        let seen = inventory.complete().await.expect("it loads");
        assert!(seen.vms().all(|vm| vm.name.starts_with(name)), "{name}");
        all.extend(seen.vms().map(|vm| vm.id.clone()));
    }
    let everything = vcenter.inventory(&root(&vcenter), &BTreeSet::new());
    assert_eq!(everything.complete().await.expect("it loads").vms().len(), all.len());
    assert!(all.len() > 2, "{all:?}");
    vcenter.close().await;
}

#[tokio::test]
async fn a_server_is_known_again_at_another_address_unless_it_does_not_say_who_it_is() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let vcenters = Vcenters::new(&supervisor);
    let one = shared(&vcenters, vcsim.address()).await;
    let two = shared(&vcenters, proxy.address()).await;
    assert_eq!(govc.sessions().await.len(), 1, "the second login was ended");
    assert_eq!(two.client().endpoint(), one.client().endpoint());

    let uuid = one.client().content().about.instance_uuid.clone().expect("it says who it is");
    let [silent, silent_too] =
        [Proxy::start(vcsim.socket(), &supervisor).await, Proxy::start(vcsim.socket(), &supervisor).await];
    for proxy in [&silent, &silent_too] {
        proxy.rewrite("RetrieveServiceContent", &uuid, "");
    }
    let three = shared(&vcenters, silent.address()).await;
    let four = shared(&vcenters, silent.address()).await;
    let five = shared(&vcenters, silent_too.address()).await;
    assert_eq!(govc.sessions().await.len(), 3);
    let _permit = three.governor().admit(order("three")).await;
    let running = [&one, &two, &three, &four, &five].map(|vcenter| vcenter.governor().running());
    assert_eq!(running, [0, 0, 1, 1, 0]);
    for vcenter in [one, two, three, four, five] {
        vcenter.close().await;
    }
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_login_that_is_refused_leaves_nothing_and_changes_nothing() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    let vcenters = Vcenters::new(&supervisor);
    let wrong = async || {
        let mut login = login(vcsim.address(), Sharing::Shared);
        login.options.password = "wrong".into();
        vcenters.connect(login).await
    };
    let refused = wrong().await.expect_err("the password is wrong");
    assert!(matches!(refused, CallError::Credentials { .. }), "{refused:?}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());

    let vcenter = shared(&vcenters, vcsim.address()).await;
    let inventory = vcenter.inventory(&root(&vcenter), &BTreeSet::new());
    inventory.complete().await.expect("it loads");
    let refused = wrong().await.expect_err("whoever is there already");
    assert!(matches!(refused, CallError::Credentials { .. }), "{refused:?}");
    assert_eq!(govc.sessions().await.len(), 1);
    assert!(inventory.snapshot().is_complete());
    drop(vcenter);
    eventually("it logs out", async || govc.sessions().await.is_empty()).await;
    inventory.newer_than(&inventory.snapshot()).await.expect_err("it stopped with its session");
}

/// What could not be tried was used for the next login of everybody, who were locked out if it was wrong.
#[tokio::test]
async fn a_password_that_could_not_be_tried_is_not_used_for_those_who_were_there() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let vcenters = Vcenters::new(&supervisor);
    let vcenter = shared(&vcenters, proxy.address()).await;
    proxy.refuse("Login", StatusCode::SERVICE_UNAVAILABLE);
    let mut wrong = login(proxy.address(), Sharing::Shared);
    wrong.options.password = "wrong".into();
    let untried = vcenters.connect(wrong).await.expect_err("nobody can log in");
    assert!(untried.is_transient(), "{untried:?}");

    govc.run(&["session.rm", &vcenter.client().session_key().expect("logged in")]).await;
    let now = CurrentTime { this: service_instance() };
    vcenter.client().call(&now).await.expect("the password that is right logs in");
    vcenter.close().await;
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn other_credentials_keep_the_session_and_what_was_made_with_it() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    let proxy = with_another_user(&vcsim, &supervisor).await;
    let vcenters = Vcenters::new(&supervisor);
    let vcenter = shared(&vcenters, proxy.address()).await;
    let inventory = vcenter.inventory(&root(&vcenter), &BTreeSet::new());
    let vm = inventory.complete().await.expect("it loads").vms().next().expect("a VM").id.clone();
    vcenter.change_login("other".to_owned(), "secret".into()).await.expect("it is let in");
    assert_eq!(govc.sessions().await.len(), 1);
    let joined = vcenters.connect(as_another_user(proxy.address())).await.expect("it is let in");
    assert_eq!(govc.sessions().await.len(), 1, "it is that user's session now");
    joined.machines().power(&vm, PowerChange::Off, PATIENCE).await.expect("off");
    let is_off =
        |vm: &rookery_vim_client::Vm| (vm.power == Some(rookery_vim::objects::PowerState::Off)).then_some(());
    inventory.wait_for(&vm, PATIENCE, is_off).await.expect("the same inventory sees it");
    vcenter.close().await;
    joined.close().await;
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}
