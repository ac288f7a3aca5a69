//! A small front for tests, and its machines: a test says only what matters to it.

use std::net::Ipv4Addr;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use crate::claim::{Candidacy, Pooled};
use crate::machine::{Hardware, Machine, MachineId, Power, Role, View};
use crate::origin::Origin;
use crate::overlay::Overlaid;
use crate::ownership::{Identity, Labels, Marking, OwnerId, Ownership, Recognised, Written};
use crate::warm::{Member, Membership, PoolKey};

/// What the test front knows of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) owner: String,
    pub(crate) name: String,
    /// What it was made from.
    pub(crate) kind: String,
    pub(crate) flavor: String,
    /// Whether it waits in the pool that its name tells.
    pub(crate) pooled: bool,
    /// Which state of the template it was made from.
    pub(crate) origin: String,
    pub(crate) held_until: Option<Timestamp>,
    pub(crate) created: Option<Timestamp>,
    pub(crate) start: Option<Timestamp>,
    pub(crate) ip: Option<Ipv4Addr>,
    /// Which machine it was written for.
    pub(crate) instance: String,
    pub(crate) protected: bool,
}

const FRONT: &str = "samples";

pub(crate) static OWNER: LazyLock<OwnerId> = LazyLock::new(|| owner("ours"));

pub(crate) fn owner(name: &str) -> OwnerId {
    OwnerId::new(FRONT, name)
}

/// Marks are words in the notes: the owner and the name, an address, and which machine they were written for.
pub(crate) const MARKING: Marking<Mark> =
    Marking { extra_keys: &[], recognise, write, protects: |_, mark| mark.protected };

fn recognise(labels: &Labels<'_>) -> Recognised<Mark> {
    let Some(config) = labels.config else {
        return Recognised {
            addresses: address_in(labels.name).into_iter().collect(),
            ..Recognised::unknown()
        };
    };
    let words: Vec<_> = config.notes.split_whitespace().collect();
    let [FRONT, owner, name, ip, instance] = *words.as_slice() else { return Recognised::nobody() };
    let mark = Mark {
        owner: owner.to_owned(),
        name: name.to_owned(),
        ip: ip.parse().ok(),
        instance: instance.trim_matches('-').to_owned(),
        ..Mark::default()
    };
    let mut recognised = by_mark(labels.name, mark);
    let Ownership::By(owner) = &recognised.ownership else { return recognised };
    recognised.ownership = match labels.instance {
        _ if instance == "-" => Ownership::By(owner.clone()),
        None => Ownership::Disputed(owner.clone()),
        Some(found) if found == instance => Ownership::By(owner.clone()),
        Some(_) => Ownership::Copied(owner.clone()),
    };
    recognised
}

fn write(mark: &Mark, instance: Option<&str>) -> Written {
    let ip = mark.ip.map_or_else(|| "-".to_owned(), |ip| ip.to_string());
    let notes = format!("{FRONT} {} {} {ip} {}", mark.owner, mark.name, instance.unwrap_or("-"));
    Written { notes: Some(notes), extra: Vec::new() }
}

/// What a machine of that name with that mark, written for it, is.
pub(crate) fn by_mark(name: &str, mark: Mark) -> Recognised<Mark> {
    let ownership = if mark.owner.is_empty() { Ownership::Nobody } else { Ownership::By(owner(&mark.owner)) };
    let named = address_in(name).filter(|_| ownership != Ownership::Nobody);
    Recognised {
        ownership,
        addresses: mark.ip.into_iter().chain(named).collect(),
        held_until: mark.held_until,
        identity: Some(Identity { name: mark.name.as_str().into(), is_proven: !mark.instance.is_empty() }),
        mark: Some(Box::new(mark)),
    }
}

pub(crate) const POOL_A: &str = "pool-a-";
pub(crate) const POOL_B: &str = "pool-b-";

pub(crate) fn family(name: &str) -> Option<&'static str> {
    [POOL_A, POOL_B].into_iter().find(|family| name.starts_with(family))
}

/// The address in `pool-a-ip-10-0-0-7-x`.
pub(crate) fn address_in(name: &str) -> Option<Ipv4Addr> {
    let parts: Vec<_> = name.strip_prefix("pool-a-ip-")?.split('-').take(4).collect();
    parts.join(".").parse().ok()
}

pub(crate) fn key(family: &'static str, kind: &str, flavor: &str) -> PoolKey {
    PoolKey { family, kind: format!("{kind} {}", flavor.to_lowercase()).trim_end().into() }
}

/// What a machine is to the pools of [`OWNER`].
pub(crate) fn membership(machine: &Machine<Mark>) -> Membership {
    let family = family(&machine.name);
    let key_of = |mark: &Mark| family.map(|family| key(family, &mark.kind, &mark.flavor));
    if machine.is_set_apart() {
        let mark = machine.any_mark().filter(|_| machine.recognised.ownership.marked_by() == Some(&OWNER));
        return mark.and_then(key_of).map_or(Membership::None, Membership::SetApart);
    }
    let is_untold = machine.is_unknown()
        || machine.possible_mark_of(&OWNER).is_some()
            && (machine.mark_of(&OWNER).is_none() || !machine.reachable);
    if machine.role == Role::Template || !machine.name.starts_with("pool-") {
        return Membership::None;
    }
    if is_untold {
        return family.map_or(Membership::None, Membership::Unknown);
    }
    let Some(mark) = machine.mark_of(&OWNER).filter(|mark| !mark.protected) else { return Membership::None };
    let member =
        Member { key: key_of(mark), created: machine.created.or(mark.created), origin: origin(&mark.origin) };
    if mark.pooled { Membership::Pooled(member) } else { Membership::HalfClaimed(member) }
}

/// What a machine is to a demand of [`OWNER`] for the first pool.
pub(crate) fn candidacy<'v>(machine: &'v Machine<Mark>, kind: &str, now: &Origin) -> Candidacy<'v> {
    match membership(machine) {
        Membership::Unknown(POOL_A) => Candidacy::Unknown,
        Membership::Pooled(member) | Membership::HalfClaimed(member) => {
            let mark = machine.any_mark().filter(|mark| {
                mark.kind == kind && member.key.as_ref().is_some_and(|key| key.family == POOL_A)
            });
            match mark {
                None => Candidacy::Irrelevant,
                Some(mark) if !mark.pooled => Candidacy::HalfClaimed,
                Some(mark) => Candidacy::Pooled(Pooled {
                    flavor: &mark.flavor,
                    created: member.created,
                    is_stale: now.is_stale(&member.origin),
                }),
            }
        }
        Membership::Unknown(_) | Membership::None | Membership::SetApart(_) => Candidacy::Irrelevant,
    }
}

pub(crate) fn origin(incarnation: &str) -> Origin {
    Origin { incarnation: Some(incarnation.to_owned()), revision: None }
}

/// The times that a mark carries.
pub(crate) fn times(mark: &Mark) -> [Option<Timestamp>; 2] {
    [mark.start, mark.created]
}

pub(crate) fn at(time: &str) -> Timestamp {
    format!("2026-11-15T{time}Z").parse().expect("a time")
}

pub(crate) fn id(name: &str) -> MachineId {
    MachineId::new(format!("vm-{name}"))
}

/// A VM that is off, of nobody.
pub(crate) fn vm(name: &str) -> Machine<Mark> {
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

/// The machine while nobody is told whose it is.
pub(crate) fn untold(machine: Machine<Mark>) -> Machine<Mark> {
    let addresses = address_in(&machine.name).into_iter().collect();
    Machine { recognised: Recognised { addresses, ..Recognised::unknown() }, ..machine }
}

/// Our mark with a change.
pub(crate) fn marked(name: &str, change: impl FnOnce(&mut Mark)) -> Machine<Mark> {
    let mut mark = Mark { owner: OWNER.name().to_owned(), name: name.to_owned(), ..Mark::default() };
    change(&mut mark);
    Machine { recognised: by_mark(name, mark), ..vm(name) }
}

/// A ready warm VM of ours.
pub(crate) fn warm(name: &str, kind: &str, flavor: &str) -> Machine<Mark> {
    marked(name, |mark| {
        mark.pooled = true;
        mark.kind = kind.to_owned();
        mark.flavor = flavor.to_owned();
    })
}

/// A VM of ours that runs for somebody.
pub(crate) fn running(name: &str, start: &str) -> Machine<Mark> {
    on(marked(name, |mark| mark.start = Some(at(start))))
}

pub(crate) fn on(machine: Machine<Mark>) -> Machine<Mark> {
    Machine { power: Some(Power::On), ..machine }
}

pub(crate) fn view(machines: impl IntoIterator<Item = Machine<Mark>>) -> View<Mark> {
    View {
        machines: machines.into_iter().collect(),
        complete: true,
        age: Duration::from_secs(1),
        ..View::default()
    }
}

/// The same view, in which the inventory has not confirmed what was done to these machines.
pub(crate) fn unsettled(view: &View<Mark>, ids: impl IntoIterator<Item = MachineId>) -> View<Mark> {
    let mut view = view.clone();
    for id in ids {
        let row = view.machines.get(&id).cloned();
        view.overlaid.insert(id, Overlaid { row, is_gone: false, is_settled: false });
    }
    view
}

/// A machine of any kind and any owner under one of few names, so that rules meet each other.
pub(crate) fn any_machine() -> impl Strategy<Value = Machine<Mark>> {
    let role = prop_oneof![1 => Just(Role::Unknown), 1 => Just(Role::Template), 8 => Just(Role::Vm)];
    let power = prop_oneof![
        1 => Just(None),
        3 => Just(Some(Power::On)),
        5 => Just(Some(Power::Off)),
        1 => Just(Some(Power::Suspended)),
    ];
    let name = prop_oneof![
        4 => "pool-a-[a-c]",
        2 => "pool-a-ip-10-0-0-[0-9]-[a-c]",
        2 => "pool-b-[a-c]",
        5 => "node-[a-e]",
    ];
    let hardware = proptest::option::of((1..9u32, 1..9u64))
        .prop_map(|size| size.map(|(cpus, memory)| Hardware::new(cpus, memory * 1024)).unwrap_or_default());
    let addresses = proptest::collection::vec((0..16u8).prop_map(|last| Ipv4Addr::new(10, 0, 0, last)), 0..2);
    let rare = || proptest::bool::weighted(0.1);
    let flags = (rare(), proptest::bool::weighted(0.9), rare());
    let recognised = name.prop_flat_map(|name| (any_recognised(name.clone()), Just(name)));
    (0..1000u32, recognised, role, power, hardware, addresses, any_hour(), flags).prop_map(
        |(number, (recognised, name), role, power, hardware, addresses, created, flags)| {
            let (awaits_setup, reachable, is_outside) = flags;
            Machine {
                id: MachineId::new(format!("vm-{number}")),
                name,
                role,
                power,
                recognised,
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

fn any_hour() -> impl Strategy<Value = Option<Timestamp>> {
    proptest::option::of(0..12u32).prop_map(|hour| hour.map(|hour| at(&format!("{hour:02}:00:00"))))
}

fn any_recognised(name: String) -> impl Strategy<Value = Recognised<Mark>> {
    let instead: [fn(OwnerId) -> Ownership; 3] = [Ownership::By, Ownership::Copied, Ownership::Disputed];
    let kind = prop_oneof![1 => Just(None), 1 => Just(Some(3)), 8 => Just(Some(0)), 1 => Just(Some(1)), 1 => Just(Some(2))];
    (kind, any_mark()).prop_map(move |(kind, mark)| match kind {
        None => untold(vm(&name)).recognised,
        Some(kind) => {
            let mut recognised = by_mark(&name, mark);
            let Some(instead) = instead.get(kind) else { return Recognised::nobody() };
            if let Ownership::By(owner) = &recognised.ownership {
                recognised.ownership = instead(owner.clone());
            }
            recognised
        }
    })
}

fn any_mark() -> impl Strategy<Value = Mark> {
    let owner = prop_oneof![6 => Just(OWNER.name()), 1 => Just("theirs"), 1 => Just("")];
    let flavor = prop_oneof![3 => Just(""), 1 => Just("small"), 1 => Just("Large")];
    let origin = prop_oneof![2 => Just(""), 2 => Just("one"), 1 => Just("two")];
    let held = prop_oneof![8 => Just(None), 1 => Just(Some(at("01:00:00"))), 1 => Just(Some(at("23:00:00")))];
    let (rare, often) = (proptest::bool::weighted(0.1), proptest::bool::weighted(0.6));
    (owner, "deb|suse", flavor, origin, rare, often, any_hour(), held, 0..16u8).prop_map(
        |(owner, kind, flavor, origin, protected, pooled, start, held_until, last)| Mark {
            owner: owner.to_owned(),
            kind,
            flavor: flavor.to_owned(),
            origin: origin.to_owned(),
            pooled,
            protected,
            start,
            held_until,
            ip: (last > 0).then(|| Ipv4Addr::new(10, 0, 0, last)),
            ..Mark::default()
        },
    )
}

pub(crate) fn any_view(machines: usize) -> impl Strategy<Value = View<Mark>> {
    proptest::collection::vec(any_machine(), 0..machines).prop_map(view)
}
