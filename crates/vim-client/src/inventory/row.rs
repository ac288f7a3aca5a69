//! One VM as the inventory knows it: parsed once, when an update arrives.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rookery_vim::inventory_name::unescape;
use rookery_vim::objects::{
    ConnectionState, GuestNicInfo, ObjectUpdate, PowerState, PropertyChange, PropertyChangeOp, ToolsRunning,
};
use rookery_vim::{DecodeError, MoRef, Node, Wire};

use crate::extra_config::{ExtraConfig, ExtraConfigKey, ExtraValue};

/// The properties that are watched: few, and none that changes by itself every few seconds.
pub const PATHS: [&str; 22] = [
    "name",
    "parent",
    "resourcePool",
    "runtime.powerState",
    "runtime.host",
    "runtime.connectionState",
    "runtime.bootTime",
    "runtime.question",
    "config.template",
    "config.annotation",
    "config.uuid",
    "config.instanceUuid",
    "config.hardware.numCPU",
    "config.hardware.memoryMB",
    "config.createDate",
    "config.tools.pendingCustomization",
    "guest.toolsRunningStatus",
    "guest.guestOperationsReady",
    "guest.ipAddress",
    "guest.net",
    "guest.hostName",
    "guest.guestState",
];

/// What is asked of each VM: the same for everybody, and these entries of its extra configuration.
pub(super) fn watched_paths(extra: &BTreeSet<ExtraConfigKey>) -> Vec<String> {
    PATHS.map(str::to_owned).into_iter().chain(extra.iter().map(ExtraConfigKey::path)).collect()
}

/// A VM. What the server has not told is `None`: unknown, which is not the same as absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Vm {
    /// Its reference; survives rename, move and migration.
    pub id: MoRef,
    /// Its name as people write it.
    pub name: String,
    /// The folder that it is in.
    pub parent: Option<MoRef>,
    /// The resource pool that it is in; templates have none.
    pub resource_pool: Option<MoRef>,
    pub power: Option<PowerState>,
    /// The host that it is on.
    pub host: Option<MoRef>,
    /// Whether vCenter reaches it.
    pub connection: Option<ConnectionState>,
    /// When it was last started.
    pub boot_time: Option<Timestamp>,
    /// A question that it waits for a person to answer; until then it hangs.
    pub question: Option<String>,
    pub config: Config,
    /// What its guest reports.
    pub guest: Guest,
    /// Watched properties that the server would not show or that could not be read.
    pub unreadable: BTreeSet<String>,
}

/// The configuration of a VM. While a VM is being created the server shows none of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// Whether it is a template. Always told with a configuration: `None` means that there is none yet.
    pub template: Option<bool>,
    /// Its notes; this is where ownership marks live.
    pub annotation: Option<String>,
    /// BIOS UUID; copies may share it.
    pub uuid: Option<String>,
    /// UUID that is unique in this vCenter.
    pub instance_uuid: Option<String>,
    pub cpus: Option<i32>,
    pub memory_mb: Option<i32>,
    /// When it was made (vSphere 6.7 and later).
    pub created: Option<Timestamp>,
    /// A customization that will run at the next start.
    pub pending_customization: Option<String>,
    /// Those entries of its extra configuration that were asked for; see [`Self::extra`].
    pub extra_config: ExtraConfig,
}

impl Config {
    /// What is known of an entry of its extra configuration. The inventory shows those that it was asked for.
    pub fn extra(&self, key: &ExtraConfigKey) -> ExtraValue<'_> {
        if self.template.is_some() { self.extra_config.get(key) } else { ExtraValue::Unknown }
    }
}

/// What the guest reports through VMware Tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Guest {
    /// Whether the tools run.
    pub tools: Option<ToolsRunning>,
    /// Whether guest operations can be used.
    pub operations_ready: Option<bool>,
    /// Its primary address.
    pub ip: Option<String>,
    pub nics: Vec<Nic>,
    pub host_name: Option<String>,
    /// `running`, `shuttingDown`, …
    pub state: Option<String>,
}

/// A network card as the guest reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// The network that it is connected to.
    pub network: Option<String>,
    pub mac: Option<String>,
    pub ips: Vec<String>,
    /// The virtual device behind it; -1 for what only the guest has, such as the bridge of its containers.
    pub device: Option<i32>,
}

impl Vm {
    pub(crate) fn new(id: MoRef) -> Self {
        Self {
            id,
            name: String::new(),
            parent: None,
            resource_pool: None,
            power: None,
            host: None,
            connection: None,
            boot_time: None,
            question: None,
            config: Config::default(),
            guest: Guest::default(),
            unreadable: BTreeSet::new(),
        }
    }

    /// A VM of which these entries of its extra configuration are asked for: those that are not told are unset.
    pub(super) fn asked_for(id: MoRef, extra: ExtraConfig) -> Self {
        let mut vm = Self::new(id);
        vm.config.extra_config = extra;
        vm
    }

    /// Whether it is known to be a template.
    pub fn is_template(&self) -> bool {
        self.config.template == Some(true)
    }

    /// Applies what an update says. A property that cannot be read becomes unknown; the others still count.
    pub(crate) fn apply(&mut self, update: ObjectUpdate) {
        for missing in update.missing_set {
            self.forget(&missing.path);
            self.unreadable.insert(missing.path);
        }
        for change in update.change_set {
            let path = change.name.clone();
            self.unreadable.remove(&path);
            if self.assign(change).is_err() {
                self.forget(&path);
                self.unreadable.insert(path);
            }
        }
    }

    fn assign(&mut self, change: PropertyChange) -> Result<(), DecodeError> {
        let PropertyChange { name, op, val } = change;
        // Only whole values are asked for; a change of a part cannot be applied to a row. A new element of a list is a
        // whole value where the element itself was asked for.
        let val = match op {
            PropertyChangeOp::Assign => val,
            PropertyChangeOp::Add if name.ends_with(']') => val,
            PropertyChangeOp::Remove | PropertyChangeOp::IndirectRemove => None,
            PropertyChangeOp::Add | PropertyChangeOp::Other(_) => {
                return Err(DecodeError::invalid(&Node::leaf("op", "string", op.as_str()), "assign"));
            }
        };
        self.set(&name, val)
    }

    fn forget(&mut self, path: &str) {
        // Setting a property to "unset" cannot fail.
        self.set(path, None).ok();
        self.config.extra_config.forget(path);
    }

    fn set(&mut self, path: &str, val: Option<Node>) -> Result<(), DecodeError> {
        match path {
            "name" => self.name = unescape(&read::<String>(val)?.unwrap_or_default()),
            "parent" => self.parent = read(val)?,
            "resourcePool" => self.resource_pool = read(val)?,
            "runtime.powerState" => self.power = read(val)?,
            "runtime.host" => self.host = read(val)?,
            "runtime.connectionState" => self.connection = read(val)?,
            "runtime.bootTime" => self.boot_time = read(val)?,
            "runtime.question" => {
                self.question = val.map(|q| q.child_text("text").unwrap_or("a question").to_owned());
            }
            "config.template" => self.config.template = read(val)?,
            "config.annotation" => self.config.annotation = read(val)?,
            "config.uuid" => self.config.uuid = read(val)?,
            "config.instanceUuid" => self.config.instance_uuid = read(val)?,
            "config.hardware.numCPU" => self.config.cpus = read(val)?,
            "config.hardware.memoryMB" => self.config.memory_mb = read(val)?,
            "config.createDate" => self.config.created = read(val)?,
            "config.tools.pendingCustomization" => self.config.pending_customization = text(val)?,
            "guest.toolsRunningStatus" => self.guest.tools = text(val)?.map(ToolsRunning::from),
            "guest.guestOperationsReady" => self.guest.operations_ready = read(val)?,
            "guest.ipAddress" => self.guest.ip = text(val)?,
            "guest.net" => self.guest.nics = nics(val)?,
            "guest.hostName" => self.guest.host_name = text(val)?,
            "guest.guestState" => self.guest.state = text(val)?,
            // A server may send the parent of a watched path; it says nothing that the path itself does not.
            _ => self.config.extra_config.set(path, val)?,
        }
        Ok(())
    }
}

fn read<T: Wire>(val: Option<Node>) -> Result<Option<T>, DecodeError> {
    val.map_or(Ok(None), |node| T::read_unless_unset(&mut node.into()))
}

/// Text whose empty form means "not told".
fn text(val: Option<Node>) -> Result<Option<String>, DecodeError> {
    Ok(read::<String>(val)?.filter(|text| !text.is_empty()))
}

fn nics(val: Option<Node>) -> Result<Vec<Nic>, DecodeError> {
    let reported: Vec<GuestNicInfo> = val.map_or(Ok(Vec::new()), Node::items)?;
    let nic = |n: GuestNicInfo| Nic {
        network: n.network,
        mac: n.mac_address,
        ips: n.ip_address,
        device: n.device_config_id,
    };
    Ok(reported.into_iter().map(nic).collect())
}
