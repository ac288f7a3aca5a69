//! A guest that cannot be set up along with the clone, since vCenter counts other cards than the source has shown.
//!
//! ```text
//!   mismatch ──► is there a clone all the same? ──yes──────────────────────────────────────┐
//!                  │ no                                                                    ▼
//!                  ├─ the source has changed ──► clone again (once) ──mismatch──┐   set up as many cards
//!                  │                                                            │   as the clone has
//!                  └─ it has not ──► clone without setting up ◄─────────────────┘          │
//!                                         └───────────────────────────────────────────────►│
//!                                                                                          ▼
//!                                                                                    start, if wanted
//! ```

use std::time::Duration;

use rookery_vim::methods::CustomizeVmTask;
use rookery_vim::{FaultKind, MoRef};
use tokio::sync::watch;

use super::{CloneError, CloneOrder, GuestSetup, Source, spec};
use crate::cards::cards;
use crate::governor::Site;
use crate::machine::{Machines, OperationError, PowerChange};
use crate::made::child;
use crate::properties::property_of;

/// What to do after a mismatch.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Finish what is there.
    Finish(MoRef),
    /// Clone again, with what the source shows now.
    Again,
    /// Clone without setting up the guest.
    Bare,
}

fn next(left: Option<MoRef>, sent: usize, shown: usize, may_repeat: bool) -> Next {
    match left {
        Some(vm) => Next::Finish(vm),
        None if may_repeat && sent != shown => Next::Again,
        None => Next::Bare,
    }
}

pub(super) fn is_mismatch(error: &OperationError) -> bool {
    error.is(FaultKind::NicSettingMismatch)
}

impl Machines {
    /// Clones after a mismatch, and sets up the guest of what came of it.
    pub(super) async fn clone_in_steps(
        &self,
        order: &CloneOrder,
        mut source: Source,
        mismatch: OperationError,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<MoRef, CloneError> {
        let mut may_repeat = true;
        let vm = loop {
            // The task has ended: what is not there now does not come any more.
            let left = child(&self.client, &order.folder, &order.name).await;
            let Ok(left) = left else {
                return Err(CloneError::Failed { name: order.name.clone(), source: mismatch });
            };
            let shown = self.source_of(order).await?;
            match next(left, source.cards(), shown.cards(), may_repeat) {
                Next::Finish(vm) => break vm,
                Next::Again => {
                    (source, may_repeat) = (shown, false);
                    match self.order_clone(order, &source, deadline, progress.clone()).await? {
                        Err(error) if is_mismatch(&error) => {}
                        Err(error) => return self.look_for(order, error, deadline).await,
                        Ok(vm) => return Ok(vm),
                    }
                }
                Next::Bare => {
                    let bare = CloneOrder { guest: GuestSetup::AsIs, power_on: false, ..order.clone() };
                    break match self.order_clone(&bare, &shown, deadline, progress.clone()).await? {
                        Ok(vm) => vm,
                        Err(error) => self.look_for(&bare, error, deadline).await?,
                    };
                }
            }
        };
        self.set_up(&vm, order, deadline).await?;
        Ok(vm)
    }

    async fn set_up(&self, vm: &MoRef, order: &CloneOrder, deadline: Duration) -> Result<(), CloneError> {
        let left_behind = |missing| move |source| CloneError::LeftBehind { vm: vm.clone(), missing, source };
        let not_set_up = left_behind("its guest is not set up, and it was not started");
        let devices = property_of(&self.client, vm, "config.hardware.device").await;
        let devices = devices.map_err(|error| not_set_up(error.into()))?;
        let sent = devices.map_or(0, |devices| cards(&devices.children).count());
        if let Some(spec) = spec::customization(&order.guest, sent) {
            let call = CustomizeVmTask { this: vm.clone(), spec };
            match self.run(&call, Site::default(), deadline, None).await {
                Ok(_) => {}
                Err(error) if is_mismatch(&error) => {
                    let counted = error.fault().and_then(|fault| fault.field("numberOfNicsInVM"));
                    let counted = counted.map(str::to_owned);
                    return Err(CloneError::CardsDisagree { vm: vm.clone(), sent, counted, source: error });
                }
                Err(error) if self.is_set_up(vm, &error).await => {}
                Err(error) => return Err(not_set_up(error)),
            }
        }
        if order.power_on {
            self.power(vm, PowerChange::On, deadline).await.map_err(left_behind("it was not started"))?;
        }
        Ok(())
    }

    /// Whether the guest of a VM that is nobody else's will be set up all the same.
    async fn is_set_up(&self, vm: &MoRef, error: &OperationError) -> bool {
        if error.is(FaultKind::CustomizationPending) {
            return true;
        }
        if !error.may_have_happened() {
            return false;
        }
        let pending = property_of(&self.client, vm, "config.tools.pendingCustomization").await;
        pending.is_ok_and(|found| found.is_some_and(|node| !node.text.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_finished_and_a_changed_source_is_cloned_again_once() {
        let vm = || MoRef::new("VirtualMachine", "vm-1");
        assert_eq!(next(Some(vm()), 1, 2, true), Next::Finish(vm()));
        assert_eq!(next(Some(vm()), 1, 1, false), Next::Finish(vm()));
        assert_eq!(next(None, 1, 2, true), Next::Again);
        assert_eq!(next(None, 1, 2, false), Next::Bare);
        assert_eq!(next(None, 1, 1, true), Next::Bare);
    }
}
