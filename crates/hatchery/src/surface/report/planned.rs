//! A plan as people and programs ask for it.

use jiff::Timestamp;
use rookery_fleet::MachineId;
use serde::Serialize;

use super::shown::{Usage, Waiting, WarmWaiting, waiting, warm_waiting};
use super::{Counts, Report};
use crate::plan::sweep::stop_text;
use crate::plan::{Action, Keep, Plan, WorkerPlacement};
use crate::reconcile::State;

/// What the next pass would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planned {
    pub at: Timestamp,
    pub complete: bool,
    pub counts: Counts,
    pub acts: Vec<Act>,
    /// What would be in use then.
    pub usage: Usage,
    pub waiting: Vec<Waiting>,
    /// Why warm machines would not be made, or models not registered.
    pub warm_waiting: Vec<WarmWaiting>,
    pub stopped: Option<String>,
}

/// One thing that would be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Act {
    pub act: &'static str,
    /// A job, model or machine.
    pub what: String,
    pub how: String,
}

impl Planned {
    pub(crate) fn new(state: &State, plan: &Plan, report: &Report) -> Self {
        Self {
            at: report.at,
            complete: report.complete,
            counts: report.counts,
            acts: plan.actions.iter().map(|action| Act::new(state, action)).collect(),
            usage: Usage::new(report),
            waiting: waiting(report),
            warm_waiting: warm_waiting(report),
            stopped: report.stopped.map(|stop| stop_text(&stop)),
        }
    }
}

impl Act {
    fn new(state: &State, action: &Action) -> Self {
        let name = |id: &MachineId| {
            let machine = state.vsphere.view.machines.get(id);
            machine.map_or_else(|| id.to_string(), |machine| machine.name.clone())
        };
        let (what, how) = match action {
            Action::Spawn(spawn) => {
                let place = match &spawn.path {
                    WorkerPlacement::Claim { was, .. } => format!("in the warm machine {was}"),
                    WorkerPlacement::Clone { template, .. } => format!("in a clone of {}", name(template)),
                };
                (spawn.job.to_string(), format!("{place}, for the model {}", spawn.model.label()))
            }
            Action::GiveUp { job, .. } => (job.to_string(), "it was tried too often".to_owned()),
            Action::Register(one) => {
                let how = match &one.remake {
                    Some(remake) => format!("its template is made from {}", name(&remake.image)),
                    None => "a worker tells CDS what it can do".to_owned(),
                };
                (one.model.path(), how)
            }
            Action::Make(make) => {
                (make.model.clone(), format!("a warm machine, as a clone of {}", name(&make.template)))
            }
            Action::Finish(finish) => (finish.name.clone(), "it was left half-made".to_owned()),
            Action::Unclaim(one) => (one.name.clone(), "it was claimed and never started".to_owned()),
            Action::Keep(Keep { name, hold, .. }) => {
                (name.clone(), format!("until {}: {}", hold.until, hold.reason))
            }
            Action::Delete(one) => (one.name.clone(), one.reason.to_string()),
            Action::Disable { worker, .. } => (worker.name.clone(), "it has no machine".to_owned()),
            Action::Free(free) => {
                (free.job.to_string(), format!("worker {} no longer serves it", free.worker))
            }
            Action::Adopt(adoption) => (adoption.name.clone(), "somebody asked for it".to_owned()),
        };
        // Those who read plans know these two by other words.
        let act = match action.as_str() {
            "spawn" => "serve",
            "give up" => "fail",
            other => other,
        };
        Self { act, what, how }
    }
}
