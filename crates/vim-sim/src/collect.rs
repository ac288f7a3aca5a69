//! The property collector: reads, filters, and the long polls that wait in the world.
//!
//! ```text
//!   base ──────── changes in the log ────────► queue ──── first page ────► in flight
//!    ▲            (what each filter saw)                                      │
//!    └───────────────────── acknowledged by the next wait ◄───────────────────┘
//! ```
//!
//! A version names a page. The page that was sent last is kept until a wait names its version: a client that lost an
//! answer asks with the version before, and gets the same page again.

mod filter;
mod refs;
mod retrieve;
mod select;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use rookery_sim::RequestId;
use rookery_vim::Writer;
use rookery_vim::objects::WaitOptions;

use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::rules::Rules;
use crate::soap::{self, Outcome};
use crate::world::World;
pub(crate) use filter::{Delta, Filter};
pub(crate) use retrieve::{Rest, fetch, next_page, retrieve, retrieve_all};
pub(crate) use select::Spec;

/// All collectors of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Collectors {
    collectors: BTreeMap<Id, Collector>,
    /// Retrieves that are not read to their end, by token.
    pub(crate) rests: BTreeMap<String, Rest>,
}

#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) session: u32,
    filters: Vec<Filter>,
    /// The version that the client is known to have.
    version: u64,
    last_version: u64,
    /// The revision that the filters' members are of, but for what is in the queue.
    base: u64,
    queue: VecDeque<(Id, Delta)>,
    queue_revision: u64,
    in_flight: Option<Page>,
    /// The client was told that there is more, and waits for it.
    promised: bool,
    parked: Option<Parked>,
}

/// What was told last, and may have been lost.
#[derive(Debug, Clone, Copy)]
struct Page {
    version: u64,
    /// How much of the queue it told.
    count: usize,
    truncated: bool,
}

/// A wait that found nothing yet.
#[derive(Debug, Clone)]
struct Parked {
    request: RequestId,
    method: String,
    deadline: Option<Timestamp>,
    page: usize,
}

impl Collector {
    /// Takes the version that the client has.
    fn acknowledge(&mut self, version: &str) -> Result<(), Refusal> {
        if version.is_empty() {
            for filter in &mut self.filters {
                filter.start_over();
            }
            self.queue.clear();
            self.in_flight = None;
            self.promised = false;
            return Ok(());
        }
        let stale = || {
            Refusal::new("InvalidCollectorVersion", "The version is not one that this collector gave out.")
        };
        let version: u64 = version.parse().map_err(|_| stale())?;
        match self.in_flight {
            Some(page) if page.version == version => {
                self.in_flight = None;
                self.promised = page.truncated;
                for (filter, delta) in self.queue.drain(..page.count) {
                    if let Some(filter) = self.filters.iter_mut().find(|f| f.id == filter) {
                        filter.apply(&delta);
                    }
                }
                self.version = version;
                if self.queue.is_empty() {
                    self.base = self.queue_revision;
                }
                Ok(())
            }
            // The answer was lost: what it told is told again.
            _ if version == self.version && version > 0 => {
                self.in_flight = None;
                Ok(())
            }
            _ => Err(stale()),
        }
    }

    fn next_page(&mut self, most: usize) -> Option<Page> {
        let count = self.queue.len().min(most);
        // What was promised may have gone meanwhile. Then this is the end that the client waits for.
        if count == 0 && !self.promised {
            return None;
        }
        self.last_version += 1;
        let page = Page { version: self.last_version, count, truncated: self.queue.len() > count };
        self.in_flight = Some(page);
        self.in_flight
    }
}

impl Collectors {
    pub(crate) fn get(&self, id: Id) -> Option<&Collector> {
        self.collectors.get(&id)
    }

    /// Whether there is such a collector or filter.
    pub(crate) fn knows(&self, id: Id) -> bool {
        self.collectors.contains_key(&id)
            || id.kind == Kind::PropertyFilter
                && self.collectors.values().any(|c| c.filters.iter().any(|f| f.id == id))
    }

    pub(crate) fn add_filter(&mut self, id: Id, filter: Filter) {
        if let Some(collector) = self.collectors.get_mut(&id) {
            collector.filters.push(filter);
        }
    }

    pub(crate) fn remove_filter(&mut self, filter: Id) -> bool {
        let mut removed = false;
        for collector in self.collectors.values_mut() {
            let before = collector.filters.len();
            collector.filters.retain(|f| f.id != filter);
            if collector.filters.len() < before {
                removed = true;
                let sent = collector.in_flight.map_or(0, |page| page.count);
                let kept = collector.queue.iter().take(sent).filter(|(of, _)| *of != filter).count();
                collector.queue.retain(|(of, _)| *of != filter);
                if let Some(page) = &mut collector.in_flight {
                    page.count = kept;
                }
            }
        }
        removed
    }

    /// Removes what a session leaves behind; the requests that wait for it.
    pub(crate) fn remove_session(&mut self, session: u32) -> Vec<RequestId> {
        self.rests.retain(|_, rest| rest.session != session);
        let gone: Vec<Id> =
            self.collectors.iter().filter(|(_, c)| c.session == session).map(|(id, _)| *id).collect();
        gone.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Removes a collector; the request that waits on it.
    pub(crate) fn remove(&mut self, id: Id) -> Option<RequestId> {
        self.collectors.remove(&id).and_then(|c| c.parked).map(|parked| parked.request)
    }

    /// Ends the wait on a collector.
    pub(crate) fn cancel(&mut self, id: Id) -> Option<RequestId> {
        self.collectors.get_mut(&id)?.parked.take().map(|parked| parked.request)
    }

    pub(crate) fn forget_request(&mut self, request: RequestId) {
        for collector in self.collectors.values_mut() {
            if collector.parked.as_ref().is_some_and(|parked| parked.request == request) {
                collector.parked = None;
            }
        }
    }

    /// When the next wait has waited long enough, of those that are answered at all.
    pub(crate) fn next_deadline(&self, rules: &Rules) -> Option<Timestamp> {
        let waits = self.collectors.iter().filter_map(|(id, c)| Some((*id, c.parked.as_ref()?.deadline?)));
        waits.filter(|(id, _)| !rules.freeze(*id)).map(|(_, deadline)| deadline).min()
    }

    /// Whether a session waits for updates.
    pub(crate) fn waits(&self, session: u32) -> bool {
        self.collectors.values().any(|c| c.session == session && c.parked.is_some())
    }

    pub(crate) fn oldest_revision(&self) -> Option<u64> {
        self.collectors.values().filter(|c| !c.filters.is_empty()).map(|c| c.base).min()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.collectors.values().filter(|c| c.parked.is_some()).count()
    }
}

/// `WaitForUpdatesEx` and its older forms.
pub(crate) fn wait(
    world: &mut World,
    call: &soap::Call,
    version: Option<String>,
    options: Option<&WaitOptions>,
    once: bool,
) -> soap::Handled {
    let id = addressed(world, call)?;
    let page = page_size(world, options.and_then(|o| o.max_object_updates));
    let seconds = if once { Some(0) } else { options.and_then(|o| o.max_wait_seconds) };
    let deadline = seconds.map(|seconds| {
        world.now.saturating_add(SignedDuration::from_secs(i64::from(seconds.max(0)))).unwrap_or(world.now)
    });
    let Some(collector) = world.collectors.collectors.get_mut(&id) else {
        return Err(Refusal::gone(&call.this));
    };
    collector.acknowledge(&version.unwrap_or_default())?;
    // One wait at a time: the one before ends as if it had been cancelled.
    if let Some(before) = collector.parked.take() {
        world.reply(before.request, soap::refuse(&cancelled()));
    }
    let frozen = world.rules.freeze(id);
    if !frozen && let Some(text) = updates(world, id, page) {
        return Ok(soap::written(&call.method, |out| out.raw(&text)));
    }
    if !frozen && deadline.is_some_and(|deadline| deadline <= world.now) {
        return Ok(soap::written(&call.method, |_| {}));
    }
    if let Some(collector) = world.collectors.collectors.get_mut(&id) {
        collector.parked =
            Some(Parked { request: call.request, method: call.method.clone(), deadline, page });
    }
    Ok(Outcome::Parked)
}

/// As many objects as a client wants at most in an answer, or as there may be.
fn page_size(world: &World, most: Option<i32>) -> usize {
    let most = most.filter(|most| *most > 0).and_then(|most| usize::try_from(most).ok());
    most.unwrap_or(usize::MAX).min(world.settings.page)
}

pub(crate) fn cancelled() -> Refusal {
    Refusal::new("RequestCanceled", "The request was canceled.")
}

/// Answers the waits that something was found for, and those that have waited long enough.
pub(crate) fn answer_waiting(world: &mut World) {
    let revision = world.store.log.revision();
    let now = world.now;
    let is_due = |c: &Collector| {
        let over = |parked: &Parked| parked.deadline.is_some_and(|deadline| deadline <= now);
        c.parked
            .as_ref()
            .is_some_and(|p| c.base < revision || over(p) || c.filters.iter().any(|filter| filter.fresh))
    };
    let due = world.collectors.collectors.iter().filter(|(_, c)| is_due(c));
    let due: Vec<Id> = due.map(|(id, _)| *id).collect();
    for id in due {
        if world.rules.freeze(id) {
            continue;
        }
        let Some(parked) = world.collectors.collectors.get(&id).and_then(|c| c.parked.clone()) else {
            continue;
        };
        let text = updates(world, id, parked.page);
        let over = parked.deadline.is_some_and(|deadline| deadline <= now);
        if text.is_none() && !over {
            continue;
        }
        let reply = soap::late(&parked.method, |out| out.raw(text.as_deref().unwrap_or_default()));
        world.reply(parked.request, reply);
        if let Some(collector) = world.collectors.collectors.get_mut(&id) {
            collector.parked = None;
        }
    }
}

/// The next page of a collector as a `returnval`, if there is anything to tell.
fn updates(world: &mut World, id: Id, page: usize) -> Option<String> {
    // Whoever waits is told what it may see, whoever asks meanwhile.
    let owner = world.collectors.collectors.get(&id).map(|collector| collector.session);
    let asking = std::mem::replace(&mut world.caller, owner);
    let text = updates_for_owner(world, id, page);
    world.caller = asking;
    text
}

fn updates_for_owner(world: &mut World, id: Id, page: usize) -> Option<String> {
    fill_queue(world, id);
    let collector = world.collectors.collectors.get_mut(&id)?;
    let Page { version, count, truncated } = collector.next_page(page)?;
    let collector = world.collectors.collectors.get(&id)?;
    let mut out = Writer::new();
    out.open("returnval", None);
    out.leaf("version", None, &version.to_string());
    for filter in &collector.filters {
        let mut deltas = collector.queue.iter().take(count).filter(|(of, _)| *of == filter.id).peekable();
        if deltas.peek().is_none() {
            continue;
        }
        out.open("filterSet", None);
        out.reference("filter", None, &filter.id.reference());
        for (_, delta) in deltas {
            filter.write(world, delta, &mut out);
        }
        out.close("filterSet");
    }
    if truncated {
        out.leaf("truncated", None, "true");
    }
    out.close("returnval");
    Some(out.into_string())
}

/// Finds out what each filter has seen since, if all that was found before has been told.
fn fill_queue(world: &mut World, id: Id) {
    drop_gone(world, id);
    let revision = world.store.log.revision();
    let Some(collector) = world.collectors.collectors.get(&id) else { return };
    if !collector.queue.is_empty() {
        return;
    }
    let mut found = Vec::new();
    let mut recomputed = Vec::new();
    for filter in &collector.filters {
        let (deltas, general) = filter.deltas(world, collector.base);
        found.extend(deltas.into_iter().map(|delta| (filter.id, delta)));
        recomputed.push(general);
    }
    let Some(collector) = world.collectors.collectors.get_mut(&id) else { return };
    for (filter, general) in collector.filters.iter_mut().zip(recomputed) {
        filter.fresh &= !general;
    }
    collector.queue.extend(found);
    collector.queue_revision = revision;
    if collector.queue.is_empty() {
        collector.base = revision;
    }
}

/// Of what has gone since it was queued there is nothing to tell any more, or only that it has gone: later.
fn drop_gone(world: &mut World, id: Id) {
    let Some(collector) = world.collectors.collectors.get(&id) else { return };
    let shown = collector.queue.iter().filter_map(|(_, delta)| delta.shows());
    let gone: BTreeSet<Id> = shown.filter(|id| !crate::properties::exists(world, *id)).collect();
    let Some(collector) = world.collectors.collectors.get_mut(&id) else { return };
    if gone.is_empty() {
        return;
    }
    collector.queue.retain(|(_, delta)| delta.shows().is_none_or(|id| !gone.contains(&id)));
    if collector.queue.is_empty() {
        collector.base = collector.queue_revision;
    }
}

pub(crate) fn create(world: &mut World, session: u32) -> Id {
    let id = world.store.next_id(Kind::PropertyCollector);
    world.collectors.collectors.insert(id, Collector { session, ..Collector::default() });
    id
}

/// The collector that a call is about: everybody has a default one.
pub(crate) fn addressed(world: &mut World, call: &soap::Call) -> Result<Id, Refusal> {
    let session = call.session.ok_or_else(|| Refusal::not_authenticated(&call.this))?;
    let id = Id::of(&call.this).filter(|id| id.kind == Kind::PropertyCollector);
    let id = id.ok_or_else(|| Refusal::gone(&call.this))?;
    if id == Id::single(Kind::PropertyCollector) {
        if let Some(own) = world.sessions.get(session).and_then(|session| session.default_collector) {
            return Ok(own);
        }
        let own = create(world, session);
        if let Some(session) = world.sessions.get_mut(session) {
            session.default_collector = Some(own);
        }
        return Ok(own);
    }
    match world.collectors.get(id) {
        Some(collector) if collector.session == session => Ok(id),
        Some(_) | None => Err(Refusal::gone(&call.this)),
    }
}
