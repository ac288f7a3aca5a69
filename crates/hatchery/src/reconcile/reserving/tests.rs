use std::net::Ipv4Addr;
use std::sync::Arc;

use rookery_cds::{JobId, V1Model};
use rookery_fleet::Hardware;
use rookery_fleet::address::Assigned;
use rookery_fleet::overlay::Overlaid;

use super::*;
use crate::act::{Failure, Unfinished};
use crate::intake::model::ResolvedModel;
use crate::names::ModelKind;
use crate::plan::{Make, Registration, Remake, Spawn, WorkerPlacement};
use crate::samples::actions;
use crate::samples::{Notes, OWNER, id, vm};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn action(name: &str, machine: Option<&str>) -> RunningAction {
    let (name, machine, address) = (name.to_owned(), machine.map(id), Some(Ipv4Addr::new(10, 0, 0, 7)));
    RunningAction { name, machine, address, ..RunningAction::of(actions::register("g/m")) }
}

fn taken(left: Option<(&str, i64)>) -> Taken {
    let left = left.map(|(machine, second)| (id(machine), at(second)));
    Taken { names: ["w".to_owned()].into(), left, ..Taken::default() }
}

/// What is known at that second, with these machines.
fn state(second: i64, machines: Vec<Machine>) -> State {
    let mut state = State::default();
    let view = View { machines: machines.into_iter().collect(), complete: true, ..View::default() };
    state.look(view, &OWNER, at(second));
    state
}

/// Whether what is reserved for `w` lasts.
fn lasts(taken: &mut Taken, state: &State) -> bool {
    taken.lasts("w", &state.running.index(), state)
}

#[test]
fn it_lasts_while_its_action_does() {
    let mut state = state(0, vec![vm("w")]);
    let id = state.running.begin(action("w", Some("w")));
    assert!(lasts(&mut taken(None), &state), "whatever the inventory shows");
    state.running.end(id);
    assert!(!lasts(&mut taken(None), &state), "nothing came of it");
}

#[test]
fn it_lasts_until_the_inventory_shows_the_machine_that_is_left() {
    let left = |second| taken(Some(("w", second)));
    assert!(lasts(&mut left(0), &state(59, vec![])));
    assert!(!lasts(&mut left(0), &state(60, vec![])), "it was made and is gone");
    let mut shown = left(0);
    assert!(lasts(&mut shown, &state(1, vec![vm("w")])), "others may not see it yet");
    assert!(!lasts(&mut shown.clone(), &state(16, vec![vm("w")])));
    assert!(!lasts(&mut shown, &state(16, vec![])), "nor if it has gone since");
    let renamed = Machine { name: "other".to_owned(), ..vm("w") };
    assert!(lasts(&mut left(0), &state(1, vec![renamed])), "its new name is not shown yet");
    let untold = Machine { recognised: Notes::Unknown.on("w"), ..vm("w") };
    assert!(lasts(&mut left(0), &state(1, vec![untold])), "its address is not shown yet");
    let mut blind = state(99, vec![]);
    Arc::make_mut(&mut blind.vsphere.view).complete = false;
    assert!(lasts(&mut left(0), &blind));
}

#[test]
fn others_do_not_see_what_only_our_own_acts_were_told() {
    let mut state = state(1, vec![vm("w")]);
    let told = Overlaid { row: None, is_gone: false, is_settled: false };
    Arc::make_mut(&mut state.vsphere.view).overlaid.insert(id("w"), told);
    assert!(lasts(&mut taken(Some(("w", 0))), &state));
    assert!(!runs(&state.vsphere.view, &action("w", Some("w"))));
}

#[test]
fn a_clone_in_doubt_keeps_it_for_as_long_as_the_doubt_lasts() {
    let mut state = state(0, vec![]);
    let unfinished = Unfinished { name: "w".to_owned(), address: None, task: None, condemned_for: None };
    state.vsphere.doubts.add(unfinished, at(0));
    assert!(lasts(&mut taken(None), &state));
    state.look(View { complete: true, ..View::default() }, &OWNER, at(899));
    assert!(lasts(&mut taken(None), &state));
    state.look(View { complete: true, ..View::default() }, &OWNER, at(900));
    assert!(!lasts(&mut taken(None), &state));
}

#[test]
fn an_action_leaves_the_machine_that_it_made_or_condemned() {
    let left = |machine, ending: Ending| left(&action("w", machine), &ending).map(|id| id.to_string());
    let failed = |condemned: Option<&str>| {
        let condemned = condemned.map(|name| (id(name), crate::plan::sweep::Condemned::SpawnFailed));
        Ending::Failed(Failure { condemned, ..Failure::default() })
    };
    assert_eq!(left(Some("a"), Ending::Done).as_deref(), Some("vm-a"));
    assert_eq!(left(Some("a"), Ending::CutOff).as_deref(), Some("vm-a"));
    assert_eq!(left(None, failed(Some("b"))).as_deref(), Some("vm-b"));
    assert_eq!(left(Some("a"), failed(None)).as_deref(), Some("vm-a"));
    assert_eq!(left(Some("a"), Ending::Lost), None, "it was not touched");
}

#[test]
fn what_is_there_already_holds_its_address_itself() {
    let wanted = |machine| Needs::of(&action("w", machine)).reservation;
    assert_eq!(wanted(None).addresses, [Ipv4Addr::new(10, 0, 0, 7)].into());
    assert_eq!(wanted(Some("a")).addresses, [].into());
    assert_eq!(wanted(Some("a")).names, ["w".to_owned()].into());
}

#[test]
fn what_another_front_was_faster_to_take_waits_and_the_rest_is_begun() {
    let assigned = |last: u8| {
        let (ip, mask) = (Ipv4Addr::new(10, 0, 0, last), Ipv4Addr::new(255, 255, 255, 0));
        Some(Assigned { ip, mask, gateway: None, dns: Vec::new() })
    };
    let model = V1Model { name: "deb".to_owned(), ..V1Model::default() };
    let job = |number: &str| number.parse::<JobId>().expect("a job");
    let spawn = |number, last| Spawn {
        job: job(number),
        project: "P".to_owned(),
        model: Arc::new(ResolvedModel::v1(&model, String::new())),
        name: format!("worker-{last}"),
        path: WorkerPlacement::Clone { template: id("deb"), incarnation: None, address: assigned(last) },
        flavor: None,
        footprint: Hardware::default(),
        queued: None,
        missed: None,
    };
    let registration = Registration {
        model: model.clone(),
        remake: Some(Remake { image: id("image"), replaces: None, left: None }),
        template: None,
        name: "register-1".to_owned(),
        address: assigned(3),
        footprint: Hardware::default(),
    };
    let make = |last| Make {
        kind: ModelKind::V2,
        model: "deb".to_owned(),
        name: format!("provision-{last}"),
        template: id("deb"),
        incarnation: None,
        last_modified: String::new(),
        address: assigned(last),
        flavor: None,
        footprint: Hardware::default(),
    };
    let spawn = |number, last| Action::Spawn(Box::new(spawn(number, last)));
    let make = |last| Action::Make(Box::new(make(last)));
    let register = Action::Register(Box::new(registration));
    let actions = vec![spawn("1", 1), spawn("2", 2), register, make(4), make(5), actions::delete()];
    let mut plan = Plan { actions, ..Plan::default() };
    let mut taken = BTreeSet::new();
    // The others have the even addresses, and the name that a template has while it is made.
    let models_wait = keep_reserved(&mut plan, |Needs { reservation, .. }| {
        let is_theirs = reservation.addresses.iter().any(|ip| ip.octets()[3].is_multiple_of(2))
            || reservation.names.contains("deb-tmp");
        if is_theirs {
            return Err(Conflict::default());
        }
        taken.extend(reservation.names);
        Ok(())
    });
    assert_eq!(taken, ["worker-1", "provision-5"].map(str::to_owned).into());
    let left: Vec<_> = plan.actions.iter().map(Action::as_str).collect();
    assert_eq!(left, ["spawn", "make", "delete"]);
    let why = WaitReason::TakenMeanwhile;
    assert_eq!(plan.waiting, [Waiting { job: job("2"), why: why.clone() }]);
    assert_eq!((why.as_str(), why.is_permanent()), ("reserved", false));
    assert_eq!(plan.not_made, [("/deb".to_owned(), NotMade::Registration(why))]);
    assert!(models_wait, "models are looked at again with the next pass");
}
