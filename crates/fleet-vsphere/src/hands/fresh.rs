//! A VM as vCenter shows it at this moment, and what may be done to it. The inventory may lag behind, and people change
//! VMs by hand: nothing is changed on the word of a plan alone.

use std::time::Duration;

use jiff::Timestamp;
use rookery_fleet::overlay::{Fact, Reading};
use rookery_fleet::ownership::{Recogniser, Written};
use rookery_fleet::{Hardware, MachineId, OwnerId, Ownership, Power, Recognised, Role};
use rookery_vim::inventory_name::unescape;
use rookery_vim::objects::{ConnectionState, DynamicProperty, ObjectContent, PowerState};
use rookery_vim::{FaultKind, MoRef, Node, Wire};
use rookery_vim_client::{CallError, ExtraConfig, ExtraConfigKey, OperationError, TaskError, read_object};

use super::{ActError, Grounds, Hands};
use crate::observe;

const PATHS: [&str; 11] = [
    "name",
    "runtime.connectionState",
    "config.template",
    "config.annotation",
    "runtime.powerState",
    "config.hardware.numCPU",
    "config.hardware.memoryMB",
    "config.instanceUuid",
    "config.createDate",
    "parent",
    "resourcePool",
];
/// How long to look for the effect of an order whose answer was lost: it may still be on its way.
const LOOKS: [Duration; 5] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// A VM at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fresh<M> {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) recognised: Recognised<M>,
    /// Its notes as they are.
    pub(super) notes: String,
    /// The extra configuration that marks may stand in.
    pub(super) extra: observe::Extra,
    pub(super) power: Option<Power>,
    pub(super) hardware: Hardware,
    pub(super) reachable: bool,
    /// Its UUID, which marks carry.
    pub(super) instance: Option<String>,
    pub(super) created: Option<Timestamp>,
    /// Whether it is elsewhere than the settings say.
    pub(super) is_outside: bool,
}

/// Why a VM is not what was meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// vCenter shows too little of it.
    #[error("vCenter does not show its configuration: it is in the making, or hidden from this user")]
    Unknown,
    /// What vCenter shows of it is old.
    #[error("vCenter does not reach its host or its files")]
    Unreachable,
    #[error("it is a template")]
    Template,
    #[error("it is no template")]
    NoTemplate,
    /// Somebody else's mark is on it, or none.
    #[error("its notes do not name {owner:?} as its owner, but {}", found.as_deref().map_or_else(|| "nobody".to_owned(), |found| format!("{found:?}")))]
    Foreign { owner: String, found: Option<String> },
    /// Its mark was written for another VM.
    #[error("it is a copy: its notes were written for another VM")]
    Copy,
    /// Its mark may have been written for another VM.
    #[error("it cannot be told whether its notes were written for it or for another VM")]
    Disputed,
    /// Its mark was written for it.
    #[error("its notes were written for it: it is no copy")]
    NoCopy,
    #[error("it is in another folder or resource pool than the settings name")]
    Outside,
    /// Its mark says that it is to be kept.
    #[error("its notes say that it is to be kept")]
    Protected,
    #[error("its notes say that it is kept until {until}")]
    Held { until: Timestamp },
    /// It has another name than was thought.
    #[error("its name is {found:?}, not {expected:?}")]
    Name { expected: String, found: String },
    #[error("its notes have changed since it was chosen")]
    Edited,
    #[error("it is not off")]
    NotOff,
    /// It was to go for its power, which is another one now.
    #[error("its power state has changed since that was decided")]
    Power,
}

impl<M: Clone + PartialEq + 'static> Fresh<M> {
    fn of(object: ObjectContent, grounds: &Grounds<M>) -> Self {
        let keys = observe::extra_keys(&grounds.recogniser);
        let extra = observe::extra(&keys, &ExtraConfig::read(&keys, &object));
        let (mut name, mut power) = (String::new(), None);
        let (mut instance, mut created, mut folder, mut pool) = (None, None, None, None);
        let (mut template, mut annotation, mut cpus, mut memory_mb) = (None, None, None, None);
        let mut connection = None;
        for DynamicProperty { name: path, val: value } in object.prop_set {
            match path.as_str() {
                "runtime.connectionState" => connection = read::<ConnectionState>(value),
                "name" => name = unescape(&read::<String>(value).unwrap_or_default()),
                "config.template" => template = read(value),
                "config.annotation" => annotation = read::<String>(value),
                "runtime.powerState" => power = read::<PowerState>(value),
                "config.hardware.numCPU" => cpus = read(value),
                "config.hardware.memoryMB" => memory_mb = read(value),
                "config.instanceUuid" => instance = read::<String>(value),
                "config.createDate" => created = read::<Timestamp>(value),
                "parent" => folder = read::<MoRef>(value),
                "resourcePool" => pool = read::<MoRef>(value),
                _ => {}
            }
        }
        let is_told = extra.is_some();
        let extra = extra.unwrap_or_default();
        let seen = observe::Seen {
            name: &name,
            template: template.filter(|_| is_told),
            notes: annotation.as_deref(),
            extra: &extra,
            instance: instance.as_deref(),
            created,
        };
        Self {
            role: observe::role(template),
            recognised: seen.recognise(&grounds.recogniser),
            power: power.as_ref().and_then(observe::power),
            hardware: observe::hardware(cpus, memory_mb),
            reachable: observe::is_reachable(connection.as_ref()),
            is_outside: grounds.bounds.exclude(folder.as_ref(), pool.as_ref(), template == Some(true)),
            notes: annotation.unwrap_or_default(),
            name,
            extra,
            instance,
            created,
        }
    }

    fn foreign(&self, owner: &OwnerId) -> Refusal {
        let found = self.recognised.ownership.marked_by().map(|found| found.name().to_owned());
        Refusal::Foreign { owner: owner.name().to_owned(), found }
    }

    /// Its mark, if it is this owner's.
    pub(super) fn mark_of(&self, owner: &OwnerId) -> Result<&M, Refusal> {
        match &self.recognised.ownership {
            Ownership::Unknown => Err(Refusal::Unknown),
            Ownership::Copied(found) if found == owner => Err(Refusal::Copy),
            Ownership::Disputed(found) if found == owner => Err(Refusal::Disputed),
            Ownership::By(found) if found == owner => {
                self.recognised.mark.as_deref().ok_or_else(|| self.foreign(owner))
            }
            Ownership::Nobody | Ownership::By(_) | Ownership::Copied(_) | Ownership::Disputed(_) => {
                Err(self.foreign(owner))
            }
        }
    }

    /// Its mark, if it is this owner's, where the owner's are.
    pub(super) fn own(&self, owner: &OwnerId) -> Result<&M, Refusal> {
        let mark = self.mark_of(owner)?;
        if self.is_outside { Err(Refusal::Outside) } else { Ok(mark) }
    }

    /// The mark of this owner on a VM that it was, or may have been, not written for.
    pub(super) fn copied_mark(&self, owner: &OwnerId) -> Result<&M, Refusal> {
        match self.mark_of(owner) {
            Err(Refusal::Copy | Refusal::Disputed) => {}
            // That there is another one with the same mark, this VM does not tell.
            Ok(_) if self.recognised.identity.as_ref().is_none_or(|identity| !identity.is_proven) => {}
            Ok(_) => return Err(Refusal::NoCopy),
            Err(refusal) => return Err(refusal),
        }
        self.recognised.mark.as_deref().ok_or_else(|| self.foreign(owner))
    }

    /// What to write for a mark of this VM, and what it is then.
    pub(super) fn signed(&self, mark: &M, recogniser: &Recogniser<M>) -> (Written, Recognised<M>) {
        let written = (recogniser.marking().write)(mark, self.instance.as_deref());
        let mut extra = self.extra.clone();
        extra.extend(written.extra.iter().map(|(key, value)| ((*key).into(), value.clone())));
        let seen = observe::Seen {
            name: &self.name,
            template: Some(self.role == Role::Template),
            notes: Some(written.notes.as_deref().unwrap_or(&self.notes)),
            extra: &extra,
            instance: self.instance.as_deref(),
            created: self.created,
        };
        let becomes = seen.recognise(recogniser);
        (written, becomes)
    }

    /// Its mark, if it is this owner's and no template, and can be reached.
    pub(super) fn vm_of(&self, owner: &OwnerId) -> Result<&M, Refusal> {
        match self.role {
            Role::Unknown => Err(Refusal::Unknown),
            Role::Template => Err(Refusal::Template),
            Role::Vm => self
                .own(owner)
                .and_then(|mark| if self.reachable { Ok(mark) } else { Err(Refusal::Unreachable) }),
        }
    }

    /// Whether it is the VM of this owner with this name.
    pub(super) fn is(&self, owner: &OwnerId, name: &str) -> Result<(), Refusal> {
        self.vm_of(owner).and_then(|_| self.is_named(name))
    }

    pub(super) fn is_named(&self, name: &str) -> Result<(), Refusal> {
        if self.name == name {
            return Ok(());
        }
        Err(Refusal::Name { expected: name.to_owned(), found: self.name.clone() })
    }

    pub(super) fn is_off(&self) -> Result<(), Refusal> {
        if self.power == Some(Power::Off) { Ok(()) } else { Err(Refusal::NotOff) }
    }

    /// Whether it carries that mark, written for it.
    pub(super) fn is_marked(&self, as_that: &Recognised<M>) -> bool {
        self.recognised.ownership == as_that.ownership && self.recognised.mark == as_that.mark
    }
}

impl<M> From<Fresh<M>> for Reading<M> {
    fn from(fresh: Fresh<M>) -> Self {
        let Fresh { name, role, recognised, power, hardware, .. } = fresh;
        Self { name, role, power, recognised, hardware }
    }
}

/// A VM of which vCenter shows nothing.
fn nothing_of(machine: &MachineId) -> ObjectContent {
    ObjectContent { obj: observe::vm(machine), prop_set: Vec::new(), missing_set: Vec::new() }
}

fn read<T: Wire>(value: Node) -> Option<T> {
    T::from_node(value).ok()
}

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// The VM; none if it is gone, which is told.
    pub(super) async fn look(&self, machine: &MachineId) -> Result<Option<Fresh<M>>, CallError> {
        let found = self.read(machine).await?;
        if found.is_none() {
            self.told(machine, Fact::Gone);
        }
        Ok(found)
    }

    /// The VM; none if it is gone.
    pub(super) async fn read(&self, machine: &MachineId) -> Result<Option<Fresh<M>>, CallError> {
        let keys = observe::extra_keys(&self.grounds.recogniser);
        let extra = keys.iter().map(ExtraConfigKey::path);
        let paths: Vec<String> = PATHS.map(str::to_owned).into_iter().chain(extra).collect();
        match read_object(&self.client, &observe::vm(machine), &paths).await {
            Ok(object) => Ok(Some(Fresh::of(object.unwrap_or_else(|| nothing_of(machine)), &self.grounds))),
            Err(error) if error.is(FaultKind::ManagedObjectNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The VM that something is about to be done to.
    pub(super) async fn fresh(
        &self,
        action: &'static str,
        machine: &MachineId,
    ) -> Result<Fresh<M>, ActError> {
        let machine = || machine.clone();
        match self.look(&machine()).await {
            Ok(Some(fresh)) => Ok(fresh),
            Ok(None) => Err(ActError::Gone { action, machine: machine() }),
            Err(source) => Err(ActError::Unread { action, machine: machine(), source }),
        }
    }

    /// The same, if it is what was meant; with what is to be known of it.
    pub(super) async fn fresh_if<T>(
        &self,
        action: &'static str,
        machine: &MachineId,
        meant: impl FnOnce(&Fresh<M>) -> Result<T, Refusal>,
    ) -> Result<(Fresh<M>, T), ActError> {
        let fresh = self.fresh(action, machine).await?;
        match meant(&fresh) {
            Ok(known) => Ok((fresh, known)),
            Err(why) => Err(ActError::Refused { action, machine: machine.clone(), why }),
        }
    }

    /// The outcome of an operation: one that failed and whose effect is there all the same has succeeded.
    pub(super) async fn outcome(
        &self,
        machine: &MachineId,
        result: Result<(), OperationError>,
        is_there: impl Fn(Option<&Fresh<M>>) -> bool,
    ) -> Result<(), OperationError> {
        let Err(error) = result else { return Ok(()) };
        let still_coming = match &error {
            OperationError::Call(call) => call.may_have_happened(),
            OperationError::Task(TaskError::Failed(_) | TaskError::Stopped) => false,
            OperationError::Task(TaskError::Unknown { .. } | TaskError::TimedOut { .. }) => true,
        };
        let mut pauses = LOOKS.iter().take(if still_coming { LOOKS.len() } else { 0 });
        loop {
            if self.look(machine).await.is_ok_and(|fresh| is_there(fresh.as_ref())) {
                return Ok(());
            }
            let Some(pause) = pauses.next() else { return Err(error) };
            tokio::time::sleep(*pause).await;
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
