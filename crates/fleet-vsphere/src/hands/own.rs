//! Small changes of VMs that are the owner's.

use rookery_fleet::hold::Hold;
use rookery_fleet::overlay::Fact;
use rookery_fleet::{MachineId, Mark};

use super::{ActError, Hands};

impl Hands {
    /// Writes the mark of a VM or template that carries this owner's. The first mark of a VM travels with its clone.
    pub async fn set_mark(&self, machine: &MachineId, owner: &str, mark: &Mark) -> Result<(), ActError> {
        let action = "mark";
        let fresh = self.fresh(action, machine).await?;
        let refused = |why| ActError::Refused { action, machine: machine.clone(), why };
        fresh.own(owner).map_err(refused)?;
        self.marked(machine, &fresh, mark).await.map_err(|source| ActError::failed(action, machine, source))
    }

    /// Writes into the mark of a VM of this owner until when and why it is kept. All else in the mark stays as it is now.
    pub async fn keep(&self, machine: &MachineId, owner: &str, hold: &Hold) -> Result<(), ActError> {
        let action = "keep";
        let fresh = self.fresh(action, machine).await?;
        let refused = |why| ActError::Refused { action, machine: machine.clone(), why };
        let was = fresh.vm_of(owner).map_err(refused)?;
        let mark = Mark {
            hold_until: Some(hold.until),
            hold_reason: hold.reason.clone(),
            hold_wish: hold.wish.clone(),
            ..was.clone()
        };
        self.marked(machine, &fresh, &mark).await.map_err(|source| ActError::failed(action, machine, source))
    }

    /// Renames a VM or template that carries this owner's mark. That it has the name is a success.
    pub async fn rename(&self, machine: &MachineId, owner: &str, name: &str) -> Result<(), ActError> {
        let action = "rename";
        let fresh = self.fresh(action, machine).await?;
        let refused = |why| ActError::Refused { action, machine: machine.clone(), why };
        fresh.own(owner).map_err(refused)?;
        if fresh.name == name {
            self.told(machine, Fact::Name(name.to_owned()));
            return Ok(());
        }
        self.renamed(machine, name).await.map_err(|source| ActError::failed(action, machine, source))
    }
}
