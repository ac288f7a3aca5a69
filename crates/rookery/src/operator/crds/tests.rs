use std::fs;
use std::path::Path;

use serde_json::json;

use super::*;

fn definitions() -> Vec<Value> {
    let definitions = rookery_crds::definitions();
    definitions.iter().map(|one| serde_json::to_value(one).unwrap()).collect()
}

/// The file is the snapshot of both definitions: whoever changes them sees here what a cluster will see.
#[test]
fn the_file_in_deploy_is_what_the_command_prints() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds/agents.yaml");
    let printed = render(&Format::Yaml).unwrap() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &printed).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let lines = kept.lines().zip(printed.lines());
    for (number, (kept, printed)) in (1..).zip(lines) {
        assert_eq!(kept, printed, "line {number} of deploy/crds/agents.yaml; UPDATE_DOCS=1 rewrites it");
    }
    assert_eq!(
        kept.len(),
        printed.len(),
        "deploy/crds/agents.yaml ends otherwise; UPDATE_DOCS=1 rewrites it"
    );
}

/// kubectl takes a bare `yes` or `on` for a truth value, and a bare number for a number.
#[test]
fn no_text_is_mistaken_for_something_else() {
    let yaml = render(&Format::Yaml).unwrap();
    assert_eq!(yaml.lines().filter(|line| *line == "---").count(), definitions().len());
    let values = yaml.lines().filter_map(|line| line.trim_start().split_once(": "));
    let bare = values.filter(|(_, value)| {
        ["y", "n", "yes", "no", "on", "off", "null", "~"].contains(&value.to_lowercase().as_str())
    });
    assert_eq!(bare.collect::<Vec<_>>(), []);
    let numbers = [
        "default",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "maxItems",
        "minProperties",
        "maxProperties",
    ];
    let digits = yaml.lines().filter_map(|line| line.trim_start().split_once(": "));
    let digits = digits.filter(|(key, value)| value.parse::<f64>().is_ok() && !numbers.contains(key));
    assert_eq!(digits.collect::<Vec<_>>(), []);
}

#[test]
fn what_is_json_is_one_list_for_kubectl() {
    let list: Value = serde_json::from_str(&render(&Format::Json).unwrap()).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&json!("v1"), &json!("List")));
    assert_eq!(list["items"], Value::from(definitions()));
}

#[test]
fn people_see_names() {
    insta::assert_snapshot!(render(&Format::default()).unwrap(), @r"
    name                                          kind              short  version
    vsphereagents.agent-forge.containeroo.ch      VsphereAgent      va     v1alpha1
    vsphereagentpools.agent-forge.containeroo.ch  VsphereAgentPool  vap    v1alpha1
    ");
    assert_eq!(
        render(&Format::Name).unwrap(),
        "vsphereagents.agent-forge.containeroo.ch\nvsphereagentpools.agent-forge.containeroo.ch"
    );
}
