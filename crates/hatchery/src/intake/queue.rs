//! The jobs that wait, as far as they are known. CDS is asked for the whole queue now and then and pushes single jobs
//! in between; either may come late, twice or not at all.
//!
//! ```text
//!  pushed / listed ──► Found ──► (being read) ──► Known ──► gone: not in a list that was begun after it was last heard of
//!        ▲                            │
//!        └── heard of again ◄── failed┘
//! ```
//!
//! A job leaves by one way only, so that no failure on the way can make the hatchery ignore it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rookery_cds::{JobDetail, JobId, V1Job};

/// Which queue a job stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    V1,
    V2,
}

impl Protocol {
    pub fn of(job: &JobId) -> Self {
        match job {
            JobId::V1(_) => Self::V1,
            JobId::V2(_) => Self::V2,
        }
    }
}

/// What CDS tells of a job that waits.
#[derive(Debug, Clone)]
pub enum QueuedJob {
    V1(Box<V1Job>),
    /// A V2 job with its model.
    V2(Box<JobDetail>),
}

impl QueuedJob {
    /// Since when it waits.
    pub fn queued(&self) -> Option<Timestamp> {
        match self {
            Self::V1(job) => job.queued,
            Self::V2(detail) => detail.job.queued,
        }
    }

    /// The number or the key of its project.
    pub fn project(&self) -> String {
        match self {
            Self::V1(job) => job.project_id.to_string(),
            Self::V2(detail) => detail.job.project_key.clone(),
        }
    }
}

/// A moment in the queue's own time: what is heard of later has a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(u64);

/// The jobs that wait. `D` is what is known of one.
#[derive(Debug)]
pub struct Queue<D> {
    now: u64,
    jobs: BTreeMap<JobId, Entry<D>>,
}

#[derive(Debug)]
struct Entry<D> {
    heard: Moment,
    state: State<D>,
}

#[derive(Debug)]
enum State<D> {
    /// Only its name is known.
    Found,
    Reading,
    Known(D),
}

impl<D> Default for Queue<D> {
    fn default() -> Self {
        Self { now: 0, jobs: BTreeMap::new() }
    }
}

impl<D> Queue<D> {
    /// A new moment; to be asked for before a list is.
    pub fn moment(&mut self) -> Moment {
        self.now += 1;
        Moment(self.now)
    }

    /// A job was pushed, or has to be looked at again.
    pub fn pushed(&mut self, job: JobId) {
        let heard = self.moment();
        self.jobs.entry(job).or_insert(Entry { heard, state: State::Found }).heard = heard;
    }

    /// The whole queue of one protocol, from a list that was begun at that moment. What is known of a job by the list
    /// alone comes with it.
    pub fn listed(&mut self, protocol: Protocol, begun: Moment, jobs: Vec<(JobId, Option<D>)>) {
        let now = self.moment();
        for (job, known) in jobs {
            let entry = self.jobs.entry(job).or_insert(Entry { heard: now, state: State::Found });
            entry.heard = now;
            if let Some(known) = known {
                entry.state = State::Known(known);
            }
        }
        // What was heard of after the list was begun may be missing in it for no other reason.
        self.jobs.retain(|job, entry| Protocol::of(job) != protocol || entry.heard >= begun);
    }

    /// The jobs to read next, at most so many. They count as being read from now on.
    pub fn to_read(&mut self, most: usize) -> Vec<JobId> {
        let found = self.jobs.iter_mut().filter(|(_, entry)| matches!(entry.state, State::Found));
        let next = found.take(most);
        next.map(|(job, entry)| {
            entry.state = State::Reading;
            job.clone()
        })
        .collect()
    }

    pub fn read(&mut self, job: &JobId, known: D) {
        if let Some(entry) = self.jobs.get_mut(job) {
            entry.state = State::Known(known);
        }
    }

    /// A job does not wait any more.
    pub fn gone(&mut self, job: &JobId) {
        self.jobs.remove(job);
    }

    /// What is known of the jobs.
    pub fn known(&self) -> impl Iterator<Item = (&JobId, &D)> {
        self.jobs.iter().filter_map(|(job, entry)| match &entry.state {
            State::Known(known) => Some((job, known)),
            State::Found | State::Reading => None,
        })
    }

    pub fn get(&self, job: &JobId) -> Option<&D> {
        match &self.jobs.get(job)?.state {
            State::Known(known) => Some(known),
            State::Found | State::Reading => None,
        }
    }

    /// Whether it is there, known or not.
    pub fn has(&self, job: &JobId) -> bool {
        self.jobs.contains_key(job)
    }

    /// How many there are, known or not.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

#[cfg(test)]
mod tests;
