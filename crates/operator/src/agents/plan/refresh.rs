//! How each VM stands now: what is stored of it, taken further by what is seen.
//!
//! ```text
//!  nothing ─► Provisioning ──Agent──► Available ──bound──► Bound ──Machine deleting──► Released/MachineDeleting
//!                 │    ▲                  │                │  │                               │ Machine gone, asked for
//!   time is over  │    │ VM gone          │ Agent gone     │  └──unbound──► Released/         ▼
//!                 ▼    └──────────────────┤                │              AgentReleased   Released/MachineDeleted:
//!              Orphaned ◄─────────────────┴────────────────┘ Agent or VM gone             stays so until the VM is gone
//! ```

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use rookery_crds::agents::{Phase, VmReason};

use super::matching::Matches;
use super::renew::is_over;
use crate::agents::desired::Desired;
use crate::agents::observe::{
    Agent, AgentMachine, AgentMachineName, AgentName, MachineRef, Object, Observed, Request, RequestName,
    Seen, Uid,
};

/// How a VM stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmStatus {
    pub agent: Option<AgentName>,
    pub machine: Option<MachineRef>,
    pub phase: Phase,
    pub reason: VmReason,
    /// Since when it stands so.
    pub since: Timestamp,
}

pub(super) fn all(
    seen: &Observed,
    want: &Desired,
    matches: &Matches,
    bindings: &Bindings<'_>,
) -> BTreeMap<RequestName, VmStatus> {
    let status = |(name, request): (&RequestName, &Request)| {
        let found = matches.of(name).map(|found| &found.agent);
        let agent = found.and_then(|name| seen.agents.get_key_value(name));
        (name.clone(), refreshed(seen, want, bindings, request, agent))
    };
    seen.requests.iter().map(status).collect()
}

fn refreshed(
    seen: &Observed,
    want: &Desired,
    bindings: &Bindings<'_>,
    request: &Request,
    agent: Option<(&AgentName, &Agent)>,
) -> VmStatus {
    let stored = &request.stored;
    let bound = agent.filter(|(_, agent)| agent.is_bound());
    let machine = bound.and_then(|(name, agent)| bindings.machine(name, agent));
    let machine = machine.map(|machine| with_uid(seen, request, machine));
    let machine = machine.or_else(|| stored_machine(seen, bindings, request));
    let state = machine.as_ref().map_or(MachineState::Unknown, |machine| state(seen, machine));
    let (phase, reason) = next(&Facts {
        request,
        agent: match (agent, bound) {
            (None, _) => AgentState::None,
            (Some(_), None) => AgentState::Unbound,
            (Some(_), Some(_)) => AgentState::Bound,
        },
        machine: state,
        has_machine: machine.is_some(),
        knows_machine: machine.as_ref().is_some_and(|machine| machine.uid.is_some()),
        is_over: is_over(want, request, seen.now),
    });
    let is_as_before = (stored.phase.as_ref(), stored.reason.as_ref()) == (Some(&phase), Some(&reason));
    let served = matches!(phase, Phase::Bound | Phase::Released | Phase::Orphaned);
    VmStatus {
        agent: agent.map(|(name, _)| name.clone()),
        machine: machine.filter(|_| served),
        since: stored.since.filter(|_| is_as_before).unwrap_or(seen.now),
        phase,
        reason,
    }
}

/// All that decides how a VM stands.
struct Facts<'f> {
    request: &'f Request,
    agent: AgentState,
    machine: MachineState,
    has_machine: bool,
    knows_machine: bool,
    is_over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AgentState {
    None,
    Unbound,
    Bound,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MachineState {
    Unknown,
    Alive,
    Deleting,
    /// It was asked for by its UID, and is not there.
    Gone,
}

fn next(facts: &Facts<'_>) -> (Phase, VmReason) {
    let stored = &facts.request.stored;
    let reason = stored.reason.as_ref();
    // That a VM is to go stays so until it is gone, as does that its Machine was seen deleting. What a stored state says of
    // a Machine without UID was never certain.
    if facts.knows_machine && facts.machine != MachineState::Alive {
        if reason == Some(&VmReason::MachineDeleted) && facts.machine != MachineState::Deleting {
            return (Phase::Released, VmReason::MachineDeleted);
        }
        let was_deleting = reason == Some(&VmReason::MachineDeleting);
        if was_deleting && facts.machine == MachineState::Gone {
            return (Phase::Released, VmReason::MachineDeleted);
        }
        if was_deleting || facts.machine == MachineState::Deleting {
            return (Phase::Released, VmReason::MachineDeleting);
        }
    }
    match facts.agent {
        AgentState::Bound if facts.request.seen == Seen::Absent => (Phase::Orphaned, VmReason::VmMissing),
        AgentState::Bound => (Phase::Bound, VmReason::AgentBound),
        AgentState::Unbound if is_lost(facts) => (Phase::Provisioning, VmReason::VmCreatePending),
        AgentState::Unbound => unbound(facts),
        AgentState::None => without_agent(facts),
    }
}

/// The VM is gone, and no node ran in it.
fn is_lost(facts: &Facts<'_>) -> bool {
    facts.request.seen == Seen::Absent && !has_served(facts)
}

fn has_served(facts: &Facts<'_>) -> bool {
    let phase = facts.request.stored.phase.as_ref();
    facts.has_machine || matches!(phase, Some(Phase::Bound | Phase::Released))
}

fn unbound(facts: &Facts<'_>) -> (Phase, VmReason) {
    if has_served(facts) {
        return (Phase::Released, VmReason::AgentReleased);
    }
    let was = (facts.request.stored.phase.as_ref(), facts.request.stored.reason.as_ref());
    let prepared = was == (Some(&Phase::Available), Some(&VmReason::AgentPrepared));
    (Phase::Available, if prepared { VmReason::AgentPrepared } else { VmReason::AgentAvailable })
}

fn without_agent(facts: &Facts<'_>) -> (Phase, VmReason) {
    let stored = &facts.request.stored;
    let orphaned = |reason| (Phase::Orphaned, reason);
    match (&facts.request.seen, stored.phase.as_ref()) {
        (_, Some(Phase::Released)) => (Phase::Released, VmReason::AgentReleased),
        (Seen::Absent, Some(Phase::Bound)) => orphaned(VmReason::VmMissing),
        (Seen::Absent, Some(Phase::Orphaned)) if facts.has_machine => orphaned(VmReason::VmMissing),
        (Seen::Absent, _) => (Phase::Provisioning, VmReason::VmCreatePending),
        (_, Some(Phase::Available | Phase::Bound)) => orphaned(VmReason::AgentMissing),
        (_, Some(Phase::Orphaned)) => {
            let is_one = |reason: &VmReason| {
                matches!(
                    reason,
                    VmReason::AgentMissing | VmReason::AgentDiscoveryExpired | VmReason::VmMissing
                )
            };
            orphaned(stored.reason.clone().filter(is_one).unwrap_or(VmReason::AgentMissing))
        }
        (_, None | Some(Phase::Provisioning | Phase::Other(_))) if facts.is_over => {
            orphaned(VmReason::AgentDiscoveryExpired)
        }
        (Seen::Present(_), None | Some(Phase::Provisioning | Phase::Other(_))) => {
            (Phase::Provisioning, VmReason::AgentNotDiscovered)
        }
        (Seen::Unknown, None | Some(Phase::Provisioning | Phase::Other(_))) => {
            let is_one = |reason: &VmReason| {
                matches!(reason, VmReason::CreateRequested | VmReason::AgentNotDiscovered)
            };
            let reason = stored.reason.clone().filter(is_one);
            (Phase::Provisioning, reason.unwrap_or(VmReason::VmCreatePending))
        }
    }
}

/// Which AgentMachine has which Agent, however that is written.
pub(super) struct Bindings<'o> {
    by_uid: HashMap<&'o Uid, &'o AgentMachineName>,
    by_agent: HashMap<&'o AgentName, &'o AgentMachineName>,
    machines: &'o BTreeMap<AgentMachineName, AgentMachine>,
}

impl<'o> Bindings<'o> {
    pub(super) fn of(seen: &'o Observed) -> Self {
        let machines = &seen.agent_machines;
        let agents = machines.iter().filter_map(|(name, machine)| Some((machine.agent.as_ref()?, name)));
        Self {
            by_uid: machines.iter().map(|(name, machine)| (&machine.uid, name)).collect(),
            by_agent: agents.collect(),
            machines,
        }
    }

    /// The AgentMachine of that name or UID.
    fn named(&self, text: &str) -> Option<&'o AgentMachine> {
        let by_name = self.machines.get(&AgentMachineName::new(text));
        by_name.or_else(|| self.machines.get(*self.by_uid.get(&Uid::new(text))?))
    }

    pub(super) fn agent_machine(&self, name: &AgentName, agent: &Agent) -> Option<&'o AgentMachine> {
        let labelled = agent.bound_to.as_deref().and_then(|text| self.named(text));
        labelled.or_else(|| self.machines.get(*self.by_agent.get(name)?))
    }

    /// The Machine that a bound Agent serves.
    fn machine(&self, name: &AgentName, agent: &Agent) -> Option<MachineRef> {
        let machine = self.agent_machine(name, agent)?;
        Some(MachineRef { name: machine.machine.clone(), uid: None })
    }
}

/// With the UID of the Machine of that name, or the one that was stored with it.
fn with_uid(seen: &Observed, request: &Request, machine: MachineRef) -> MachineRef {
    let stored = request.stored.machine.as_ref().filter(|stored| stored.name == machine.name);
    let stored = stored.and_then(|stored| stored.uid.clone());
    let uid = stored.or_else(|| seen.machines.get(&machine.name).map(|found| found.uid.clone()));
    MachineRef { uid, ..machine }
}

/// What was stored without UID may be the name of a Machine, or the name or UID of its AgentMachine.
fn stored_machine(seen: &Observed, bindings: &Bindings<'_>, request: &Request) -> Option<MachineRef> {
    let stored = request.stored.machine.clone()?;
    if stored.uid.is_some() {
        return Some(stored);
    }
    let resolved = bindings.named(stored.name.as_str()).map(|machine| machine.machine.clone());
    Some(with_uid(seen, request, MachineRef { name: resolved.unwrap_or(stored.name), uid: None }))
}

fn state(seen: &Observed, machine: &MachineRef) -> MachineState {
    let Some(uid) = &machine.uid else { return MachineState::Unknown };
    match seen.machines.get(&machine.name).filter(|found| found.uid == *uid) {
        Some(found) if found.deleting => MachineState::Deleting,
        Some(_) => MachineState::Alive,
        None if seen.confirmed_gone.contains(&Object::Machine(machine.name.clone(), Some(uid.clone()))) => {
            MachineState::Gone
        }
        None => MachineState::Unknown,
    }
}
