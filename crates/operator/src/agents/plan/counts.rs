//! What the status and the metrics count.

use std::collections::BTreeMap;

use rookery_crds::agents::Phase;
use rookery_crds::agents::names::DISCRIMINATOR_LABEL;

use super::matching::{has_labels, is_eligible};
use super::{Known, VmStatus};
use crate::agents::desired::Desired;
use crate::agents::observe::{Agent, AgentMachine, Observed, Purpose, Ready, Request, RequestName};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// AgentMachines that are not being deleted.
    pub total: u32,
    pub waiting: u32,
    pub unready: u32,
    pub without_agent: u32,
    /// Agents of the InfraEnv and cluster with the pool's labels, whether a VM of ours is behind them or not.
    pub matching: u32,
    pub bound: u32,
    pub available: u32,
    /// Free Agents in VMs of ours.
    pub usable: u32,
    /// VMs of ours that will become Agents.
    pub provisioning: u32,
    /// AgentMachines that wait, without those for whom one of the last two is there.
    pub deficit: u32,
}

pub(super) fn count(seen: &Observed, want: &Desired, known: Known<'_>) -> Counts {
    let Known { matches, bindings, vms } = known;
    let live = || seen.agent_machines.values().filter(|machine| !machine.deleting);
    let is_unready = |machine: &&AgentMachine| machine.ready != Ready::Yes;
    let matching = seen.agents.iter().filter(|(name, agent)| {
        is_eligible(seen, want, name, agent) && (matches.has(name) || is_strange(want, agent))
    });
    let (bound, free): (Vec<_>, Vec<_>) = matching.partition(|(_, agent)| agent.is_bound());
    let served = bound.iter().filter_map(|(name, agent)| bindings.agent_machine(name, agent));
    let served = number(served.filter(|machine| machine.waits()).count());
    let waiting = number(live().filter(|machine| machine.waits()).count());
    let (usable, provisioning) = supply(seen, vms);
    Counts {
        total: number(live().count()),
        waiting,
        unready: number(live().filter(is_unready).count()),
        without_agent: number(live().filter(is_unready).filter(|machine| machine.agent.is_none()).count()),
        matching: number(bound.len() + free.len()),
        bound: number(bound.len()),
        available: number(free.len()),
        usable,
        provisioning,
        deficit: waiting.saturating_sub(served).saturating_sub(usable).saturating_sub(provisioning),
    }
}

/// An Agent without a VM of ours counts by its labels; one of another pool's discriminator does not.
fn is_strange(want: &Desired, agent: &Agent) -> bool {
    let told = |labels: &BTreeMap<String, String>| labels.get(DISCRIMINATOR_LABEL).cloned();
    has_labels(want, agent) && told(&agent.labels) == told(&want.labels)
}

/// VMs that can serve somebody who waits, now or soon.
fn supply(seen: &Observed, vms: &BTreeMap<RequestName, VmStatus>) -> (u32, u32) {
    let serves = |request: &Request| match &request.purpose {
        Purpose::Spare => true,
        // One that is for an AgentMachine that does not wait is nobody else's.
        Purpose::AgentMachine(machine) => {
            seen.agent_machines.get(machine).is_none_or(|machine| machine.deleting || machine.waits())
        }
    };
    let live = seen.requests.iter().filter(|(_, request)| !request.deleting && serves(request));
    let mut counts = (0u32, 0u32);
    for (status, request) in live.filter_map(|(name, request)| Some((vms.get(name)?, request))) {
        match status.phase {
            Phase::Available => counts.0 += 1,
            Phase::Provisioning if !request.create_failed => counts.1 += 1,
            Phase::Provisioning | Phase::Bound | Phase::Released | Phase::Orphaned | Phase::Other(_) => {}
        }
    }
    counts
}

pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
