//! New VMs. The mark travels with the order, so that no VM of ours is ever nobody's.

use std::net::Ipv4Addr;

use rookery_fleet::overlay::Fact;
use rookery_fleet::ownership::Written;
use rookery_fleet::{Hardware, Machine, MachineId, Power, Recognised, Role};
use rookery_vim::{Fault, FaultKind, MoRef};
use rookery_vim_client::{Change, CloneError, CloneOrder, DiskMove, FixedAddress, GuestSetup};

use super::{CLONE, Hands, may_pass};
use crate::observe::{self, hardware, vm};
use crate::site::Placement;

/// A VM as it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneSpec<M> {
    /// What it is cloned from.
    pub template: MachineId,
    /// Its name; nobody else may have it.
    pub name: String,
    pub placement: Placement,
    pub mark: M,
    /// Its size; what is `None` is the template's.
    pub hardware: Hardware,
    /// The least size of its first disk; `None`: the template's.
    pub first_disk_kb: Option<u64>,
    /// Its address; DHCP if there is none.
    pub address: Option<Fixed>,
    /// Whether it starts at once.
    pub power_on: bool,
    /// How its disks are made.
    pub disk_move: DiskMove,
    /// Another class for its first card, such as `VirtualVmxnet3`.
    pub card_class: Option<String>,
}

impl<M> CloneSpec<M> {
    /// The VM as it is known before the inventory shows it. What it is not given it has of its template.
    fn made(
        &self,
        id: &MachineId,
        recognised: Recognised<M>,
        power: Option<Power>,
        template: Hardware,
    ) -> Machine<M> {
        Machine {
            name: self.name.clone(),
            role: Role::Vm,
            power,
            recognised,
            hardware: self.hardware.or(template),
            ..Machine::blank(id)
        }
    }
}

/// Another size, and what is written. Numbers beyond what vCenter can be told are as large as can be: it refuses them.
pub(super) fn change(hardware: Hardware, written: Written) -> Change {
    Change {
        annotation: written.notes,
        cpus: hardware.cpus.map(|cpus| cpus.try_into().unwrap_or(i32::MAX)),
        memory_mb: hardware.memory_mb.map(|memory| memory.try_into().unwrap_or(i64::MAX)),
        extra_config: written.extra.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        ..Change::default()
    }
}

/// An address that is given to a VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    pub ip: Ipv4Addr,
    /// The mask of its network.
    pub mask: Ipv4Addr,
    pub gateway: Option<Ipv4Addr>,
    pub dns: Vec<Ipv4Addr>,
}

/// Why there is no VM, or not the one that was wanted.
#[derive(Debug, thiserror::Error)]
#[error("cannot clone {template} as {name:?}")]
pub struct CloneFailure {
    /// What was to be cloned.
    pub template: MachineId,
    /// The name that it was to have.
    pub name: String,
    #[source]
    pub reason: Box<CloneError>,
    /// The VM that is there all the same, without something that was wanted of it.
    pub left_behind: Option<MachineId>,
    /// Set if a VM of that name may still appear. Its address is to be held until that is known.
    pub unfinished: Option<Unfinished>,
}

/// A clone that vCenter was not seen to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Its task; none if the answer to the order was lost.
    pub task: Option<String>,
}

impl CloneFailure {
    /// Whether it is the template that has to be looked at: another clone of it would fail as well.
    pub fn is_fault_of_template(&self) -> bool {
        match &*self.reason {
            CloneError::Source { source, .. } => source.fault().is_some() && !source.is_transient(),
            CloneError::NotEncodable { .. }
            | CloneError::NoCard { .. }
            | CloneError::CardsDisagree { .. } => true,
            CloneError::NoPlace { .. } | CloneError::NameTaken { .. } | CloneError::OutOfTime { .. } => false,
            CloneError::Failed { source, .. } | CloneError::LeftBehind { source, .. } => {
                source.fault().is_some_and(blames_template)
            }
        }
    }

    /// Whether vCenter had no room for it.
    pub fn is_want_of_room(&self) -> bool {
        match &*self.reason {
            CloneError::Failed { source, .. } | CloneError::LeftBehind { source, .. } => {
                source.fault().is_some_and(Fault::is_capacity)
            }
            CloneError::NoPlace { .. } => true,
            CloneError::Source { .. }
            | CloneError::NotEncodable { .. }
            | CloneError::NoCard { .. }
            | CloneError::NameTaken { .. }
            | CloneError::OutOfTime { .. }
            | CloneError::CardsDisagree { .. } => false,
        }
    }

    /// Whether the same may succeed later.
    pub fn is_transient(&self) -> bool {
        match &*self.reason {
            CloneError::Source { source, .. } => source.is_transient(),
            CloneError::NoPlace { .. } | CloneError::OutOfTime { .. } => true,
            CloneError::Failed { source, .. } | CloneError::LeftBehind { source, .. } => may_pass(source),
            CloneError::NotEncodable { .. }
            | CloneError::NoCard { .. }
            | CloneError::NameTaken { .. }
            | CloneError::CardsDisagree { .. } => false,
        }
    }
}

/// Faults about what a template is: its guest cannot be set up, its configuration is broken, or it may not be cloned to
/// where machines go.
fn blames_template(fault: &Fault) -> bool {
    const OF_TEMPLATE: [&str; 9] = [
        "CustomizationFault",
        "LinuxVolumeNotClean",
        "MissingController",
        "MissingLinuxCustResources",
        "UncustomizableGuest",
        "VirtualHardwareVersionNotSupported",
        "VmConfigFault",
        "InvalidDeviceSpec",
        "InvalidDeviceOperation",
    ];
    matches!(fault.kind(), FaultKind::NicSettingMismatch | FaultKind::ManagedObjectNotFound)
        || fault.is_permission()
        || OF_TEMPLATE.contains(&fault.type_name())
}

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Makes a VM; its mark is in place then.
    pub async fn clone_vm(&self, wish: &CloneSpec<M>) -> Result<MachineId, CloneFailure> {
        self.clone_vm_by(wish, std::future::pending()).await
    }

    /// Makes a VM. One that is not made when `until` comes is given up, as one that failed is: its task is cancelled.
    pub async fn clone_vm_by(
        &self,
        wish: &CloneSpec<M>,
        until: impl Future<Output = ()>,
    ) -> Result<MachineId, CloneFailure> {
        let machine = |vm: &MoRef| MachineId::new(vm.id());
        let instance = self.client.random_uuid();
        let recogniser = &self.grounds.recogniser;
        let uuid = instance.to_string();
        let written = (recogniser.marking().write)(&wish.mark, Some(&uuid));
        let seen = observe::Seen {
            name: &wish.name,
            template: Some(false),
            notes: written.notes.as_deref(),
            extra: &written.extra.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(),
            instance: Some(&uuid),
            created: None,
        };
        let becomes = seen.recognise(recogniser);
        let mut order = order(wish, written);
        order.change.instance_uuid = Some(instance);
        let cloned = self.machines.clone_or_give_up(&order, CLONE, until).await;
        let made = cloned.as_ref().map(machine).map_err(|given_up| CloneFailure {
            template: wish.template.clone(),
            name: wish.name.clone(),
            reason: Box::new(given_up.reason.clone()),
            left_behind: given_up.vm.as_ref().map(machine),
            unfinished: given_up.unfinished.as_ref().map(|unfinished| Unfinished {
                task: unfinished.task.as_ref().map(|task| task.id().to_owned()),
            }),
        });
        let (there, power) = match &made {
            Ok(machine) => {
                let power = if wish.power_on { Power::On } else { Power::Off };
                (Some(machine), Some(power))
            }
            Err(failure) => (failure.left_behind.as_ref(), None),
        };
        if let Some(machine) = there {
            let snapshot = self.inventory.snapshot();
            let row = snapshot.get(&vm(&wish.template));
            let template = row.map(|row| hardware(row.config.cpus, row.config.memory_mb)).unwrap_or_default();
            self.told(machine, Fact::Made(Box::new(wish.made(machine, becomes, power, template))));
        }
        made
    }
}

fn order<M>(wish: &CloneSpec<M>, written: Written) -> CloneOrder {
    let text = |address: &Ipv4Addr| address.to_string();
    let address = wish.address.as_ref().map(|fixed| FixedAddress {
        ip: text(&fixed.ip),
        mask: text(&fixed.mask),
        gateway: fixed.gateway.as_ref().map(text),
    });
    let dns = wish.address.iter().flat_map(|fixed| &fixed.dns).map(text).collect();
    CloneOrder {
        source: vm(&wish.template),
        name: wish.name.clone(),
        folder: wish.placement.folder.clone(),
        pool: wish.placement.pool.clone(),
        host: None,
        datastore: wish.placement.datastore.clone(),
        disks: wish.disk_move,
        network: wish.placement.network.clone(),
        card_class: wish.card_class.clone(),
        // Numbers beyond what vCenter can be told are as large as can be: it refuses them.
        first_disk_kb: wish.first_disk_kb.map(|kb| kb.try_into().unwrap_or(i64::MAX)),
        change: change(wish.hardware, written),
        guest: GuestSetup::Linux { address, dns, domain: String::new() },
        power_on: wish.power_on,
    }
}

#[cfg(test)]
mod tests {
    use rookery_vim::Node;
    use rookery_vim_client::{OperationError, TaskError};

    use super::*;

    fn failure(reason: CloneError) -> CloneFailure {
        let (template, name) = (MachineId::new("vm-1"), "a".to_owned());
        CloneFailure { template, name, reason: Box::new(reason), left_behind: None, unfinished: None }
    }

    fn failed(fault: &str) -> OperationError {
        let detail = Node { xsi_type: Some(fault.into()), ..Node::new("fault") };
        OperationError::Task(TaskError::Failed(Fault::new(Some(detail), String::new())))
    }

    // What did not go into the notes was left out, so that such a VM was nobody's.
    #[test]
    fn a_mark_travels_with_the_order_whole() {
        let wish = CloneSpec {
            template: MachineId::new("vm-1"),
            name: "a".to_owned(),
            placement: Placement {
                folder: MoRef::new("Folder", "group-v1"),
                pool: MoRef::new("ResourcePool", "resgroup-1"),
                datastore: None,
                network: None,
            },
            mark: (),
            hardware: Hardware { cpus: Some(4), ..Hardware::default() },
            first_disk_kb: None,
            address: None,
            power_on: false,
            disk_move: DiskMove::Auto,
            card_class: None,
        };
        let extra = vec![("front.owner", "h1".to_owned())];
        let order = order(&wish, Written { notes: Some("notes".to_owned()), extra });
        let change = order.change;
        assert_eq!((change.annotation.as_deref(), change.cpus), (Some("notes"), Some(4)));
        assert_eq!(change.extra_config, [("front.owner".to_owned(), "h1".to_owned())]);
        assert_eq!((order.folder, order.pool), (wish.placement.folder, wish.placement.pool));
    }

    #[test]
    fn a_failure_says_what_is_left_and_whether_the_template_is_to_blame() {
        let (name, id) = (|| "a".to_owned(), || MoRef::new("VirtualMachine", "vm-2"));
        let lost = OperationError::Task(TaskError::Unknown { task: id(), why: String::new() });
        let check = |reason: CloneError, left: bool, blamed: bool, transient: bool| {
            let leaves = reason.left_behind().is_some();
            let failure = failure(reason);
            let found = (leaves, failure.is_fault_of_template(), failure.is_transient());
            assert_eq!(found, (left, blamed, transient), "{failure:?}");
        };
        check(CloneError::Failed { name: name(), source: lost }, false, false, true);
        check(CloneError::OutOfTime { name: name() }, false, false, true);
        check(CloneError::Failed { name: name(), source: failed("NoDiskSpace") }, false, false, true);
        let broken = failed("UncustomizableGuest");
        check(CloneError::Failed { name: name(), source: broken }, false, true, false);
        // A job whose user lacked a privilege was taken and given up five times in a moment, and had failed.
        let forbidden = failed("NoPermission");
        check(CloneError::Failed { name: name(), source: forbidden }, false, true, false);
        let full = failed("InsufficientMemoryResourcesFault");
        check(CloneError::LeftBehind { vm: id(), missing: "", source: full }, true, false, true);
        check(CloneError::NoCard { source_vm: id(), address: name() }, false, true, false);
        let taken = failed("DuplicateName");
        check(CloneError::NameTaken { name: name(), source: taken }, false, false, false);
    }
}
