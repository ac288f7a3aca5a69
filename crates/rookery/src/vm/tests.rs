//! VMs for tests: a test states only what matters to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rookery_vim::MoRef;
use rookery_vim::objects::PowerState;
use rookery_vim_client::{Config, Guest, Vm};

pub(crate) fn vm(id: &str, name: &str) -> Vm {
    Vm {
        id: MoRef::new("VirtualMachine", id),
        name: name.to_owned(),
        parent: Some(MoRef::new("Folder", "group-v3")),
        resource_pool: None,
        power: Some(PowerState::Off),
        host: None,
        connection: None,
        boot_time: None,
        question: None,
        config: Config { template: Some(false), ..Config::default() },
        guest: Guest::default(),
        unreadable: BTreeSet::new(),
    }
}

pub(crate) fn running(id: &str, name: &str, ip: &str) -> Vm {
    let guest = Guest { ip: Some(ip.to_owned()), ..Guest::default() };
    let config = Config { cpus: Some(2), memory_mb: Some(4096), ..vm(id, name).config };
    Vm { power: Some(PowerState::On), config, guest, ..vm(id, name) }
}

pub(crate) fn shared(vms: impl IntoIterator<Item = Vm>) -> Vec<Arc<Vm>> {
    vms.into_iter().map(Arc::new).collect()
}
