//! A VM as a list of named fields: the one shape behind JSON, YAML, `info` and the changes that `watch` prints.

use rookery_vim::MoRef;
use rookery_vim::objects::ConnectionState;
use rookery_vim_client::{Nic, Vm};
use serde::ser::{Serialize, Serializer};
use serde_json::{Value, json};

use super::words::{power_word, tools_word};

/// The fields of a VM, always the same ones in the same order. What vCenter has not told is `null`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row(Vec<(&'static str, Value)>);

impl Row {
    /// All that is known of a VM.
    pub fn of(vm: &Vm) -> Self {
        let (config, guest) = (&vm.config, &vm.guest);
        let id = |reference: &Option<MoRef>| json!(reference.as_ref().map(MoRef::id));
        Self(vec![
            ("id", json!(vm.id.id())),
            ("name", json!(vm.name)),
            ("template", json!(config.template)),
            ("power", json!(vm.power.as_ref().map(power_word))),
            ("ip", json!(guest.ip)),
            ("cpus", json!(config.cpus)),
            ("memory_mb", json!(config.memory_mb)),
            ("host", id(&vm.host)),
            ("folder", id(&vm.parent)),
            ("resource_pool", id(&vm.resource_pool)),
            ("connection", json!(vm.connection.as_ref().map(ConnectionState::as_str))),
            ("question", json!(vm.question)),
            ("boot_time", json!(vm.boot_time)),
            ("created", json!(config.created)),
            ("uuid", json!(config.uuid)),
            ("instance_uuid", json!(config.instance_uuid)),
            ("pending_customization", json!(config.pending_customization)),
            ("tools", json!(guest.tools.as_ref().map(tools_word))),
            ("guest_operations_ready", json!(guest.operations_ready)),
            ("guest_host_name", json!(guest.host_name)),
            ("guest_state", json!(guest.state)),
            ("nics", guest.nics.iter().map(nic).collect()),
            ("annotation", json!(config.annotation)),
            ("unreadable", json!(vm.unreadable)),
        ])
    }

    /// The fields in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}

fn nic(nic: &Nic) -> Value {
    json!({ "network": nic.network, "mac": nic.mac, "ips": nic.ips })
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.fields())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::running;
    use super::*;
    use crate::output::Format;

    fn example() -> Row {
        let mut vm = running("vm-63", "a: b/c", "10.0.0.7");
        let ips = vec!["10.0.0.7".to_owned(), "fe80::1".to_owned()];
        vm.guest.nics = vec![Nic { network: Some("VM Network".to_owned()), mac: None, ips, device: None }];
        vm.config.annotation = Some("two\nlines: \"x\"".to_owned());
        vm.boot_time = Some("2031-02-03T04:05:06Z".parse().unwrap());
        Row::of(&vm)
    }

    #[test]
    fn json_has_every_key_and_null_for_the_unknown() {
        insta::assert_snapshot!(Format::Json.render(&[example()], ["a"], String::new).unwrap(), @r#"
        [
          {
            "id": "vm-63",
            "name": "a: b/c",
            "template": false,
            "power": "on",
            "ip": "10.0.0.7",
            "cpus": 2,
            "memory_mb": 4096,
            "host": null,
            "folder": "group-v3",
            "resource_pool": null,
            "connection": null,
            "question": null,
            "boot_time": "2031-02-03T04:05:06Z",
            "created": null,
            "uuid": null,
            "instance_uuid": null,
            "pending_customization": null,
            "tools": null,
            "guest_operations_ready": null,
            "guest_host_name": null,
            "guest_state": null,
            "nics": [
              {
                "ips": [
                  "10.0.0.7",
                  "fe80::1"
                ],
                "mac": null,
                "network": "VM Network"
              }
            ],
            "annotation": "two\nlines: \"x\"",
            "unreadable": []
          }
        ]
        "#);
    }

    #[test]
    fn yaml_says_the_same() {
        insta::assert_snapshot!(Format::Yaml.render(&[example()], ["a"], String::new).unwrap(), @r#"
        - id: vm-63
          name: "a: b/c"
          template: false
          power: "on"
          ip: "10.0.0.7"
          cpus: 2
          memory_mb: 4096
          host: null
          folder: group-v3
          resource_pool: null
          connection: null
          question: null
          boot_time: "2031-02-03T04:05:06Z"
          created: null
          uuid: null
          instance_uuid: null
          pending_customization: null
          tools: null
          guest_operations_ready: null
          guest_host_name: null
          guest_state: null
          nics:
          - ips:
            - "10.0.0.7"
            - fe80::1
            mac: null
            network: VM Network
          annotation: |-
            two
            lines: "x"
          unreadable: []
        "#);
    }
}
