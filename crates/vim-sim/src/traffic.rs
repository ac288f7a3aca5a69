//! Open requests, what is done to their answers, and counts of all requests.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use rookery_sim::RequestId;
use serde::Serialize;

use crate::io::{self, Body, Reply};

/// The number of names that are counted apart; all others count as one, since clients may send any.
const NAMES: usize = 1000;
const OTHERS: &str = "(others)";

/// All requests, those under way and those of the past.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    open: BTreeMap<RequestId, Open>,
    /// Answers that wait for their time.
    delayed: BTreeMap<RequestId, Reply>,
    counts: BTreeMap<String, Counts>,
}

#[derive(Debug)]
struct Open {
    name: String,
    received: u64,
    treatment: Treatment,
}

/// What is done to an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Treatment {
    pub(crate) lose: bool,
    pub(crate) slow: Option<u64>,
    pub(crate) delay: SignedDuration,
}

/// What became of the requests of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Counts {
    /// Requests with a status below 400.
    answered: u64,
    /// With a fault or another status that is none of success.
    refused: u64,
    /// Connections that ended without an answer.
    cut: u64,
    /// Clients that did not wait for theirs.
    gone: u64,
    waiting: u64,
    bytes_received: u64,
    bytes_sent: u64,
}

impl Traffic {
    pub(crate) fn arrived(&mut self, id: RequestId, name: String, received: usize) {
        self.open.insert(id, Open { name, received: received as u64, treatment: Treatment::default() });
    }

    /// What a request is has become known.
    pub(crate) fn named(&mut self, id: RequestId, name: &str) {
        if let Some(open) = self.open.get_mut(&id) {
            name.clone_into(&mut open.name);
        }
    }

    pub(crate) fn treat(&mut self, id: RequestId, change: impl FnOnce(&mut Treatment)) {
        if let Some(open) = self.open.get_mut(&id) {
            change(&mut open.treatment);
        }
    }

    /// The answer to a request as it is to go out; none if its time has not come, and then how long that takes.
    pub(crate) fn answer(&mut self, id: RequestId, mut reply: Reply) -> Result<Reply, SignedDuration> {
        let Some(open) = self.open.get_mut(&id) else { return Ok(reply) };
        let treatment = std::mem::take(&mut open.treatment);
        if let Some(speed) = treatment.slow
            && let Body::Text(text) = reply.body
        {
            reply.body = Body::Slow(text, speed);
        }
        if treatment.lose {
            reply = io::cut();
        }
        if treatment.delay > SignedDuration::ZERO {
            self.delayed.insert(id, reply);
            return Err(treatment.delay);
        }
        self.count(id, &reply);
        Ok(reply)
    }

    /// An answer that is due, if the client still waits for it.
    pub(crate) fn due(&mut self, id: RequestId) -> Option<Reply> {
        let reply = self.delayed.remove(&id)?;
        self.count(id, &reply);
        Some(reply)
    }

    /// All requests whose answers wait for their time.
    pub(crate) fn delayed(&self) -> Vec<RequestId> {
        self.delayed.keys().copied().collect()
    }

    /// The client of a request no longer waits.
    pub(crate) fn gone(&mut self, id: RequestId) {
        self.delayed.remove(&id);
        if let Some(open) = self.open.remove(&id) {
            self.entry(open).gone += 1;
        }
    }

    /// Every name with its counts.
    pub(crate) fn counts(&self) -> BTreeMap<String, Counts> {
        let mut counts = self.counts.clone();
        for open in self.open.values() {
            counts.entry(open.name.clone()).or_default().waiting += 1;
        }
        counts
    }

    fn count(&mut self, id: RequestId, reply: &Reply) {
        let Some(open) = self.open.remove(&id) else { return };
        let counts = self.entry(open);
        if reply.body == Body::Cut {
            counts.cut += 1;
        } else if reply.status < 400 {
            counts.answered += 1;
        } else {
            counts.refused += 1;
        }
        let stored = if let Body::Blob(stored) = &reply.body { stored.size } else { 0 };
        counts.bytes_sent += stored + reply.body.as_ref().len() as u64;
    }

    fn entry(&mut self, open: Open) -> &mut Counts {
        let known = self.counts.len() < NAMES || self.counts.contains_key(&open.name);
        let name = if known { open.name } else { OTHERS.to_owned() };
        let counts = self.counts.entry(name).or_default();
        counts.bytes_received += open.received;
        counts
    }
}
