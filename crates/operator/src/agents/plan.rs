//! What is done for a pool next, and why the rest waits. Pure: no clock, no I/O, no randomness but the generator that is
//! handed in, for the names of spare VMs.
//!
//! One pass matches Agents with VMs, refreshes what is known of each VM, serves AgentMachines that wait, keeps spare VMs,
//! prepares Agents, and looks for what can go. Whoever is given away in one step is not free in the next.

mod action;
mod cleanup;
mod counts;
mod finish;
mod gone;
mod matching;
mod naming;
mod prepare;
mod refresh;
mod renew;
mod room;
mod serve;
mod spares;
mod waiting;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rand::rngs::StdRng;

use super::desired::{Desired, Standing};
use super::observe::{
    Agent, AgentMachineName, Carried, Object, Observed, PoolName, Purpose, Request, RequestName,
};

pub use action::{Action, AgentPatch, DeleteReason};
pub use counts::Counts;
pub use matching::{Match, Matches, Proof, find as find_matches};
use refresh::Bindings;
pub use refresh::VmStatus;
pub use waiting::{Subject, WaitReason, Waiting, told};

/// What the next pass does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is done, in this order.
    pub actions: Vec<Action>,
    pub waiting: Vec<Waiting>,
    /// How each VM stands from now on. It is stored before anything is done: what was seen once may not be seen again.
    pub vms: BTreeMap<RequestName, VmStatus>,
    pub counts: Counts,
    pub verdict: Verdict,
    /// What has to be asked for before more can be decided.
    pub ask: BTreeSet<Object>,
    pub carried: Carried,
}

/// What the pool's condition `Ready` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Reconciled,
    /// Others are for the same NodePool: nothing is made.
    ConflictingPools(BTreeSet<PoolName>),
    /// The pool is deleted and these VMs are in use.
    BoundVms(BTreeSet<RequestName>),
    /// These VMs were made several times and never appeared as Agents.
    DiscoveryFailed(BTreeSet<RequestName>),
}

pub fn plan(seen: &Observed, want: &Desired, random: &mut StdRng) -> Plan {
    let (matches, bindings) = (matching::find(seen, want), Bindings::of(seen));
    let vms = refresh::all(seen, want, &matches, &bindings);
    let known = Known { matches: &matches, bindings: &bindings, vms: &vms };
    let mut pass = Pass::new(seen, want, random, known);
    match want.standing {
        Standing::Deleted => pass.delete_pool(),
        Standing::Live if !seen.rivals.is_empty() => {
            pass.plan.verdict = Verdict::ConflictingPools(seen.rivals.clone());
            pass.say_conflict();
        }
        Standing::Live => {
            pass.serve();
            pass.keep_spares();
            pass.prepare();
            pass.renew();
            pass.delete_stale_agents();
            pass.clean_up();
        }
    }
    pass.finish_requests();
    let decided = pass.plan;
    Plan { vms, ..decided }
}

/// What follows from what is seen, before anything is decided.
#[derive(Clone, Copy)]
struct Known<'p> {
    matches: &'p Matches,
    bindings: &'p Bindings<'p>,
    /// Exactly those that are requested.
    vms: &'p BTreeMap<RequestName, VmStatus>,
}

/// A pass in the making.
struct Pass<'p> {
    seen: &'p Observed,
    want: &'p Desired,
    random: &'p mut StdRng,
    known: Known<'p>,
    /// The AgentMachines that wait, those first that have waited longest.
    waiting: Vec<&'p AgentMachineName>,
    /// Requests by the AgentMachine that they are for.
    own: HashMap<&'p AgentMachineName, Vec<&'p RequestName>>,
    /// Requests that were given to another AgentMachine by this pass.
    assigned: BTreeMap<RequestName, AgentMachineName>,
    room: room::Room,
    /// Requests that stay as spares.
    spares: BTreeSet<&'p RequestName>,
    plan: Plan,
}

impl<'p> Pass<'p> {
    fn new(seen: &'p Observed, want: &'p Desired, random: &'p mut StdRng, known: Known<'p>) -> Self {
        let mut waiting: Vec<_> = seen.agent_machines.iter().filter(|(_, machine)| machine.waits()).collect();
        waiting.sort_by_key(|(name, machine)| (machine.created, *name));
        let mut own: HashMap<_, Vec<_>> = HashMap::new();
        for (name, request) in &seen.requests {
            if let Purpose::AgentMachine(machine) = &request.purpose {
                own.entry(machine).or_default().push(name);
            }
        }
        let plan = Plan {
            actions: Vec::new(),
            waiting: Vec::new(),
            vms: BTreeMap::new(),
            counts: counts::count(seen, want, known),
            verdict: Verdict::Reconciled,
            ask: BTreeSet::new(),
            carried: Carried::default(),
        };
        Self {
            seen,
            want,
            random,
            known,
            waiting: waiting.into_iter().map(|(name, _)| name).collect(),
            own,
            assigned: BTreeMap::new(),
            room: room::Room::of(seen, want),
            spares: BTreeSet::new(),
            plan,
        }
    }

    /// Requests that nobody has asked to go, each with how its VM stands.
    fn live(&self) -> impl Iterator<Item = (&'p RequestName, &'p Request, &'p VmStatus)> + use<'p> {
        let all = self.seen.requests.iter().zip(self.known.vms.values());
        all.filter(|((_, request), _)| !request.deleting).map(|((name, request), vm)| (name, request, vm))
    }

    fn agent_of(&self, request: &RequestName) -> Option<(&'p Match, &'p Agent)> {
        let found = self.known.matches.of(request)?;
        Some((found, self.seen.agents.get(&found.agent)?))
    }

    /// The AgentMachine that a request is for, if that is still there.
    fn purpose(&self, name: &RequestName, request: &Request) -> Option<AgentMachineName> {
        let machine = self.assigned.get(name).or(match &request.purpose {
            Purpose::AgentMachine(machine) => Some(machine),
            Purpose::Spare => None,
        })?;
        self.is_live(machine).then(|| machine.clone())
    }

    fn is_live(&self, machine: &AgentMachineName) -> bool {
        self.seen.agent_machines.get(machine).is_some_and(|machine| !machine.deleting)
    }

    fn wait(&mut self, subject: Subject, why: WaitReason) {
        self.plan.waiting.push(Waiting { subject, why });
    }

    fn say_conflict(&mut self) {
        for machine in self.waiting.clone() {
            let pools = self.seen.rivals.clone();
            self.wait(Subject::AgentMachine(machine.clone()), WaitReason::ConflictingPools { pools });
        }
    }
}

#[cfg(test)]
mod tests;
