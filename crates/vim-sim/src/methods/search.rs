//! Finding things.

use rookery_vim::methods::{
    FindAllByDnsName, FindAllByIp, FindAllByUuid, FindByDatastorePath, FindByDnsName, FindByInventoryPath,
    FindByIp, FindByUuid, FindChild, Method as _,
};
use rookery_vim::{MoRef, Node};

use super::{Dispatch, existing};
use crate::id::{Id, Kind};
use crate::privileges;
use crate::refusal::Refusal;
use crate::soap::{Call, answer};
use crate::store::Vm;
use crate::world::{World, parse_uuid};

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    Dispatch::Handled(match call.method.as_str() {
        FindByInventoryPath::NAME => {
            answer::<FindByInventoryPath>(node, |m| Ok(by_path(world, &m.inventory_path)))
        }
        FindChild::NAME => answer::<FindChild>(node, |m| {
            let entity = existing(world, &m.entity)?;
            let found = child(world, entity, &m.name).filter(|id| privileges::sees(world, *id));
            Ok(found.map(Id::reference))
        }),
        FindAllByUuid::NAME => answer::<FindAllByUuid>(node, |m| {
            by_uuid(world, m.datacenter.as_ref(), &m.uuid, m.vm_search, m.instance_uuid == Some(true))
        }),
        FindByUuid::NAME => answer::<FindByUuid>(node, |m| {
            by_uuid(world, m.datacenter.as_ref(), &m.uuid, m.vm_search, m.instance_uuid == Some(true))
                .map(first)
        }),
        FindAllByIp::NAME => answer::<FindAllByIp>(node, |m| by_ip(world, m.datacenter.as_ref(), &m.ip)),
        FindByIp::NAME => answer::<FindByIp>(node, |m| by_ip(world, m.datacenter.as_ref(), &m.ip).map(first)),
        FindAllByDnsName::NAME => {
            answer::<FindAllByDnsName>(node, |m| by_name(world, m.datacenter.as_ref(), &m.dns_name))
        }
        FindByDnsName::NAME => {
            answer::<FindByDnsName>(node, |m| by_name(world, m.datacenter.as_ref(), &m.dns_name).map(first))
        }
        FindByDatastorePath::NAME => answer::<FindByDatastorePath>(node, |m| {
            let found = vms(world, Some(&m.datacenter), |_, vm| {
                m.path == format!("[{}] {}", world.store.name(vm.datastore), vm.path)
            });
            found.map(first)
        }),
        _ => return Dispatch::Unknown(node),
    })
}

fn first(found: Vec<MoRef>) -> Option<MoRef> {
    found.into_iter().next()
}

fn child(world: &World, parent: Id, name: &str) -> Option<Id> {
    // The folders of a datacenter are filed under it by their names.
    world.store.child(parent, name)
}

fn by_path(world: &World, path: &str) -> Option<MoRef> {
    let at = world.at_path(path)?;
    privileges::sees(world, at).then(|| at.reference())
}

fn vms(
    world: &World,
    datacenter: Option<&MoRef>,
    is: impl Fn(Id, &Vm) -> bool,
) -> Result<Vec<MoRef>, Refusal> {
    let datacenter = datacenter.map(|reference| existing(world, reference)).transpose()?;
    let found = world.store.vms.iter().filter(|(id, vm)| {
        is(**id, vm)
            && privileges::sees(world, **id)
            && datacenter.is_none_or(|dc| world.store.datacenter_of(**id) == Some(dc))
    });
    Ok(found.map(|(id, _)| id.reference()).collect())
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
    let datacenter = datacenter.map(|reference| existing(world, reference)).transpose()?;
    let lowest = Id { kind: Kind::Folder, number: 0 };
    let candidates = world.store.uuids.range((uuid, lowest)..).take_while(|(of, _)| *of == uuid);
    let found = candidates.map(|(_, id)| *id).filter(|id| {
        world
            .store
            .vms
            .get(id)
            .is_some_and(|vm| if instance { vm.instance_uuid == uuid } else { vm.uuid == uuid })
            && datacenter.is_none_or(|dc| world.store.datacenter_of(*id) == Some(dc))
    });
    Ok(privileges::seen(world, found).map(Id::reference).collect())
}

fn by_ip(world: &World, datacenter: Option<&MoRef>, ip: &str) -> Result<Vec<MoRef>, Refusal> {
    let Ok(ip) = ip.trim().parse() else { return Ok(Vec::new()) };
    vms(world, datacenter, |_, vm| vm.guest.addresses.iter().any(|(_, ips)| ips.contains(&ip)))
}

fn by_name(world: &World, datacenter: Option<&MoRef>, name: &str) -> Result<Vec<MoRef>, Refusal> {
    vms(world, datacenter, |_, vm| vm.guest.host_name.as_deref() == Some(name))
}
