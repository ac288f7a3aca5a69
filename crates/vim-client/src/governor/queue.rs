//! Who may run now. Pure: the moment is an argument.

use std::collections::BTreeMap;
use std::time::Duration;

use rookery_vim::MoRef;
use tokio::time::Instant;

/// After this long in the queue an order goes with the next higher priority: nobody waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// In all.
    pub total: usize,
    /// On one host.
    pub per_host: usize,
    /// On one datastore.
    pub per_datastore: usize,
}

impl Default for Ceilings {
    /// Below what vCenter itself allows: eight clones for each host and datastore, shared with everybody else.
    fn default() -> Self {
        Self { total: 32, per_host: 6, per_datastore: 6 }
    }
}

/// Whose wish it is. The order is that of their turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A person, or a job that waits for it.
    Demand,
    /// Preparation for demand to come.
    Stock,
    /// Tidying up.
    Housekeeping,
}

impl Priority {
    fn higher(self) -> Self {
        match self {
            Self::Demand | Self::Stock => Self::Demand,
            Self::Housekeeping => Self::Stock,
        }
    }
}

/// Where an operation makes work, as far as it is known beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site {
    /// The host that does it.
    pub host: Option<MoRef>,
    /// The datastore that is written to.
    pub datastore: Option<MoRef>,
}

/// What somebody wants to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// In words, for whoever looks at the queue.
    pub what: String,
    /// How urgent it is.
    pub priority: Priority,
    /// Where it makes work.
    pub site: Site,
}

/// An order that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The order.
    pub order: Order,
    /// For how long.
    pub waited: Duration,
    /// For what.
    pub blocked: Blocked,
}

/// What an order waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// As much runs as may run in all.
    Total,
    /// Its host is busy.
    Host(MoRef),
    /// Its datastore is busy.
    Datastore(MoRef),
    /// Nothing: its turn comes in this moment.
    Nothing,
}

/// A place in the queue, then the right to run. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// Who waits and who runs.
#[derive(Debug)]
pub(super) struct Queue {
    ceilings: Ceilings,
    waiting: BTreeMap<Ticket, (Order, Instant)>,
    running: BTreeMap<Ticket, Site>,
    next: u64,
}

impl Queue {
    pub(super) fn new(ceilings: Ceilings) -> Self {
        // A limit of nothing would stop everything for ever; that is not what anybody means by it.
        let ceilings = Ceilings {
            total: ceilings.total.max(1),
            per_host: ceilings.per_host.max(1),
            per_datastore: ceilings.per_datastore.max(1),
        };
        Self { ceilings, waiting: BTreeMap::new(), running: BTreeMap::new(), next: 0 }
    }

    /// Takes a place at the end.
    pub(super) fn join(&mut self, order: Order, now: Instant) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.waiting.insert(ticket, (order, now));
        ticket
    }

    /// Ends an operation, or gives up waiting for it.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket);
        self.running.remove(&ticket);
    }

    /// Lets everybody run who may. An order whose host or datastore is busy does not hold up those behind it.
    pub(super) fn admit(&mut self, now: Instant) -> Vec<Ticket> {
        let mut admitted = Vec::new();
        for ticket in self.turns(now) {
            let Some((order, _)) = self.waiting.get(&ticket) else { continue };
            match self.blocked(&order.site) {
                Blocked::Total => break,
                Blocked::Host(_) | Blocked::Datastore(_) => {}
                Blocked::Nothing => {
                    let site = order.site.clone();
                    self.waiting.remove(&ticket);
                    self.running.insert(ticket, site);
                    admitted.push(ticket);
                }
            }
        }
        admitted
    }

    pub(super) fn waiting(&self, now: Instant) -> Vec<Waiting> {
        let turns = self.turns(now).into_iter().filter_map(|ticket| self.waiting.get(&ticket));
        let view = |(order, since): &(Order, Instant)| Waiting {
            order: order.clone(),
            waited: now.saturating_duration_since(*since),
            blocked: self.blocked(&order.site),
        };
        turns.map(view).collect()
    }

    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// By priority, then by arrival.
    fn turns(&self, now: Instant) -> Vec<Ticket> {
        let rank = |(ticket, (order, since)): (&Ticket, &(Order, Instant))| {
            let tired = now.saturating_duration_since(*since) >= PATIENCE;
            (if tired { order.priority.higher() } else { order.priority }, *ticket)
        };
        let mut turns: Vec<_> = self.waiting.iter().map(rank).collect();
        turns.sort_unstable();
        turns.into_iter().map(|(_, ticket)| ticket).collect()
    }

    fn blocked(&self, site: &Site) -> Blocked {
        if self.running.len() >= self.ceilings.total {
            return Blocked::Total;
        }
        let busy = |here: fn(&Site) -> Option<&MoRef>, limit| {
            let wanted = here(site)?;
            (self.running.values().filter(|p| here(p) == Some(wanted)).count() >= limit)
                .then(|| wanted.clone())
        };
        if let Some(host) = busy(|p| p.host.as_ref(), self.ceilings.per_host) {
            return Blocked::Host(host);
        }
        busy(|p| p.datastore.as_ref(), self.ceilings.per_datastore)
            .map_or(Blocked::Nothing, Blocked::Datastore)
    }
}
