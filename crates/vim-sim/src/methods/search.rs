//! Finding things.

use rookery_vim::MoRef;
use rookery_vim::methods as vim;

use super::{Methods, existing, existing_if_any};
use crate::id::{Id, Kind};
use crate::privileges;
use crate::refusal::Refusal;
use crate::store::Vm;
use crate::world::{World, parse_uuid};

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, _, m: vim::FindByInventoryPath| {
        Ok(privileges::seen(world, world.at_path(&m.inventory_path)).map(Id::reference).next())
    });
    all.answer(|world, _, m: vim::FindChild| {
        let child = world.store.child(existing(world, &m.entity)?, &m.name);
        Ok(privileges::seen(world, child).map(Id::reference).next())
    });
    all.answer(|world, _, m: vim::FindAllByUuid| {
        by_uuid(world, m.datacenter.as_ref(), &m.uuid, m.vm_search, m.instance_uuid == Some(true))
    });
    all.answer(|world, _, m: vim::FindByUuid| {
        by_uuid(world, m.datacenter.as_ref(), &m.uuid, m.vm_search, m.instance_uuid == Some(true)).map(first)
    });
    all.answer(|world, _, m: vim::FindAllByIp| by_ip(world, m.datacenter.as_ref(), &m.ip));
    all.answer(|world, _, m: vim::FindByIp| by_ip(world, m.datacenter.as_ref(), &m.ip).map(first));
    all.answer(|world, _, m: vim::FindAllByDnsName| by_name(world, m.datacenter.as_ref(), &m.dns_name));
    all.answer(|world, _, m: vim::FindByDnsName| {
        by_name(world, m.datacenter.as_ref(), &m.dns_name).map(first)
    });
    all.answer(|world, _, m: vim::FindByDatastorePath| {
        let is = |vm: &Vm| m.path == format!("[{}] {}", world.store.name(vm.datastore), vm.path);
        vms(world, Some(&m.datacenter), is).map(first)
    });
}

fn first(found: Vec<MoRef>) -> Option<MoRef> {
    found.into_iter().next()
}

fn vms(world: &World, datacenter: Option<&MoRef>, is: impl Fn(&Vm) -> bool) -> Result<Vec<MoRef>, Refusal> {
    let datacenter = existing_if_any(world, datacenter)?;
    let found =
        world.store.vms.iter().filter(|(id, vm)| {
            is(vm) && datacenter.is_none_or(|dc| world.store.datacenter_of(**id) == Some(dc))
        });
    Ok(privileges::seen(world, found.map(|(id, _)| *id)).map(Id::reference).collect())
}

fn by_uuid(
    world: &World,
    datacenter: Option<&MoRef>,
    uuid: &str,
    is_vm: bool,
    instance: bool,
) -> Result<Vec<MoRef>, Refusal> {
    let Some(uuid) = parse_uuid(uuid) else { return Ok(Vec::new()) };
    if !is_vm {
        let hosts = world.store.hosts.iter().filter(|(_, host)| host.uuid == uuid).map(|(id, _)| *id);
        return Ok(privileges::seen(world, hosts).map(Id::reference).collect());
    }
    let datacenter = existing_if_any(world, datacenter)?;
    let lowest = Id { kind: Kind::Folder, number: 0 };
    let candidates = world.store.uuids.range((uuid, lowest)..).take_while(|(of, _)| *of == uuid);
    let found = candidates.map(|(_, id)| *id).filter(|id| {
        let vm = world.store.vms.get(id);
        vm.is_some_and(|vm| if instance { vm.instance_uuid == uuid } else { vm.uuid == uuid })
            && datacenter.is_none_or(|dc| world.store.datacenter_of(*id) == Some(dc))
    });
    Ok(privileges::seen(world, found).map(Id::reference).collect())
}

fn by_ip(world: &World, datacenter: Option<&MoRef>, ip: &str) -> Result<Vec<MoRef>, Refusal> {
    let Ok(ip) = ip.trim().parse() else { return Ok(Vec::new()) };
    vms(world, datacenter, |vm| vm.guest.addresses.iter().any(|(_, ips)| ips.contains(&ip)))
}

fn by_name(world: &World, datacenter: Option<&MoRef>, name: &str) -> Result<Vec<MoRef>, Refusal> {
    vms(world, datacenter, |vm| vm.guest.host_name.as_deref() == Some(name))
}
