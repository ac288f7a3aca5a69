//! Operations that change a VM.

use std::sync::Arc;
use std::time::Duration;

use rookery_vim::inventory_name::{escape, unescape};
use rookery_vim::methods::{
    CloneVmTask, DestroyTask, MarkAsTemplate, Method, PowerOffVmTask, PowerOnVmTask, RebootGuest,
    ReconfigVmTask, RenameTask, ResetVmTask, ShutdownGuest, SuspendVmTask,
};
use rookery_vim::objects::PowerState;
use rookery_vim::specs::{OptionValue, VirtualMachineConfigSpec};
use rookery_vim::{Fault, FaultKind, MoRef, Node, Wire as _};

use tokio::sync::watch;

use crate::client::Client;
use crate::clone::Ordered;
use crate::error::CallError;
use crate::governor::{Governor, Order, Permit, Priority, Site};
use crate::properties::property_of;
use crate::tasks::{TaskError, Tasks};
use crate::uuid::Uuid;

/// Changes VMs through one client. Clones share it.
#[derive(Debug, Clone)]
pub struct Machines {
    pub(crate) client: Client,
    tasks: Tasks,
    governor: Governor,
    priority: Priority,
    /// The turn that operations use, if it was waited for already.
    turn: Option<Arc<Permit>>,
    /// Where VMs are that are there already, as far as it is known.
    site: Site,
    /// Where it is noted how far the order of a clone has come.
    pub(crate) ordered: Option<Ordered>,
}

/// What to do with a VM's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerChange {
    On,
    /// Stop it at once.
    Off,
    /// Restart it at once.
    Reset,
    Suspend,
    /// Ask its guest to shut down; the call does not wait for it.
    ShutdownGuest,
    /// Ask its guest to restart; the call does not wait for it.
    RebootGuest,
}

/// Why an operation was not seen to succeed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OperationError {
    /// vCenter did not take the order.
    #[error(transparent)]
    Call(#[from] CallError),
    /// vCenter took the order; its task did not succeed.
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl OperationError {
    /// The fault that refused the operation, if there is one.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Call(error) => error.fault(),
            Self::Task(TaskError::Failed(fault)) => Some(fault),
            Self::Task(TaskError::Unknown { .. } | TaskError::TimedOut { .. } | TaskError::Stopped) => None,
        }
    }

    /// Whether this kind of fault refused the operation.
    pub fn is(&self, kind: FaultKind) -> bool {
        self.fault().is_some_and(|fault| fault.kind() == kind)
    }

    /// Whether the operation may have been carried out, in whole or in part: look for its effect before repeating it.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Call(error) => error.may_have_happened(),
            Self::Task(_) => true,
        }
    }
}

impl Machines {
    /// Operations over this client; their tasks are waited for by `tasks`, and run as the governor admits them.
    pub fn new(client: Client, tasks: Tasks, governor: Governor) -> Self {
        let (priority, site) = (Priority::Demand, Site::default());
        Self { client, tasks, governor, priority, site, turn: None, ordered: None }
    }

    /// The same operations on behalf of somebody more or less urgent. A handle that nobody says this of is for people.
    #[must_use]
    pub fn with_priority(&self, priority: Priority) -> Self {
        Self { priority, ..self.clone() }
    }

    /// The same operations on a VM of this host, if it is known: how much runs on one is limited.
    #[must_use]
    pub fn on(&self, host: Option<MoRef>) -> Self {
        Self { site: Site { host, datastore: None }, ..self.clone() }
    }

    /// Orders a task when its turn comes and waits for its end; the deadline counts from then on.
    pub(crate) async fn run<M: Method<Output = MoRef>>(
        &self,
        call: &M,
        site: Site,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<(MoRef, Option<Node>), OperationError> {
        self.run_noting(call, site, deadline, progress, &Ordered::default()).await
    }

    /// The same; it is noted how far it has come.
    pub(crate) async fn run_noting<M: Method<Output = MoRef>>(
        &self,
        call: &M,
        site: Site,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
        ordered: &Ordered,
    ) -> Result<(MoRef, Option<Node>), OperationError> {
        let what = format!("{} of {}", M::NAME, call.this().id());
        // Clones take longest: how long a queue takes is reckoned from them.
        let measured = M::NAME == CloneVmTask::NAME;
        let order = Order { what, priority: self.priority, site, measured };
        let permit = match &self.turn {
            Some(turn) => Arc::clone(turn),
            None => Arc::new(self.governor.admit(order).await),
        };
        ordered.sent();
        let task = match self.client.call(call).await {
            Ok(task) => task,
            Err(error) => {
                if !error.may_have_happened() {
                    ordered.over();
                }
                return Err(error.into());
            }
        };
        ordered.taken(&task);
        let result = self.tasks.finish_showing(task.clone(), deadline, progress).await;
        if matches!(result, Ok(_) | Err(TaskError::Failed(_))) {
            ordered.over();
        }
        if result.is_ok() {
            permit.succeeded();
        }
        Ok((task, result?))
    }

    /// The same operations in one turn, which has come when this returns and lasts until the handle is dropped: what is
    /// read now is not minutes old when something follows from it.
    pub async fn in_turn(&self, what: String) -> Self {
        let turn = self.admit(what, self.site.clone()).await;
        Self { turn: Some(Arc::new(turn)), ..self.clone() }
    }

    /// The same operations; it is noted how far the order of a clone has come.
    pub(crate) fn tracked(&self, ordered: &Ordered) -> Self {
        Self { ordered: Some(ordered.clone()), ..self.clone() }
    }

    /// Waits for the turn of something heavy that is no task.
    pub(crate) async fn admit(&self, what: String, site: Site) -> Permit {
        self.governor.admit(Order { what, priority: self.priority, site, measured: false }).await
    }

    pub(crate) async fn run_here(
        &self,
        call: &impl Method<Output = MoRef>,
        deadline: Duration,
    ) -> Result<(MoRef, Option<Node>), OperationError> {
        self.run(call, self.site.clone(), deadline, None).await
    }

    /// Changes the power of a VM. That it is in the wanted state already is a success.
    pub async fn power(
        &self,
        vm: &MoRef,
        change: PowerChange,
        deadline: Duration,
    ) -> Result<(), OperationError> {
        match self.order_power(vm.clone(), change, deadline).await {
            Err(error) if error.fault().is_some_and(|f| is_there_already(f, change)) => Ok(()),
            result => result,
        }
    }

    async fn order_power(
        &self,
        this: MoRef,
        change: PowerChange,
        deadline: Duration,
    ) -> Result<(), OperationError> {
        let client = &self.client;
        match change {
            PowerChange::On => self.run_here(&PowerOnVmTask { this, host: None }, deadline).await?,
            PowerChange::Off => self.run_here(&PowerOffVmTask { this }, deadline).await?,
            PowerChange::Reset => self.run_here(&ResetVmTask { this }, deadline).await?,
            PowerChange::Suspend => self.run_here(&SuspendVmTask { this }, deadline).await?,
            PowerChange::ShutdownGuest => return Ok(client.call(&ShutdownGuest { this }).await?),
            PowerChange::RebootGuest => return Ok(client.call(&RebootGuest { this }).await?),
        };
        Ok(())
    }

    /// Changes a VM's configuration in one call: its name as people write it, notes, hardware, settings.
    pub async fn reconfigure(
        &self,
        vm: &MoRef,
        change: Change,
        deadline: Duration,
    ) -> Result<(), OperationError> {
        let spec = change.into_spec();
        self.run_here(&ReconfigVmTask { this: vm.clone(), spec }, deadline).await?;
        Ok(())
    }

    /// Makes a VM that is off a template. That it is one already is a success.
    pub async fn mark_as_template(&self, vm: &MoRef) -> Result<(), OperationError> {
        match self.client.call(&MarkAsTemplate { this: vm.clone() }).await {
            // Servers refuse this for a template in words of their own; what counts is what the VM is.
            Err(error) if error.fault().is_some() && self.is_template(vm).await? => Ok(()),
            result => Ok(result?),
        }
    }

    /// Removes a VM that is off, with its files. That it is gone already is a success.
    ///
    /// Whoever calls this has made sure that it is the right VM: there is no way back.
    pub async fn destroy(&self, vm: &MoRef, deadline: Duration) -> Result<(), OperationError> {
        match self.run_here(&DestroyTask { this: vm.clone() }, deadline).await {
            Err(OperationError::Call(error)) if error.is(FaultKind::ManagedObjectNotFound) => Ok(()),
            result => result.map(drop),
        }
    }

    async fn is_template(&self, vm: &MoRef) -> Result<bool, CallError> {
        let found = property_of(&self.client, vm, "config.template").await?;
        Ok(found.is_some_and(|value| bool::from_node(value) == Ok(true)))
    }

    /// Renames a VM. The name is as people write it. That it has this name already is a success.
    pub async fn rename(&self, vm: &MoRef, name: &str, deadline: Duration) -> Result<(), OperationError> {
        match self.run_here(&RenameTask { this: vm.clone(), new_name: escape(name) }, deadline).await {
            // A repeat after a lost answer is refused because the name is taken, by this very VM.
            Err(OperationError::Task(TaskError::Failed(fault))) if self.name_of(vm).await? != name => {
                Err(OperationError::Task(TaskError::Failed(fault)))
            }
            Err(OperationError::Task(TaskError::Failed(_))) => Ok(()),
            result => result.map(drop),
        }
    }

    async fn name_of(&self, vm: &MoRef) -> Result<String, CallError> {
        let found = property_of(&self.client, vm, "name").await?;
        Ok(found.map(|value| unescape(&value.text)).unwrap_or_default())
    }
}

/// What to change of a VM. What is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Its name as people write it.
    pub name: Option<String>,
    pub annotation: Option<String>,
    /// UUID of a new VM; vCenter gives another one if it is taken. Notes that name it are corrected then.
    pub instance_uuid: Option<Uuid>,
    /// Virtual CPUs; the VM must be off.
    pub cpus: Option<i32>,
    /// Memory; the VM must be off.
    pub memory_mb: Option<i64>,
    /// Settings by name, such as `guestinfo.…`. An empty value removes one.
    pub extra_config: Vec<(String, String)>,
}

impl Change {
    pub(crate) fn into_spec(self) -> VirtualMachineConfigSpec {
        let setting =
            |(key, value): (String, String)| OptionValue { key, value: Node::leaf("value", "string", value) };
        VirtualMachineConfigSpec {
            name: self.name.map(|name| escape(&name)),
            annotation: self.annotation,
            instance_uuid: self.instance_uuid.map(|uuid| uuid.to_string()),
            cpus: self.cpus,
            memory_mb: self.memory_mb,
            extra_config: self.extra_config.into_iter().map(setting).collect(),
            ..VirtualMachineConfigSpec::default()
        }
    }
}

/// Another client, or our own lost call, was faster.
fn is_there_already(fault: &Fault, change: PowerChange) -> bool {
    let wanted = match change {
        PowerChange::On => PowerState::On,
        PowerChange::Off | PowerChange::ShutdownGuest => PowerState::Off,
        PowerChange::Suspend => PowerState::Suspended,
        PowerChange::Reset | PowerChange::RebootGuest => return false,
    };
    fault.kind() == FaultKind::InvalidPowerState && fault.field("existingState") == Some(wanted.as_str())
}
