//! The world of the tests: small, and each part by name.

mod cleaning;
mod finishing;
mod matching;
mod perfect;
mod preparing;
mod properties;
mod refreshing;
mod scale;
mod serving;
mod words;
mod worlds;

use jiff::{SignedDuration, Timestamp};
use rand::SeedableRng as _;
use rookery_crds::agents::names::{AGENT_MACHINE_LABEL, ROLE_LABEL};
use rookery_crds::agents::{CleanupPolicy, Phase, VmReason};
use rookery_fleet::Hardware;

use super::*;
use crate::agents::desired::{Approval, BoundVms, Spares};
use crate::agents::identity::{BiosUuid, Identity, Mac};
use crate::agents::observe::{
    AgentMachine, AgentName, DiscoveryFailures, InfraEnvName, Machine, MachineName, MachineRef, Mark,
    PlaceName, Ready, Seen, StoredVm, Uid, Vm, VmName,
};

#[derive(Debug, Clone)]
struct World {
    seen: Observed,
    want: Desired,
    seed: u64,
}

impl World {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn plan(&self) -> Plan {
        plan(&self.seen, &self.want, &mut StdRng::seed_from_u64(self.seed))
    }

    fn add_machine(&mut self, name: &str, machine: AgentMachine) {
        self.seen
            .machines
            .insert(MachineName::new(name), Machine { uid: uid(&format!("m-{name}")), deleting: false });
        self.seen.agent_machines.insert(AgentMachineName::new(name), machine);
    }

    fn add_request(&mut self, name: &str, request: Request) {
        self.seen.requests.insert(RequestName::new(name), request);
    }

    fn add_agent(&mut self, name: &str, agent: Agent) {
        self.seen.agents.insert(AgentName::new(name), agent);
    }

    fn request(&mut self, name: &str) -> &mut Request {
        self.seen.requests.get_mut(&RequestName::new(name)).expect("a request")
    }

    fn agent(&mut self, name: &str) -> &mut Agent {
        self.seen.agents.get_mut(&AgentName::new(name)).expect("an Agent")
    }

    fn machine(&mut self, name: &str) -> &mut AgentMachine {
        self.seen.agent_machines.get_mut(&AgentMachineName::new(name)).expect("an AgentMachine")
    }

    /// Neither its AgentMachine nor its Machine is there any more, and that was asked for.
    fn forget(&mut self, name: &str) {
        self.seen.agent_machines.remove(&AgentMachineName::new(name));
        let machine = self.seen.machines.remove(&MachineName::new(name));
        let uid = machine.map(|machine| machine.uid);
        self.seen.confirmed_gone.extend([
            Object::AgentMachine(AgentMachineName::new(name)),
            Object::Machine(MachineName::new(name), None),
            Object::Machine(MachineName::new(name), uid),
        ]);
    }

    /// For as long as nobody may have needed them, nobody has needed these.
    fn idle(&mut self, names: &[&str]) {
        let long_ago = self.seen.now - SignedDuration::from_hours(1);
        self.seen.carried.idle_since.extend(names.iter().map(|name| (RequestName::new(name), long_ago)));
    }

    /// An AgentMachine with a VM in which its node runs.
    fn add_node(&mut self, name: &str, number: u8) {
        let agent = format!("agent-{name}");
        let machine = AgentMachine {
            ready: Ready::Yes,
            agent: Some(AgentName::new(&agent)),
            pinned: Some(name.to_owned()),
            ..waiting(name)
        };
        self.add_machine(name, machine);
        self.add_request(name, request(name, number, Phase::Bound, VmReason::AgentBound));
        let mut bound = prepared(number, name);
        (bound.bound_to, bound.cluster) = (Some(name.to_owned()), Some("demo".to_owned()));
        self.add_agent(&agent, bound);
        let machine = MachineRef { name: MachineName::new(name), uid: Some(uid(&format!("m-{name}"))) };
        let stored = &mut self.request(name).stored;
        (stored.agent, stored.machine) = (Some(AgentName::new(&agent)), Some(machine));
    }

    /// A VM with a free, prepared Agent, made for an AgentMachine of its name.
    fn add_free(&mut self, name: &str, number: u8) {
        self.add_request(name, request(name, number, Phase::Available, VmReason::AgentAvailable));
        self.add_agent(&format!("agent-{name}"), prepared(number, name));
    }
}

impl Plan {
    /// All actions, in words.
    fn told(&self) -> Vec<String> {
        self.actions.iter().map(brief).collect()
    }

    fn why(&self, subject: &Subject) -> Option<&WaitReason> {
        self.waiting.iter().find(|waiting| waiting.subject == *subject).map(|waiting| &waiting.why)
    }

    fn why_request(&self, name: &str) -> Option<&WaitReason> {
        self.why(&Subject::Request(RequestName::new(name)))
    }

    fn why_machine(&self, name: &str) -> Option<&WaitReason> {
        self.why(&Subject::AgentMachine(AgentMachineName::new(name)))
    }

    fn status(&self, name: &str) -> &VmStatus {
        self.vms.get(&RequestName::new(name)).expect("a VM")
    }

    fn patch(&self, agent: &str) -> Option<&AgentPatch> {
        self.actions.iter().find_map(|action| {
            if let Action::Patch(patch) = action {
                Some(patch).filter(|patch| patch.agent.as_str() == agent)
            } else {
                None
            }
        })
    }
}

fn brief(action: &Action) -> String {
    match action {
        Action::Create { request, place, .. } => format!("create {request} in {place}"),
        Action::Assign { request, agent_machine } => format!("assign {request} to {agent_machine}"),
        Action::Pin { agent_machine } => format!("pin {agent_machine}"),
        Action::Unpin { agent_machine } => format!("unpin {agent_machine}"),
        Action::Patch(patch) => format!("patch {}", patch.agent),
        Action::Renew { request, failures, .. } => format!("renew {request} {failures}"),
        Action::DeleteRequest { request, reason, .. } => format!("delete {request} {reason:?}"),
        Action::DestroyVm { request, .. } => format!("destroy {request}"),
        Action::DeleteAgent { agent, .. } => format!("delete agent {agent}"),
        Action::Finish { request } => format!("finish {request}"),
        Action::FinishPool => "finish the pool".to_owned(),
    }
}

fn empty() -> World {
    World {
        seen: Observed {
            now: at("12:00:00"),
            agent_machines: BTreeMap::new(),
            machines: BTreeMap::new(),
            agents: BTreeMap::new(),
            requests: BTreeMap::new(),
            other_requests: BTreeSet::new(),
            claimed_elsewhere: BTreeSet::new(),
            rivals: BTreeSet::new(),
            confirmed_gone: BTreeSet::new(),
            rooms: BTreeMap::new(),
            carried: Carried::default(),
        },
        want: Desired {
            pool: PoolName::new("workers"),
            namespace: "demo".to_owned(),
            control_plane_namespace: "demo-demo".to_owned(),
            generation: 3,
            hosted_cluster: "demo".to_owned(),
            infra_env: InfraEnvName::new("demo"),
            labels: [("customer".to_owned(), "example".to_owned())].into(),
            role: "worker".to_owned(),
            approval: Approval::ByIdentity,
            cleanup: CleanupPolicy::Delete,
            standing: Standing::Live,
            bound_vms: BoundVms::Kept,
            spares: Spares { number: 0, prefix: "workers".to_owned() },
            max_vms: None,
            discovery_timeout: SignedDuration::from_mins(30),
            footprint: Hardware::new(4, 16_384),
            places: vec![PlaceName::new("here")],
        },
        seed: 7,
    }
}

fn at(time: &str) -> Timestamp {
    format!("2026-11-16T{time}Z").parse().expect("a time")
}

fn uid(text: &str) -> Uid {
    Uid::new(text)
}

fn uuid(number: u8) -> BiosUuid {
    BiosUuid::from_bytes([number, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 9, 10, 11, 12, 13, 14, 15])
}

fn mac(number: u8) -> Mac {
    Mac::from_bytes([0, 0x50, 0x56, 0, 0, number])
}

fn identity(number: u8) -> Identity {
    Identity { uuid: Some(uuid(number)), macs: [mac(number)].into() }
}

/// An AgentMachine that no Agent suits.
fn waiting(name: &str) -> AgentMachine {
    AgentMachine {
        uid: uid(&format!("am-{name}")),
        created: at("11:00:00"),
        deleting: false,
        ready: Ready::NoSuitableAgents,
        agent: None,
        pinned: None,
        machine: MachineName::new(name),
    }
}

/// The request for an AgentMachine of its name, with a VM that runs.
fn request(name: &str, number: u8, phase: Phase, reason: VmReason) -> Request {
    Request {
        uid: uid(&format!("va-{name}")),
        deleting: false,
        purpose: Purpose::AgentMachine(AgentMachineName::new(name)),
        vm_name: VmName::new(name),
        stored: StoredVm {
            identity: identity(number),
            phase: Some(phase),
            reason: Some(reason),
            since: Some(at("11:30:00")),
            powered_on_at: Some(at("11:50:00")),
            place: Some(PlaceName::new("here")),
            ..StoredVm::default()
        },
        seen: Seen::Present(Vm { identity: identity(number), mark: Mark::Ours }),
        create_failed: false,
        discovery: DiscoveryFailures::default(),
    }
}

/// An Agent that has just appeared in the VM of that number.
fn fresh(number: u8) -> Agent {
    Agent {
        uid: uid(&format!("a-{number}")),
        resource_version: number.to_string(),
        deleting: false,
        labels: [("customer".to_owned(), "example".to_owned())].into(),
        infra_envs: [InfraEnvName::new("demo")].into(),
        approved: false,
        role: None,
        hostname: None,
        observed_hostname: Some("localhost".to_owned()),
        cluster: None,
        bound_to: None,
        serial: Some(uuid(number)),
        named: None,
        macs: [mac(number)].into(),
    }
}

/// One that has all that it needs to be taken by the AgentMachine of that name.
fn prepared(number: u8, name: &str) -> Agent {
    let mut agent = fresh(number);
    agent.labels.insert(ROLE_LABEL.to_owned(), "worker".to_owned());
    agent.labels.insert(AGENT_MACHINE_LABEL.to_owned(), name.to_owned());
    (agent.approved, agent.role, agent.hostname) = (true, Some("worker".to_owned()), Some(name.to_owned()));
    agent
}
