//! From the live inventory to what a planner sees.
//!
//! Notes, names and addresses are parsed when a row changes, and not again: of ten thousand VMs a pass reads the few that
//! changed since the last one.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use jiff::Timestamp;
use rookery_fleet::{Hardware, Machine, MachineId, Mark, Notes, Power, Role, View};
use rookery_vim::MoRef;
use rookery_vim::objects::PowerState;
use rookery_vim_client::{Inventory, Vm};

/// Looks at the inventory of one vCenter.
#[derive(Debug)]
pub struct Observer {
    inventory: Inventory,
    /// The snapshot that was read last.
    revision: Option<u64>,
    book: Book,
}

impl Observer {
    /// Nothing is read yet.
    pub fn new(inventory: Inventory) -> Self {
        Self { inventory, revision: None, book: Book::default() }
    }

    /// All machines as the inventory shows them. The moment, by vCenter's clock, is noted for those that changed.
    pub fn view(&mut self, now: Timestamp) -> View {
        let snapshot = self.inventory.snapshot();
        if self.revision != Some(snapshot.revision()) {
            self.book.read(snapshot.vms(), now);
            self.revision = Some(snapshot.revision());
        }
        View { machines: self.book.machines.clone(), complete: snapshot.is_complete(), age: snapshot.age() }
    }

    /// When the machine was last seen changing: the moment of the first view that showed it as it is.
    pub fn changed_at(&self, machine: &MachineId) -> Option<Timestamp> {
        self.book.rows.get(machine).map(|row| row.changed)
    }
}

/// What was read so far.
#[derive(Debug, Default)]
struct Book {
    /// The rows that the machines were made from.
    rows: BTreeMap<MachineId, Row>,
    machines: BTreeMap<MachineId, Arc<Machine>>,
    /// How often it was read.
    readings: u64,
}

#[derive(Debug)]
struct Row {
    vm: Arc<Vm>,
    /// When it was first seen as it is.
    changed: Timestamp,
    /// The last reading that it was in.
    seen: u64,
}

impl Book {
    /// Takes over what the rows say; how many of them had to be parsed. Rows that come in the order of their references
    /// and have not changed, as nearly all do, cost a comparison of two pointers.
    fn read<'r>(&mut self, rows: impl Iterator<Item = &'r Arc<Vm>>, now: Timestamp) -> usize {
        self.readings += 1;
        let (mut count, mut others) = (0, Vec::new());
        let mut known = self.rows.iter_mut().peekable();
        for row in rows {
            count += 1;
            while known
                .next_if(|(id, kept)| !Arc::ptr_eq(&kept.vm, row) && id.as_str() < row.id.id())
                .is_some()
            {}
            match known.next_if(|(_, kept)| Arc::ptr_eq(&kept.vm, row)) {
                Some((_, kept)) => kept.seen = self.readings,
                None => others.push(row),
            }
        }
        let parsed = others.into_iter().filter(|row| self.take(row, now)).count();
        if self.rows.len() > count {
            let (readings, machines) = (self.readings, &mut self.machines);
            self.rows.retain(|id, row| {
                let is_there = row.seen == readings;
                if !is_there {
                    machines.remove(id);
                }
                is_there
            });
        }
        parsed
    }

    /// Takes one row over; whether it had to be parsed.
    fn take(&mut self, row: &Arc<Vm>, now: Timestamp) -> bool {
        let fresh = |changed| Row { vm: Arc::clone(row), changed, seen: self.readings };
        match self.rows.get_mut(row.id.id()) {
            // After a rebuild of the inventory a row may be new without a difference.
            Some(kept) if kept.vm == *row => {
                *kept = fresh(kept.changed);
                return false;
            }
            Some(kept) => *kept = fresh(now),
            None => drop(self.rows.insert(MachineId::new(row.id.id()), fresh(now))),
        }
        let machine = machine(row);
        self.machines.insert(machine.id.clone(), Arc::new(machine));
        true
    }
}

/// A machine as its row shows it.
fn machine(row: &Vm) -> Machine {
    let config = &row.config;
    let hidden = row.unreadable.contains("config.annotation");
    Machine {
        id: MachineId::new(row.id.id()),
        name: row.name.clone(),
        role: role(config.template),
        power: row.power.as_ref().and_then(power),
        notes: notes(config.template.filter(|_| !hidden), config.annotation.as_deref()),
        hardware: hardware(config.cpus, config.memory_mb),
        addresses: row.guest.addresses().iter().filter_map(ipv4).collect(),
        created: config.created,
        awaits_setup: config.pending_customization.is_some(),
        incarnation: Some(config.instance_uuid.clone().unwrap_or_else(|| row.id.id().to_owned())),
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

/// Whether a VM is a template is told with any configuration: without that, its notes are not known either.
pub(crate) fn notes(template: Option<bool>, annotation: Option<&str>) -> Notes {
    match (template, annotation.and_then(Mark::read)) {
        (None, _) => Notes::Unknown,
        (Some(_), None) => Notes::NoMark,
        (Some(_), Some(mark)) => Notes::Mark(Box::new(mark)),
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

pub(crate) fn hardware(cpus: Option<i32>, memory_mb: Option<i32>) -> Option<Hardware> {
    Some(Hardware { cpus: cpus?.try_into().ok()?, memory_mb: memory_mb?.try_into().ok()? })
}

fn ipv4(address: &IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests;
