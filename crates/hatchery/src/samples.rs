//! Machines for tests: a test says only what matters to it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use rookery_fleet::overlay::Overlaid;
use rookery_fleet::ownership::{LabelConfig, Labels};
use rookery_fleet::{Hardware, MachineId, OwnerId, Ownership, Power, Recognised, Role};

use crate::machine::{Machine, View};
use crate::mark::{self, MARKING, Mark};

/// Whose machines they are.
pub(crate) static OWNER: LazyLock<OwnerId> = LazyLock::new(|| mark::owner("ours"));

/// What stands in a machine's notes.
#[derive(Debug, Clone)]
pub(crate) enum Notes {
    Unknown,
    /// Nothing, or something that is no mark.
    NoMark,
    /// A mark of this machine.
    Mark(Box<Mark>),
    /// A mark that was written for another machine.
    Copied(Box<Mark>),
    /// A mark that may have been written for another machine.
    Disputed(Box<Mark>),
}

impl Notes {
    /// What a machine of that name with these notes is.
    pub(crate) fn on(self, name: &str) -> Recognised<Mark> {
        let written = match &self {
            Self::Unknown => None,
            Self::NoMark => Some(String::new()),
            Self::Mark(mark) | Self::Copied(mark) | Self::Disputed(mark) => Some(mark.write()),
        };
        let (instance, created) = match &self {
            Self::Mark(mark) => (Some(mark.instance.as_str()), None),
            Self::Unknown | Self::NoMark | Self::Copied(_) | Self::Disputed(_) => (None, None),
        };
        let extra = BTreeMap::new();
        let config = written.as_deref().map(|notes| LabelConfig { notes, extra: &extra });
        let mut recognised = (MARKING.recognise)(&Labels { name, config, instance, created });
        recognised.ownership = match &self {
            Self::Copied(mark) => Ownership::Copied(mark::owner(&mark.hatchery_name)),
            Self::Disputed(mark) => Ownership::Disputed(mark::owner(&mark.hatchery_name)),
            Self::Unknown | Self::NoMark | Self::Mark(_) => recognised.ownership,
        };
        recognised
    }
}

impl From<Notes> for Recognised<Mark> {
    fn from(notes: Notes) -> Self {
        notes.on("")
    }
}

/// A VM that runs; what a test is about differs.
pub(crate) fn running(id: &str, name: &str, notes: Notes) -> Machine {
    Machine {
        id: MachineId::new(id),
        power: Some(Power::On),
        hardware: Hardware::default(),
        recognised: notes.on(name),
        ..vm(name)
    }
}

pub(crate) fn at(time: &str) -> Timestamp {
    format!("2026-11-15T{time}Z").parse().expect("a time")
}

pub(crate) fn id(name: &str) -> MachineId {
    MachineId::new(format!("vm-{name}"))
}

/// A VM that is off, of nobody.
pub(crate) fn vm(name: &str) -> Machine {
    Machine {
        id: id(name),
        name: name.to_owned(),
        role: Role::Vm,
        power: Some(Power::Off),
        recognised: Recognised::nobody(),
        hardware: Hardware::new(2, 4096),
        addresses: Vec::new(),
        created: None,
        awaits_setup: false,
        incarnation: None,
        reachable: true,
        is_outside: false,
    }
}

/// The machine with a change of its mark.
pub(crate) fn remark(machine: Machine, change: impl FnOnce(&mut Mark)) -> Machine {
    let mut mark = machine.any_mark().expect("a mark").clone();
    change(&mut mark);
    Machine { recognised: Notes::Mark(Box::new(mark)).on(&machine.name), ..machine }
}

/// Our mark with a change.
pub(crate) fn marked(name: &str, change: impl FnOnce(&mut Mark)) -> Machine {
    let mut mark =
        Mark { hatchery_name: OWNER.name().to_owned(), worker_name: name.to_owned(), ..Mark::default() };
    change(&mut mark);
    Machine { recognised: Notes::Mark(Box::new(mark)).on(name), ..vm(name) }
}

/// A ready warm VM of ours, cloned from a template of that name.
pub(crate) fn warm(name: &str, model: &str, flavor: &str) -> Machine {
    marked(name, |mark| {
        mark.provisioning = true;
        mark.vmware_model_path = model.to_owned();
        mark.flavor = flavor.to_owned();
    })
}

/// A running worker of ours.
pub(crate) fn worker(name: &str, start: &str) -> Machine {
    let machine = marked(name, |mark| {
        mark.job_id = format!("job of {name}");
        mark.worker_start_time = Some(at(start));
    });
    Machine { power: Some(Power::On), ..machine }
}

pub(crate) fn view(machines: impl IntoIterator<Item = Machine>) -> View {
    View {
        machines: machines.into_iter().collect(),
        complete: true,
        age: Duration::from_secs(1),
        ..View::default()
    }
}

/// The same view, in which the inventory has not confirmed what was done to these machines.
pub(crate) fn unsettled(view: &View, names: &[&str]) -> View {
    let mut view = view.clone();
    for id in names.iter().map(|name| id(name)) {
        let row = view.machines.get(&id).cloned();
        view.overlaid.insert(id, Overlaid { row, is_gone: false, is_settled: false });
    }
    view
}

/// A machine of any kind and any owner under one of few names, so that rules meet each other.
pub(crate) fn any_machine() -> impl Strategy<Value = Machine> {
    let role = prop_oneof![1 => Just(Role::Unknown), 1 => Just(Role::Template), 8 => Just(Role::Vm)];
    let power = prop_oneof![
        1 => Just(None),
        3 => Just(Some(Power::On)),
        5 => Just(Some(Power::Off)),
        1 => Just(Some(Power::Suspended)),
    ];
    let name = prop_oneof![
        4 => "provision-v2-[a-c]",
        2 => "provision-v2-ip-10-0-0-[0-9]-[a-c]",
        2 => "provision-v1-[a-c]",
        4 => "worker-[a-e]",
        1 => "register-[a-b]",
        1 => "deb-tmp",
    ];
    let hour =
        || proptest::option::of(0..12u32).prop_map(|hour| hour.map(|hour| at(&format!("{hour:02}:00:00"))));
    let notes = prop_oneof![
        1 => Just(Notes::Unknown),
        1 => Just(Notes::NoMark),
        8 => any_mark(hour()).prop_map(|mark| Notes::Mark(Box::new(mark))),
        1 => any_mark(hour()).prop_map(|mark| Notes::Copied(Box::new(mark))),
        1 => any_mark(hour()).prop_map(|mark| Notes::Disputed(Box::new(mark))),
    ];
    let hardware = proptest::option::of((1..9u32, 1..9u64))
        .prop_map(|size| size.map(|(cpus, memory)| Hardware::new(cpus, memory * 1024)).unwrap_or_default());
    let addresses = proptest::collection::vec((0..16u8).prop_map(|last| Ipv4Addr::new(10, 0, 0, last)), 0..2);
    let rare = || proptest::bool::weighted(0.1);
    let flags = (rare(), proptest::bool::weighted(0.9), rare());
    (0..1000u32, name, role, power, notes, hardware, addresses, hour(), flags).prop_map(
        |(
            number,
            name,
            role,
            power,
            notes,
            hardware,
            addresses,
            created,
            (awaits_setup, reachable, is_outside),
        )| {
            Machine {
                id: MachineId::new(format!("vm-{number}")),
                recognised: notes.on(&name),
                name,
                role,
                power,
                hardware,
                addresses,
                created,
                awaits_setup,
                incarnation: None,
                reachable,
                is_outside,
            }
        },
    )
}

fn any_mark(time: impl Strategy<Value = Option<Timestamp>>) -> impl Strategy<Value = Mark> {
    let owner = prop_oneof![6 => Just("ours"), 1 => Just("theirs"), 1 => Just("")];
    let flavor = prop_oneof![3 => Just(""), 1 => Just("small"), 1 => Just("Large")];
    let origin = prop_oneof![2 => Just(""), 2 => Just("one"), 1 => Just("two")];
    let flag = || proptest::bool::weighted(0.1);
    let held = prop_oneof![8 => Just(None), 1 => Just(Some(at("01:00:00"))), 1 => Just(Some(at("23:00:00")))];
    (owner, "deb|suse", flavor, origin, flag(), flag(), proptest::bool::weighted(0.6), time, held, 0..16u8)
        .prop_map(|(owner, model, flavor, origin, model_flag, register, provisioning, start, held, last)| {
            Mark {
                hatchery_name: owner.to_owned(),
                worker_model_path: format!("group/{model}"),
                vmware_model_path: model,
                flavor: flavor.to_owned(),
                template_incarnation: origin.to_owned(),
                model: model_flag,
                register_only: register,
                provisioning,
                worker_start_time: start,
                hold_until: held,
                ip_address: if last == 0 { String::new() } else { format!("10.0.0.{last}") },
                ..Mark::default()
            }
        })
}

pub(crate) fn any_view(machines: usize) -> impl Strategy<Value = View> {
    proptest::collection::vec(any_machine(), 0..machines).prop_map(view)
}

/// Actions that begin: a test says what they are about, and the rest is as ordinary as can be.
pub(crate) mod actions {
    use super::*;
    use crate::intake::model::ResolvedModel;
    use crate::names::ModelKind;
    use crate::plan::{
        Action, DeleteReason, Deletion, Finish, Free, Keep, Make, Registration, Removal, ServedJob, Spawn,
        Unclaim, Unserving, WorkerPlacement,
    };
    use jiff::SignedDuration;
    use rookery_cds::{Group, JobId, V1Model, V2Model, V2ModelSpec};
    use rookery_fleet::Hardware;
    use rookery_fleet::brake::Weight;

    pub(crate) fn v1_model(path: &str) -> V1Model {
        let (group, name) = path.rsplit_once('/').expect("a path");
        let group = Group { name: group.to_owned(), ..Group::default() };
        V1Model { name: name.to_owned(), group, ..V1Model::default() }
    }

    pub(crate) fn v2_model(template: &str) -> ResolvedModel {
        let spec = V2ModelSpec { image: template.to_owned(), ..V2ModelSpec::default() };
        let model = V2Model { name: template.to_owned(), spec, ..V2Model::default() };
        ResolvedModel::v2(&model, String::new(), String::new())
    }

    pub(crate) fn spawn(job: JobId, model: ResolvedModel) -> Action {
        let template = MachineId::new("vm-template");
        Action::Spawn(Box::new(Spawn {
            job,
            project: "P".to_owned(),
            model: model.into(),
            name: "w".to_owned(),
            path: WorkerPlacement::Clone { template, incarnation: None, address: None },
            flavor: None,
            footprint: Hardware::default(),
            queued: None,
            missed: None,
        }))
    }

    pub(crate) fn give_up(job: JobId) -> Action {
        Action::GiveUp { job, attempts: 3 }
    }

    pub(crate) fn register(path: &str) -> Action {
        Action::Register(Box::new(Registration {
            model: v1_model(path),
            remake: None,
            template: None,
            name: "register-a".to_owned(),
            address: None,
            footprint: Hardware::default(),
        }))
    }

    pub(crate) fn make(template: &str) -> Action {
        Action::Make(Box::new(Make {
            kind: ModelKind::V2,
            model: template.to_owned(),
            name: "provision-v2-a".to_owned(),
            template: MachineId::new("vm-template"),
            incarnation: None,
            last_modified: String::new(),
            address: None,
            flavor: None,
            footprint: Hardware::default(),
        }))
    }

    pub(crate) fn finish(template: &str) -> Action {
        Action::Finish(Finish {
            machine: MachineId::new("vm-a"),
            name: "provision-v2-a".to_owned(),
            is_on: true,
            kind: ModelKind::V2,
            model: template.to_owned(),
            flavor: None,
            address: None,
            footprint: Hardware::default(),
        })
    }

    pub(crate) fn unclaim() -> Action {
        let (machine, name) = (MachineId::new("vm-w"), "w".to_owned());
        Action::Unclaim(Unclaim { machine, name, mark: Box::default() })
    }

    pub(crate) fn keep() -> Action {
        let hold =
            crate::plan::hold::Hold { until: Timestamp::MAX, reason: "why".to_owned(), wish: String::new() };
        let (machine, name) = (MachineId::new("vm-w"), "w".to_owned());
        Action::Keep(Keep {
            machine,
            name,
            hold,
            of: ServedJob { job: "7".to_owned(), worker: "w".to_owned() },
        })
    }

    pub(crate) fn delete() -> Action {
        Action::Delete(Deletion {
            machine: MachineId::new("vm-w"),
            name: "w".to_owned(),
            reason: DeleteReason::Pool(Removal::NotWanted),
            of: ServedJob { job: "7".to_owned(), worker: "w".to_owned() },
            weight: Weight::None,
            registers: None,
            is_template: false,
            power: None,
            hold_shift: SignedDuration::ZERO,
        })
    }

    pub(crate) fn free(job: JobId) -> Action {
        Action::Free(Free { job, worker: "w".to_owned(), machine: Unserving::Ended(None) })
    }
}
