//! From the live inventory to what a planner sees.
//!
//! Notes, names and addresses are parsed when a row changes, and not again: among ten thousand VMs a pass reads the few
//! that changed since the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use jiff::Timestamp;
use rookery_fleet::overlay::{News, Overlay};
use rookery_fleet::ownership::{LabelConfig, Labels, Recogniser};
use rookery_fleet::{Hardware, Machine, MachineId, Machines, Power, Recognised, Role, View};
use rookery_vim::MoRef;
use rookery_vim::objects::{ConnectionState, PowerState};
use rookery_vim_client::{ExtraConfig, ExtraConfigKey, ExtraValue, Inventory, Snapshot, Vm, VmChange};

use crate::journal::Journal;
use crate::site::Bounds;

/// Looks at the inventory of one vCenter for one front.
#[derive(Debug)]
pub struct Observer<M> {
    inventory: Inventory,
    /// The snapshot that was read last.
    last: Option<Arc<Snapshot>>,
    read: ReadMachines<M>,
    journal: Journal<M>,
    overlay: Overlay<M>,
    /// Machines that were once one of several with the same mark.
    disputed: BTreeSet<MachineId>,
}

impl<M: Clone + PartialEq + 'static> Observer<M> {
    /// Nothing is read yet.
    pub fn new(inventory: Inventory, recogniser: Recogniser<M>) -> Self {
        Self::beside(inventory, recogniser, Bounds::default(), Journal::default())
    }

    /// One that lays over the inventory what the hands with this journal were told, and tells machines apart that are
    /// beyond the bounds.
    pub fn beside(
        inventory: Inventory,
        recogniser: Recogniser<M>,
        bounds: Bounds,
        journal: Journal<M>,
    ) -> Self {
        let read = ReadMachines::new(recogniser, bounds);
        inventory.show_extra_config(&extra_keys(&read.recogniser));
        let (overlay, disputed) = Default::default();
        Self { inventory, last: None, read, journal, overlay, disputed }
    }

    /// All machines as the inventory shows them, and as our acts have left them where it does not show that
    /// yet. The moment, by our steady time, is noted for those that changed.
    pub fn view(&mut self, now: Timestamp) -> View<M> {
        let snapshot = self.inventory.snapshot();
        self.read.read(snapshot.changes_since(self.last.as_deref()), now);
        for (id, news) in self.journal.take() {
            self.read.hear(&mut self.overlay, id, news, now);
        }
        let (machines, overlaid) = self.overlay.over(&self.read.machines);
        let machines = machines.with_disputed(&mut self.disputed);
        let view = View { machines, complete: snapshot.is_complete(), age: snapshot.age(), overlaid };
        self.last = Some(snapshot);
        view
    }

    /// The machines that have to be read: the inventory has not shown for too long what was done to them.
    pub fn overdue(&mut self, now: Timestamp) -> Vec<MachineId> {
        self.overlay.overdue(now)
    }

    /// When the machine last changed: the moment of the first view that showed it as it is.
    pub fn changed_at(&self, machine: &MachineId) -> Option<Timestamp> {
        self.read.changed.get(machine).copied()
    }
}

/// What was read so far.
#[derive(Debug)]
struct ReadMachines<M> {
    recogniser: Recogniser<M>,
    bounds: Bounds,
    machines: Machines<M>,
    /// When each was first seen as it is.
    changed: BTreeMap<MachineId, Timestamp>,
}

impl<M: Clone + PartialEq + 'static> ReadMachines<M> {
    fn new(recogniser: Recogniser<M>, bounds: Bounds) -> Self {
        Self { recogniser, bounds, machines: Machines::default(), changed: BTreeMap::new() }
    }

    /// Takes in what an act was told, or a reading: that is a change like any other.
    fn hear(&mut self, overlay: &mut Overlay<M>, id: MachineId, news: News<M>, now: Timestamp) {
        if overlay.hear(&self.machines, &id, news, now) {
            self.changed.insert(id, now);
        } else if !self.machines.contains(&id) && !overlay.makes(&id) {
            self.changed.remove(&id);
        }
    }

    fn read<'s>(&mut self, changes: impl Iterator<Item = VmChange<'s>>, now: Timestamp) {
        for change in changes {
            match change {
                VmChange::Is(row) => {
                    let machine = machine(row, &self.recogniser, &self.bounds);
                    self.changed.insert(machine.id.clone(), now);
                    self.machines.insert(Arc::new(machine));
                }
                VmChange::Gone(row) => {
                    let id = MachineId::new(row.id());
                    self.changed.remove(&id);
                    self.machines.remove(&id);
                }
            }
        }
    }
}

/// A machine as its row shows it.
pub(crate) fn machine<M: 'static>(row: &Vm, recogniser: &Recogniser<M>, bounds: &Bounds) -> Machine<M> {
    let config = &row.config;
    let extra = extra(&extra_keys(recogniser), &config.extra_config);
    let hidden = row.unreadable.contains("config.annotation");
    let seen = Seen {
        name: &row.name,
        template: config.template.filter(|_| !hidden && extra.is_some()),
        notes: config.annotation.as_deref(),
        extra: &extra.unwrap_or_default(),
        instance: config.instance_uuid.as_deref(),
        created: config.created,
    };
    Machine {
        id: MachineId::new(row.id.id()),
        name: row.name.clone(),
        role: role(config.template),
        power: row.power.as_ref().and_then(power),
        recognised: seen.recognise(recogniser),
        hardware: hardware(config.cpus, config.memory_mb),
        addresses: row.guest.addresses().iter().filter_map(ipv4).collect(),
        created: config.created,
        awaits_setup: config.pending_customization.is_some(),
        incarnation: Some(config.instance_uuid.clone().unwrap_or_else(|| row.id.id().to_owned())),
        reachable: is_reachable(row.connection.as_ref()),
        // Of what nothing is told it is not known where it is, either.
        is_outside: config.template.is_some_and(|is_template| {
            bounds.exclude(row.parent.as_ref(), row.resource_pool.as_ref(), is_template)
        }),
    }
}

/// Extra configuration as recognisers read it: what is set.
pub(crate) type Extra = BTreeMap<Arc<str>, String>;

/// The keys that a recogniser needs to see.
pub(crate) fn extra_keys<M: 'static>(recogniser: &Recogniser<M>) -> BTreeSet<ExtraConfigKey> {
    recogniser.extra_keys().filter_map(|key| ExtraConfigKey::try_from(key).ok()).collect()
}

/// What is set of these keys; `None` if that is not known of all of them.
pub(crate) fn extra(keys: &BTreeSet<ExtraConfigKey>, known: &ExtraConfig) -> Option<Extra> {
    let mut set = Extra::new();
    for key in keys {
        match known.get(key) {
            ExtraValue::Unknown => return None,
            ExtraValue::Unset => {}
            ExtraValue::Set(value) => drop(set.insert(key.as_str().into(), value.to_owned())),
        }
    }
    Some(set)
}

/// What vCenter shows of a VM that tells whose it is.
pub(crate) struct Seen<'v> {
    pub(crate) name: &'v str,
    /// Whether a VM is a template is told with any configuration: without that, its notes are not known either.
    pub(crate) template: Option<bool>,
    pub(crate) notes: Option<&'v str>,
    pub(crate) extra: &'v Extra,
    pub(crate) instance: Option<&'v str>,
    pub(crate) created: Option<Timestamp>,
}

impl Seen<'_> {
    pub(crate) fn recognise<M: 'static>(&self, recogniser: &Recogniser<M>) -> Recognised<M> {
        let config = LabelConfig { notes: self.notes.unwrap_or_default(), extra: self.extra };
        recogniser.recognise(&Labels {
            name: self.name,
            config: self.template.map(|_| config),
            instance: self.instance,
            created: self.created,
        })
    }
}

/// The reference of a machine on vCenter.
pub(crate) fn vm(machine: &MachineId) -> MoRef {
    MoRef::new("VirtualMachine", machine.as_str())
}

pub(crate) fn role(template: Option<bool>) -> Role {
    match template {
        None => Role::Unknown,
        Some(true) => Role::Template,
        Some(false) => Role::Vm,
    }
}

pub(crate) fn power(state: &PowerState) -> Option<Power> {
    match state {
        PowerState::On => Some(Power::On),
        PowerState::Off => Some(Power::Off),
        PowerState::Suspended => Some(Power::Suspended),
        PowerState::Other(_) => None,
    }
}

/// While its host does not respond, or its files are gone, vCenter shows a VM as it was.
pub(crate) fn is_reachable(connection: Option<&ConnectionState>) -> bool {
    connection.is_none_or(|state| *state == ConnectionState::Connected)
}

pub(crate) fn hardware(cpus: Option<i32>, memory_mb: Option<i32>) -> Hardware {
    Hardware {
        cpus: cpus.and_then(|cpus| cpus.try_into().ok()),
        memory_mb: memory_mb.and_then(|memory| memory.try_into().ok()),
    }
}

fn ipv4(address: &IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests;
