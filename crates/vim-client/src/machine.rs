//! Operations that change a VM.

use std::time::Duration;

use rookery_vim::inventory_name::escape;
use rookery_vim::methods::{
    CreateSnapshotTask, DestroyTask, MarkAsTemplate, PowerOffVmTask, PowerOnVmTask, RebootGuest,
    ReconfigVmTask, RenameTask, ResetVmTask, ShutdownGuest, SuspendVmTask,
};
use rookery_vim::objects::{ObjectSpec, PowerState, PropertyFilterSpec, PropertySpec};
use rookery_vim::specs::{OptionValue, VirtualMachineConfigSpec};
use rookery_vim::{Fault, FaultKind, MoRef, Node, Wire as _};

use crate::client::Client;
use crate::error::CallError;
use crate::properties::retrieve;
use crate::tasks::{TaskError, Tasks};

/// Changes VMs through one client. Clones share it.
#[derive(Debug, Clone)]
pub struct Machines {
    client: Client,
    tasks: Tasks,
}

/// What to do with a VM's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerChange {
    /// Start it.
    On,
    /// Stop it at once.
    Off,
    /// Restart it at once.
    Reset,
    /// Suspend it.
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
}

impl Machines {
    /// Operations over this client; their tasks are waited for by `tasks`.
    pub fn new(client: Client, tasks: Tasks) -> Self {
        Self { client, tasks }
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
        let task = match change {
            PowerChange::On => client.call(&PowerOnVmTask { this, host: None }).await?,
            PowerChange::Off => client.call(&PowerOffVmTask { this }).await?,
            PowerChange::Reset => client.call(&ResetVmTask { this }).await?,
            PowerChange::Suspend => client.call(&SuspendVmTask { this }).await?,
            PowerChange::ShutdownGuest => return Ok(client.call(&ShutdownGuest { this }).await?),
            PowerChange::RebootGuest => return Ok(client.call(&RebootGuest { this }).await?),
        };
        self.tasks.finish(task, deadline).await?;
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
        let task = self.client.call(&ReconfigVmTask { this: vm.clone(), spec }).await?;
        self.tasks.finish(task, deadline).await?;
        Ok(())
    }

    /// Takes a snapshot of the disks alone, as a base for linked clones.
    pub async fn snapshot(
        &self,
        vm: &MoRef,
        name: &str,
        deadline: Duration,
    ) -> Result<MoRef, OperationError> {
        let snapshot = CreateSnapshotTask {
            this: vm.clone(),
            name: name.to_owned(),
            description: None,
            memory: false,
            quiesce: false,
        };
        let task = self.client.call(&snapshot).await?;
        let result = self.tasks.finish(task.clone(), deadline).await?;
        result.and_then(|node| MoRef::from_node(node).ok()).ok_or_else(|| {
            TaskError::Unknown { task, why: "vCenter did not say which snapshot it made".to_owned() }.into()
        })
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
        let order = async {
            let task = self.client.call(&DestroyTask { this: vm.clone() }).await?;
            self.tasks.finish(task, deadline).await?;
            Ok(())
        };
        match order.await {
            Err(OperationError::Call(error)) if error.is(FaultKind::ManagedObjectNotFound) => Ok(()),
            result => result,
        }
    }

    async fn is_template(&self, vm: &MoRef) -> Result<bool, CallError> {
        let spec = PropertyFilterSpec {
            prop_set: vec![PropertySpec {
                kind: "VirtualMachine".to_owned(),
                all: None,
                path_set: vec!["config.template".to_owned()],
            }],
            object_set: vec![ObjectSpec { obj: vm.clone(), skip: None, select_set: Vec::new() }],
            report_missing_objects: None,
        };
        let mut properties =
            retrieve(&self.client, spec).await?.into_iter().flat_map(|object| object.prop_set);
        Ok(properties.any(|property| bool::from_node(property.val) == Ok(true)))
    }

    /// Renames a VM. The name is as people write it.
    pub async fn rename(&self, vm: &MoRef, name: &str, deadline: Duration) -> Result<(), OperationError> {
        let task = self.client.call(&RenameTask { this: vm.clone(), new_name: escape(name) }).await?;
        self.tasks.finish(task, deadline).await?;
        Ok(())
    }
}

/// What to change of a VM. What is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Its name as people write it.
    pub name: Option<String>,
    /// Its notes.
    pub annotation: Option<String>,
    /// Virtual CPUs; the VM must be off.
    pub cpus: Option<i32>,
    /// Memory; the VM must be off.
    pub memory_mb: Option<i64>,
    /// Settings by name, such as `guestinfo.…`. An empty value removes one.
    pub extra_config: Vec<(String, String)>,
}

impl Change {
    fn into_spec(self) -> VirtualMachineConfigSpec {
        let setting =
            |(key, value): (String, String)| OptionValue { key, value: Node::leaf("value", "string", value) };
        VirtualMachineConfigSpec {
            change_version: None,
            name: self.name.map(|name| escape(&name)),
            annotation: self.annotation,
            cpus: self.cpus,
            memory_mb: self.memory_mb,
            extra_config: self.extra_config.into_iter().map(setting).collect(),
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
