//! What people ask for who want to look at a machine: to keep it, or the next ones whose workers fail.
//!
//! Whom a hatchery keeps stands in the machines' marks. What it was asked to keep in future stands nowhere else, so it is
//! written to a file: a wish outlives the hatchery that it was given to.

mod book;

use crate::plan::hold::{LONGEST, MOST, Subject};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

pub use book::Book;
pub(crate) use book::MOST_WISHES;

/// How long a reason may be.
const LONGEST_REASON: usize = 200;

/// What is kept or let go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    Machine(String),
    /// The machines of failed workers of a model: the path of a V1 model, or the template of a V2 model.
    Model(String),
    Job(String),
}

impl Target {
    /// Whose workers; `Err`: it is a machine.
    pub fn subject(&self) -> Result<Subject, &str> {
        match self {
            Self::Machine(name) => Err(name),
            Self::Model(model) => Ok(Subject::Model(model.clone())),
            Self::Job(job) => Ok(Subject::Job(job.clone())),
        }
    }
}

/// What is to be kept, for how long, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub of: Target,
    /// How many machines; of no meaning if one is named.
    pub count: u32,
    /// For how many seconds each of them is kept.
    #[serde(rename = "for")]
    pub seconds: u64,
    /// For how many seconds the next failure is waited for.
    pub within: u64,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOrder {
    #[error("between 1 and {MOST} machines can be kept, not {0}")]
    Count(u32),
    /// No time, or too much.
    #[error("{what} is between one second and seven days, not {seconds} s")]
    Time { what: &'static str, seconds: u64 },
    /// There is no reason, or it is no line of text.
    #[error(
        "whoever finds the machine wants to know why it is there: a reason of 1 to {LONGEST_REASON} characters in one line is needed"
    )]
    Reason,
    #[error("the {0} has no name")]
    UnnamedSession(&'static str),
}

impl Order {
    /// How long machines are kept and how long the order waits, if all of it can be meant.
    pub fn check(&self) -> Result<(SignedDuration, SignedDuration), InvalidOrder> {
        let (kind, name) = match &self.of {
            Target::Machine(name) => ("machine", name),
            Target::Model(model) => ("model", model),
            Target::Job(job) => ("job", job),
        };
        if name.is_empty() {
            return Err(InvalidOrder::UnnamedSession(kind));
        }
        if !(1..=MOST).contains(&self.count) {
            return Err(InvalidOrder::Count(self.count));
        }
        let length = self.reason.trim().chars().count();
        if !(1..=LONGEST_REASON).contains(&length) || self.reason.chars().any(char::is_control) {
            return Err(InvalidOrder::Reason);
        }
        let time = |what, seconds: u64| {
            let time = i64::try_from(seconds).ok().map(SignedDuration::from_secs);
            let time = time.filter(|time| (SignedDuration::from_secs(1)..=LONGEST).contains(time));
            time.ok_or(InvalidOrder::Time { what, seconds })
        };
        Ok((
            time("how long machines are kept", self.seconds)?,
            time("how long a failure is waited for", self.within)?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(change: impl FnOnce(&mut Order)) -> Order {
        let of = Target::Model("debian".to_owned());
        let mut order = Order { of, count: 1, seconds: 14_400, within: 86_400, reason: "why".to_owned() };
        change(&mut order);
        order
    }

    #[test]
    fn an_order_says_how_many_how_long_and_why() {
        assert_eq!(
            order(|_| {}).check(),
            Ok((SignedDuration::from_hours(4), SignedDuration::from_hours(24)))
        );
        let week = 7 * 24 * 3600;
        assert!(order(|order| (order.count, order.seconds, order.within) = (100, week, 1)).check().is_ok());
        for (wrong, expected) in [
            (order(|order| order.count = 0), "between 1 and 100 machines can be kept, not 0"),
            (order(|order| order.count = 101), "not 101"),
            (order(|order| order.seconds = 0), "how long machines are kept is between"),
            (order(|order| order.seconds = week + 1), "not 604801 s"),
            (order(|order| order.seconds = u64::MAX), "seven days"),
            (order(|order| order.within = week + 1), "how long a failure is waited for is between"),
            (order(|order| order.reason = "  ".to_owned()), "a reason of 1 to 200 characters"),
            (order(|order| order.reason = "x".repeat(201)), "a reason of 1 to 200 characters"),
            (order(|order| order.reason = "a\nb".to_owned()), "a reason of 1 to 200 characters"),
            (order(|order| order.of = Target::Job(String::new())), "the job has no name"),
        ] {
            let told = wrong.check().expect_err("a refusal").to_string();
            assert!(told.contains(expected), "{told}");
        }
    }
}
