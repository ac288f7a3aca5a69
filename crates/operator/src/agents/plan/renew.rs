//! VMs that are needed and never appear as Agents: they are destroyed and made anew, a few times, each with more patience.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use rookery_crds::agents::{CleanupPolicy, Phase, VmReason};

use super::{Action, Pass, Subject, Verdict, WaitReason};
use crate::agents::desired::{Desired, LONGER_EACH_TIME, RENEWALS};
use crate::agents::observe::{AgentMachine, Mark, Request, Seen};

/// How often it was made in vain for the pool as it is now.
pub(super) fn failures(want: &Desired, request: &Request) -> u32 {
    if request.discovery.generation == Some(want.generation) { request.discovery.count } else { 0 }
}

/// Whether its time to appear is over. It counts from its start, or since its Agent vanished.
pub(super) fn is_over(want: &Desired, request: &Request, now: Timestamp) -> bool {
    let stored = &request.stored;
    let vanished = stored.since.filter(|_| stored.reason == Some(VmReason::AgentMissing));
    let Some(start) = stored.powered_on_at.max(vanished) else { return false };
    let tries = i32::try_from(failures(want, request)).unwrap_or(i32::MAX);
    let patience = LONGER_EACH_TIME.checked_mul(tries).unwrap_or(SignedDuration::MAX);
    now.duration_since(start) >= want.discovery_timeout.saturating_add(patience)
}

impl Pass<'_> {
    pub(super) fn renew(&mut self) {
        let mut given_up = BTreeSet::new();
        for (name, request, status) in self.live() {
            let needed = self.spares.contains(name)
                || self.purpose(name, request).is_some_and(|machine| {
                    self.seen.agent_machines.get(&machine).is_some_and(AgentMachine::waits)
                });
            let is_over = status.agent.is_none() && is_over(self.want, request, self.seen.now);
            if !needed || !is_over || !matches!(status.phase, Phase::Provisioning | Phase::Orphaned) {
                continue;
            }
            if status.machine.is_some() {
                self.wait(Subject::Request(name.clone()), WaitReason::NodeMayRun { request: name.clone() });
                continue;
            }
            let failures = failures(self.want, request);
            if failures >= RENEWALS {
                given_up.insert(name.clone());
                self.wait(
                    Subject::Request(name.clone()),
                    WaitReason::DiscoveryFailed { request: name.clone() },
                );
                continue;
            }
            let Seen::Present(vm) = &request.seen else { continue };
            if self.want.cleanup == CleanupPolicy::Delete && vm.mark == Mark::Ours {
                let uuid = vm.identity.uuid;
                self.plan.actions.push(Action::Renew { request: name.clone(), uuid, failures: failures + 1 });
            }
        }
        if !given_up.is_empty() {
            self.plan.verdict = Verdict::DiscoveryFailed(given_up);
        }
    }
}
