//! Objects as agent-forge-operator and the CAPI provider store them.

use rookery_crds::agents::{Phase, VmReason};
use serde_json::{Value, json};

use super::*;

fn metadata(name: &str, more: &Value) -> Value {
    let mut all =
        json!({ "name": name, "uid": format!("uid-{name}"), "creationTimestamp": "2026-11-16T05:30:08Z" });
    all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    all
}

fn read_machine(more: &Value, spec: &Value, status: &Value) -> AgentMachine {
    let object = json!({ "metadata": metadata("w-a", more), "spec": spec, "status": status });
    let object = serde_json::from_value(object).expect("an AgentMachine");
    agent_machine(&object).expect("a name").1
}

#[test]
fn an_agent_machine_waits_only_for_want_of_agents() {
    let ready = |status: &str, reason: Option<&str>| {
        let condition = json!({ "type": "Ready", "status": status, "reason": reason });
        read_machine(&json!({}), &json!({}), &json!({ "conditions": [condition] })).ready
    };
    assert_eq!(ready("False", Some("NoSuitableAgents")), Ready::NoSuitableAgents);
    assert_eq!(ready("False", Some("AgentNotYetFound")), Ready::No);
    assert_eq!(ready("False", None), Ready::No);
    assert_eq!(ready("Unknown", Some("NoSuitableAgents")), Ready::No);
    assert_eq!(ready("True", None), Ready::Yes);
    assert_eq!(read_machine(&json!({}), &json!({}), &json!({})).ready, Ready::No);
}

#[test]
fn an_agent_machine_tells_its_agent_its_pin_and_its_machine() {
    let bare = read_machine(&json!({}), &json!({}), &json!({}));
    assert_eq!((bare.agent, bare.pinned, bare.machine.as_str()), (None, None, "w-a"));
    let owner =
        json!({ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": "m-1", "uid": "u" });
    let spec = json!({
        "providerID": "agent://f5a8add9",
        "agentLabelSelector": { "matchLabels": { "agent-forge.containeroo.ch/agent-machine": "w-a" } },
    });
    let told = read_machine(&json!({ "ownerReferences": [owner] }), &spec, &json!({}));
    assert_eq!(told.agent, Some(AgentName::new("f5a8add9")));
    assert_eq!((told.pinned.as_deref(), told.machine.as_str()), (Some("w-a"), "m-1"));
    let status = json!({ "agentRef": { "name": "other" } });
    assert_eq!(read_machine(&json!({}), &spec, &status).agent, Some(AgentName::new("other")));
}

#[test]
fn a_machine_is_deleting_by_its_timestamp_or_its_phase() {
    let deleting = |more: &Value, status: &Value| {
        let object = json!({ "metadata": metadata("m", more), "status": status });
        machine(&serde_json::from_value(object).expect("a Machine")).expect("a name").1.deleting
    };
    assert!(!deleting(&json!({}), &json!({ "phase": "Running" })));
    assert!(deleting(&json!({}), &json!({ "phase": "Deleting" })));
    assert!(deleting(&json!({ "deletionTimestamp": "2026-11-16T06:00:00Z" }), &json!({})));
}

#[test]
fn an_agent_tells_who_it_is_and_who_has_it() {
    let more = json!({
        "resourceVersion": "17",
        "labels": { "agentMachineRef": "w-a", "infraenvs.agent-install.openshift.io": "demo" },
        "ownerReferences": [{ "apiVersion": "v1", "kind": "InfraEnv", "name": "owner", "uid": "u" }],
    });
    let object = json!({
        "metadata": metadata("5c241f42-a87f-fa60-6af6-a46351ced0eb", &more),
        "spec": { "approved": true, "hostname": "", "role": "worker", "clusterDeploymentName": { "name": "demo" } },
        "status": { "inventory": {
            "hostname": "localhost",
            "systemVendor": { "serialNumber": "VMware-42 1f 24 5c 7f a8 60 fa-6a f6 a4 63 51 ce d0 eb" },
            "interfaces": [{ "macAddress": "" , "mac": "00:50:56:80:00:01" }, { "macAddress": "00-50-56-80-00-02" }, {}],
        } },
    });
    let (name, agent) = Agent::read(&serde_json::from_value(object).expect("an Agent")).expect("a name");
    assert_eq!(agent.serial, BiosUuid::parse("421f245c-7fa8-60fa-6af6-a46351ced0eb"));
    assert_eq!(agent.named.map(BiosUuid::swapped), agent.serial, "{name}");
    assert_eq!(agent.macs, [1, 2].map(|last| Mac::from_bytes([0, 0x50, 0x56, 0x80, 0, last])).into());
    assert_eq!(agent.infra_envs, ["demo", "owner"].map(InfraEnvName::new).into());
    assert_eq!((agent.hostname, agent.observed_hostname.as_deref()), (None, Some("localhost")));
    assert_eq!((agent.cluster.as_deref(), agent.bound_to.as_deref()), (Some("demo"), Some("w-a")));
    assert_eq!((agent.approved, agent.resource_version.as_str()), (true, "17"));
}

fn read_request(labels: &Value, annotations: &Value, status: &Value) -> Request {
    let more = json!({ "labels": labels, "annotations": annotations });
    let object = json!({
        "apiVersion": "agent-forge.containeroo.ch/v1alpha1",
        "kind": "VsphereAgent",
        "metadata": metadata("w-a-alternate", &more),
        "spec": { "poolRef": { "name": "workers" } },
        "status": status,
    });
    request(&serde_json::from_value(object).expect("a VsphereAgent"), Seen::Unknown).expect("a name").1
}

#[test]
fn a_request_is_for_the_agent_machine_that_the_peer_would_find() {
    let purpose = |labels: &Value, annotations: &Value| read_request(labels, annotations, &json!({})).purpose;
    let of = |name: &str| Purpose::AgentMachine(AgentMachineName::new(name));
    let label = json!({ "agent-forge.containeroo.ch/agent-machine": "by-label" });
    let annotation = json!({ "agent-forge.containeroo.ch/vm-name": "by-annotation" });
    assert_eq!(purpose(&label, &annotation), of("by-label"));
    assert_eq!(purpose(&json!({}), &annotation), of("by-annotation"));
    assert_eq!(purpose(&json!({}), &json!({})), of("w-a-alternate"));
    let spare = json!({ "agent-forge.containeroo.ch/created-for": "spare" });
    assert_eq!(purpose(&spare, &annotation), Purpose::Spare);
    let given = json!({
        "agent-forge.containeroo.ch/created-for": "spare",
        "agent-forge.containeroo.ch/agent-machine": "w-a",
    });
    assert_eq!(purpose(&given, &annotation), of("w-a"));
    assert_eq!(read_request(&json!({}), &annotation, &json!({})).vm_name.as_str(), "by-annotation");
}

#[test]
fn a_stored_vm_is_read_with_its_references() {
    let status = json!({
        "conditions": [{ "type": "Ready", "status": "False", "reason": "VMCreateFailed", "message": "govc …",
            "lastTransitionTime": "2026-11-16T05:30:11Z" }],
        "discovery": { "failures": 2, "poolGeneration": 3 },
        "vm": {
            "name": "w-a",
            "biosUUID": "d9ada8f5-9546-4c3d-8fe7-3256d8fc1b21",
            "macAddress": "00-50-56-80-00-01",
            "agentRef": { "apiVersion": "v1", "kind": "Agent", "name": "f5a8add9", "namespace": "demo" },
            "machineRef": { "kind": "Machine", "name": "9573854f", "namespace": "demo-demo" },
            "phase": "Released",
            "reason": "MachineDeleting",
            "lastTransitionTime": "2026-11-16T05:40:00Z",
        },
    });
    let request = read_request(&json!({}), &json!({}), &status);
    let stored = &request.stored;
    assert_eq!(
        request.identity().uuid.map(|uuid| uuid.to_string()).as_deref(),
        Some("d9ada8f5-9546-4c3d-8fe7-3256d8fc1b21")
    );
    assert_eq!(stored.agent, Some(AgentName::new("f5a8add9")));
    assert_eq!(stored.machine, Some(MachineRef { name: MachineName::new("9573854f"), uid: None }));
    assert_eq!((&stored.phase, &stored.reason), (&Some(Phase::Released), &Some(VmReason::MachineDeleting)));
    assert!(request.create_failed);
    assert_eq!((request.discovery.count, request.discovery.generation), (2, Some(3)));
    // As the peer stores it before a VM is made.
    let empty = read_request(&json!({}), &json!({}), &json!({ "vm": { "name": "" } }));
    assert_eq!((empty.stored, empty.create_failed), (StoredVm::default(), false));
}
