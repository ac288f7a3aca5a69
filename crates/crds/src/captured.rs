//! Objects that agent-forge-operator and its neighbours stored in a real API server, after each step of a run: what we read
//! of them is complete, and what is ours is written back as it was.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::agents::{ActionType, Phase, PoolCondition, VmReason, VsphereAgent, VsphereAgentPool};
use crate::foreign::{Agent, AgentMachine};

const OBJECTS: &str = include_str!("../tests/captures/objects.jsonl");
const AS_BEFORE: &str = "as before";

/// All objects in full. The capture abridges what is as it was at the step before.
fn objects() -> Vec<Value> {
    let mut last: BTreeMap<[String; 3], Value> = BTreeMap::new();
    let whole = OBJECTS.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let object = &line["object"];
        let metadata = &object["metadata"];
        let key = [&object["kind"], &metadata["namespace"], &metadata["name"]]
            .map(|value| value.as_str().expect("a text").to_owned());
        let object = filled(object, last.get(&key).unwrap_or(&Value::Null));
        last.insert(key, object.clone());
        object
    });
    whole.collect()
}

fn filled(value: &Value, before: &Value) -> Value {
    match value {
        Value::String(text) if text == AS_BEFORE => before.clone(),
        Value::String(text) => text.strip_suffix(": as before").map_or_else(
            || value.clone(),
            |name| {
                let is_named = |item: &&Value| item["name"] == name || item["type"] == name;
                before
                    .as_array()
                    .and_then(|items| items.iter().find(is_named))
                    .expect("a former item")
                    .clone()
            },
        ),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| (key.clone(), filled(value, &before[key]));
            members.iter().map(member).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(|item| filled(item, before)).collect::<Vec<_>>().into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn of_kind<T: DeserializeOwned>(kind: &str) -> Vec<(Value, T)> {
    let found = objects().into_iter().filter(|object| object["kind"] == kind);
    let read = |object: Value| (object.clone(), serde_json::from_value(object).expect("an object"));
    found.map(read).collect()
}

fn written(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("JSON")
}

#[test]
fn what_is_ours_is_written_back_as_it_was() {
    let (pools, agents) = (of_kind::<VsphereAgentPool>("VsphereAgentPool"), of_kind("VsphereAgent"));
    assert_eq!((pools.len(), agents.len()), (45, 36));
    for (stored, pool) in pools {
        assert_eq!(written(&pool), stored);
    }
    for (stored, agent) in agents {
        let agent: VsphereAgent = agent;
        assert_eq!(written(&agent), stored);
    }
}

/// Of other kinds each field that is read, and nothing else.
#[test]
fn what_is_read_of_others_is_what_they_say() {
    let (agents, machines) = (of_kind::<Agent>("Agent"), of_kind::<AgentMachine>("AgentMachine"));
    assert!(!agents.is_empty() && !machines.is_empty());
    for (stored, agent) in agents {
        assert!(is_part(&written(&agent), &stored), "{stored:#}");
        assert_eq!(agent.spec.approved, stored["spec"]["approved"].as_bool());
        let text = |value: &Value| value.as_str().map(str::to_owned);
        assert_eq!(agent.spec.hostname, text(&stored["spec"]["hostname"]));
        assert_eq!(agent.spec.role, text(&stored["spec"]["role"]));
        let cluster = agent.spec.cluster_deployment_name.map(|cluster| cluster.name);
        assert_eq!(cluster, text(&stored["spec"]["clusterDeploymentName"]["name"]));
        let told = &stored["status"]["inventory"];
        let inventory = agent.status.inventory.unwrap_or_default();
        assert_eq!(inventory.hostname, text(&told["hostname"]));
        let serial = inventory.system_vendor.and_then(|vendor| vendor.serial_number);
        assert_eq!(serial, text(&told["systemVendor"]["serialNumber"]));
        let addresses: Vec<_> = inventory.interfaces.iter().filter_map(|card| card.address()).collect();
        let cards = told["interfaces"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!(
            addresses,
            cards.iter().filter_map(|card| card["macAddress"].as_str()).collect::<Vec<_>>()
        );
    }
    for (stored, machine) in machines {
        assert!(is_part(&written(&machine), &stored), "{stored:#}");
        let ready = machine.status.ready().expect("a condition");
        let told = &stored["status"]["conditions"][0];
        assert_eq!(
            (told["status"].as_str(), told["reason"].as_str()),
            (Some(&*ready.status), ready.reason.as_deref())
        );
        assert_eq!(machine.spec.provider_id.as_deref(), stored["spec"]["providerID"].as_str());
        let agent = machine.status.agent_ref.as_ref().map(|agent| agent.name.as_str());
        assert_eq!(agent, stored["status"]["agentRef"]["name"].as_str());
        let labels = machine.spec.agent_label_selector.expect("a selector").match_labels;
        assert_eq!(written(&labels), stored["spec"]["agentLabelSelector"]["matchLabels"]);
    }
}

/// Whether all that is written stands in what was stored; an empty part may be absent there.
fn is_part(written: &Value, stored: &Value) -> bool {
    match (written, stored) {
        (Value::Object(written), Value::Object(stored)) => {
            written.iter().all(|(key, value)| is_part(value, stored.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(written), Value::Array(stored)) => {
            written.len() == stored.len()
                && written.iter().zip(stored).all(|(one, other)| is_part(one, other))
        }
        (Value::Object(written), Value::Null) => written.is_empty(),
        (written, stored) => written == stored,
    }
}

/// No word of the peer's is one that we would take for a stranger's.
#[test]
fn all_words_that_were_stored_are_known() {
    let pools = of_kind::<VsphereAgentPool>("VsphereAgentPool");
    let statuses: Vec<_> = pools.into_iter().filter_map(|(_, pool)| pool.status).collect();
    let vms = || statuses.iter().flat_map(|status| status.owned_vms.iter().flatten());
    let phases: BTreeSet<_> = vms().filter_map(|vm| vm.phase.clone()).collect();
    let reasons: BTreeSet<_> = vms().filter_map(|vm| vm.reason.clone()).collect();
    let actions = statuses.iter().flat_map(|status| status.planned_actions.iter().flatten());
    let actions: BTreeSet<_> = actions.map(|planned| planned.action.clone()).collect();
    assert!(phases.is_subset(&Phase::all().collect()), "{phases:?}");
    assert!(reasons.is_subset(&VmReason::all().collect()), "{reasons:?}");
    assert!(actions.is_subset(&ActionType::all().collect()), "{actions:?}");
    assert_eq!(phases, Phase::all().collect(), "the run has seen each phase");
    let conditions = statuses.iter().flat_map(|status| status.conditions.iter().flatten());
    let known = PoolCondition::ALL.map(PoolCondition::as_str);
    for condition in conditions {
        assert!(known.contains(&condition.type_.as_str()), "{}", condition.type_);
    }
}

/// What another version of a foreign kind might say.
#[test]
fn a_foreign_object_that_says_something_else_is_read_without_it() {
    let agent: Agent = serde_json::from_value(serde_json::json!({
        "metadata": { "name": "a" },
        "spec": { "approved": "yes", "hostname": "h" },
        "status": { "inventory": { "interfaces": [7, { "macAddress": null, "mac": "00:50:56:00:00:01" }] } },
    }))
    .expect("an Agent");
    assert_eq!((agent.spec.approved, agent.spec.hostname.as_deref()), (None, Some("h")));
    let inventory = agent.status.inventory.expect("an inventory");
    assert_eq!(
        inventory.interfaces.iter().filter_map(|card| card.address()).collect::<Vec<_>>(),
        ["00:50:56:00:00:01"]
    );
    let bare: AgentMachine = serde_json::from_str("{}").expect("an AgentMachine");
    assert_eq!(bare, AgentMachine::default());
    let odd: AgentMachine =
        serde_json::from_value(serde_json::json!({ "spec": 3, "status": null })).expect("an AgentMachine");
    assert_eq!(odd, AgentMachine::default());
}
