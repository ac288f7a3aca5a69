//! What can be done to VMs. Whoever asks has decided already; here it is done, safely.
//!
//! ```text
//!   read the VM ──► is it what was meant? ──no──► refused, nothing was changed
//!                        │ yes
//!                        ▼
//!                   order the change ──answer lost, task lost──► read the VM: did it happen?
//!                        │                                           │ yes        │ no
//!                        ▼                                           ▼            ▼
//!                      done ◄────────────────────────────────────────┘      failed: repeat later
//! ```

mod adopt;
mod claim;
mod clone;
mod clone_tasks;
mod delete;
mod disks;
mod fresh;
mod guest;
mod history;
mod own;
mod power;
mod template;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rookery_fleet::MachineId;
use rookery_fleet::overlay::{Fact, News};
use rookery_fleet::ownership::Recogniser;
use rookery_vim::MoRef;
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::CurrentTime;
use rookery_vim::{Fault, FaultKind};
use rookery_vim_client::{
    CallError, Client, Guests, Inventory, Machines, OperationError, PoolCapacity, Priority, TaskError,
    capacity,
};

use crate::journal::Journal;
use crate::observe::vm;
use crate::readiness::{Readiness, TimeOuts};
use crate::site::Bounds;

pub use claim::{ClaimError, ClaimProgress, ClaimSpec};
pub use clone::{CloneFailure, CloneSpec, Fixed, Unfinished};
pub use clone_tasks::{CloneTask, CloneTasks};
pub use delete::{Proof, TemplateProof};
pub use fresh::Refusal;
pub use template::{LinkedClones, RunningClone};

/// A clone that copies its disks takes its time.
const CLONE: Duration = Duration::from_mins(10);
/// Starting, stopping, removing: on a busy host minutes, and never for ever.
const HEAVY: Duration = Duration::from_mins(10);
/// Changes of a VM's configuration and name.
const LIGHT: Duration = Duration::from_mins(1);

/// Acts on the VMs of one datacenter for one front. Clones share the session and its limits.
#[derive(Debug, Clone)]
pub struct Hands<M> {
    client: Client,
    machines: Machines,
    guests: Guests,
    readiness: Readiness,
    inventory: Inventory,
    grounds: Arc<Grounds<M>>,
    journal: Option<Journal<M>>,
}

#[derive(Debug)]
struct Grounds<M> {
    datacenter: MoRef,
    bounds: Bounds,
    recogniser: Recogniser<M>,
}

/// Why an act on a VM was not done.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// There is no such VM.
    #[error("cannot {action} {machine}: it is gone")]
    Gone { action: &'static str, machine: MachineId },
    /// It could not be read, so that nothing was changed.
    #[error("did not {action} {machine}: its current state could not be read")]
    Unread { action: &'static str, machine: MachineId, source: CallError },
    /// It is not what was meant. Nothing was changed.
    #[error("did not {action} {machine}: {why}")]
    Refused { action: &'static str, machine: MachineId, why: Refusal },
    /// Disks of other VMs stand on its disks.
    #[error("did not {action} {machine}: {why}; it can be deleted once it has no linked clones")]
    StillParent { action: &'static str, machine: MachineId, why: LinkedClones },
    /// vCenter did not do it, as far as can be seen.
    #[error("cannot {action} {machine}")]
    Failed { action: &'static str, machine: MachineId, source: OperationError },
}

impl ActError {
    /// Whether vCenter had no room for it.
    pub fn is_want_of_room(&self) -> bool {
        matches!(self, Self::Failed { source, .. } if source.fault().is_some_and(Fault::is_capacity))
    }

    /// Whether it is known that disks of other VMs stand on its disks.
    pub fn is_of_a_parent(&self) -> bool {
        matches!(self, Self::StillParent { why: LinkedClones::Vm(_) | LinkedClones::Unnamed, .. })
    }

    /// Whether the same may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Gone { .. } | Self::Refused { .. } => false,
            Self::Unread { source, .. } => source.is_transient(),
            Self::StillParent { .. } => true,
            Self::Failed { source, .. } => may_pass(source),
        }
    }

    fn failed(action: &'static str, machine: &MachineId, source: OperationError) -> Self {
        let machine = machine.clone();
        match &source {
            OperationError::Call(error) if error.is(FaultKind::ManagedObjectNotFound) => {
                Self::Gone { action, machine }
            }
            OperationError::Call(_) | OperationError::Task(_) => Self::Failed { action, machine, source },
        }
    }
}

/// Whether an operation that failed like this may succeed later.
fn may_pass(error: &OperationError) -> bool {
    match error {
        OperationError::Call(error) => error.is_transient(),
        OperationError::Task(TaskError::Failed(fault)) => fault.is_transient(),
        OperationError::Task(TaskError::Unknown { .. } | TaskError::TimedOut { .. }) => true,
        OperationError::Task(TaskError::Stopped) => false,
    }
}

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Hands on the VMs of a datacenter that the inventory shows; those outside the bounds are not touched.
    pub fn new(
        client: Client,
        machines: Machines,
        inventory: Inventory,
        (datacenter, bounds): (MoRef, Bounds),
        recogniser: Recogniser<M>,
        time_outs: TimeOuts,
    ) -> Self {
        let guests = Guests::new(client.clone());
        let readiness = Readiness::new(client.clone(), guests.clone(), inventory.clone(), time_outs);
        let grounds = Arc::new(Grounds { datacenter, bounds, recogniser });
        Self { client, machines, guests, readiness, inventory, grounds, journal: None }
    }

    /// The same hands, that write down what they are told: somebody must read it.
    #[must_use]
    pub fn with_journal(self, journal: Journal<M>) -> Self {
        Self { journal: Some(journal), ..self }
    }

    /// The same hands when their turn has come, which lasts as long as they do: what is read now is not minutes old when
    /// something follows from it. It is one of the turns on the VM's host; which one that is the inventory says, and it may
    /// have moved since.
    async fn in_turn(&self, action: &'static str, machine: &MachineId) -> Self {
        let host = self.inventory.snapshot().get(&vm(machine)).and_then(|row| row.host.clone());
        let machines = self.machines.on(host).in_turn(format!("{action} {machine}")).await;
        Self { machines, ..self.clone() }
    }

    /// Writes down what is true of a VM from now on.
    fn told(&self, machine: &MachineId, fact: Fact<M>) {
        if let Some(journal) = &self.journal {
            journal.push(machine, News::Told(fact));
        }
    }

    /// Reads a VM for the journal.
    pub async fn read_back(&self, machine: &MachineId) -> Result<(), CallError> {
        let found = self.read(machine).await?;
        if let Some(journal) = &self.journal {
            journal.push(machine, News::Read(found.map(Into::into)));
        }
        Ok(())
    }

    /// The same hands on behalf of somebody more or less urgent; without this they are for demand.
    #[must_use]
    pub fn with_priority(&self, priority: Priority) -> Self {
        Self { machines: self.machines.with_priority(priority), ..self.clone() }
    }

    /// vCenter's clock.
    pub async fn server_time(&self) -> Result<Timestamp, CallError> {
        self.client.call(&CurrentTime { this: service_instance() }).await
    }

    /// How much room there is in a resource pool; none if vCenter does not show it.
    pub async fn pool_room(&self, pool: &MoRef) -> Result<Option<PoolCapacity>, CallError> {
        Ok(capacity(&self.client, std::slice::from_ref(pool)).await?.pools.remove(pool))
    }
}
