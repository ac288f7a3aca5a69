//! When CDS is asked for its workers before it is time: only if jobs wait for one of them to go or to register, and only
//! if something has happened since that makes it likely. While workers are ready and CDS bears no more, each registration
//! lets the next one be launched: then it is asked as often as is polite.

use crate::plan::capacity::Shortage;
use jiff::{SignedDuration, Timestamp};
use rookery_fleet::Power;

use super::Reconciler;
use crate::plan::{Plan, WaitReason, Waiting};

/// So long after the end of an act the worker that it launched is expected to register.
const REGISTERING: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// That a worker goes, or that the list comes at all.
    Places,
    /// That workers register which were launched.
    Registrations,
    /// The same, and others are ready to be launched then.
    Launches,
}

#[derive(Debug, Clone, Copy, Default)]
struct Happened {
    /// The last list was asked for.
    listed: Option<Timestamp>,
    /// An own VM was last seen to have gone off.
    went_off: Option<Timestamp>,
    act_ended: Option<Timestamp>,
}

impl Reconciler {
    pub(super) fn workers_are_due(&self, plan: &Plan) -> bool {
        let Some(need) = greatest(&plan.waiting, self.state.cds.gate.is_waited_at()) else { return false };
        let settings = self.context.settings();
        let off = self
            .state
            .vsphere
            .view
            .owned(&settings.identity.owner)
            .filter(|(machine, _)| machine.power == Some(Power::Off));
        let happened = Happened {
            listed: self.state.cds.listing.as_ref().map(|listing| listing.begun),
            went_off: off.filter_map(|(machine, _)| self.observer.changed_at(&machine.id)).max(),
            act_ended: self.state.act_ended,
        };
        is_due(need, happened, self.state.times.now)
    }
}

/// What is needed most, by jobs that wait and by workers that are ready, if there are any.
fn greatest(waiting: &[Waiting], ready: bool) -> Option<Need> {
    waiting.iter().filter_map(need).chain(ready.then_some(Need::Launches)).max()
}

fn need(waiting: &Waiting) -> Option<Need> {
    let places =
        matches!(waiting.why, WaitReason::Shortage(Shortage::Workers { .. }) | WaitReason::WorkersUnknown);
    if matches!(waiting.why, WaitReason::Shortage(Shortage::Starting { .. }) | WaitReason::SlowCds { .. }) {
        Some(Need::Registrations)
    } else {
        places.then_some(Need::Places)
    }
}

/// Before the first list there is nothing to be sooner than.
fn is_due(need: Need, happened: Happened, now: Timestamp) -> bool {
    let Happened { listed: Some(listed), went_off, act_ended } = happened else { return false };
    let news = went_off.max(act_ended).is_some_and(|at| at >= listed);
    let expected = act_ended.is_some_and(|at| now.duration_since(at) < REGISTERING);
    match need {
        Need::Places => news,
        Need::Registrations => news || expected,
        Need::Launches => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_are_ready_need_a_registration_most_and_jobs_before_the_gate_one_at_all() {
        let job = || "7".parse().expect("a job");
        let slow = || Waiting { job: job(), why: WaitReason::SlowCds { allowed: 1 } };
        let unknown = || Waiting { job: job(), why: WaitReason::WorkersUnknown };
        let drained = || Waiting { job: job(), why: WaitReason::Draining };
        for (waiting, ready, expected) in [
            (vec![], false, None),
            (vec![drained()], false, None),
            (vec![unknown(), drained()], false, Some(Need::Places)),
            (vec![unknown(), slow()], false, Some(Need::Registrations)),
            (vec![unknown(), slow()], true, Some(Need::Launches)),
            (vec![], true, Some(Need::Launches)),
        ] {
            assert_eq!(greatest(&waiting, ready), expected, "{waiting:?} {ready}");
        }
    }

    #[test]
    fn workers_are_asked_for_after_a_machine_went_off_or_an_act_ended_and_not_otherwise() {
        let at = |second: i64| Timestamp::from_second(second).ok();
        let now = Timestamp::from_second(1000).unwrap();
        for (need, listed, went_off, act_ended, expected) in [
            (Need::Places, None, None, None, false),
            (Need::Places, None, Some(999), None, false),
            (Need::Places, Some(995), None, None, false),
            (Need::Places, Some(995), Some(994), Some(994), false),
            (Need::Places, Some(995), Some(995), None, true),
            (Need::Places, Some(995), None, Some(996), true),
            // One that was launched a moment ago will register soon; one that was launched long ago is waited for.
            (Need::Registrations, Some(995), None, Some(990), true),
            (Need::Registrations, Some(995), None, Some(971), true),
            (Need::Registrations, Some(995), None, Some(970), false),
            (Need::Registrations, Some(995), None, None, false),
            (Need::Registrations, Some(995), Some(996), Some(900), true),
            // A registration that nobody has asked for keeps the next worker from being launched.
            (Need::Launches, Some(995), None, Some(900), true),
            (Need::Launches, Some(995), None, None, true),
            (Need::Launches, None, None, None, false),
        ] {
            let happened = Happened {
                listed: listed.and_then(at),
                went_off: went_off.and_then(at),
                act_ended: act_ended.and_then(at),
            };
            assert_eq!(is_due(need, happened, now), expected, "{need:?} {happened:?}");
        }
    }
}
