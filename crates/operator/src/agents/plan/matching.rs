//! Which Agent runs in which VM. Proofs are tried in the order of their weight, and each Agent is in one VM.

use std::collections::{BTreeMap, HashMap, HashSet};

use rookery_crds::agents::names::{DISCRIMINATOR_LABEL, ROLE_LABEL};

use crate::agents::desired::Desired;
use crate::agents::identity::{BiosUuid, Identity, Mac};
use crate::agents::observe::{Agent, AgentName, Observed, Request, RequestName};

/// How an Agent is known to run in a VM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Proof {
    Uuid,
    Mac,
    /// Only a claim of the guest's.
    Hostname,
    /// It was matched before, and nothing speaks against it.
    Reference,
}

impl Proof {
    /// Whether it was told by the VM's hardware.
    pub fn is_identity(self) -> bool {
        match self {
            Self::Uuid | Self::Mac => true,
            Self::Hostname | Self::Reference => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub agent: AgentName,
    pub proof: Proof,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    // Nobody goes through these, so that their order decides nothing.
    by_request: HashMap<RequestName, Match>,
    agents: HashSet<AgentName>,
}

impl Matches {
    pub fn of(&self, request: &RequestName) -> Option<&Match> {
        self.by_request.get(request)
    }

    /// Whether an Agent runs in one of the VMs.
    pub fn has(&self, agent: &AgentName) -> bool {
        self.agents.contains(agent)
    }

    fn add(&mut self, request: &RequestName, agent: &AgentName, proof: Proof) {
        self.agents.insert(agent.clone());
        self.by_request.insert(request.clone(), Match { agent: agent.clone(), proof });
    }

    fn is_open(&self, request: &RequestName) -> bool {
        !self.by_request.contains_key(request)
    }
}

/// Matches the Agents of the pool's InfraEnv and cluster with its VMs.
pub fn find(seen: &Observed, want: &Desired) -> Matches {
    let eligible = seen.agents.iter().filter(|(name, agent)| is_eligible(seen, want, name, agent));
    // Of several that fit alike the bound one is meant, since the others cannot be.
    let (bound, free): (Vec<_>, Vec<_>) = eligible.partition(|(_, agent)| agent.is_bound());
    let eligible = [bound, free].concat();
    let identities: Vec<_> =
        seen.requests.iter().map(|(name, request)| (name, request, request.identity())).collect();
    let mut matches = Matches::default();
    by_uuid(&eligible, &identities, &mut matches);
    by_mac(&eligible, &identities, &mut matches);
    by_hostname(want, &eligible, &identities, &mut matches);
    by_reference(seen, want, &identities, &mut matches);
    matches
}

type Eligible<'o> = [(&'o AgentName, &'o Agent)];
type Identities<'o> = [(&'o RequestName, &'o Request, Identity)];

/// Right InfraEnv, no other cluster's, no other pool's.
pub(super) fn is_eligible(seen: &Observed, want: &Desired, name: &AgentName, agent: &Agent) -> bool {
    agent.infra_envs.contains(&want.infra_env)
        && agent.cluster.as_ref().is_none_or(|cluster| *cluster == want.hosted_cluster)
        && !seen.claimed_elsewhere.contains(name)
}

/// The labels of the pool, without those that are written by us, and no other pool's discriminator.
pub(super) fn has_labels(want: &Desired, agent: &Agent) -> bool {
    let asked =
        want.labels.iter().filter(|(key, _)| ![ROLE_LABEL, DISCRIMINATOR_LABEL].contains(&key.as_str()));
    let mut asked = asked.map(|(key, value)| agent.labels.get(key) == Some(value));
    let discriminator = agent.labels.get(DISCRIMINATOR_LABEL);
    let open = discriminator.is_none() && !agent.is_bound();
    asked.all(|has| has) && (open || discriminator == want.labels.get(DISCRIMINATOR_LABEL))
}

fn by_uuid(eligible: &Eligible<'_>, identities: &Identities<'_>, matches: &mut Matches) {
    let mut serials: HashMap<BiosUuid, Vec<_>> = HashMap::new();
    let mut named: HashMap<BiosUuid, Vec<_>> = HashMap::new();
    for (name, agent) in eligible {
        if let Some(uuid) = agent.serial {
            serials.entry(uuid).or_default().push(*name);
        }
        if let Some(uuid) = agent.named {
            named.entry(uuid).or_default().push(*name);
        }
    }
    for (request, _, identity) in identities {
        let Some(uuid) = identity.uuid else { continue };
        let candidates = [serials.get(&uuid), named.get(&uuid), named.get(&uuid.swapped())];
        let mut candidates = candidates.into_iter().flatten().flatten();
        if let Some(agent) = candidates.find(|agent| !matches.has(agent)) {
            matches.add(request, agent, Proof::Uuid);
        }
    }
}

fn by_mac(eligible: &Eligible<'_>, identities: &Identities<'_>, matches: &mut Matches) {
    let mut macs: HashMap<Mac, Vec<_>> = HashMap::new();
    for (name, agent) in eligible.iter().filter(|(name, _)| !matches.has(name)) {
        agent.macs.iter().for_each(|mac| macs.entry(*mac).or_default().push(*name));
    }
    for (request, _, identity) in identities {
        let mut candidates = identity.macs.iter().filter_map(|mac| macs.get(mac)).flatten();
        if matches.is_open(request)
            && let Some(agent) = candidates.find(|agent| !matches.has(agent))
        {
            matches.add(request, agent, Proof::Mac);
        }
    }
}

/// Only where one VM and one Agent have the name and nothing speaks against it.
fn by_hostname(want: &Desired, eligible: &Eligible<'_>, identities: &Identities<'_>, matches: &mut Matches) {
    let mut agents: HashMap<&str, Vec<_>> = HashMap::new();
    let free = eligible.iter().filter(|(name, agent)| !matches.has(name) && has_labels(want, agent));
    for (name, agent) in free {
        let hostname = agent.hostname.as_ref().or(agent.observed_hostname.as_ref());
        if let Some(hostname) = hostname {
            agents.entry(hostname).or_default().push((*name, *agent));
        }
    }
    let mut vms: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (name, request, identity) in identities.iter().filter(|(name, ..)| matches.is_open(name)) {
        vms.entry(request.vm_name.as_str()).or_default().push((*name, identity));
    }
    for (hostname, requests) in vms {
        let ([(request, identity)], Some(agents)) = (requests.as_slice(), agents.get(hostname)) else {
            continue;
        };
        let mut fitting = agents.iter().filter(|(_, agent)| !conflict(identity, agent));
        if let (Some((agent, _)), None) = (fitting.next(), fitting.next()) {
            matches.add(request, agent, Proof::Hostname);
        }
    }
}

fn by_reference(seen: &Observed, want: &Desired, identities: &Identities<'_>, matches: &mut Matches) {
    for (name, request, identity) in identities {
        let reference = request.stored.agent.as_ref().filter(|_| matches.is_open(name));
        let Some((agent, found)) = reference.and_then(|agent| seen.agents.get_key_value(agent)) else {
            continue;
        };
        if !matches.has(agent) && is_eligible(seen, want, agent, found) && !conflict(identity, found) {
            matches.add(name, agent, Proof::Reference);
        }
    }
}

/// Whether both say who they are, and not the same.
fn conflict(vm: &Identity, agent: &Agent) -> bool {
    let uuids = vm.uuid.map(|uuid| (uuid, [agent.serial, agent.named, agent.named.map(BiosUuid::swapped)]));
    let uuids = uuids.filter(|(_, told)| told.iter().any(Option::is_some));
    let same_uuid = uuids.is_some_and(|(uuid, told)| told.contains(&Some(uuid)));
    let both_macs = !vm.macs.is_empty() && !agent.macs.is_empty();
    let same_mac = vm.macs.iter().any(|mac| agent.macs.contains(mac));
    (uuids.is_some() || both_macs) && !same_uuid && !same_mac
}
