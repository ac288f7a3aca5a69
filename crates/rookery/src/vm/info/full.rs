//! All that can be told of one VM. Pure.

use jiff::Timestamp;
use rookery_vim::MoRef;
use rookery_vim_client::{Details, Disk, Places, Vm};
use serde::Serialize;
use serde_json::Value;

use crate::output::{printable_lines, table, value_text};
use crate::vm::Row;
use crate::vm::marks::{Mark, mark};
use crate::vm::snapshot::{SnapshotRow, snapshot_rows};
use crate::vm::words::{memory, moment, size};

/// What the list of VMs has of it, and what takes further calls.
#[derive(Debug, Serialize)]
pub(super) struct Full {
    #[serde(flatten)]
    row: Row,
    host_name: Option<String>,
    folder_name: Option<String>,
    resource_pool_name: Option<String>,
    datastores: Vec<Datastore>,
    disks: Vec<DiskRow>,
    snapshots: Vec<SnapshotRow>,
    mark: Option<Mark>,
}

#[derive(Debug, Serialize)]
struct Datastore {
    id: String,
    name: Option<String>,
}

/// A disk for programs.
#[derive(Debug, Serialize)]
struct DiskRow {
    label: String,
    size_kb: Option<i64>,
    datastore: Option<String>,
    file: Option<String>,
    parent: Option<String>,
}

impl Full {
    pub(super) fn of(vm: &Vm, details: &Details, places: &Places) -> Self {
        let path = |id: &MoRef| places.get(id).map(|place| places.path(&place.id));
        let config = &vm.config;
        let datastore = |id: &MoRef| Datastore {
            id: id.id().to_owned(),
            name: places.get(id).map(|place| place.name.clone()),
        };
        Self {
            row: Row::of(vm),
            host_name: vm.host.as_ref().and_then(path),
            folder_name: vm.parent.as_ref().and_then(path),
            resource_pool_name: vm.resource_pool.as_ref().and_then(path),
            datastores: details.datastores.iter().map(datastore).collect(),
            disks: details.disks.iter().map(disk).collect(),
            snapshots: snapshot_rows(&details.snapshots),
            mark: mark(config.annotation.as_deref(), config.instance_uuid.as_deref()),
        }
    }

    /// A line for each key; places by their names.
    pub(super) fn table(&self) -> String {
        let own = self.row.fields().map(|(name, value)| [title(name), self.text(name, value)]);
        let datastores = lines(self.datastores.iter().map(|one| one.name.clone().unwrap_or(one.id.clone())));
        let more = [
            ("datastores", datastores),
            ("disks", lines(self.disks.iter().map(DiskRow::line))),
            ("snapshots", lines(self.snapshots.iter().map(snapshot_line))),
            ("mark", self.mark.as_ref().map_or_else(|| "-".to_owned(), |mark| lines(mark_lines(mark)))),
        ];
        let more = more.map(|(name, text)| [name.to_owned(), printable_lines(&text)]);
        table(["", ""], own.chain(more))
    }

    fn text(&self, name: &str, value: &Value) -> String {
        let place = match name {
            "memory_mb" => {
                let megabytes = value.as_i64().and_then(|megabytes| i32::try_from(megabytes).ok());
                return megabytes.map_or_else(|| "-".to_owned(), memory);
            }
            "host" => self.host_name.as_ref(),
            "folder" => self.folder_name.as_ref(),
            "resource_pool" => self.resource_pool_name.as_ref(),
            _ => None,
        };
        printable_lines(&place.cloned().unwrap_or_else(|| value_text(value, "\n")))
    }
}

fn title(key: &str) -> String {
    key.trim_end_matches("_mb").replace('_', " ")
}

fn lines(texts: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<_> = texts.into_iter().map(|text| text.replace('\n', " ")).collect();
    if lines.is_empty() { "-".to_owned() } else { lines.join("\n") }
}

fn disk(disk: &Disk) -> DiskRow {
    let datastore = |file: &String| Some(file.strip_prefix('[')?.split_once(']')?.0.to_owned());
    DiskRow {
        label: disk.label.clone(),
        size_kb: disk.size_kb,
        datastore: disk.file.as_ref().and_then(datastore),
        file: disk.file.clone(),
        parent: disk.parent.clone(),
    }
}

impl DiskRow {
    fn line(&self) -> String {
        let size = self.size_kb.map_or_else(|| "-".to_owned(), size);
        let file = self.file.as_deref().unwrap_or("-");
        let parent = self.parent.as_ref().map(|parent| format!(", on {parent}")).unwrap_or_default();
        format!("{}  {size}  {file}{parent}", self.label)
    }
}

fn snapshot_line(row: &SnapshotRow) -> String {
    let current = if row.current { ", current" } else { "" };
    format!("{}{}  {}{current}", "  ".repeat(row.depth), row.name, moment(row.created))
}

fn mark_lines(mark: &Mark) -> Vec<String> {
    let Mark { hatchery, of_another, .. } = mark;
    let whose = if *of_another { ", but written for another VM: this one is a copy" } else { "" };
    let time = |time: Option<Timestamp>| time.map(|time| moment(Some(time)));
    let more = [
        ("worker", mark.worker.clone()),
        ("job", mark.job.clone()),
        ("model", mark.model.clone()),
        ("address", mark.address.clone()),
        ("flavor", mark.flavor.clone()),
        ("made", time(mark.created)),
        ("worker since", time(mark.worker_start_time)),
        ("kept until", time(mark.kept_until)),
        ("kept because", mark.kept_because.clone()),
    ];
    let more = more.into_iter().filter_map(|(name, text)| Some(format!("{name} {}", text?)));
    [format!("hatchery {hatchery}{whose}")].into_iter().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use rookery_vim_client::{Nic, VmSnapshot};
    use serde_json::json;

    use super::*;
    use crate::output::Format;
    use crate::vm::tests::running;

    const NOTES: &str =
        r#"{"hatchery_name":"nest","job_id":"17","ip_address":"10.0.0.7","rookery_instance":"u"}"#;

    fn example() -> Full {
        let mut vm = running("vm-63", "größe/日本 100%", "10.0.0.7");
        let nic = |network: Option<&str>, mac: Option<&str>, ips: &[&str]| Nic {
            network: network.map(str::to_owned),
            mac: mac.map(str::to_owned),
            ips: ips.iter().map(|ip| (*ip).to_owned()).collect(),
            device: None,
        };
        vm.guest.nics =
            vec![nic(Some("VM Network"), None, &["10.0.0.7"]), nic(None, Some("00:0c:29:36:63:62"), &[])];
        vm.config.annotation = Some(NOTES.to_owned());
        vm.config.instance_uuid = Some("another".to_owned());
        vm.unreadable.insert("guest.net".to_owned());
        let file = |name: &str| Some(format!("[fast] {name}.vmdk"));
        let snapshot = |id: &str, parent: Option<&str>, current| VmSnapshot {
            id: MoRef::new("VirtualMachineSnapshot", id),
            name: format!("of\n{id}"),
            description: String::new(),
            created: Some("2031-02-03T04:05:06Z".parse().unwrap()),
            power: None,
            parent: parent.map(|id| MoRef::new("VirtualMachineSnapshot", id)),
            current,
        };
        let details = Details {
            datastores: vec![MoRef::new("Datastore", "datastore-1")],
            disks: vec![
                Disk {
                    label: "Hard disk 1".to_owned(),
                    size_kb: Some(10 << 20),
                    file: file("a/a"),
                    parent: file("base/base"),
                },
                Disk { label: "Hard disk 2".to_owned(), size_kb: None, file: None, parent: None },
            ],
            snapshots: vec![snapshot("s-1", None, false), snapshot("s-2", Some("s-1"), true)],
        };
        Full::of(&vm, &details, &Places::default())
    }

    #[test]
    fn all_fields_are_shown_one_below_the_other() {
        insta::assert_snapshot!(example().table(), @r#"
        id                      vm-63
        name                    größe/日本 100%
        template                no
        power                   on
        ip                      10.0.0.7
        cpus                    2
        memory                  4 GiB
        host                    -
        folder                  group-v3
        resource pool           -
        connection              -
        question                -
        boot time               -
        created                 -
        uuid                    -
        instance uuid           another
        pending customization   -
        tools                   -
        guest operations ready  -
        guest host name         -
        guest state             -
        nics                    10.0.0.7  VM Network
                                00:0c:29:36:63:62
        annotation              {"hatchery_name":"nest","job_id":"17","ip_address":"10.0.0.7","rookery_instance":"u"}
        unreadable              guest.net
        datastores              datastore-1
        disks                   Hard disk 1  10 GiB  [fast] a/a.vmdk, on [fast] base/base.vmdk
                                Hard disk 2  -  -
        snapshots               of s-1  2031-02-03 04:05:06Z
                                  of s-2  2031-02-03 04:05:06Z, current
        mark                    hatchery nest, but written for another VM: this one is a copy
                                job 17
                                address 10.0.0.7
        "#);
    }

    #[test]
    fn programs_get_every_key_in_one_order() {
        let json = Format::Json.render(&example(), ["x"], String::new).unwrap();
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let value: Value = serde_json::from_str(&json).unwrap();
        let mut expected = vec![
            "id",
            "name",
            "template",
            "power",
            "ip",
            "cpus",
            "memory_mb",
            "host",
            "folder",
            "resource_pool",
            "connection",
            "question",
            "boot_time",
            "created",
            "uuid",
            "instance_uuid",
            "pending_customization",
            "tools",
            "guest_operations_ready",
            "guest_host_name",
            "guest_state",
            "nics",
            "annotation",
            "unreadable",
            "host_name",
            "folder_name",
            "resource_pool_name",
            "datastores",
            "disks",
            "snapshots",
            "mark",
        ];
        expected.sort_unstable();
        let mut found = keys(&value);
        found.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!(value["datastores"], json!([{"id": "datastore-1", "name": null}]));
        let disk = json!({
            "label": "Hard disk 1", "size_kb": 10 << 20, "datastore": "fast",
            "file": "[fast] a/a.vmdk", "parent": "[fast] base/base.vmdk",
        });
        assert_eq!(value["disks"][0], disk);
        let snapshot = json!({
            "id": "s-2", "name": "of\ns-2", "description": "", "created": "2031-02-03T04:05:06Z",
            "power": null, "parent": "s-1", "current": true,
        });
        assert_eq!(value["snapshots"][1], snapshot);
        let mark = json!({
            "hatchery": "nest", "worker": null, "job": "17", "model": null, "address": "10.0.0.7",
            "flavor": null, "created": null, "worker_start_time": null, "kept_until": null,
            "kept_because": null, "of_another": true,
        });
        assert_eq!(value["mark"], mark);
    }
}
