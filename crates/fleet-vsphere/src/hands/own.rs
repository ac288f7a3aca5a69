//! Small changes of VMs that are the owner's.

use rookery_fleet::overlay::Fact;
use rookery_fleet::{MachineId, OwnerId};

use super::{ActError, Hands};

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Writes another mark on a VM of this owner, made from the one that it carries now. The first mark of a VM travels with
    /// its clone.
    pub async fn mark_anew(
        &self,
        machine: &MachineId,
        owner: &OwnerId,
        change: impl FnOnce(&M) -> M,
    ) -> Result<(), ActError> {
        let action = "mark";
        let (fresh, mark) = self.fresh_if(action, machine, |fresh| fresh.vm_of(owner).map(change)).await?;
        self.marked(machine, &fresh, &mark).await.map_err(|source| ActError::failed(action, machine, source))
    }

    /// Renames a VM or template that carries this owner's mark. That it has the name is a success.
    pub async fn rename(&self, machine: &MachineId, owner: &OwnerId, name: &str) -> Result<(), ActError> {
        let action = "rename";
        let (fresh, ()) = self.fresh_if(action, machine, |fresh| fresh.own(owner).map(drop)).await?;
        if fresh.name == name {
            self.told(machine, Fact::Name(name.to_owned()));
            return Ok(());
        }
        self.renamed(machine, name).await.map_err(|source| ActError::failed(action, machine, source))
    }
}
