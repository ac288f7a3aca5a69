//! Actions under way: what was begun and is not yet to be seen in the inventory. A plan is made from them, too.

use crate::machine::Machine;
use crate::plan::capacity::Purpose;
use crate::plan::{Action, Adoption, Deletion, Free, Keep, Unclaim, Unserving, WorkerPlacement};
use rookery_cds::JobId;
pub use rookery_daemon::tracked::TaskId;
use rookery_daemon::tracked::UnderWay;
use rookery_fleet::Hardware;
use rookery_fleet::MachineId;
use rookery_fleet::address::Assigned;
use rookery_fleet::capacity::InFlight;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::{Deref, DerefMut};

#[derive(Debug, Clone)]
pub struct RunningAction {
    pub action: Action,
    /// The name of the machine that it is about, as it will be; empty: of none.
    pub name: String,
    /// The machine, once it is known which one it is.
    pub machine: Option<MachineId>,
    /// The address that it was given.
    pub address: Option<Ipv4Addr>,
    pub footprint: Hardware,
}

#[derive(Debug, Clone, Default)]
pub struct RunningActions(UnderWay<RunningAction>);

impl Deref for RunningActions {
    type Target = UnderWay<RunningAction>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for RunningActions {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl RunningActions {
    /// What is at work, by machine and by name, to look many machines up.
    pub fn index(&self) -> Busy<'_> {
        // A worker that is disabled has no machine.
        let has_machine =
            |one: &&RunningAction| !one.name.is_empty() && !matches!(one.action, Action::Disable { .. });
        Busy {
            machines: self.iter().filter_map(|action| action.machine.as_ref()).collect(),
            names: self.iter().filter(has_machine).map(|action| action.name.as_str()).collect(),
        }
    }

    pub fn disables(&self, name: &str) -> bool {
        self.iter().any(|one| matches!(&one.action, Action::Disable { worker, .. } if worker.name == name))
    }

    /// As the ledger counts them.
    pub fn capacity(&self) -> Vec<(Purpose, InFlight)> {
        self.iter().filter_map(RunningAction::capacity).collect()
    }

    pub fn registers(&self, path: &str) -> bool {
        self.iter().any(|action| matches!(&action.action, Action::Register(one) if one.model.path() == path))
    }

    /// The jobs that are being served.
    pub fn jobs(&self) -> BTreeSet<&JobId> {
        self.iter().filter_map(RunningAction::job).collect()
    }
}

/// Machines that somebody is at work on.
#[derive(Debug)]
pub struct Busy<'f> {
    machines: BTreeSet<&'f MachineId>,
    names: BTreeSet<&'f str>,
}

impl Busy<'_> {
    /// Whether somebody is at work on this machine.
    pub fn has(&self, machine: &Machine) -> bool {
        self.machines.contains(&machine.id) || self.has_name(&machine.name)
    }

    /// Whether somebody is at work on a machine of that name.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

impl RunningAction {
    /// An action that begins now.
    pub fn of(action: Action) -> Self {
        let ip = |assigned: &Option<Assigned>| assigned.as_ref().map(|assigned| assigned.ip);
        let nothing = Hardware::default();
        // Machines that are there hold their addresses themselves.
        let (name, machine, address, footprint) = match &action {
            Action::Spawn(spawn) => match &spawn.path {
                WorkerPlacement::Claim { machine, mark, .. } => {
                    (&*spawn.name, Some(machine), mark.address(), spawn.footprint)
                }
                WorkerPlacement::Clone { address, .. } => (&*spawn.name, None, ip(address), spawn.footprint),
            },
            Action::Register(one) => (&*one.name, None, ip(&one.address), one.footprint),
            Action::Make(make) => (&*make.name, None, ip(&make.address), make.footprint),
            Action::Finish(finish) => (&*finish.name, Some(&finish.machine), None, finish.footprint),
            Action::Unclaim(Unclaim { name, machine, .. })
            | Action::Keep(Keep { name, machine, .. })
            | Action::Delete(Deletion { name, machine, .. })
            | Action::Adopt(Adoption { name, template: machine, .. }) => {
                (&**name, Some(machine), None, nothing)
            }
            Action::Free(Free { machine: Unserving::WentOff(machine), worker, .. }) => {
                (&**worker, Some(machine), None, nothing)
            }
            // The machine of a worker that is disabled is gone.
            Action::Disable { worker, .. } => (&*worker.name, None, None, nothing),
            Action::GiveUp { .. } | Action::Free(_) => ("", None, None, nothing),
        };
        let (name, machine) = (name.to_owned(), machine.cloned());
        Self { action, name, machine, address, footprint }
    }

    pub fn job(&self) -> Option<&JobId> {
        self.action.job()
    }

    fn capacity(&self) -> Option<(Purpose, InFlight)> {
        let purpose = self.action.purpose()?;
        let (name, machine, footprint) = (self.name.clone(), self.machine.clone(), self.footprint);
        Some((purpose, InFlight { name, machine, footprint }))
    }
}
