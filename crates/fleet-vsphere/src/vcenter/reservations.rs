//! The reservations on one server, behind one lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rookery_fleet::reservations::{Conflict, FrontId, InFlight, Reservation, ReservationId, Reservations};

use super::Server;

/// All of a server, behind one lock.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<Reservations>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Reservations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reservations on a server in the eyes of one front. Clones share them.
#[derive(Debug, Clone)]
pub struct FrontReservations {
    server: Arc<Server>,
    front: FrontId,
}

/// Something that is taken until this is dropped.
#[derive(Debug)]
#[must_use = "what was taken is given back when this is dropped"]
pub struct Reserved {
    /// What is taken is remembered for as long as this lives, whoever logs out meanwhile.
    server: Arc<Server>,
    id: ReservationId,
}

impl FrontReservations {
    pub(super) fn new(server: Arc<Server>, front: FrontId) -> Self {
        Self { server, front }
    }

    /// Takes all of it, or nothing; see [`Reservations::take`].
    pub fn take(&self, wanted: Reservation, memory_left_mb: Option<u64>) -> Result<Reserved, Conflict> {
        let id = self.server.reservations.lock().take(&self.front, wanted, memory_left_mb)?;
        Ok(Reserved { server: Arc::clone(&self.server), id })
    }

    /// What all other fronts have in flight: names and addresses anywhere, room in this pool.
    pub fn of_others(&self, pool: &str) -> InFlight {
        self.server.reservations.lock().of_others(&self.front, pool)
    }
}

impl Reserved {
    /// Gives the room back and keeps names and addresses: the pool counts the machine by now.
    pub fn release_room(&self) {
        self.server.reservations.lock().release_room(self.id);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.server.reservations.lock().release(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;

    use rookery_vim_client::{Ceilings, Governor};

    use super::*;
    use crate::vcenter::ServerId;

    #[test]
    fn of_many_who_want_the_same_at_once_one_has_it() {
        let (id, governor) = (ServerId::Endpoint(String::new()), Governor::new(Ceilings::default()));
        let server = Arc::new(Server { id, governor, reservations: Shared::default() });
        let for_front = |name: &str| FrontReservations::new(Arc::clone(&server), FrontId::new(name));
        let holders: Mutex<BTreeSet<String>> = Mutex::default();
        let tries = |who: usize| {
            let front = for_front(&format!("front-{who}"));
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
        assert!(for_front("other").of_others("").names.is_empty());
    }
}
