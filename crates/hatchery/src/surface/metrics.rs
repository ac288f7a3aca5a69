//! What is counted, and how it is shown to Prometheus.
//!
//! ```text
//!   events (counters, histograms) ─┐
//!   the last report (state)        ├─► Sight ─► catalog: one row for each metric ─► text, list of views
//!   what lives beside both         ┘
//! ```
//!
//! Events are counted where they happen, by one method each. State is not counted: it is read from the last report when
//! somebody asks, so that what has vanished from it vanishes here. Labels come from closed sets; only the gauges that
//! have always been kept for each machine carry a machine's name.

mod catalog;
mod fleet;
mod pages;
mod sight;
mod views;
mod words;

use crate::intake::queue::Protocol;
use crate::plan::WorkerPlacement;
pub use catalog::{OWN, Row, UPSTREAM, catalog};
use rookery_daemon::metrics::{Counter, Counters, Histogram, Histograms, SECONDS};
use rookery_daemon::pages::Served;
pub use sight::{Live, Sight};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
pub use views::{View, views};

/// Counts what happens. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Events>);

#[derive(Debug)]
pub(crate) struct Events {
    known: Counter,
    found: Counters,
    pushed: Counters,
    popped: Counter,
    processed: Counter,
    spawning: Counter,
    spawned: Counter,
    spawn_errors: Counter,
    starts: Counters,
    waited: Histograms,
    stages: Histograms,
    stage_failures: Counters,
    misses: Counters,
    deletions: Counters,
    failed_deletions: Counters,
    leaks: Counters,
    passes: Histogram,
    v1_beats: Counters,
    v2_beats: Counters,
    elected: AtomicBool,
    pages: pages::Counts,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            known: Counter::default(),
            found: Counters::new(&words::PROTOCOLS),
            pushed: Counters::new(&words::PROTOCOLS),
            popped: Counter::default(),
            processed: Counter::default(),
            spawning: Counter::default(),
            spawned: Counter::default(),
            spawn_errors: Counter::default(),
            starts: Counters::new(&words::WAYS),
            waited: Histograms::new(&words::WAYS, &SECONDS),
            stages: Histograms::new(&words::STAGES, &SECONDS),
            stage_failures: Counters::new(&words::STAGES),
            misses: Counters::new(&words::MISSES),
            deletions: Counters::new(&words::DELETIONS),
            failed_deletions: Counters::new(&words::DELETIONS),
            leaks: Counters::new(&words::LEAKS),
            passes: Histogram::new(&SECONDS),
            v1_beats: Counters::new(&words::BEATS),
            v2_beats: Counters::new(&words::BEATS),
            elected: AtomicBool::default(),
            pages: pages::Counts::default(),
        }
    }
}

/// How a worker got its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A warm one, as it was.
    Warm,
    /// A warm one, that got another size.
    Resized,
    Fresh,
}

impl Way {
    pub fn of(path: &WorkerPlacement) -> Self {
        match path {
            WorkerPlacement::Claim { resize: None, .. } => Self::Warm,
            WorkerPlacement::Claim { resize: Some(_), .. } => Self::Resized,
            WorkerPlacement::Clone { .. } => Self::Fresh,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Resized => "resized",
            Self::Fresh => "fresh",
        }
    }
}

/// A part of a worker's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Take,
    /// A warm machine is claimed.
    Claim,
    /// A machine is cloned, and turned on.
    Clone,
    /// A claimed machine is turned on.
    Start,
    Ready,
    Launch,
}

impl Stage {
    fn as_str(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Claim => "claim",
            Self::Clone => "clone",
            Self::Start => "start",
            Self::Ready => "ready",
            Self::Launch => "launch",
        }
    }
}

/// What work that was cut off has left behind, beside machines that are deleted for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leak {
    /// A warm machine that was claimed and never started.
    HalfClaimed,
    /// A worker that CDS knows and that has no machine.
    WorkerWithoutMachine,
    /// An address that a machine may hold which nobody can see.
    Address,
}

impl Leak {
    fn as_str(self) -> &'static str {
        match self {
            Self::HalfClaimed => "half_claimed",
            Self::WorkerWithoutMachine => "worker_without_machine",
            Self::Address => "address",
        }
    }
}

impl Metrics {
    pub(crate) fn events(&self) -> &Events {
        &self.0
    }

    /// A job was heard of for the first time.
    pub fn job_found(&self, protocol: Protocol) {
        self.0.found.count(words::protocol(protocol));
    }

    pub fn job_pushed(&self, protocol: Protocol) {
        self.0.pushed.count(words::protocol(protocol));
    }

    /// What a job needs has become known.
    pub fn job_known(&self) {
        self.0.known.count();
    }

    /// The start of a worker was begun. If no warm machine was to be had for it, `missed` is why.
    pub fn start_begun(&self, missed: Option<&'static str>) {
        self.0.popped.count();
        self.0.processed.count();
        if let Some(missed) = missed {
            self.0.misses.count(missed);
        }
    }

    /// A job that was tried too often is being given up.
    pub fn giving_up(&self) {
        self.0.popped.count();
    }

    /// A job was taken: from now on a worker is started for it.
    pub fn taken(&self) {
        self.0.spawning.count();
    }

    pub fn stage_done(&self, stage: Stage, took: Duration) {
        self.0.stages.time(stage.as_str(), took);
    }

    pub fn stage_failed(&self, stage: Stage) {
        self.0.stage_failures.count(stage.as_str());
    }

    /// A warm machine was chosen and could not be claimed.
    pub fn claim_failed(&self, why: &'static str) {
        self.0.misses.count(why);
    }

    /// A worker was started, so long after its job was queued.
    pub fn started(&self, way: Way, after: Option<Duration>) {
        self.0.spawned.count();
        self.0.starts.count(way.as_str());
        if let Some(after) = after {
            self.0.waited.time(way.as_str(), after);
        }
    }

    pub fn start_failed(&self) {
        self.0.spawn_errors.count();
    }

    /// A machine was deleted. Some reasons are those of machines that nobody was at any more.
    pub fn deleted(&self, reason: &'static str) {
        self.0.deletions.count(reason);
        if words::LEAKS.contains(&reason) {
            self.0.leaks.count(reason);
        }
    }

    pub fn not_deleted(&self, reason: &'static str) {
        self.0.failed_deletions.count(reason);
    }

    /// Something was found that work which was cut off has left behind.
    pub fn leak_found(&self, leak: Leak) {
        self.0.leaks.count(leak.as_str());
    }

    pub fn pass_made(&self, took: Duration) {
        self.0.passes.time(took);
    }

    pub fn heartbeat(&self, protocol: Protocol, taken: bool) {
        let beats = match protocol {
            Protocol::V1 => &self.0.v1_beats,
            Protocol::V2 => &self.0.v2_beats,
        };
        beats.count(if taken { "done" } else { "failed" });
    }

    /// Whether vCenter's list of sessions says that this hatchery is the one of its name.
    pub fn election(&self, elected: bool) {
        self.0.elected.store(elected, Ordering::Relaxed);
    }

    pub fn page_served(&self, served: &Served<'_>) {
        self.0.pages.count(served);
    }
}

#[cfg(test)]
mod tests;
