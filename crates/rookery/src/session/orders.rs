//! What a command has asked for so far, for whoever stops it half way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The orders of one command. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Orders(Arc<Mutex<Given>>);

#[derive(Debug, Default)]
struct Given {
    count: usize,
    /// Those whose end was not seen.
    open: BTreeMap<usize, String>,
}

impl Orders {
    /// Does what changes something. `order` says what, to which VM, and how to look whether it was done; it stays open
    /// if the work is dropped on the way.
    pub async fn during<T>(&self, order: String, work: impl Future<Output = T>) -> T {
        let number = {
            let mut given = self.lock();
            given.count += 1;
            let number = given.count;
            given.open.insert(number, order);
            number
        };
        let done = work.await;
        self.lock().open.remove(&number);
        done
    }

    /// What a person must know who has stopped the command.
    pub fn left(&self) -> String {
        let given = self.lock();
        if given.count == 0 {
            return "cancelled; nothing was changed".to_owned();
        }
        if given.open.is_empty() {
            return "cancelled; nothing is under way any more".to_owned();
        }
        let open: Vec<_> = given.open.values().map(String::as_str).collect();
        format!("vCenter may still carry out what it was asked to do:\n  {}", open.join("\n  "))
    }

    fn lock(&self) -> MutexGuard<'_, Given> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn only_what_was_begun_and_not_seen_to_end_is_told() {
        let orders = Orders::default();
        assert_eq!(orders.left(), "cancelled; nothing was changed");
        orders.during("power off a".to_owned(), ready(())).now_or_never().expect("it is done");
        assert_eq!(orders.left(), "cancelled; nothing is under way any more");
        for order in ["power off b", "destroy c"] {
            assert_eq!(orders.during(order.to_owned(), pending::<()>()).now_or_never(), None);
        }
        assert_eq!(
            orders.left(),
            "vCenter may still carry out what it was asked to do:\n  power off b\n  destroy c"
        );
    }
}
