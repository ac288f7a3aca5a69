use serde_json::{Value, json};

use super::*;

fn definition(plural: &str) -> Value {
    let found = definitions().into_iter().find(|definition| definition.spec.names.plural == plural);
    serde_json::to_value(found.expect("a definition")).expect("JSON")
}

fn schema(plural: &str) -> Value {
    definition(plural)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// The schema of a field, by its path; `[]` are the items of a list.
fn field<'s>(schema: &'s Value, path: &str) -> &'s Value {
    path.split('.').fold(schema, |at, step| {
        let (name, is_list) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
        let at = &at["properties"][name];
        if is_list { &at["items"] } else { at }
    })
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// All that restricts a field, and its default.
fn check(schema: &Value, path: &str, expected: &Value) {
    let mut found = field(schema, path).as_object().unwrap_or_else(|| panic!("{path}")).clone();
    for key in ["description", "properties", "items", "required", "additionalProperties"] {
        found.remove(key);
    }
    assert_eq!(Value::Object(found), *expected, "{path}");
}

#[test]
fn both_kinds_have_the_names_of_the_peers() {
    let names = |plural: &str| {
        let spec = definition(plural)["spec"].clone();
        let version = &spec["versions"][0];
        assert_eq!(spec["group"], "agent-forge.containeroo.ch");
        assert_eq!(spec["scope"], "Namespaced");
        assert_eq!(version["name"], "v1alpha1");
        assert_eq!((&version["served"], &version["storage"]), (&json!(true), &json!(true)));
        assert_eq!(version["subresources"], json!({ "status": {} }));
        (spec["names"].clone(), version["additionalPrinterColumns"].clone())
    };
    let column = |name: &str, kind: &str, path: &str| json!({ "name": name, "type": kind, "jsonPath": path });
    let age = column("Age", "date", ".metadata.creationTimestamp");
    assert_eq!(
        names("vsphereagentpools"),
        (
            json!({
                "kind": "VsphereAgentPool",
                "plural": "vsphereagentpools",
                "singular": "vsphereagentpool",
                "shortNames": ["vap"],
            }),
            json!([
                column("Waiting", "integer", ".status.waitingAgentMachines"),
                column("Desired", "integer", ".status.desiredReplicas"),
                column("Agents", "integer", ".status.matchingAgents"),
                age,
            ])
        )
    );
    assert_eq!(
        names("vsphereagents"),
        (
            json!({
                "kind": "VsphereAgent",
                "plural": "vsphereagents",
                "singular": "vsphereagent",
                "shortNames": ["va"],
            }),
            json!([
                column("Pool", "string", ".spec.poolRef.name"),
                column("VM", "string", ".status.vm.name"),
                column("Phase", "string", ".status.vm.phase"),
                age,
            ])
        )
    );
}

/// The table of the peer's fields: type, bounds and default of each.
#[test]
fn the_spec_of_a_pool_has_the_bounds_and_defaults_of_the_peers() {
    let spec = schema("vsphereagentpools")["properties"]["spec"].clone();
    let name =
        json!({ "type": "string", "minLength": 1, "maxLength": 253, "pattern": crate::schema::SUBDOMAIN });
    let text = |most: u32| json!({ "type": "string", "minLength": 1, "maxLength": most });
    let word = |default: &str| json!({ "type": "string", "maxLength": 64, "pattern": "^[A-Za-z0-9_.-]+$", "default": default });
    let number = |least: i32, most: i32, default: i32| json!({ "type": "integer", "format": "int32", "minimum": f64::from(least), "maximum": f64::from(most), "default": default });
    for reference in ["hostedClusterRef", "nodePoolRef", "infraEnvRef"] {
        check(&spec, &format!("{reference}.name"), &name);
    }
    let label = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    check(
        &spec,
        "controlPlaneNamespace",
        &json!({ "type": "string", "minLength": 1, "maxLength": 63, "pattern": label }),
    );
    check(&spec, "vsphere.credentialsSecretRef.name", &text(253));
    let maybe = |most: u32| json!({ "type": "string", "maxLength": most, "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$" });
    check(&spec, "vsphere.credentialsSecretRef.namespace", &maybe(63));
    check(
        &spec,
        "vsphere.datacenter",
        &json!({ "type": "string", "minLength": 1, "maxLength": 256, "default": "dc1" }),
    );
    check(&spec, "vsphere.datastoreCluster", &text(256));
    check(&spec, "vsphere.isoDatastore", &text(256));
    check(&spec, "vsphere.resourcePool", &text(512));
    check(&spec, "vsphere.folder", &json!({ "type": "string", "maxLength": 512 }));
    check(&spec, "vsphere.network", &text(256));
    check(&spec, "vsphere.vmTags", &json!({ "type": "array", "maxItems": 64 }));
    check(&spec, "vsphere.guestID", &word("rhel9_64Guest"));
    check(&spec, "vsphere.scsiType", &word("pvscsi"));
    check(&spec, "vsphere.firmware", &json!({ "type": "string", "enum": ["efi", "bios"], "default": "efi" }));
    check(&spec, "vsphere.networkAdapterType", &word("vmxnet3"));
    check(&spec, "vsphere.diskEagerlyScrub", &json!({ "type": "boolean", "default": false }));
    check(&spec, "template.namePrefix", &maybe(58));
    check(&spec, "template.numCPUs", &number(1, 128, 4));
    check(&spec, "template.memoryMiB", &number(1024, 1_048_576, 16_384));
    check(&spec, "template.diskGiB", &number(20, 65_536, 100));
    let role = json!({ "type": "string", "minLength": 1, "maxLength": 63, "pattern": crate::schema::LABEL_VALUE, "default": "worker" });
    check(&spec, "agent.role", &role);
    check(&spec, "agent.labels", &json!({ "type": "object", "minProperties": 1, "maxProperties": 32 }));
    check(&spec, "agent.approve", &json!({ "type": "boolean", "default": true }));
    check(&spec, "iso.checkInterval", &json!({ "type": "string", "pattern": crate::duration::PATTERN }));
    check(&spec, "iso.retainVersions", &number(1, 20, 2));
    check(
        &spec,
        "iso.pathPrefix",
        &json!({ "type": "string", "maxLength": 512, "pattern": r"^([^/\s]\S*)?$" }),
    );
    check(
        &spec,
        "cleanupPolicy",
        &json!({ "type": "string", "enum": ["Delete", "Retain"], "default": "Delete" }),
    );
    let all = [
        "agent",
        "controlPlaneNamespace",
        "hostedClusterRef",
        "infraEnvRef",
        "nodePoolRef",
        "template",
        "vsphere",
    ];
    assert_eq!(required(&spec), all);
    let vsphere = ["credentialsSecretRef", "datastoreCluster", "isoDatastore", "network", "resourcePool"];
    assert_eq!(required(field(&spec, "vsphere")), vsphere);
    assert_eq!(required(field(&spec, "agent")), ["labels"]);
    assert_eq!((required(field(&spec, "template")), required(field(&spec, "iso"))), (vec![], vec![]));
}

/// What is added must change nothing that is stored: it is optional, and has no default in the schema.
#[test]
fn additions_are_optional_and_without_defaults_in_the_schema() {
    let spec = schema("vsphereagentpools")["properties"]["spec"].clone();
    let int = |bounds: Value| {
        let mut all = json!({ "type": "integer", "format": "int32" });
        all.as_object_mut().expect("an object").extend(bounds.as_object().expect("bounds").clone());
        all
    };
    check(&spec, "minSpare", &int(json!({ "minimum": 0.0, "maximum": 1000.0 })));
    check(&spec, "maxVMs", &int(json!({ "minimum": 0.0 })));
    check(&spec, "discoveryTimeout", &json!({ "type": "string", "pattern": crate::duration::PATTERN }));
    check(&spec, "iso.caBundle", &json!({ "type": "string", "maxLength": 262_144 }));
    check(&spec, "iso.insecureSkipVerify", &json!({ "type": "boolean" }));
    check(&spec, "iso.maxSizeGiB", &int(json!({ "minimum": 1.0, "maximum": 1024.0 })));
    check(&spec, "vsphere.placements", &json!({ "type": "array", "maxItems": 64 }));
    let text = |most: u32| json!({ "type": "string", "minLength": 1, "maxLength": most });
    check(&spec, "vsphere.placements[].resourcePool", &text(512));
    check(&spec, "vsphere.placements[].datastoreCluster", &text(256));
    check(&spec, "vsphere.placements[].network", &text(256));
    assert_eq!(required(field(&spec, "vsphere.placements[]")), [""; 0]);
}

#[test]
fn what_a_status_needs_is_what_the_peers_needs() {
    let (pool, agent) = (schema("vsphereagentpools"), schema("vsphereagents"));
    assert_eq!((required(&pool), required(&agent)), (vec!["spec"], vec!["spec"]));
    assert_eq!(required(field(&pool, "status")), [""; 0]);
    assert_eq!(required(field(&pool, "status.ownedVMs[]")), ["name"]);
    assert_eq!(required(field(&pool, "status.plannedActions[]")), ["reason", "type"]);
    assert_eq!(required(field(&pool, "status.iso.history[]")), ["path", "sha256"]);
    assert_eq!(required(field(&agent, "spec.poolRef")), ["name"]);
    assert_eq!(required(field(&agent, "status.vm")), ["name"]);
    let mut vm = field(&agent, "status.vm").clone();
    vm.as_object_mut().expect("a schema").remove("description");
    let mut owned = field(&pool, "status.ownedVMs[]").clone();
    owned.as_object_mut().expect("a schema").remove("description");
    assert_eq!(vm, owned);
    for conditions in [field(&pool, "status.conditions"), field(&agent, "status.conditions")] {
        assert_eq!(conditions["x-kubernetes-list-type"], "map");
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    }
}

/// What an API server takes in a structural schema; it refuses some of the rest, and drops what it does not know.
#[test]
fn schemas_are_structural() {
    for plural in ["vsphereagentpools", "vsphereagents"] {
        structural(plural, &schema(plural));
    }
}

fn structural(path: &str, schema: &Value) {
    const KEYWORDS: &[&str] = &[
        "additionalProperties",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minLength",
        "minProperties",
        "minimum",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    ];
    let object = schema.as_object().unwrap_or_else(|| panic!("{path}: {schema}"));
    for key in object.keys() {
        assert!(KEYWORDS.contains(&key.as_str()), "{path}: {key}");
    }
    let kind = schema["type"].as_str().unwrap_or_else(|| panic!("{path} has no type"));
    let is_of_kind = |value: &Value| match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        _ => false,
    };
    assert!(schema.get("default").is_none_or(is_of_kind), "{path}");
    if let Some(format) = schema.get("format") {
        let known = match kind {
            "integer" => ["int32", "int64"].as_slice(),
            _ => &["date-time"],
        };
        assert!(known.contains(&format.as_str().unwrap_or_default()), "{path}: {format}");
    }
    assert_eq!(schema.get("items").is_some(), kind == "array", "{path}");
    let maps = [schema.get("properties"), schema.get("additionalProperties")];
    assert_eq!(maps.iter().flatten().count(), usize::from(kind == "object"), "{path}");
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        structural(&format!("{path}.{name}"), inner);
    }
    for inner in [schema.get("items"), schema.get("additionalProperties")].into_iter().flatten() {
        structural(&format!("{path}[]"), inner);
    }
    for name in required(schema) {
        assert!(schema["properties"].get(name).is_some(), "{path}: {name}");
    }
}
