//! Who may run now. Pure: the moment is an argument.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rookery_vim::MoRef;
use tokio::time::Instant;

/// After this long in the queue an order goes with the next higher priority: nobody waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many permits go to others while housekeeping waits; the next one goes to the housekeeping that waits longest.
const OTHERS_FIRST: usize = 3;
/// How many durations are remembered.
const MEASURED: usize = 20;

/// How much may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    pub total: usize,
    pub per_host: usize,
    pub per_datastore: usize,
}

impl Ceilings {
    /// A limit of nothing would stop everything for ever; that is not what anybody means by it.
    fn of_use(self) -> Self {
        Self {
            total: self.total.max(1),
            per_host: self.per_host.max(1),
            per_datastore: self.per_datastore.max(1),
        }
    }
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
    /// Whether it tells how long what takes long takes: how long a queue takes is reckoned from such.
    pub measured: bool,
}

/// An order that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub order: Order,
    pub waited: Duration,
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

/// What is before an order that somebody would join the queue with now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    /// Each ceiling that the order would have to keep to, and who is before it there.
    pub gates: Vec<Gate>,
    /// The median of the last durations of what was measured; none if nothing was yet.
    pub median: Option<Duration>,
}

/// One ceiling, and who is before an order there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// How much may run at once.
    pub ceiling: usize,
    /// Orders of demand, running or waiting.
    pub demand: usize,
    /// Other orders that run.
    pub others: usize,
}

/// A place in the queue, then the right to run. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// Who waits and who runs.
#[derive(Debug)]
pub(super) struct Queue {
    ceilings: Ceilings,
    waiting: BTreeMap<Ticket, (Order, Instant)>,
    running: BTreeMap<Ticket, (Order, Instant)>,
    next: u64,
    /// How many permits others got while housekeeping waited.
    others: usize,
    /// How long the last ones took that are measured and succeeded, newest last.
    durations: VecDeque<Duration>,
}

impl Queue {
    pub(super) fn new(ceilings: Ceilings) -> Self {
        Self {
            ceilings: ceilings.of_use(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            next: 0,
            others: 0,
            durations: VecDeque::with_capacity(MEASURED),
        }
    }

    /// Whatever runs already goes on.
    pub(super) fn tighten(&mut self, to: Ceilings) {
        let (own, to) = (self.ceilings, to.of_use());
        self.ceilings = Ceilings {
            total: own.total.min(to.total),
            per_host: own.per_host.min(to.per_host),
            per_datastore: own.per_datastore.min(to.per_datastore),
        };
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

    /// Remembers how long an operation took that has succeeded.
    pub(super) fn measure(&mut self, ticket: Ticket, now: Instant) {
        let Some((_, since)) = self.running.get(&ticket).filter(|(order, _)| order.measured) else { return };
        if self.durations.len() == MEASURED {
            self.durations.pop_front();
        }
        self.durations.push_back(now.saturating_duration_since(*since));
    }

    /// Lets everybody run who may. An order whose host or datastore is busy does not hold up those behind it.
    pub(super) fn admit(&mut self, now: Instant) -> Vec<Ticket> {
        let mut admitted = Vec::new();
        while let Some(ticket) = self.next_turn(now) {
            let Some((order, _)) = self.waiting.remove(&ticket) else { continue };
            let tidies = |order: &Order| order.priority == Priority::Housekeeping;
            let kept_waiting = self.waiting.values().any(|(order, _)| tidies(order));
            self.others = if tidies(&order) || !kept_waiting { 0 } else { self.others + 1 };
            self.running.insert(ticket, (order, now));
            admitted.push(ticket);
        }
        admitted
    }

    /// Who is let in next, if anybody can be.
    fn next_turn(&self, now: Instant) -> Option<Ticket> {
        let tidies = |ticket: &Ticket| {
            self.waiting.get(ticket).is_some_and(|(order, _)| order.priority == Priority::Housekeeping)
        };
        let can_run = |ticket: &Ticket| {
            self.waiting.get(ticket).is_some_and(|(order, _)| self.blocked(&order.site) == Blocked::Nothing)
        };
        // Tickets are in the order of arrival.
        let mut tidying = self.waiting.keys().copied().filter(tidies).filter(can_run);
        let due = if self.others >= OTHERS_FIRST { tidying.next() } else { None };
        due.or_else(|| self.turns(now).into_iter().find(can_run))
    }

    /// What is before an order of demand that is for this site and joins now.
    pub(super) fn load(&self, site: &Site) -> Load {
        let gate = |ceiling: usize, counts: &dyn Fn(&Site) -> bool| {
            let here = |order: &Order| counts(&order.site);
            let is_demand = |order: &Order| order.priority == Priority::Demand;
            let running = || self.running.values().map(|(order, _)| order).filter(|order| here(order));
            let waiting = self.waiting.values().map(|(order, _)| order).filter(|order| here(order));
            let demand = running().chain(waiting).filter(|order| is_demand(order)).count();
            Gate { ceiling, demand, others: running().filter(|order| !is_demand(order)).count() }
        };
        let mut gates = vec![gate(self.ceilings.total, &|_| true)];
        let host = site.host.as_ref();
        gates.extend(host.map(|host| gate(self.ceilings.per_host, &|site| site.host.as_ref() == Some(host))));
        gates.extend(site.datastore.as_ref().map(|datastore| {
            gate(self.ceilings.per_datastore, &|site| site.datastore.as_ref() == Some(datastore))
        }));
        Load { gates, median: self.median() }
    }

    fn median(&self) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.durations.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
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
            (self.running.values().filter(|(order, _)| here(&order.site) == Some(wanted)).count() >= limit)
                .then(|| wanted.clone())
        };
        if let Some(host) = busy(|p| p.host.as_ref(), self.ceilings.per_host) {
            return Blocked::Host(host);
        }
        busy(|p| p.datastore.as_ref(), self.ceilings.per_datastore)
            .map_or(Blocked::Nothing, Blocked::Datastore)
    }
}
