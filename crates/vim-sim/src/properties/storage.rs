//! Datastores, their clusters, and what is found on them.

use std::collections::BTreeMap;

use rookery_sim::glob;
use rookery_vim::Writer;

use super::{Members, item};
use crate::files::{Place, StoredFile, left_behind};
use crate::id::Id;
use crate::io::BlobRef;
use crate::privileges::seen;
use crate::world::World;

pub(super) fn datastore(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(datastore) = world.store.datastores.get(&id) else { return };
    let name = world.store.name(id);
    m.variant("info", "VmfsDatastoreInfo", |m| {
        m.text("name", name);
        m.text("url", &datastore.url);
        m.long("freeSpace", datastore.free());
        m.long("maxFileSize", 64 << 40);
    });
    m.object("summary", "DatastoreSummary", |m| {
        m.reference("datastore", id);
        m.text("name", name);
        m.text("url", &datastore.url);
        m.long("capacity", datastore.capacity);
        m.long("freeSpace", datastore.free());
        m.long("uncommitted", 0);
        m.flag("accessible", datastore.accessible);
        m.flag("multipleHostAccess", datastore.hosts.len() > 1);
        m.text("type", "VMFS");
        m.text("maintenanceMode", if datastore.in_maintenance { "inMaintenance" } else { "normal" });
    });
    m.items("host", "DatastoreHostMount", &datastore.hosts, |m, host| {
        m.reference("key", *host);
        m.object("mountInfo", "HostMountInfo", |m| {
            m.text("accessMode", "readWrite");
            m.flag("mounted", true);
            m.flag("accessible", datastore.accessible);
        });
    });
    m.references("vm", seen(world, datastore.vms.iter().copied()));
    m.reference("browser", datastore.browser);
    m.object("capability", "DatastoreCapability", |m| {
        m.flag("directoryHierarchySupported", true);
        m.flag("rawDiskMappingsSupported", true);
        m.flag("perFileThinProvisioningSupported", true);
        m.flag("storageIORMSupported", true);
    });
    m.unset("iormConfiguration");
}

pub(super) fn pod(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let Some(pod) = world.store.pods.get(&id) else { return };
    let members = || pod.children.iter().filter_map(|id| world.store.datastores.get(id));
    m.texts("childType", ["Datastore"]);
    m.references("childEntity", seen(world, pod.children.iter().copied()));
    m.unset("namespace");
    m.object("summary", "StoragePodSummary", |m| {
        m.text("name", world.store.name(id));
        m.long("capacity", members().map(|d| d.capacity).sum());
        m.long("freeSpace", members().map(crate::store::Datastore::free).sum());
    });
    m.object("podStorageDrsEntry", "PodStorageDrsEntry", |m| {
        m.object("storageDrsConfig", "StorageDrsConfigInfo", |m| {
            m.object("podConfig", "StorageDrsPodConfigInfo", |m| {
                m.flag("enabled", pod.automated);
                m.flag("ioLoadBalanceEnabled", false);
                m.text("defaultVmBehavior", "manual");
            });
        });
    });
}

pub(super) fn browser(world: &World, id: Id, m: &mut Members<'_, '_>) {
    let of = world.store.datastores.iter().find(|(_, datastore)| datastore.browser == id);
    m.references("datastore", of.map(|(id, _)| *id));
    m.objects("supportedType", "FileQuery", std::iter::empty::<()>(), |_, _, ()| {});
}

/// What a search found, as the result of its task.
pub(crate) fn search_results(
    world: &World,
    browser: Id,
    place: &Place,
    patterns: &[String],
    recursive: bool,
) -> String {
    let mut out = Writer::new();
    let folders = if recursive { folders_below(world, place) } else { vec![place.clone()] };
    let datastore = world.store.datastores.iter().find(|(_, d)| d.browser == browser).map(|(id, _)| *id);
    let write = |out: &mut Writer, element: &str, class: Option<&str>, folder: &Place| {
        item(out, element, class, |m| {
            m.maybe_reference("datastore", datastore);
            let path = folder.text(world);
            m.text("folderPath", if folder.path.is_empty() { path.trim_end() } else { &path });
            m.objects("file", "FileInfo", entries(world, folder, patterns), |out, element, (name, file)| {
                item(out, element, Some(class_of(&name, file.as_ref())), |m| {
                    m.text("path", &name);
                    if let Some(file) = &file {
                        m.long("fileSize", file.bytes());
                        m.time("modification", file.modified);
                    }
                });
            });
        });
    };
    if recursive {
        out.open("result", Some("ArrayOfHostDatastoreBrowserSearchResults"));
        for folder in &folders {
            write(&mut out, "HostDatastoreBrowserSearchResults", None, folder);
        }
        out.close("result");
    } else {
        write(&mut out, "result", Some("HostDatastoreBrowserSearchResults"), place);
    }
    out.into_string()
}

fn class_of(name: &str, file: Option<&StoredFile>) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        _ if file.is_none() => "FolderFileInfo",
        Some("iso") => "IsoImageFileInfo",
        Some("vmdk") => "VmDiskFileInfo",
        Some("vmx") => "VmConfigFileInfo",
        Some("log") => "VmLogFileInfo",
        _ => "FileInfo",
    }
}

/// Everything on a datastore by path: files, folders, and what VMs have there.
fn paths(world: &World, datastore: Id) -> BTreeMap<String, Option<StoredFile>> {
    let Some(found) = world.store.datastores.get(&datastore) else { return BTreeMap::new() };
    let mut all = found.files.clone();
    let none = |size: i64| {
        let content = BlobRef { blob: 0, size: u64::try_from(size).unwrap_or(0) };
        Some(StoredFile { content, modified: world.now })
    };
    let prefix = format!("[{}] ", world.store.name(datastore));
    for vm in found.vms.iter().filter_map(|id| world.store.vms.get(id)) {
        if vm.datastore == datastore {
            all.insert(vm.path.clone(), none(4096));
        }
        for layer in vm.disks().flat_map(|disk| &disk.layers) {
            if let Some(path) = layer.file.strip_prefix(&prefix) {
                all.insert(path.to_owned(), none(layer.bytes));
            }
        }
    }
    all.extend(left_behind(world, datastore).map(|(path, bytes)| (path.to_owned(), none(bytes))));
    let folders = all.keys().flat_map(|path| path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
    let folders: Vec<String> = folders.collect();
    for folder in folders {
        all.entry(folder).or_insert(None);
    }
    all
}

fn entries(world: &World, folder: &Place, patterns: &[String]) -> Vec<(String, Option<StoredFile>)> {
    let prefix = if folder.path.is_empty() { String::new() } else { format!("{}/", folder.path) };
    let inside = paths(world, folder.datastore).into_iter().filter_map(|(path, file)| {
        let name = path.strip_prefix(&prefix)?;
        (!name.is_empty() && !name.contains('/')).then(|| (name.to_owned(), file))
    });
    inside
        .filter(|(name, _)| patterns.is_empty() || patterns.iter().any(|p| glob::matches(p, name)))
        .collect()
}

fn folders_below(world: &World, place: &Place) -> Vec<Place> {
    let prefix = if place.path.is_empty() { String::new() } else { format!("{}/", place.path) };
    let paths = paths(world, place.datastore).into_iter();
    let folders = paths.filter(|(path, file)| file.is_none() && path.starts_with(&prefix));
    let folders = folders.map(|(path, _)| Place { datastore: place.datastore, path });
    std::iter::once(place.clone()).chain(folders).collect()
}
