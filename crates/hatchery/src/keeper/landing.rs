//! How acts report that they have ended, whatever becomes of them.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::Message;
use crate::act::Ending;
use crate::flight::FlightId;

/// Acts that were cut off: they panicked, or their task was dropped. Whoever is cut off cannot wait for room in the inbox,
/// and work that is never seen to end would hold its machine, its address and its slot for ever. Clones share it; there is
/// one entry for each act at most.
#[derive(Debug, Clone, Default)]
pub struct Wrecks(Arc<Mutex<Vec<FlightId>>>);

impl Wrecks {
    /// Those that were cut off since somebody last asked.
    pub(super) fn take(&self) -> Vec<FlightId> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, id: FlightId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }
}

/// Reports the ending of an act, whatever that is.
#[derive(Debug)]
pub(super) struct Landing {
    keeper: mpsc::Sender<Message>,
    wrecks: Wrecks,
    id: FlightId,
    has_landed: bool,
}

impl Landing {
    pub(super) fn of(id: FlightId, keeper: mpsc::Sender<Message>, wrecks: Wrecks) -> Self {
        Self { keeper, wrecks, id, has_landed: false }
    }

    pub(super) async fn report(mut self, ending: Ending) {
        self.keeper.send(Message::Ended(self.id, ending)).await.ok();
        self.has_landed = true;
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        if !self.has_landed {
            self.wrecks.add(self.id);
            // It only wakes the keeper. One whose inbox is full looks there soon anyway.
            self.keeper.try_send(Message::Wrecked).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landing(number: u64, keeper: &mpsc::Sender<Message>, wrecks: &Wrecks) -> Landing {
        Landing::of(FlightId(number), keeper.clone(), wrecks.clone())
    }

    // Work that was cut off while the inbox was full was under way for ever.
    #[tokio::test]
    async fn an_act_that_is_cut_off_is_seen_to_end_however_full_the_inbox_is() {
        let (keeper, mut inbox) = mpsc::channel(1);
        let wrecks = Wrecks::default();
        landing(1, &keeper, &wrecks).report(Ending::Done).await;
        drop(landing(2, &keeper, &wrecks));
        // In the middle of its report.
        let reporting = landing(3, &keeper, &wrecks).report(Ending::Done);
        assert!(tokio::time::timeout(std::time::Duration::ZERO, reporting).await.is_err());
        assert_eq!(wrecks.take(), [FlightId(2), FlightId(3)]);
        assert_eq!(wrecks.take(), []);
        assert!(matches!(inbox.recv().await, Some(Message::Ended(FlightId(1), Ending::Done))));
        drop(landing(4, &keeper, &wrecks));
        assert!(matches!(inbox.recv().await, Some(Message::Wrecked)), "it wakes the keeper");
    }
}
