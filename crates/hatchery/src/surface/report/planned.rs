//! A plan as people and programs ask for it.

use jiff::Timestamp;
use rookery_fleet::MachineId;
use serde::Serialize;

use super::shown::{Usage, Waiting, WarmWaiting, waiting, warm_waiting};
use super::{Counts, Report};
use crate::plan::{Plan, WorkerPlacement};
use crate::reconcile::State;

/// What the next pass would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// When it was looked.
    pub at: Timestamp,
    /// Whether all machines are known.
    pub complete: bool,
    /// How many machines are what.
    pub counts: Counts,
    /// What would be done.
    pub acts: Vec<Act>,
    /// What would be in use then.
    pub usage: Usage,
    /// Why jobs would wait.
    pub waiting: Vec<Waiting>,
    /// Why warm machines would not be made, or models not registered.
    pub warm_waiting: Vec<WarmWaiting>,
    /// Why nothing may be deleted.
    pub stopped: Option<String>,
}

/// One thing that would be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Act {
    /// A word.
    pub act: &'static str,
    /// A job, model or machine.
    pub what: String,
    /// How, or why.
    pub how: String,
}

impl Planned {
    pub(crate) fn new(state: &State, plan: &Plan, report: &Report) -> Self {
        Self {
            at: report.at,
            complete: report.complete,
            counts: report.counts,
            acts: acts(state, plan),
            usage: Usage::new(report),
            waiting: waiting(report),
            warm_waiting: warm_waiting(report),
            stopped: report.stopped.clone(),
        }
    }
}

fn acts(state: &State, plan: &Plan) -> Vec<Act> {
    let name = |id: &MachineId| {
        let machine = state.view.machines.get(id);
        machine.map_or_else(|| id.to_string(), |machine| machine.name.clone())
    };
    let mut acts = Vec::new();
    let mut add = |act, what: String, how: String| acts.push(Act { act, what, how });
    for spawn in &plan.spawns {
        let place = match &spawn.path {
            WorkerPlacement::Claim { was, .. } => format!("in the warm machine {was}"),
            WorkerPlacement::Clone { template, .. } => format!("in a clone of {}", name(template)),
        };
        add("serve", spawn.job.to_string(), format!("{place}, for the model {}", spawn.model.label()));
    }
    for job in &plan.give_up {
        add("fail", job.to_string(), "it was tried too often".to_owned());
    }
    for registration in &plan.registrations {
        let how = match &registration.remake {
            Some(remake) => format!("its template is made from {}", name(&remake.image)),
            None => "a worker tells CDS what it can do".to_owned(),
        };
        add("register", registration.model.path(), how);
    }
    for make in &plan.make {
        add("make", make.model.clone(), format!("a warm machine, as a clone of {}", name(&make.template)));
    }
    for machine in &plan.finish {
        add("finish", name(machine), "it was left half-made".to_owned());
    }
    for machine in &plan.unclaim {
        add("take back", name(machine), "it was claimed and never started".to_owned());
    }
    for (machine, removal) in &plan.remove {
        add("delete", name(machine), removal.to_string());
    }
    for (machine, reason) in &plan.sweep.delete {
        add("delete", name(machine), reason.to_string());
    }
    for (machine, hold) in &plan.hold {
        add("keep", name(machine), format!("until {}: {}", hold.until, hold.reason));
    }
    for worker in &plan.disable {
        add("disable", worker.clone(), "it has no machine".to_owned());
    }
    acts
}
