//! Machines that somebody keeps to look at, and what else is wished for.

use crate::machine::{Machine, View};
use crate::mark::Mark;
use crate::plan::hold::{HoldRequest, Subject};
use jiff::Timestamp;
use rookery_fleet::reckoning::Reckoning;
use rookery_fleet::{OwnerId, Power};
use serde::{Deserialize, Serialize};

/// A machine that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    pub machine: String,
    /// `on`, `off`, `suspended` or `unknown`.
    pub power: String,
    /// The path of its V1 model, or the template of its V2 model.
    pub model: String,
    /// The job that it was for; empty: none.
    pub job: String,
    /// Until when, by vCenter's clock.
    pub until: Timestamp,
    pub reason: String,
    /// The wish that it is kept for; empty: somebody named it.
    pub wish: String,
}

/// A wish to keep machines of workers that fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRequestStatus {
    pub id: String,
    pub of: Subject,
    pub count: u32,
    /// How many it has taken.
    pub taken: usize,
    /// For how many seconds each is kept.
    pub keep: i64,
    /// Until when it waits, by vCenter's clock.
    pub until: Timestamp,
    pub reason: String,
}

impl From<&HoldRequest> for HoldRequestStatus {
    fn from(wish: &HoldRequest) -> Self {
        Self {
            id: wish.id.clone(),
            of: wish.of.clone(),
            count: wish.count,
            taken: wish.taken.len(),
            keep: wish.keep.as_secs(),
            until: wish.until,
            reason: wish.reason.clone(),
        }
    }
}

/// The owner's machines that are kept at that time, by name.
pub(super) fn held(view: &View, owner: &OwnerId, now: Timestamp, reckoning: &Reckoning) -> Vec<Held> {
    let kept = |(machine, mark): (&Machine, &Mark)| {
        let until = reckoning.hold_until(machine).filter(|until| *until > now)?;
        let power = match machine.power {
            Some(Power::On) => "on",
            Some(Power::Off) => "off",
            Some(Power::Suspended) => "suspended",
            None => "unknown",
        };
        let model = [&mark.worker_model_path, &mark.vmware_model_path];
        Some(Held {
            machine: machine.name.clone(),
            power: power.to_owned(),
            model: model.into_iter().find(|model| !model.is_empty()).cloned().unwrap_or_default(),
            job: mark.job_id.clone(),
            until,
            reason: mark.hold_reason.clone(),
            wish: mark.hold_wish.clone(),
        })
    };
    let mut held: Vec<Held> = view.owned(owner).filter_map(kept).collect();
    held.sort_by(|one, other| one.machine.cmp(&other.machine));
    held
}
