//! How many machines are what: each own one counts once.

use super::held::Held;
use crate::machine::Machine;
use crate::plan::running::RunningAction;
use crate::plan::{Action, Plan};
use crate::reconcile::State;
use crate::standing::Standing;
use rookery_fleet::{MachineId, Power};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a machine of the hatchery is to whoever looks at all of them, in the order in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineState {
    Running,
    /// A worker on its way.
    Starting,
    /// Somebody wants to look at it.
    Kept,
    /// Warm in the making.
    Warming,
    /// Ready for a job.
    Warm,
    /// It waits for its deletion.
    Finished,
}

impl MachineState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Starting => "starting",
            Self::Kept => "kept",
            Self::Warming => "warming",
            Self::Warm => "warm",
            Self::Finished => "finished",
        }
    }
}

/// How many machines are what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub queued: usize,
    /// Warm machines that are ready.
    pub warm: usize,
    /// Warm machines in the making.
    pub warming: usize,
    /// Workers on their way, with a machine or still without one.
    pub starting: usize,
    pub running: usize,
    /// Machines that wait for their deletion.
    pub finished: usize,
    #[serde(default)]
    pub held: usize,
}

impl Counts {
    /// What is known before machines are looked at: jobs, and workers on their way.
    pub(super) fn of(state: &State, plan: &Plan, held: &[Held]) -> Self {
        let starting = plan.ledger.starting as usize;
        Self { queued: state.cds.queue.len(), starting, held: held.len(), ..Self::default() }
    }

    /// Counts one more machine, unless that has happened already; what it is, if it is the hatchery's.
    pub(super) fn add(
        &mut self,
        machine: &Machine,
        standing: Standing,
        state: &State,
        plan: &Plan,
        held: &[Held],
        dying: &BTreeSet<MachineId>,
    ) -> Option<MachineState> {
        let is = match standing {
            Standing::Template | Standing::TemplateInMaking | Standing::Foreign | Standing::Unknown => {
                return None;
            }
            // These are counted already.
            _ if held.iter().any(|held| held.machine == machine.name) => return Some(MachineState::Kept),
            _ if plan.starting.contains(&machine.id) => return Some(MachineState::Starting),
            _ if dying.contains(&machine.id) => MachineState::Finished,
            Standing::Pooled if is_ready(state, machine) => MachineState::Warm,
            Standing::Pooled => MachineState::Warming,
            Standing::Worker | Standing::HalfClaimed | Standing::Registering => match machine.power {
                Some(Power::Off) if at_work(state, machine).is_some() => MachineState::Starting,
                Some(Power::Off) => MachineState::Finished,
                Some(Power::On | Power::Suspended) | None => MachineState::Running,
            },
        };
        *match is {
            MachineState::Running => &mut self.running,
            MachineState::Starting => &mut self.starting,
            MachineState::Kept => &mut self.held,
            MachineState::Warming => &mut self.warming,
            MachineState::Warm => &mut self.warm,
            MachineState::Finished => &mut self.finished,
        } += 1;
        Some(is)
    }
}

fn is_ready(state: &State, machine: &Machine) -> bool {
    let made = at_work(state, machine)
        .is_some_and(|action| matches!(action.action, Action::Make(_) | Action::Finish(_)));
    machine.power == Some(Power::Off) && !machine.awaits_setup && !made
}

/// The work that is under way on a machine.
fn at_work<'s>(state: &'s State, machine: &Machine) -> Option<&'s RunningAction> {
    state.running.iter().find(|action| match &action.machine {
        Some(id) => *id == machine.id,
        None => action.name == machine.name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::View;
    use crate::mark::Mark;
    use crate::plan::capacity::{WorkerUsage, usage};
    use crate::plan::workers::{Listing, WorkerState};
    use crate::samples::Notes;
    use crate::samples::actions;
    use crate::standing::standing;
    use jiff::Timestamp;
    use std::sync::Arc;

    fn machine(name: &str, power: Power, mark: Mark) -> Machine {
        let mark = Mark { hatchery_name: "nest".to_owned(), ..mark };
        let notes = Notes::Mark(Box::new(mark));
        Machine { power: Some(power), ..crate::samples::running(name, name, notes) }
    }

    fn warm(name: &str, power: Power) -> Machine {
        machine(name, power, Mark { provisioning: true, ..Mark::default() })
    }

    fn worker(name: &str, power: Power) -> Machine {
        machine(name, power, Mark { worker_name: name.to_owned(), ..Mark::default() })
    }

    /// Counts as a pass does that saw these machines, these registered workers and this work.
    fn check(machines: &[Machine], alive: &[&str], actions: &[(&str, Action)], expected: Counts) {
        let found = states(machines, alive, actions);
        let states = [
            (MachineState::Running, expected.running),
            (MachineState::Starting, expected.starting.min(machines.len())),
            (MachineState::Warming, expected.warming),
            (MachineState::Warm, expected.warm),
            (MachineState::Finished, expected.finished),
        ];
        for (state, count) in states {
            assert_eq!(found.1.iter().filter(|one| **one == state).count(), count, "{state:?}");
        }
        assert_eq!(found.0, expected);
    }

    fn states(
        machines: &[Machine],
        alive: &[&str],
        actions: &[(&str, Action)],
    ) -> (Counts, Vec<MachineState>) {
        let (mut state, owner) = (State::default(), crate::mark::owner("nest"));
        let view = View { machines: machines.iter().cloned().collect(), complete: true, ..View::default() };
        let workers = alive.iter().map(|name| ((*name).to_owned(), WorkerState::Alive)).collect();
        state.vsphere.view = Arc::new(view);
        state.cds.listing = Some(Listing { begun: Timestamp::UNIX_EPOCH, workers });
        for (name, action) in actions {
            let action = RunningAction::of(action.clone());
            state.running.begin(RunningAction { name: (*name).to_owned(), machine: None, ..action });
        }
        let (running, listing) = (state.running.capacity(), state.cds.listing.clone().expect("a listing"));
        let WorkerUsage { ledger, starting } =
            usage(&state.vsphere.view, &owner, &running, &listing, &|_| false);
        let starting = starting.into_iter().cloned().collect();
        let plan = Plan { ledger, starting, ..Plan::default() };
        let deleted = state.running.iter().filter(|action| matches!(action.action, Action::Delete(_)));
        let dying = deleted.map(|action| MachineId::new(action.name.as_str())).collect();
        let mut counts = Counts::of(&state, &plan, &[]);
        let all = state.vsphere.view.iter();
        let each = all
            .filter_map(|machine| counts.add(machine, standing(machine, &owner), &state, &plan, &[], &dying));
        let each = each.collect();
        (counts, each)
    }

    #[test]
    fn each_machine_counts_once_and_as_what_it_is() {
        let (on, off) = (Power::On, Power::Off);
        let none = Counts::default();
        let spawn = actions::spawn("7".parse().expect("a job"), actions::v2_model("debian"));
        let (make, delete) = (actions::make("debian"), actions::delete);

        check(&[warm("provision-v2-a", off)], &[], &[], Counts { warm: 1, ..none });
        check(&[warm("provision-v2-a", on)], &[], &[], Counts { warming: 1, ..none });
        // Before its first start it is off as well.
        let born = [warm("provision-v2-a", off)];
        check(&born, &[], &[("provision-v2-a", make)], Counts { warming: 1, ..none });
        let unset = Machine { awaits_setup: true, ..warm("provision-v2-a", off) };
        check(&[unset], &[], &[], Counts { warming: 1, ..none });
        let leaving = [warm("provision-v2-a", off)];
        check(&leaving, &[], &[("provision-v2-a", delete())], Counts { finished: 1, ..none });

        // A clone that is not yet started has not ended, and one that has is on its way until it registers.
        check(&[], &[], &[("w", spawn.clone())], Counts { starting: 1, ..none });
        check(&[worker("w", off)], &[], &[("w", spawn.clone())], Counts { starting: 1, ..none });
        check(&[worker("w", on)], &[], &[("w", spawn.clone())], Counts { starting: 1, ..none });
        check(&[worker("w", on)], &[], &[], Counts { starting: 1, ..none });
        check(&[worker("w", on)], &["w"], &[("w", spawn)], Counts { running: 1, ..none });
        // One that has ended runs no more, though CDS may still list it.
        check(&[worker("w", off)], &["w"], &[], Counts { finished: 1, ..none });
        check(&[], &["w"], &[], none);
        check(&[worker("w", on)], &["w"], &[("w", delete())], Counts { finished: 1, ..none });
    }
}
