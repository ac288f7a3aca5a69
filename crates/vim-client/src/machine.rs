//! Operations that change a VM.

use std::time::Duration;

use rookery_vim::inventory_name::escape;
use rookery_vim::methods::{
    PowerOffVmTask, PowerOnVmTask, RebootGuest, RenameTask, ResetVmTask, ShutdownGuest, SuspendVmTask,
};
use rookery_vim::objects::PowerState;
use rookery_vim::{Fault, FaultKind, MoRef};

use crate::client::Client;
use crate::error::CallError;
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

    /// Renames a VM. The name is as people write it.
    pub async fn rename(&self, vm: &MoRef, name: &str, deadline: Duration) -> Result<(), OperationError> {
        let task = self.client.call(&RenameTask { this: vm.clone(), new_name: escape(name) }).await?;
        self.tasks.finish(task, deadline).await?;
        Ok(())
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
