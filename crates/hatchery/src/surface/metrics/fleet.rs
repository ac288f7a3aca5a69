//! What the machines of the last report add up to.

use crate::machine::Machine;
use crate::mark::Mark;
use crate::standing::{Standing, standing};
use crate::surface::report::Report;
use rookery_daemon::metrics::Samples;
use rookery_fleet::address::AddressUsage;
use rookery_fleet::disks::KB_PER_GB;
use rookery_fleet::{Hardware, MachineId, OwnerId, Power, Role, address};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) machines: u64,
    pub(super) vcpus: u64,
    pub(super) memory_mb: u64,
}

/// What the machines add up to.
#[derive(Debug, Default)]
pub(super) struct Fleet<'r> {
    /// Own ones that are no templates.
    pub(super) own: Sum,
    /// Their disks, as far as they are known.
    pub(super) disk_gb: u64,
    /// Those among them that are for a job or a registration.
    pub(super) workers: u64,
    /// Those among them that wait in the pool: in which state they are.
    pub(super) ready: u64,
    pub(super) starting: u64,
    pub(super) dying: u64,
    /// Own ones that were made to be cloned.
    pub(super) templates: Sum,
    pub(super) all: Sum,
    /// Configured addresses; none: they come from DHCP.
    pub(super) addresses: Option<Addresses>,
    machines: Vec<One<'r>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    /// Those seen on a guest's card.
    pub(super) active: u64,
    /// Those held by a mark.
    pub(super) marked: u64,
    /// How they are used, by all that is known.
    pub(super) usage: AddressUsage,
}

/// An own machine that is no template.
#[derive(Debug)]
pub(super) struct One<'r> {
    pub(super) machine: &'r Machine,
    mark: &'r Mark,
    pub(super) disk_gb: Option<u64>,
}

impl Sum {
    fn add(&mut self, hardware: Hardware) {
        self.machines += 1;
        self.vcpus = self.vcpus.saturating_add(hardware.cpus.unwrap_or_default().into());
        self.memory_mb = self.memory_mb.saturating_add(hardware.memory_mb.unwrap_or_default());
    }
}

impl<'r> Fleet<'r> {
    pub(super) fn new(report: &'r Report, owner: &OwnerId) -> Self {
        let mut fleet = Self { addresses: addresses(report), ..Self::default() };
        for machine in report.view.iter() {
            fleet.all.add(machine.hardware);
            match machine.mark_of(owner) {
                Some(mark) if mark.model => fleet.templates.add(machine.hardware),
                Some(mark) if machine.role == Role::Vm => {
                    let disk_gb = report.disks.get(&machine.id).map(|disks| disks.all_kb / KB_PER_GB);
                    fleet.add(One { machine, mark, disk_gb }, owner, |id| report.dying.contains(id));
                }
                Some(_) | None => {}
            }
        }
        fleet
    }

    fn add(&mut self, one: One<'r>, owner: &OwnerId, dying: impl Fn(&MachineId) -> bool) {
        let machine = one.machine;
        self.own.add(machine.hardware);
        self.disk_gb = self.disk_gb.saturating_add(one.disk_gb.unwrap_or_default());
        let pooled = standing(machine, owner) == Standing::Pooled;
        let state = match machine.power {
            _ if !pooled => &mut self.workers,
            _ if dying(&machine.id) => &mut self.dying,
            Some(Power::Off) if !machine.awaits_setup => &mut self.ready,
            Some(Power::On | Power::Off | Power::Suspended) | None => &mut self.starting,
        };
        *state += 1;
        self.machines.push(one);
    }

    pub(super) fn pooled(&self) -> u64 {
        self.ready + self.starting + self.dying
    }

    /// What is not known of a machine is not told: it is not nothing.
    pub(super) fn each(&self, out: &mut Samples<'_>, value: impl Fn(&One<'_>) -> Option<u64>) {
        // Names are unique in a folder only, and a series that comes twice spoils the whole answer.
        let mut told = BTreeSet::new();
        for one in &self.machines {
            let model = match one.mark.worker_model_path.as_str() {
                "" => &one.mark.vmware_model_path,
                path => path,
            };
            let labels = [&one.mark.flavor, model, &one.machine.name];
            if let Some(value) = value(one).filter(|_| told.insert(labels)) {
                out.labelled(&labels, value);
            }
        }
    }
}

fn addresses(report: &Report) -> Option<Addresses> {
    let networks = report.networks.as_slice();
    if networks.is_empty() {
        return None;
    }
    let view = &report.view;
    let active = view.iter().flat_map(|machine| machine.addresses.iter().copied()).collect();
    let marked = view.notable().filter_map(|machine| machine.any_mark()?.address()).collect();
    Some(Addresses {
        active: address::count_in(networks, &active),
        marked: address::count_in(networks, &marked),
        usage: address::usage(networks, view, report.promised.iter().copied()),
    })
}
