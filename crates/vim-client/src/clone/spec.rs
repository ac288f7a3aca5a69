//! Builds the specification that is sent. Pure.

use rookery_vim::inventory_name::escape;
use rookery_vim::methods::CloneVmTask;
use rookery_vim::specs::{
    CustomizationAdapterMapping, CustomizationDhcpIpGenerator, CustomizationFixedIp,
    CustomizationGlobalIPSettings, CustomizationIPSettings, CustomizationIdentity, CustomizationIpGenerator,
    CustomizationLinuxOptions, CustomizationLinuxPrep, CustomizationName, CustomizationOptions,
    CustomizationSpec, CustomizationVirtualMachineName, ToolsConfigInfo, VirtualDeviceConfigSpec,
    VirtualMachineCloneSpec, VirtualMachineConfigSpec, VirtualMachineRelocateSpec,
};
use rookery_vim::storage::{StorageDrsPodSelectionSpec, StoragePlacementSpec};
use rookery_vim::{MoRef, Node, ParseError};

use super::{CloneOrder, DiskMove, FixedAddress, GuestSetup, Source};
use crate::cards::{cards, rewire};
use crate::machine::Change;

/// The call that makes a clone.
pub(super) fn call(order: &CloneOrder, source: &Source) -> Result<CloneVmTask, ParseError> {
    let grown = grown_disk(order, source);
    let snapshot = linkable(order, source).filter(|_| grown.is_none());
    let disk_move = match (&grown, &snapshot) {
        // Nothing of the source is shared: a copy of its newest layer would still stand on the others.
        (Some(_), _) => "moveAllDiskBackingsAndDisallowSharing",
        (None, Some(_)) => "createNewChildDiskBacking",
        (None, None) => "moveChildMostDiskBacking",
    };
    let location = VirtualMachineRelocateSpec {
        datastore: order.datastore.clone(),
        disk_move_type: Some(disk_move.to_owned()),
        pool: Some(order.pool.clone()),
        host: order.host.clone(),
        device_change: rewire(&source.devices, order.network.as_ref(), order.card_class.as_deref())?,
    };
    let spec = VirtualMachineCloneSpec {
        location,
        template: false,
        config: Some(VirtualMachineConfigSpec {
            device_change: grown.into_iter().collect(),
            ..config(&order.change)
        }),
        customization: customization(&order.guest, source.cards()),
        power_on: order.power_on,
        snapshot,
    };
    Ok(CloneVmTask {
        this: order.source.clone(),
        folder: order.folder.clone(),
        name: escape(&order.name),
        spec,
    })
}

impl Source {
    /// How many network cards it has.
    pub(super) fn cards(&self) -> usize {
        cards(&self.devices).count()
    }
}

/// The datastore that the clone should stay on, so that its disks can be children of the source's.
pub(super) fn stay<'a>(order: &CloneOrder, source: &'a Source) -> Option<&'a MoRef> {
    if grown_disk(order, source).is_some() {
        return None;
    }
    match (order.disks, &source.snapshot, source.datastores.as_slice()) {
        (DiskMove::Auto, Some(_), [only]) => Some(only),
        (DiskMove::Auto | DiskMove::ChildMost, _, _) => None,
    }
}

/// The question where in a datastore cluster it should go.
pub(super) fn placement(pod: &MoRef, clone: CloneVmTask) -> StoragePlacementSpec {
    StoragePlacementSpec {
        kind: "clone".to_owned(),
        vm: Some(clone.this),
        pod_selection_spec: StorageDrsPodSelectionSpec {
            initial_vm_config: Vec::new(),
            storage_pod: Some(pod.clone()),
        },
        clone_name: Some(clone.name),
        config_spec: None,
        resource_pool: clone.spec.location.pool.clone(),
        host: clone.spec.location.host.clone(),
        folder: Some(clone.folder),
        clone_spec: Some(clone.spec),
    }
}

/// The snapshot that the clone's disks may be children of: they must stay on the datastore of their parents.
fn linkable(order: &CloneOrder, source: &Source) -> Option<MoRef> {
    let within_reach = match &order.datastore {
        None => true,
        Some(target) => source.datastores.as_slice() == [target.clone()],
    };
    match order.disks {
        DiskMove::Auto if within_reach => source.snapshot.clone(),
        DiskMove::Auto | DiskMove::ChildMost => None,
    }
}

/// The change that gives the first disk the least size that is wanted, if it is smaller.
fn grown_disk(order: &CloneOrder, source: &Source) -> Option<VirtualDeviceConfigSpec> {
    let wanted = order.first_disk_kb?;
    let number =
        |disk: &Node, name: &str| disk.child_text(name).and_then(|text| text.trim().parse::<i64>().ok());
    let disks = source.devices.iter().filter(|device| device.xsi_type.as_deref() == Some("VirtualDisk"));
    let mut disk = disks.min_by_key(|disk| number(disk, "key"))?.clone();
    if number(&disk, "capacityInKB")? >= wanted {
        return None;
    }
    // The size in bytes would win; members keep their order, which the server insists on.
    disk.children.retain(|member| &*member.name != "capacityInBytes");
    for member in disk.children.iter_mut().filter(|member| &*member.name == "capacityInKB") {
        member.text = wanted.to_string();
    }
    Some(VirtualDeviceConfigSpec { operation: Some("edit".to_owned()), file_operation: None, device: disk })
}

fn config(change: &Change) -> VirtualMachineConfigSpec {
    let spec = Change { name: None, ..change.clone() }.into_spec();
    // Scripts in the guest wait for the tools, which are told to run them.
    VirtualMachineConfigSpec { tools: Some(ToolsConfigInfo { after_power_on: Some(true) }), ..spec }
}

/// How the guest is set up: vCenter insists on one setting for each card.
pub(super) fn customization(guest: &GuestSetup, cards: usize) -> Option<CustomizationSpec> {
    let GuestSetup::Linux { address, dns, domain } = guest else { return None };
    let first = address.as_ref().map_or_else(dhcp, |address| fixed(address, dns));
    let adapters = std::iter::once(first).chain(std::iter::repeat_with(dhcp)).take(cards);
    let identity = CustomizationLinuxPrep {
        host_name: CustomizationName::CustomizationVirtualMachineName(CustomizationVirtualMachineName {}),
        domain: domain.clone(),
    };
    Some(CustomizationSpec {
        options: Some(CustomizationOptions::CustomizationLinuxOptions(CustomizationLinuxOptions {})),
        identity: CustomizationIdentity::CustomizationLinuxPrep(identity),
        global_ip_settings: CustomizationGlobalIPSettings {
            dns_suffixes: Vec::new(),
            dns_servers: dns.clone(),
        },
        nic_setting_map: adapters.map(|adapter| CustomizationAdapterMapping { adapter }).collect(),
    })
}

fn fixed(address: &FixedAddress, dns: &[String]) -> CustomizationIPSettings {
    let ip = CustomizationFixedIp { ip_address: address.ip.clone() };
    CustomizationIPSettings {
        ip: CustomizationIpGenerator::CustomizationFixedIp(ip),
        subnet_mask: Some(address.mask.clone()),
        gateway: address.gateway.iter().cloned().collect(),
        dns_servers: dns.to_vec(),
    }
}

fn dhcp() -> CustomizationIPSettings {
    CustomizationIPSettings {
        ip: CustomizationIpGenerator::CustomizationDhcpIpGenerator(CustomizationDhcpIpGenerator {}),
        subnet_mask: None,
        gateway: Vec::new(),
        dns_servers: Vec::new(),
    }
}
