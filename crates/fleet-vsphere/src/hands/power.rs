//! Starting and stopping.

use std::time::Duration;

use rookery_fleet::overlay::Fact;
use rookery_fleet::{MachineId, OwnerId, Power};
use rookery_vim_client::{CallError, PowerChange, Vm, WaitError};
use tokio::time::{Instant, sleep, timeout_at};

use super::fresh::Fresh;
use super::{ActError, HEAVY, Hands, may_pass};
use crate::observe;

/// How long a start is tried again that failed for a reason that may pass.
const START: Duration = Duration::from_mins(1);
/// How long one start may take. A VM that asks a question hangs in it.
const STARTING: Duration = Duration::from_mins(3);
/// The time between two tries, and between two looks at a VM of which the inventory says something else.
const PAUSE: Duration = Duration::from_secs(2);

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Starts a VM of this owner with this name; what may pass is waited out for a minute. That it runs is a success.
    pub async fn start(&self, machine: &MachineId, owner: &OwnerId, name: &str) -> Result<(), ActError> {
        let action = "start";
        let deadline = Instant::now() + START;
        let runs = |fresh: Option<&Fresh<M>>| fresh.is_some_and(|fresh| fresh.power == Some(Power::On));
        loop {
            let hands = self.in_turn(action, machine).await;
            hands.fresh_if(action, machine, |fresh| fresh.is(owner, name)).await?;
            let ordered = hands.machines.power(&observe::vm(machine), PowerChange::On, STARTING).await;
            let outcome = hands.outcome(machine, ordered, runs).await;
            // Others may go first while it waits.
            drop(hands);
            match outcome {
                Err(error) if may_pass(&error) && Instant::now() + PAUSE < deadline => sleep(PAUSE).await,
                Ok(()) => {
                    self.told(machine, Fact::Power(Power::On));
                    return Ok(());
                }
                Err(source) => return Err(ActError::failed(action, machine, source)),
            }
        }
    }

    /// Stops a VM of this owner with this name at once. That it is off, or gone, is a success.
    pub async fn stop(&self, machine: &MachineId, owner: &OwnerId, name: &str) -> Result<(), ActError> {
        let action = "stop";
        let hands = self.in_turn(action, machine).await;
        let fresh = match hands.fresh(action, machine).await {
            Ok(fresh) => fresh,
            Err(ActError::Gone { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        if fresh.is_off().is_ok() {
            self.told(machine, Fact::Power(Power::Off));
            return Ok(());
        }
        let refused = |why| ActError::Refused { action, machine: machine.clone(), why };
        fresh.is(owner, name).map_err(refused)?;
        hands.turn_off(action, machine).await
    }

    /// Stops a VM that was proven. That it is off, or gone, is a success.
    pub(super) async fn turn_off(&self, action: &'static str, machine: &MachineId) -> Result<(), ActError> {
        let ordered = self.machines.power(&observe::vm(machine), PowerChange::Off, HEAVY).await;
        let is_off = |fresh: Option<&Fresh<M>>| fresh.is_none_or(|fresh| fresh.power == Some(Power::Off));
        let stopped = self.outcome(machine, ordered, is_off).await;
        stopped.map_err(|source| ActError::failed(action, machine, source))?;
        self.told(machine, Fact::Power(Power::Off));
        Ok(())
    }

    /// Whether vCenter says that there is no such VM. That it cannot be asked, or does not show it, is an error.
    pub async fn is_gone(&self, machine: &MachineId) -> Result<bool, CallError> {
        self.look(machine).await.map(|fresh| fresh.is_none())
    }

    /// Whether a VM is off, or gone, as a read tells now.
    pub async fn is_off(&self, machine: &MachineId) -> Result<bool, ActError> {
        match self.fresh("read the power state of", machine).await {
            Ok(fresh) => Ok(fresh.power == Some(Power::Off)),
            Err(ActError::Gone { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Waits until a VM has gone off by itself. The inventory tells, and vCenter confirms: an inventory that lags behind
    /// shows a VM off that was just started.
    pub async fn wait_off(&self, machine: &MachineId, within: Duration) -> Result<(), WaitError> {
        let (id, deadline) = (observe::vm(machine), Instant::now() + within);
        loop {
            let snapshot = self.inventory.snapshot();
            let row = snapshot.get(&id);
            let told = row.map_or(snapshot.is_complete(), |row| power_of(row) == Some(Power::Off));
            let mut look_again = deadline;
            if told {
                match self.look(machine).await {
                    Ok(None) => return Err(WaitError::Gone { id }),
                    Ok(Some(fresh)) if fresh.power == Some(Power::Off) => return Ok(()),
                    Ok(Some(_)) | Err(_) => look_again = deadline.min(Instant::now() + PAUSE),
                }
            }
            let newer = self.inventory.until(|next| next.revision() > snapshot.revision());
            match timeout_at(look_again, newer).await {
                Ok(Err(stopped)) => return Err(stopped),
                Err(_) if Instant::now() >= deadline => {
                    return Err(WaitError::TimedOut { id, after: within, last: row.cloned() });
                }
                Ok(Ok(_)) | Err(_) => {}
            }
        }
    }
}

fn power_of(row: &Vm) -> Option<Power> {
    row.power.as_ref().and_then(observe::power)
}
