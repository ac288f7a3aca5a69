//! Every class, and who describes it.

use rookery_vim::{MoRef, Writer};

use super::keyed::Keyed;
use super::{Found, Frame, Members, hosts, managers, places, pools, storage, tasks, vm};
use crate::id::{Id, Kind};
use crate::world::World;

/// Whether there is such an object now.
pub(crate) fn exists(world: &World, id: Id) -> bool {
    let store = &world.store;
    id.number == 0
        || store.exists(id)
        || world.tasks.get(id).is_some()
        || world.views.contains_key(&id)
        || world.snapshots.contains_key(&id)
        || world.collectors.knows(id)
        || world.events.collectors.contains_key(&id)
        || world.tasks.collectors.contains_key(&id)
        || id.kind == Kind::HostDatastoreBrowser && store.datastores.values().any(|d| d.browser == id)
}

/// The object of a reference, if there is one now.
pub(crate) fn find(world: &World, reference: &MoRef) -> Option<Id> {
    Id::of(reference).filter(|id| exists(world, *id))
}

/// Writes what a path leads to.
pub(crate) fn property(world: &World, id: Id, path: &str, out: &mut Writer, element: &str) -> Found {
    if let Some(keyed) = Keyed::parse(path) {
        let mut list = Writer::new();
        return match property(world, id, keyed.list, &mut list, element) {
            Found::Written => keyed.pick(&list.into_string(), out, element),
            other @ (Found::Invalid | Found::Unset) => other,
        };
    }
    let steps: Vec<&str> = path.split('.').collect();
    let mut members = Members::one(out, element, &steps);
    describe(world, id, &mut members);
    members.found()
}

/// Writes all properties that are set and shown.
pub(crate) fn all(world: &World, id: Id, out: &mut Writer, frame: Frame, shown: &dyn Fn(&str) -> bool) {
    describe(world, id, &mut Members::all(out, frame, shown));
}

fn describe(world: &World, id: Id, m: &mut Members<'_, '_>) {
    if id.is_entity() {
        places::entity(world, id, m);
    }
    match id.kind {
        Kind::Folder => places::folder(world, id, m),
        Kind::Datacenter => places::datacenter(world, id, m),
        Kind::ComputeResource | Kind::ClusterComputeResource => hosts::compute(world, id, m),
        Kind::HostSystem => hosts::host(world, id, m),
        Kind::ResourcePool => pools::pool(world, id, m),
        Kind::Datastore => storage::datastore(world, id, m),
        Kind::StoragePod => storage::pod(world, id, m),
        Kind::Network | Kind::DistributedVirtualPortgroup => places::network(world, id, m),
        Kind::VmwareDistributedVirtualSwitch => places::switch(world, id, m),
        Kind::VirtualMachine => vm::vm(world, id, m),
        Kind::VirtualMachineSnapshot => vm::snapshot(world, id, m),
        Kind::HostDatastoreBrowser => storage::browser(world, id, m),
        Kind::Task => tasks::task(world, id, m),
        Kind::ContainerView | Kind::ListView => managers::view(world, id, m),
        Kind::EventHistoryCollector => managers::history(world, id, m),
        Kind::TaskHistoryCollector => tasks::history(world, id, m),
        Kind::ServiceInstance => managers::service(world, m),
        Kind::SessionManager => managers::sessions(world, m),
        Kind::TaskManager => managers::tasks(world, m),
        Kind::EventManager => managers::events(world, m),
        Kind::AuthorizationManager => managers::authorization(world, m),
        Kind::GuestOperationsManager => managers::guest_operations(m),
        Kind::ViewManager => m.references("viewList", []),
        Kind::CustomizationSpecManager => managers::customizations(m),
        Kind::PropertyCollector
        | Kind::PropertyFilter
        | Kind::SearchIndex
        | Kind::FileManager
        | Kind::StorageResourceManager
        | Kind::VirtualDiskManager
        | Kind::GuestAuthManager
        | Kind::GuestFileManager
        | Kind::GuestProcessManager
        | Kind::OptionManager
        | Kind::PerformanceManager
        | Kind::LicenseManager
        | Kind::ExtensionManager => {}
    }
}

/// The networks of a VM, each once.
pub(crate) fn networks_of(vm: &crate::store::Vm) -> Vec<Id> {
    let mut networks: Vec<Id> = vm.networks().collect();
    networks.sort_unstable();
    networks.dedup();
    networks
}
