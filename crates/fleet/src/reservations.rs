//! What several fronts have taken on one supplier and no machine shows yet: names, addresses and room. What one of them
//! holds no other can take, and taking is one decision: all of it, or nothing and what stands in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::machine::Hardware;

/// Who takes: a front, by a name of its own within the process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrontId(Arc<str>);

impl FrontId {
    /// The front of that name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for FrontId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is taken for one machine until the inventory shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reservation {
    /// The names that it has or will have.
    pub names: BTreeSet<String>,
    /// The addresses that it is given.
    pub addresses: BTreeSet<Ipv4Addr>,
    /// The room that it will take.
    pub footprint: Hardware,
    /// The resource pool that the room is in, as the supplier calls it.
    pub pool: String,
}

/// A reservation that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReservationId(u64);

/// What stands in the way of a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conflict {
    pub names: BTreeSet<String>,
    pub addresses: BTreeSet<Ipv4Addr>,
    /// The memory that is left in the pool beside what is in flight, if that is too little.
    pub memory_left_mb: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InFlight {
    pub names: BTreeSet<String>,
    pub addresses: BTreeSet<Ipv4Addr>,
    /// Virtual CPUs in the pool that was asked about.
    pub cpus: u64,
    /// Memory in the pool that was asked about.
    pub memory_mb: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Reservations {
    made: u64,
    held: BTreeMap<ReservationId, (FrontId, Reservation)>,
}

impl Reservations {
    /// Takes all of it, or nothing. `memory_left_mb` is what the supplier says is left in the pool, if it says so: what
    /// is in flight there, whoever has taken it, has to fit beside it.
    pub fn take(
        &mut self,
        front: &FrontId,
        wanted: Reservation,
        memory_left_mb: Option<u64>,
    ) -> Result<ReservationId, Conflict> {
        let conflict = self.conflict(&wanted, memory_left_mb);
        if conflict != Conflict::default() {
            return Err(conflict);
        }
        self.made += 1;
        let id = ReservationId(self.made);
        self.held.insert(id, (front.clone(), wanted));
        Ok(id)
    }

    fn conflict(&self, wanted: &Reservation, memory_left_mb: Option<u64>) -> Conflict {
        let taken = self.in_flight(&wanted.pool, |_| true);
        let left = memory_left_mb.map(|left| left.saturating_sub(taken.memory_mb));
        Conflict {
            names: taken.names.intersection(&wanted.names).cloned().collect(),
            addresses: taken.addresses.intersection(&wanted.addresses).copied().collect(),
            memory_left_mb: left.filter(|left| memory_mb(&wanted.footprint) > *left),
        }
    }

    /// Gives the room back, and keeps the rest: the supplier counts the machine by now.
    pub fn release_room(&mut self, id: ReservationId) {
        if let Some((_, held)) = self.held.get_mut(&id) {
            held.footprint = Hardware { cpus: Some(0), memory_mb: Some(0) };
        }
    }

    /// Gives it back. That it was given back before does no harm.
    pub fn release(&mut self, id: ReservationId) {
        self.held.remove(&id);
    }

    /// What all other fronts have in flight. Names and addresses count wherever they are, room in this pool.
    pub fn of_others(&self, front: &FrontId, pool: &str) -> InFlight {
        self.in_flight(pool, |holder| holder != front)
    }

    fn in_flight(&self, pool: &str, counts: impl Fn(&FrontId) -> bool) -> InFlight {
        let mut all = InFlight::default();
        for (_, reservation) in self.held.values().filter(|(holder, _)| counts(holder)) {
            all.names.extend(reservation.names.iter().cloned());
            all.addresses.extend(&reservation.addresses);
            if reservation.pool == pool {
                all.cpus = all.cpus.saturating_add(reservation.footprint.cpus.map_or(1, u64::from));
                all.memory_mb = all.memory_mb.saturating_add(memory_mb(&reservation.footprint));
            }
        }
        all
    }
}

/// Of what is not known we know that it takes something.
fn memory_mb(footprint: &Hardware) -> u64 {
    footprint.memory_mb.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    fn front(name: &str) -> FrontId {
        FrontId::new(name)
    }

    fn machine(name: &str, last: u8, memory_mb: u64) -> Reservation {
        Reservation {
            names: [name.to_owned()].into(),
            addresses: [Ipv4Addr::new(10, 0, 0, last)].into(),
            footprint: Hardware { cpus: Some(2), memory_mb: Some(memory_mb) },
            pool: "pool-1".to_owned(),
        }
    }

    #[test]
    fn what_conflicts_is_told_and_nothing_of_it_is_taken() {
        let (mut all, a, b) = (Reservations::default(), front("a"), front("b"));
        let first = all.take(&a, machine("one", 1, 512), None).expect("it is free");
        let both = Reservation {
            names: ["one", "two"].map(str::to_owned).into(),
            addresses: [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last)).into(),
            ..Reservation::default()
        };
        let conflict = all.take(&b, both.clone(), None).expect_err("one of each is taken");
        let expected = Conflict {
            names: ["one".to_owned()].into(),
            addresses: [Ipv4Addr::new(10, 0, 0, 1)].into(),
            memory_left_mb: None,
        };
        assert_eq!(conflict, expected);
        all.take(&a, machine("one", 9, 1), None).expect_err("not even by the same front");
        all.take(&b, machine("two", 2, 1), None).expect("a refusal takes nothing");
        all.release(first);
        all.release(first);
        all.take(&b, machine("one", 1, 1), None).expect("it was given back");
    }

    #[test]
    fn room_is_shared_with_whatever_is_in_flight_in_the_same_pool() {
        let (mut all, a, b) = (Reservations::default(), front("a"), front("b"));
        let first = all.take(&a, machine("one", 1, 3000), Some(4096)).expect("it fits");
        let conflict = all.take(&b, machine("two", 2, 3000), Some(4096)).expect_err("both do not");
        assert_eq!(conflict, Conflict { memory_left_mb: Some(1096), ..Conflict::default() });
        let elsewhere = Reservation { pool: "pool-2".to_owned(), ..machine("two", 2, 3000) };
        all.take(&b, elsewhere, Some(4096)).expect("another pool has its own room");
        all.take(&b, machine("three", 3, 1096), Some(4096)).expect("what is left can be taken");
        let unknown = Reservation { footprint: Hardware::default(), ..machine("four", 4, 0) };
        all.take(&b, unknown, Some(4096)).expect_err("whatever it is, it takes something");
        all.release_room(first);
        all.take(&b, machine("four", 4, 3000), Some(4096)).expect("the supplier counts the first one now");
        all.take(&b, machine("one", 5, 0), None).expect_err("its name is still taken");
    }

    #[test]
    fn a_front_sees_what_the_others_hold() {
        let (mut all, a, b) = (Reservations::default(), front("a"), front("b"));
        all.take(&a, machine("one", 1, 512), None).expect("it is free");
        let elsewhere = Reservation { pool: "pool-2".to_owned(), ..machine("two", 2, 512) };
        all.take(&a, elsewhere, None).expect("it is free");
        all.take(&b, machine("three", 3, 512), None).expect("it is free");
        let seen = all.of_others(&b, "pool-1");
        assert_eq!(seen.names, ["one", "two"].map(str::to_owned).into());
        assert_eq!(seen.addresses, [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last)).into());
        assert_eq!((seen.cpus, seen.memory_mb), (2, 512));
    }

    proptest! {
        #[test]
        fn no_name_or_address_is_ever_held_twice_and_no_pool_is_overdrawn(
            steps in vec((0..3u8, btree_set(0..8u8, 0..3), btree_set(0..8u8, 0..3), 0..600u64, 0..2u8, any::<bool>()), 0..80),
        ) {
            let mut all = Reservations::default();
            let mut held: Vec<(ReservationId, Reservation)> = Vec::new();
            for (who, names, addresses, memory, pool, gives_back) in steps {
                if gives_back && !held.is_empty() {
                    let (id, _) = held.swap_remove(usize::from(who) % held.len());
                    all.release(id);
                    continue;
                }
                let wanted = Reservation {
                    names: names.iter().map(|name| format!("vm-{name}")).collect(),
                    addresses: addresses.iter().map(|last| Ipv4Addr::new(10, 0, 0, *last)).collect(),
                    footprint: Hardware { cpus: None, memory_mb: Some(memory) },
                    pool: pool.to_string(),
                };
                let is_free = held.iter().all(|(_, other)| {
                    other.names.is_disjoint(&wanted.names) && other.addresses.is_disjoint(&wanted.addresses)
                });
                let in_pool = held.iter().filter(|(_, other)| other.pool == wanted.pool);
                let used: u64 = in_pool.filter_map(|(_, other)| other.footprint.memory_mb).sum();
                let fits = used + memory <= 1000;
                let taken = all.take(&front(&who.to_string()), wanted.clone(), Some(1000));
                prop_assert_eq!(taken.is_ok(), is_free && fits);
                held.extend(taken.ok().map(|id| (id, wanted)));
            }
        }
    }
}
