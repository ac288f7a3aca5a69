//! The reservations on one server, behind one lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rookery_fleet::reservations::{Conflict, FrontId, InFlight, Reservation, ReservationId, Reservations};

/// All of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Reservations>>);

impl Shared {
    pub(super) fn for_front(&self, front: FrontId) -> FrontReservations {
        FrontReservations { all: self.clone(), front }
    }

    fn lock(&self) -> MutexGuard<'_, Reservations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reservations on a server in the eyes of one front. Clones share them.
#[derive(Debug, Clone)]
pub struct FrontReservations {
    all: Shared,
    front: FrontId,
}

/// Something that is taken until this is dropped.
#[derive(Debug)]
#[must_use = "what was taken is given back when this is dropped"]
pub struct Reserved {
    all: Shared,
    id: ReservationId,
}

impl FrontReservations {
    /// Takes all of it, or nothing; see [`Reservations::take`].
    pub fn take(&self, wanted: Reservation, memory_left_mb: Option<u64>) -> Result<Reserved, Conflict> {
        let id = self.all.lock().take(&self.front, wanted, memory_left_mb)?;
        Ok(Reserved { all: self.all.clone(), id })
    }

    /// What all other fronts have in flight: names and addresses anywhere, room in this pool.
    pub fn of_others(&self, pool: &str) -> InFlight {
        self.all.lock().of_others(&self.front, pool)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.all.lock().release(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;

    use super::*;

    #[test]
    fn of_many_who_want_the_same_at_once_one_has_it() {
        let all = Shared::default();
        let holders: Mutex<BTreeSet<String>> = Mutex::default();
        let tries = |who: usize| {
            let front = all.for_front(FrontId::new(&format!("front-{who}")));
            let mut taken = 0;
            for round in 0..2000 {
                let name = format!("vm-{}", round % 3);
                let wanted = Reservation { names: [name.clone()].into(), ..Reservation::default() };
                let Ok(reserved) = front.take(wanted, None) else { continue };
                assert!(holders.lock().expect("nobody panicked").insert(name.clone()), "two have {name}");
                taken += 1;
                thread::yield_now();
                holders.lock().expect("nobody panicked").remove(&name);
                drop(reserved);
            }
            taken
        };
        let taken: usize = thread::scope(|scope| {
            let tries = &tries;
            let threads: Vec<_> = (0..4).map(|who| scope.spawn(move || tries(who))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no name is held twice")).sum()
        });
        assert!(taken > 0);
        assert!(all.for_front(FrontId::new("other")).of_others("").names.is_empty());
    }
}
