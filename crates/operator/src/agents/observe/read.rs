//! Objects of the cluster, read once. What cannot be used without being guessed is not used.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rookery_crds::agents::{OwnedVm, VsphereAgent, names};
use rookery_crds::foreign;
use rookery_crds::{Condition, ObjectMeta, ObjectReference};

use super::{
    Agent, AgentMachine, AgentMachineName, AgentName, DiscoveryFailures, InfraEnvName, Machine, MachineName,
    MachineRef, Purpose, Ready, Request, RequestName, Seen, StoredVm, Uid, VmName,
};
use crate::agents::identity::{BiosUuid, Identity, Mac};

/// An object that an API server never gives out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an object of the cluster has no {0}")]
pub struct Unreadable(&'static str);

/// Reads an AgentMachine.
pub fn agent_machine(object: &foreign::AgentMachine) -> Result<(AgentMachineName, AgentMachine), Unreadable> {
    let (metadata, spec, status) = (&object.metadata, &object.spec, &object.status);
    let name = name(metadata)?;
    let of_status = status.agent_ref.as_ref().map(|agent| agent.name.as_str());
    let of_spec = spec.provider_id.as_deref().and_then(|id| id.strip_prefix(names::PROVIDER_ID_PREFIX));
    let selector = spec.agent_label_selector.as_ref();
    let owners = metadata.owner_references.iter().flatten();
    let machine = owners.clone().find(|owner| owner.kind == foreign_machine_kind()).map(|owner| &*owner.name);
    let machine = AgentMachine {
        uid: uid(metadata)?,
        created: created(metadata),
        deleting: metadata.deletion_timestamp.is_some(),
        ready: ready(status),
        agent: [of_status, of_spec].into_iter().flatten().find(|text| !text.is_empty()).map(AgentName::new),
        pinned: selector.and_then(|selector| selector.match_labels.get(names::AGENT_MACHINE_LABEL).cloned()),
        // Without an owner it is the Machine of the same name.
        machine: MachineName::new(machine.unwrap_or(name)),
    };
    Ok((AgentMachineName::new(name), machine))
}

fn foreign_machine_kind() -> &'static str {
    <foreign::MachineKind as foreign::ForeignKind>::KIND
}

fn ready(status: &foreign::AgentMachineStatus) -> Ready {
    let Some(condition) = status.ready() else { return Ready::No };
    match (condition.status.as_str(), condition.reason.as_deref()) {
        ("True", _) => Ready::Yes,
        ("False", Some("NoSuitableAgents")) => Ready::NoSuitableAgents,
        _ => Ready::No,
    }
}

/// Reads a Machine.
pub fn machine(object: &foreign::Machine) -> Result<(MachineName, Machine), Unreadable> {
    let metadata = &object.metadata;
    let deleting =
        metadata.deletion_timestamp.is_some() || object.status.phase.as_deref() == Some("Deleting");
    Ok((MachineName::new(name(metadata)?), Machine { uid: uid(metadata)?, deleting }))
}

impl Agent {
    /// Reads an Agent.
    pub fn read(object: &foreign::Agent) -> Result<(AgentName, Self), Unreadable> {
        let (metadata, spec) = (&object.metadata, &object.spec);
        let name = name(metadata)?;
        let labels = metadata.labels.clone().unwrap_or_default();
        let inventory = object.status.inventory.clone().unwrap_or_default();
        let serial = inventory.system_vendor.as_ref().and_then(|vendor| vendor.serial_number.as_deref());
        let agent = Self {
            uid: uid(metadata)?,
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            infra_envs: infra_envs(metadata),
            approved: spec.approved.unwrap_or_default(),
            role: said(spec.role.as_ref()),
            hostname: said(spec.hostname.as_ref()),
            observed_hostname: said(inventory.hostname.as_ref()),
            cluster: said(spec.cluster_deployment_name.as_ref().map(|cluster| &cluster.name)),
            bound_to: said(labels.get(names::BOUND_LABEL)),
            serial: serial.and_then(BiosUuid::of_serial),
            named: BiosUuid::parse(name),
            macs: inventory.interfaces.iter().filter_map(|card| Mac::parse(card.address()?)).collect(),
            labels,
        };
        Ok((AgentName::new(name), agent))
    }
}

/// The InfraEnvs that an Agent names, by label or as owner.
pub fn infra_envs(metadata: &ObjectMeta) -> BTreeSet<InfraEnvName> {
    let label = metadata.labels.iter().flatten().find(|(key, _)| *key == names::INFRA_ENV_LABEL);
    let owners = metadata.owner_references.iter().flatten();
    let kind = <foreign::InfraEnvKind as foreign::ForeignKind>::KIND;
    let owners = owners.filter(|owner| owner.kind == kind).map(|owner| &owner.name);
    label.map(|(_, name)| name).into_iter().chain(owners).map(|name| InfraEnvName::new(name)).collect()
}

/// Reads a VsphereAgent. What vCenter shows of its VM comes from elsewhere.
pub fn request(object: &VsphereAgent, seen: Seen) -> Result<(RequestName, Request), Unreadable> {
    let metadata = &object.metadata;
    let name = name(metadata)?;
    let status = object.status.clone().unwrap_or_default();
    let find =
        |from: &Option<BTreeMap<String, String>>, key: &str| said(from.as_ref().and_then(|map| map.get(key)));
    let vm_name = find(&metadata.annotations, names::VM_NAME);
    let purpose =
        if find(&metadata.labels, names::CREATED_FOR_LABEL).as_deref() == Some(names::CREATED_FOR_SPARE) {
            find(&metadata.labels, names::AGENT_MACHINE_LABEL).map(|machine| AgentMachineName::new(&machine))
        } else {
            // In the order in which the peer looks for the AgentMachine of a VsphereAgent.
            let machine = find(&metadata.labels, names::AGENT_MACHINE_LABEL).or_else(|| vm_name.clone());
            Some(AgentMachineName::new(machine.as_deref().unwrap_or(name)))
        };
    let failed = |condition: &Condition| condition.type_ == "Ready" && condition.status == "False";
    let create_failed = status.conditions.iter().flatten().any(failed);
    let discovery = status.discovery.unwrap_or_default();
    let request = Request {
        uid: uid(metadata)?,
        deleting: metadata.deletion_timestamp.is_some(),
        purpose: purpose.map_or(Purpose::Spare, Purpose::AgentMachine),
        vm_name: VmName::new(vm_name.as_deref().unwrap_or(name)),
        stored: status.vm.as_ref().map(stored).unwrap_or_default(),
        seen,
        create_failed,
        discovery: DiscoveryFailures {
            count: discovery.failures.and_then(|count| count.try_into().ok()).unwrap_or_default(),
            last: discovery.last_failure_time.map(|time| time.0),
            generation: discovery.pool_generation,
        },
    };
    Ok((RequestName::new(name), request))
}

fn stored(vm: &OwnedVm) -> StoredVm {
    StoredVm {
        identity: Identity {
            uuid: vm.bios_uuid.as_deref().and_then(BiosUuid::parse),
            macs: vm.mac_address.as_deref().and_then(Mac::parse).into_iter().collect(),
        },
        agent: named(vm.agent_ref.as_ref()).map(|(name, _)| AgentName::new(name)),
        machine: named(vm.machine_ref.as_ref())
            .map(|(name, uid)| MachineRef { name: MachineName::new(name), uid: uid.map(Uid::new) }),
        phase: vm.phase.clone(),
        reason: vm.reason.clone(),
        since: vm.last_transition_time.as_ref().map(|time| time.0),
        powered_on_at: vm.powered_on_at.as_ref().map(|time| time.0),
        place: None,
    }
}

fn named(reference: Option<&ObjectReference>) -> Option<(&str, Option<&str>)> {
    let name = reference?.name.as_deref().filter(|name| !name.is_empty())?;
    Some((name, reference?.uid.as_deref().filter(|uid| !uid.is_empty())))
}

fn said(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}

fn name(metadata: &ObjectMeta) -> Result<&str, Unreadable> {
    metadata.name.as_deref().ok_or(Unreadable("name"))
}

fn uid(metadata: &ObjectMeta) -> Result<Uid, Unreadable> {
    metadata.uid.as_deref().map(Uid::new).ok_or(Unreadable("UID"))
}

fn created(metadata: &ObjectMeta) -> Timestamp {
    metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

#[cfg(test)]
mod tests;
