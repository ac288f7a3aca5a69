//! What a guest is told at its first start.

use std::net::{IpAddr, Ipv4Addr};

use rookery_vim::specs::{
    CustomizationIdentity, CustomizationIpGenerator, CustomizationName, CustomizationSpec,
};

use super::{vm_mut, vm_of};
use crate::event;
use crate::id::Id;
use crate::refusal::Refusal;
use crate::store::{Customization, Fixed};
use crate::world::World;

pub(super) fn check(world: &World, id: Id, spec: &CustomizationSpec) -> Result<(), Refusal> {
    let vm = vm_of(world, id)?;
    super::expect_off(vm)?;
    if vm.customization.is_some() {
        return Err(Refusal::new(
            "CustomizationPending",
            "Customization is already pending for this virtual machine.",
        ));
    }
    check_cards(spec, vm.cards().count())
}

/// There must be settings for each card, and addresses must be addresses.
pub(super) fn check_cards(spec: &CustomizationSpec, cards: usize) -> Result<(), Refusal> {
    let given = spec.nic_setting_map.len();
    if given != cards {
        return Err(Refusal::new(
            "NicSettingMismatch",
            "The number of network adapters in the specification does not match that of the virtual machine.",
        )
        .with("numberOfNicsInSpec", given.to_string())
        .with("numberOfNicsInVM", cards.to_string()));
    }
    settings(spec).map(drop)
}

fn settings(spec: &CustomizationSpec) -> Result<Vec<Option<Fixed>>, Refusal> {
    let wrong = |what: &str| Refusal::invalid_argument(&format!("spec.nicSettingMap.adapter.{what}"));
    let cards = spec.nic_setting_map.iter().map(|map| match &map.adapter.ip {
        CustomizationIpGenerator::CustomizationFixedIp(fixed) => {
            let ip: IpAddr = fixed.ip_address.trim().parse().map_err(|_| wrong("ip"))?;
            let mask = map.adapter.subnet_mask.as_deref().unwrap_or_default();
            let mask: Ipv4Addr = mask.trim().parse().map_err(|_| wrong("subnetMask"))?;
            Ok(Some(Fixed { ip, prefix: u8::try_from(mask.to_bits().leading_ones()).unwrap_or(32) }))
        }
        CustomizationIpGenerator::CustomizationDhcpIpGenerator(_) | CustomizationIpGenerator::Other(_) => {
            Ok(None)
        }
    });
    cards.collect()
}

pub(super) fn apply(world: &mut World, id: Id, spec: &CustomizationSpec) -> Result<(), Refusal> {
    let cards = settings(spec)?;
    let host_name = if let CustomizationIdentity::CustomizationLinuxPrep(linux) = &spec.identity
        && let CustomizationName::CustomizationFixedName(fixed) = &linux.host_name
    {
        fixed.name.clone()
    } else {
        world.store.name(id).to_owned()
    };
    vm_mut(world, id)?.customization = Some(Box::new(Customization { host_name, cards }));
    world.store.touch(id, &["config.tools"]);
    Ok(())
}

/// The guest is told when it starts.
pub(super) fn at_power_on(world: &mut World, id: Id, user: &str) {
    let Some(vm) = world.store.vms.get_mut(&id) else { return };
    let Some(customization) = vm.customization.take() else { return };
    vm.guest.fixed = Some(customization);
    world.store.touch(id, &["config.tools"]);
    let name = world.store.name(id).to_owned();
    let message =
        format!("Started customization of VM {name}. Customization log located at /var/log in the guest OS.");
    event::record(world, "CustomizationStartedEvent", id, user, message);
    world.guests.customizing.insert(id);
}
