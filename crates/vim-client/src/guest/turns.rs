//! One operation at a time for each VM.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rookery_vim::MoRef;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The queues of the VMs that something is asked of at this moment; nothing is kept of the others.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns(Arc<Mutex<Queues>>);

type Queues = BTreeMap<MoRef, Arc<AsyncMutex<()>>>;

/// The right to ask something of one VM, given back when it is dropped. The guard goes before the place, so that the
/// last place to go finds nobody else in the queue.
#[derive(Debug)]
pub(super) struct Turn {
    _guard: OwnedMutexGuard<()>,
    _place: Place,
}

#[derive(Debug)]
struct Place {
    turns: Turns,
    vm: MoRef,
}

impl Turns {
    /// Waits for its turn. Whoever gives up waiting leaves the queue.
    pub(super) async fn enter(&self, vm: &MoRef) -> Turn {
        let place = Place { turns: self.clone(), vm: vm.clone() };
        let queue = self.queues(|queues| Arc::clone(queues.entry(vm.clone()).or_default()));
        Turn { _guard: queue.lock_owned().await, _place: place }
    }

    fn queues<T>(&self, look: impl FnOnce(&mut Queues) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turns.queues(|queues| {
            // Queues are only joined under the lock: if nobody holds this one now, nobody does.
            if queues.get(&self.vm).is_some_and(|queue| Arc::strong_count(queue) == 1) {
                queues.remove(&self.vm);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join_all;
    use tokio::time::{Instant, sleep, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn vm(number: usize) -> MoRef {
        MoRef::new("VirtualMachine", &format!("vm-{number}"))
    }

    async fn work(turns: &Turns, vm: MoRef) {
        let _turn = turns.enter(&vm).await;
        sleep(SECOND).await;
    }

    #[tokio::test(start_paused = true)]
    async fn operations_on_one_vm_wait_for_each_other_and_those_on_others_do_not() {
        let turns = Turns::default();
        let start = Instant::now();
        join_all((0..100).map(|number| work(&turns, vm(number)))).await;
        assert_eq!(start.elapsed(), SECOND);
        join_all((0..5).map(|_| work(&turns, vm(1)))).await;
        assert_eq!(start.elapsed(), SECOND * 6);
        assert_eq!(turns.queues(|queues| queues.len()), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_waiting_leaves_nothing_behind() {
        let turns = Turns::default();
        let first = turns.enter(&vm(1)).await;
        timeout(SECOND, turns.enter(&vm(1))).await.expect_err("the turn is taken");
        assert_eq!(turns.queues(|queues| queues.len()), 1);
        drop(first);
        assert_eq!(turns.queues(|queues| queues.len()), 0);
        drop(turns.enter(&vm(1)).await);
    }
}
