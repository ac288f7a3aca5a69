//! Launching workers no faster than CDS bears it. What is allowed is decided by [`crate::intake::pressure`].

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use rookery_cds::{Worker, WorkerStatus};
use rookery_fleet::Power;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Reconciler, State};
use crate::act::Ending;
use crate::intake::pressure::Pressure;
use crate::plan::Action;
use crate::plan::WaitReason;
use crate::plan::running::TaskId;
use crate::settings::Settings;

/// Workers whose machines are ready, and that wait to be launched, in their order.
#[derive(Debug, Default)]
pub(super) struct Gate(VecDeque<Ready>);

#[derive(Debug)]
struct Ready {
    worker: String,
    reply: oneshot::Sender<()>,
}

impl Gate {
    pub(super) fn add(&mut self, worker: String, reply: oneshot::Sender<()>) {
        self.0.push_back(Ready { worker, reply });
    }

    /// Lets workers be launched, in their order, as long as CDS bears another one; without a limit all of them.
    fn open(&mut self, pressure: &mut Pressure, limit: Option<u32>) {
        while limit.is_none_or(|limit| pressure.may_launch(limit)) {
            let Some(Ready { worker, reply }) = self.0.pop_front() else { return };
            if reply.send(()).is_ok() {
                pressure.launches(&worker);
            }
        }
    }

    /// Whether anybody waits here.
    pub(super) fn is_waited_at(&self) -> bool {
        !self.0.is_empty()
    }

    fn workers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|ready| ready.worker.as_str())
    }

    pub(super) fn has(&self, worker: &str) -> bool {
        self.workers().any(|ready| ready == worker)
    }
}

impl Reconciler {
    /// Takes in how CDS is doing, and lets as many workers be launched as it bears.
    pub(super) fn let_launch(&mut self, settings: &Settings) {
        let calls = self.context.cds.call_times().take();
        let (state, limit, now) = (&mut self.state, settings.limits.starting, Instant::now());
        if settings.queue.adapts_to_cds {
            for call in calls {
                state.cds.pressure.called(call.begun, call.took, limit);
            }
        } else {
            state.cds.pressure.lift();
        }
        let view = &state.vsphere.view;
        let is_off = |worker: &str| {
            let mut named = view.named(worker).peekable();
            named.peek().is_some() && named.all(|machine| machine.power == Some(Power::Off))
        };
        state.cds.pressure.pass(now, &is_off, limit);
        // Whoever does not wait any more has run out of time.
        state.cds.gate.0.retain(|ready| !ready.reply.is_closed());
        state.cds.allowed = state.cds.pressure.reduced(limit);
        state.cds.gate.open(&mut state.cds.pressure, settings.queue.adapts_to_cds.then_some(limit));
    }
}

impl State {
    /// How the start of a worker has ended: it was launched, or never will be.
    pub(super) fn note_launch(&mut self, id: TaskId, ending: &Ending) {
        let Some(action) = self.running.get_mut(id) else { return };
        if !matches!(action.action, Action::Spawn(_) | Action::Register(_)) {
            return;
        }
        match ending {
            Ending::Done => self.cds.pressure.launched(&action.name, Instant::now()),
            Ending::Lost
            | Ending::NotHeld { .. }
            | Ending::Unprepared { .. }
            | Ending::Failed(_)
            | Ending::CutOff => self.cds.pressure.gave_up(&action.name),
        }
    }

    pub(super) fn on_their_way(&self) -> u32 {
        self.cds.pressure.on_their_way(self.cds.gate.workers())
    }

    /// Why a worker is not launched although its machine is ready.
    pub fn held_back(&self, worker: &str) -> Option<WaitReason> {
        let allowed = self.cds.allowed.filter(|_| self.cds.gate.has(worker))?;
        Some(WaitReason::SlowCds { allowed })
    }

    /// CDS has listed these workers; `now` is by its clock.
    pub(super) fn note_registrations(&mut self, workers: &[Worker], now: Timestamp, limit: u32) {
        let seen = Instant::now();
        for worker in workers {
            let heard = worker.last_beat.map(|beat| now.duration_since(beat));
            let heard = heard.and_then(|ago| Duration::try_from(ago).ok()).unwrap_or_default();
            self.cds.pressure.registered(&worker.name, seen, heard, limit);
            if worker.status == WorkerStatus::Building {
                self.cds.took_job.insert(worker.name.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::model::ResolvedModel;
    use crate::plan::running::RunningAction;
    use crate::samples::actions;

    /// Workers that are ready, each with how it hears that it may be launched.
    fn ready(gate: &mut Gate, workers: &[&str]) -> Vec<oneshot::Receiver<()>> {
        let wait = |worker: &&str| {
            let (reply, answer) = oneshot::channel();
            gate.add((*worker).to_owned(), reply);
            answer
        };
        workers.iter().map(wait).collect()
    }

    fn launched(answers: &mut [oneshot::Receiver<()>]) -> Vec<bool> {
        answers.iter_mut().map(|answer| answer.try_recv().is_ok()).collect()
    }

    #[test]
    fn ready_workers_wait_in_their_order_until_one_before_them_has_registered() {
        let (mut gate, mut pressure) = (Gate::default(), Pressure::default());
        let mut answers = ready(&mut gate, &["a", "b", "c", "d"]);
        gate.open(&mut pressure, Some(2));
        assert_eq!(launched(&mut answers), [true, true, false, false]);
        assert!(gate.has("c") && !gate.has("a") && gate.is_waited_at());
        pressure.launched("b", Instant::now());
        pressure.registered("b", Instant::now(), Duration::ZERO, 2);
        gate.open(&mut pressure, Some(2));
        assert_eq!(launched(&mut answers[2..]), [true, false]);
        gate.open(&mut pressure, None);
        assert_eq!(launched(&mut answers[3..]), [true], "without a limit nobody waits");
        assert!(!gate.is_waited_at());
    }

    #[test]
    fn whoever_could_not_be_launched_burdens_nobody_whatever_it_was_for() {
        let job = "7".parse().expect("a job");
        let model = ResolvedModel::v1(&actions::v1_model("g/m"), String::new());
        for action in [actions::spawn(job, model), actions::register("g/m")] {
            let mut state = State::default();
            let running = RunningAction { name: "w".to_owned(), ..RunningAction::of(action) };
            let id = state.running.begin(running);
            state.cds.pressure.begins("w", Instant::now());
            drop(ready(&mut state.cds.gate, &["w", "x"]));
            assert_eq!(state.on_their_way(), 2, "who is ready will turn to CDS next");
            state.cds.pressure.launches("w");
            state.cds.gate = Gate::default();
            assert_eq!(state.on_their_way(), 1);
            state.note_launch(id, &Ending::Lost);
            assert_eq!(state.on_their_way(), 0);
        }
    }

    #[test]
    fn whoever_does_not_wait_any_more_takes_no_place() {
        let (mut gate, mut pressure) = (Gate::default(), Pressure::default());
        drop(ready(&mut gate, &["a"]));
        let mut answers = ready(&mut gate, &["b"]);
        gate.open(&mut pressure, Some(1));
        assert_eq!((launched(&mut answers), pressure.launching()), (vec![true], 1));
    }
}
