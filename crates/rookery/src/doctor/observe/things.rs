//! One read for each thing that was found by its name.

use rookery_vim::inventory_name::{escape, unescape};
use rookery_vim::{MoRef, Node, Wire as _};
use rookery_vim_client::{CallError, Client, Places};

use crate::doctor::observed::{Datastore, Folder, Network, Pool, PoolUsage, Reach, Template, Tools};
use crate::doctor::properties::Properties;

pub(super) async fn datastore(client: &Client, id: &MoRef, path: String) -> Result<Datastore, CallError> {
    let is_cluster = id.kind() == "StoragePod";
    let own =
        if is_cluster { &["childEntity"][..] } else { &["summary.accessible", "summary.maintenanceMode"] };
    let paths = [&["summary.capacity", "summary.freeSpace"], own].concat();
    let read = Properties::read(client, id, &paths).await?;
    let members = if is_cluster { read.items("childEntity") } else { Some(vec![id.clone()]) };
    Ok(Datastore {
        id: id.clone(),
        path,
        accessible: read.value("summary.accessible"),
        maintenance: read.text("summary.maintenanceMode"),
        capacity: read.value("summary.capacity"),
        free: read.value("summary.freeSpace"),
        members,
    })
}

pub(super) async fn network(client: &Client, id: &MoRef, path: String) -> Result<Network, CallError> {
    let read = Properties::read(client, id, &["host"]).await?;
    Ok(Network { id: id.clone(), path, hosts: read.items("host").unwrap_or_default() })
}

pub(super) async fn pool(client: &Client, id: &MoRef, path: String) -> Result<Pool, CallError> {
    let paths = ["overallStatus", "owner", "runtime.cpu", "runtime.memory"];
    let read = Properties::read(client, id, &paths).await?;
    let reach = match read.value::<MoRef>("owner") {
        Some(owner) => reach(client, &owner).await,
        // Nothing is known then, which is not the same as nothing being reached.
        None => Ok(Reach::default()),
    };
    let usage = |path: &str| {
        let number = |name| read.node(path).and_then(|node| node.child_text(name)?.trim().parse().ok());
        PoolUsage { used: number("overallUsage"), most: number("maxUsage") }
    };
    Ok(Pool {
        id: id.clone(),
        path,
        status: read.text("overallStatus"),
        cpu: usage("runtime.cpu"),
        memory: usage("runtime.memory"),
        reach,
    })
}

async fn reach(client: &Client, owner: &MoRef) -> Result<Reach, CallError> {
    let paths = ["host", "network", "datastore", "summary.numEffectiveHosts"];
    let read = Properties::read(client, owner, &paths).await?;
    Ok(Reach {
        hosts: read.items("host"),
        usable_hosts: read.value::<i32>("summary.numEffectiveHosts").map(i64::from),
        networks: read.items("network"),
        datastores: read.items("datastore"),
    })
}

pub(super) async fn folder(client: &Client, id: &MoRef, path: String) -> Result<Folder, CallError> {
    let read = Properties::read(client, id, &["childType"]).await?;
    let holds = read.is_set("childType").filter(|set| *set).and_then(|_| read.items("childType"));
    Ok(Folder { id: id.clone(), path, holds })
}

pub(super) async fn template(client: &Client, places: &Places, id: &MoRef) -> Result<Template, CallError> {
    let paths = [
        "name",
        "parent",
        "config.template",
        "config.tools.toolsVersion",
        "config.hardware.device",
        "runtime.powerState",
        "guest.toolsStatus",
        "guest.toolsVersionStatus2",
        "snapshot",
    ];
    let read = Properties::read(client, id, &paths).await?;
    let parent = read.value::<MoRef>("parent").map(|parent| places.path(&parent)).unwrap_or_default();
    let name = read.text("name").unwrap_or_else(|| id.id().to_owned());
    let devices = read.is_set("config.hardware.device").filter(|set| *set);
    let devices =
        devices.and_then(|_| read.node("config.hardware.device")).map(|node| node.children.as_slice());
    Ok(Template {
        id: id.clone(),
        path: format!("{parent}/{}", escape(&unescape(&name))),
        marked: read.value("config.template"),
        power: read.text("runtime.powerState"),
        tools: Tools {
            version: read.value::<i32>("config.tools.toolsVersion").map(i64::from),
            version_status: read.text("guest.toolsVersionStatus2"),
            status: read.text("guest.toolsStatus"),
        },
        snapshot: read.is_set("snapshot"),
        datastores: devices.map(|devices| datastores(devices, places)),
        cards: devices.map(|devices| devices.iter().filter(|device| is_card(device)).map(class).collect()),
        disks: devices.map(|devices| disks(devices).count()),
    })
}

fn class(device: &Node) -> String {
    device.xsi_type.as_deref().unwrap_or("a card").to_owned()
}

/// All network cards, and nothing else, have a MAC address or say how they get one.
fn is_card(device: &Node) -> bool {
    device.child("macAddress").or(device.child("addressType")).is_some()
}

fn disks(devices: &[Node]) -> impl Iterator<Item = &Node> {
    devices.iter().filter(|device| device.xsi_type.as_deref() == Some("VirtualDisk"))
}

/// Where the disks are; a CD in the drive does not count.
fn datastores(devices: &[Node], places: &Places) -> Vec<(MoRef, String)> {
    let mut found: Vec<(MoRef, String)> = Vec::new();
    for disk in disks(devices) {
        let datastore = disk.child("backing").and_then(|backing| backing.child("datastore")).cloned();
        let Some(id) = datastore.and_then(|node| MoRef::from_node(node).ok()) else { continue };
        if found.iter().all(|(known, _)| *known != id) {
            let name = places.get(&id).map_or_else(|| id.id().to_owned(), |place| place.name.clone());
            found.push((id, name));
        }
    }
    found
}
