//! How many workers may be between launch and registration at once, by how CDS is doing. Pure: times are arguments.
//!
//! A CDS that is swamped by workers loses jobs: a worker gives up taking its job after ten seconds, and that job is not
//! queued again. Long before that CDS becomes slow, which shows in our own calls and in how long workers take to register.
//!
//! ```text
//!   median of the last ten own calls above 1 s ────────────────┐
//!                                                              ├─► half as many, at least 1
//!   registration above 10 s and above twice its usual time ────┘
//!   registration in good time ──────────┐
//!                                       ├───────────────────────► one more, up to the limit
//!   a minute without a cut ─────────────┘
//! ```
//!
//! Calls and launches from before the last cut tell of the time before it, and do not cut again. Time alone allows more, too:
//! where nobody is left to register, nobody would ever show that CDS is well again.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

/// So many calls are looked at.
const CALLS: usize = 10;
/// CDS is slow if the median of its last calls takes longer.
const SLOW_CALL: Duration = Duration::from_secs(1);
/// A registration within this time is never late.
const REGISTRATION: Duration = Duration::from_secs(10);
/// So many registrations tell what is usual, and at least so many are needed.
const USUAL: usize = 20;
const FEWEST: usize = 5;
/// Without a cut one more is allowed each time that this has passed.
const RECOVERY: Duration = Duration::from_mins(1);
/// After this long a worker that has not registered does not burden CDS any more: real ones give up much sooner. Nor does
/// one whose job was taken so long ago and that is not ready yet: it may never be.
const PATIENCE: Duration = Duration::from_mins(2);

/// How CDS is doing, and what follows from it.
#[derive(Debug, Clone, Default)]
pub struct Pressure {
    /// How many workers may be between launch and registration; none: as many as the settings allow.
    allowed: Option<u32>,
    cut_at: Option<Instant>,
    /// From when the time counts after which one more is allowed.
    calm_since: Option<Instant>,
    /// The times of the last calls since then.
    calls: VecDeque<Duration>,
    /// The times of the last calls, to be shown.
    latest: VecDeque<Duration>,
    registrations: VecDeque<Duration>,
    /// The workers that are being started and not launched yet, and when their jobs were taken.
    begun: BTreeMap<String, Instant>,
    /// The workers between launch and registration, and when each was launched; none: it is being launched.
    launches: BTreeMap<String, Option<Instant>>,
}

impl Pressure {
    /// How many workers may be between launch and registration if the settings allow so many.
    pub fn allowed(&self, limit: u32) -> u32 {
        self.allowed.map_or(limit, |allowed| allowed.min(limit))
    }

    /// The same, if it is less than the settings allow.
    pub fn reduced(&self, limit: u32) -> Option<u32> {
        Some(self.allowed(limit)).filter(|allowed| *allowed < limit)
    }

    /// How many workers are between launch and registration.
    pub fn launching(&self) -> usize {
        self.launches.len()
    }

    /// How many workers turn to CDS now or soon: their jobs were taken a moment ago, they are ready, or they are launched.
    pub fn on_their_way<'w>(&self, ready: impl Iterator<Item = &'w str>) -> u32 {
        let ready = ready.filter(|worker| !self.begun.contains_key(*worker)).count();
        u32::try_from(self.launches.len() + self.begun.len() + ready).unwrap_or(u32::MAX)
    }

    /// The median of the last ten calls; none if there were fewer.
    pub fn median_call(&self) -> Option<Duration> {
        Some(median(&self.latest)).filter(|_| self.latest.len() >= CALLS)
    }

    pub fn may_launch(&self, limit: u32) -> bool {
        self.launches.len() < self.allowed(limit) as usize
    }

    /// The job of a worker is being taken: that alone is work for CDS.
    pub fn begins(&mut self, worker: &str, at: Instant) {
        self.begun.insert(worker.to_owned(), at);
    }

    /// A worker is about to be launched.
    pub fn launches(&mut self, worker: &str) {
        self.begun.remove(worker);
        self.launches.insert(worker.to_owned(), None);
    }

    pub fn launched(&mut self, worker: &str, at: Instant) {
        if let Some(launch) = self.launches.get_mut(worker) {
            *launch = Some(at);
        }
    }

    /// A worker will not register any more.
    pub fn gave_up(&mut self, worker: &str) {
        self.begun.remove(worker);
        self.launches.remove(worker);
    }

    /// Whatever was cut is allowed again.
    pub fn lift(&mut self) {
        (self.allowed, self.cut_at, self.calm_since) = (None, None, None);
        self.calls.clear();
    }

    /// An own call has ended.
    pub fn called(&mut self, begun: Instant, took: Duration, limit: u32) {
        push(&mut self.latest, took, CALLS);
        if self.is_before_cut(begun) {
            return;
        }
        push(&mut self.calls, took, CALLS);
        if self.calls.len() == CALLS && median(&self.calls) > SLOW_CALL {
            self.cut(begun + took, limit);
        }
    }

    /// CDS lists a worker, and heard of it last so long before `now`.
    pub fn registered(&mut self, worker: &str, now: Instant, heard: Duration, limit: u32) {
        // How long one took that was faster than the answer to its launch nobody knows, and it tells nothing.
        let Some(Some(launched)) = self.launches.remove(worker) else { return };
        let took = now.saturating_duration_since(launched).saturating_sub(heard);
        let late = took > REGISTRATION && self.usual().is_some_and(|usual| took > usual * 2);
        push(&mut self.registrations, took, USUAL);
        if !late {
            self.allow_one_more(limit);
        } else if !self.is_before_cut(launched) {
            self.cut(now, limit);
        }
    }

    /// Time has passed. Workers whose machine is off, or that should have registered long ago, do not count any more.
    pub fn pass(&mut self, now: Instant, is_off: &dyn Fn(&str) -> bool, limit: u32) {
        while let Some(since) =
            self.calm_since.filter(|since| now.saturating_duration_since(*since) >= RECOVERY)
        {
            self.allow_one_more(limit);
            self.calm_since = self.allowed.map(|_| since + RECOVERY);
        }
        self.begun.retain(|_, at| now.saturating_duration_since(*at) < PATIENCE);
        self.launches.retain(|worker, launch| {
            launch.is_none_or(|at| now.saturating_duration_since(at) < PATIENCE && !is_off(worker))
        });
    }

    fn cut(&mut self, at: Instant, limit: u32) {
        self.allowed = Some((self.allowed(limit) / 2).max(1));
        (self.cut_at, self.calm_since) = (Some(at), Some(at));
        self.calls.clear();
    }

    fn allow_one_more(&mut self, limit: u32) {
        self.allowed = self.allowed.map(|allowed| allowed + 1).filter(|allowed| *allowed < limit);
    }

    fn is_before_cut(&self, begun: Instant) -> bool {
        self.cut_at.is_some_and(|cut| begun < cut)
    }

    fn usual(&self) -> Option<Duration> {
        Some(median(&self.registrations)).filter(|_| self.registrations.len() >= FEWEST)
    }
}

/// Adds a value to the last ones.
fn push(values: &mut VecDeque<Duration>, value: Duration, most: usize) {
    values.push_back(value);
    if values.len() > most {
        values.pop_front();
    }
}

/// The value in the middle; of an even number the mean of the two.
fn median(values: &VecDeque<Duration>) -> Duration {
    let mut sorted: Vec<_> = values.iter().copied().collect();
    sorted.sort_unstable();
    let at = |place: usize| sorted.get(place).copied().unwrap_or_default();
    (at((sorted.len().saturating_sub(1)) / 2) + at(sorted.len() / 2)) / 2
}

#[cfg(test)]
mod tests;
