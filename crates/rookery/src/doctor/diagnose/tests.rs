//! Whole diagnoses: every check is there whatever else is wrong, and everything wrong is told in one run.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use rookery_vim::MoRef;
use rookery_vim::objects::AboutInfo;
use rookery_vim_client::{DialError, Endpoint, Kind, Trust};

use super::*;
use crate::doctor::check::State;
use crate::doctor::observed::*;
use crate::doctor::privileges::{On, needs_on};
use crate::doctor::scope::Source;

pub(super) fn id(class: &str, id: &str) -> MoRef {
    MoRef::new(class, id)
}

pub(super) fn about(api_type: &str, api_version: &str) -> AboutInfo {
    AboutInfo {
        name: "VMware vCenter Server".to_owned(),
        full_name: "VMware vCenter Server 8.0.3".to_owned(),
        vendor: None,
        version: "8.0.3".to_owned(),
        build: None,
        os_type: None,
        product_line_id: None,
        api_type: api_type.to_owned(),
        api_version: api_version.to_owned(),
        instance_uuid: None,
    }
}

pub(super) fn lost() -> CallError {
    CallError::Unavailable { method: "RetrievePropertiesEx", status: "503".parse().unwrap() }
}

pub(super) fn datastore() -> Datastore {
    Datastore {
        id: id("Datastore", "ds-1"),
        path: "/DC0/datastore/fast".to_owned(),
        accessible: Some(true),
        maintenance: Some("normal".to_owned()),
        capacity: Some(100 << 30),
        free: Some(50 << 30),
        members: Some(vec![id("Datastore", "ds-1")]),
    }
}

pub(super) fn pool() -> Pool {
    Pool {
        id: id("ResourcePool", "rp-1"),
        path: "/DC0/host/C0/Resources".to_owned(),
        status: Some("green".to_owned()),
        cpu: PoolUsage { used: Some(10), most: Some(100) },
        memory: PoolUsage { used: Some(10 << 20), most: Some(100 << 20) },
        reach: Ok(reach()),
    }
}

pub(super) fn reach() -> Reach {
    Reach {
        hosts: Some(vec![id("HostSystem", "h-1"), id("HostSystem", "h-2")]),
        usable_hosts: Some(2),
        networks: Some(vec![id("Network", "n-1")]),
        datastores: Some(vec![id("Datastore", "ds-1")]),
    }
}

pub(super) fn network() -> Network {
    Network { id: id("Network", "n-1"), path: "/DC0/network/lan".to_owned(), hosts: Vec::new() }
}

pub(super) fn template() -> Template {
    Template {
        id: id("VirtualMachine", "vm-1"),
        path: "/DC0/vm/ubuntu".to_owned(),
        marked: Some(true),
        power: Some("poweredOff".to_owned()),
        tools: Tools { version: Some(12_000), version_status: None, status: None },
        snapshot: Some(true),
        datastores: Some(vec![(id("Datastore", "ds-1"), "fast".to_owned())]),
        cards: Some(vec!["VirtualVmxnet3".to_owned()]),
        disks: Some(1),
    }
}

fn named<T>(name: &str, found: T) -> Sought<T> {
    Sought { name: name.to_owned(), found: Ok(found) }
}

fn missing<T>(kind: Kind, name: &str) -> Sought<T> {
    let error = FindError::Missing { kind, name: name.to_owned(), existing: vec![format!("/DC0/x/{name}1")] };
    Sought { name: name.to_owned(), found: Err(Miss::Place(error)) }
}

fn granted(on: On, object: &str) -> ObjectPrivileges {
    let all = needs_on(&[on]).into_iter().map(|need| (need.privilege.to_owned(), true));
    ObjectPrivileges {
        on: vec![on],
        object: object.to_owned(),
        answer: Answer::Told(all.collect::<BTreeMap<_, _>>()),
    }
}

fn right() -> Inventory {
    let folder = Folder {
        id: id("Folder", "f"),
        path: "/DC0/vm".to_owned(),
        holds: Some(vec!["VirtualMachine".to_owned()]),
    };
    Inventory {
        datacenter: Datacenter::One("/DC0".to_owned()),
        datastore: Some(named("fast", datastore())),
        networks: vec![named("lan", network())],
        pool: Some(named("Resources", pool())),
        folder: Some(named("vm", folder)),
        templates: vec![named("ubuntu", template())],
        privileges: On::ALL.into_iter().map(|on| granted(on, "/DC0")).collect(),
    }
}

fn wrong() -> Inventory {
    let error = FindError::Missing {
        kind: Kind::Datacenter,
        name: "DC9".to_owned(),
        existing: vec!["/DC0".to_owned()],
    };
    Inventory {
        datacenter: Datacenter::Missing(error),
        datastore: Some(missing(Kind::Datastore, "fsat")),
        networks: vec![missing(Kind::Network, "lna"), missing(Kind::Network, "wna")],
        pool: Some(missing(Kind::Pool, "Resuorces")),
        folder: Some(missing(Kind::Folder, "mv")),
        templates: vec![Sought {
            name: "ubutnu".to_owned(),
            found: Err(Miss::Vm { similar: vec!["ubuntu".to_owned()] }),
        }],
        privileges: Vec::new(),
    }
}

fn scope() -> Scope {
    Scope {
        datacenter: Some("DC0".to_owned()),
        datastore: Some("fast".to_owned()),
        networks: vec!["lan".to_owned()],
        pool: Some("Resources".to_owned()),
        folder: Some("vm".to_owned()),
        templates: vec!["ubuntu".to_owned()],
        source: Source::Flags,
    }
}

pub(super) fn session(sought: Result<Inventory, CallError>) -> Session {
    Session {
        about: about("VirtualCenter", "8.0.3.0"),
        api_version: "7.0.0.0".to_owned(),
        clock: Ok(ClockReading { ahead: SignedDuration::ZERO, uncertainty: Duration::ZERO }),
        sought,
    }
}

pub(super) fn observed(trust: Trust, session: Result<Session, Refusal>) -> Observed {
    let certificate = rookery_vim_client::Certificate {
        thumbprint: "ab".repeat(32).parse().unwrap(),
        names: vec!["vc.example.com".to_owned()],
        not_before: Some("2030-01-01T00:00:00Z".parse().unwrap()),
        not_after: Some("2032-01-01T00:00:00Z".parse().unwrap()),
    };
    Observed {
        endpoint: Endpoint::parse("https://vc.example.com").unwrap().0,
        trust,
        user: "me".to_owned(),
        now: "2031-01-01T00:00:00Z".parse().unwrap(),
        certificate: Ok(Some(certificate)),
        session,
    }
}

fn of_state(checks: &[Check], state: State) -> Vec<String> {
    checks.iter().filter(|check| check.state == state).map(Check::title).collect()
}

#[test]
fn where_all_is_right_everything_is_fine() {
    let checks = diagnose(&observed(Trust::SystemRoots, Ok(session(Ok(right())))), &scope());
    let other: Vec<_> = checks.iter().filter(|check| check.state != State::Ok).collect();
    assert_eq!(other, Vec::<&Check>::new());
}

#[test]
fn everything_that_is_wrong_is_told_in_one_run_with_what_to_do() {
    let mut session = session(Ok(wrong()));
    session.about = about("HostAgent", "8.0");
    session.clock = Ok(ClockReading { ahead: SignedDuration::from_secs(-90), uncertainty: Duration::ZERO });
    let checks = diagnose(&observed(Trust::Insecure, Ok(session)), &scope());
    let problems = of_state(&checks, State::Problem);
    assert_eq!(
        problems,
        [
            "product",
            "clock",
            "datacenter DC9",
            "datastore fsat",
            "network lna",
            "network wna",
            "resource pool Resuorces",
            "folder mv",
            "template ubutnu"
        ]
    );
    assert_eq!(of_state(&checks, State::Warning), ["TLS"]);
    let silent =
        checks.iter().filter(|c| matches!(c.state, State::Problem | State::Warning) && c.advice.is_none());
    assert_eq!(silent.count(), 0, "{checks:?}");
}

#[test]
fn without_a_session_nothing_is_called_fine_that_was_not_seen() {
    let credentials = CallError::Credentials { endpoint: "https://vc".to_owned(), user: "me".to_owned() };
    let refused = observed(Trust::SystemRoots, Err(Refusal::Call(credentials)));
    let checks = diagnose(&refused, &scope());
    assert_eq!(of_state(&checks, State::Problem), ["login"]);
    assert_eq!(of_state(&checks, State::Ok), ["address", "TLS"]);
    let skipped = of_state(&checks, State::Skipped);
    for name in ["clock", "datastore fast", "network lan", "template ubuntu", "privileges"] {
        assert!(skipped.contains(&name.to_owned()), "{name}: {skipped:?}");
    }

    let source = DialError::TimedOut { address: "vc:443".to_owned() };
    let gone = CallError::Unreachable { endpoint: "https://vc".to_owned(), source };
    let checks = diagnose(&observed(Trust::SystemRoots, Err(Refusal::Call(gone))), &scope());
    assert_eq!(of_state(&checks, State::Problem), ["address"]);
    assert_eq!(of_state(&checks, State::Ok), Vec::<String>::new());
}

#[test]
fn an_inventory_that_cannot_be_read_is_one_problem_and_leaves_the_rest_open() {
    let checks = diagnose(&observed(Trust::SystemRoots, Ok(session(Err(lost())))), &scope());
    assert_eq!(of_state(&checks, State::Problem), ["inventory"]);
    assert!(of_state(&checks, State::Skipped).contains(&"datastore fast".to_owned()));
    assert!(of_state(&checks, State::Ok).contains(&"clock".to_owned()));
}

#[test]
fn a_name_that_several_have_is_left_open_where_the_datacenter_is_wrong() {
    let several = |sought: &mut Inventory| {
        let candidates = vec!["/DC0/datastore/fast".to_owned(), "/DC1/datastore/fast".to_owned()];
        let error = FindError::Ambiguous { kind: Kind::Datastore, name: "fast".to_owned(), candidates };
        sought.datastore = Some(Sought { name: "fast".to_owned(), found: Err(Miss::Place(error)) });
    };
    let (mut right, mut wrong) = (right(), wrong());
    several(&mut right);
    several(&mut wrong);
    let state = |sought| {
        let checks = diagnose(&observed(Trust::SystemRoots, Ok(session(Ok(sought)))), &scope());
        checks.iter().find(|check| check.check == "datastore").map(|check| check.state)
    };
    assert_eq!(state(wrong), Some(State::Skipped));
    assert_eq!(state(right), Some(State::Problem));
}

#[test]
fn of_many_names_the_nearest_are_offered() {
    let existing: Vec<String> = (0..20).map(|n| format!("/DC0/network/vlan-{n}")).collect();
    let error = FindError::Missing { kind: Kind::Network, name: "Vlan-19".to_owned(), existing };
    let advice = not_found(&error).advice.unwrap();
    assert!(advice.starts_with("there are: /DC0/network/vlan-19, "), "{advice}");
    assert!(advice.ends_with(" and 12 more"), "{advice}");
}

// `hatchery check` told of flags that it does not have, and of keys that its file does not know.
#[test]
fn advice_for_a_hatchery_speaks_of_its_file() {
    let unnamed = Inventory {
        datastore: None,
        networks: vec![named("lan", network())],
        pool: None,
        folder: None,
        templates: Vec::new(),
        ..right()
    };
    let credentials = CallError::Credentials { endpoint: "https://vc".to_owned(), user: "me".to_owned() };
    let source = DialError::TimedOut { address: "vc:443".to_owned() };
    let gone = CallError::Unreachable { endpoint: "https://vc".to_owned(), source };
    let refused = |error| observed(Trust::SystemRoots, Err(Refusal::Call(error)));
    let scope = Scope { source: Source::Hatchery, ..Scope::default() };
    for seen in [
        observed(Trust::Insecure, Ok(session(Ok(unnamed)))),
        refused(credentials),
        refused(gone),
        refused(lost()),
    ] {
        for check in diagnose(&seen, &scope) {
            let told = format!("{} {}", check.seen, check.advice.as_deref().unwrap_or_default());
            let foreign = ["--", "vcenter.t", "vcenter.ca", "rookery settings"];
            assert!(!foreign.iter().any(|word| told.contains(word)), "{told}");
        }
    }
}
