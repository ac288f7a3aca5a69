//! `rookery vm ls`.

use std::collections::BTreeMap;

use rookery_kit::{Govc, Vcsim, VcsimOptions, rookery, start_rookery};
use serde_json::{Value, json};

use super::{json, printed};

const PATHS: [&str; 6] = [
    "name",
    "runtime.powerState",
    "config.hardware.numCPU",
    "config.hardware.memoryMB",
    "config.template",
    "guest.ipAddress",
];

/// On, off, suspended, a template, several sizes, an address, and names that are hard on a table, YAML or a URL.
/// Names are stored as a vCenter stores them.
async fn mixed_world() -> (Vcsim, Govc) {
    let vcsim = Vcsim::start(VcsimOptions::tls(10)).await;
    let govc = Govc::new(&vcsim);
    let vm = |number: usize| format!("DC0_H0_VM{number}");
    govc.run(&["vm.power", "-off", &vm(1), &vm(2), &vm(4)]).await;
    govc.run(&["vm.markastemplate", &vm(2)]).await;
    govc.run(&["vm.power", "-suspend", &vm(3)]).await;
    govc.run(&["vm.change", "-vm", &vm(4), "-c", "3", "-m", "1536"]).await;
    govc.run(&["vm.power", "-on", &vm(4)]).await;
    govc.run(&["vm.change", "-vm", &vm(4), "-e", "SET.guest.ipAddress=192.0.2.4"]).await;
    let names = ["two  spaces", "a%2fb 100%25 %5c", "Ünï 雛 🐣", "yes", "a: \"b\" # c"];
    for (number, name) in (5..).zip(names) {
        govc.run(&["object.rename", &format!("/DC0/vm/{}", vm(number)), name]).await;
    }
    (vcsim, govc)
}

fn shown(stored: &str) -> String {
    stored.replace("%2f", "/").replace("%5c", "\\").replace("%25", "%")
}

/// What govc knows, in the program's words, sorted by name.
async fn expected(govc: &Govc) -> Vec<Value> {
    let row = |(id, vm): (String, BTreeMap<String, Value>)| {
        let power = match vm["runtime.powerState"].as_str() {
            Some("poweredOn") => "on",
            Some("poweredOff") => "off",
            Some("suspended") => "suspended",
            other => panic!("{other:?}"),
        };
        json!({
            "id": id,
            "name": shown(vm["name"].as_str().expect("a name")),
            "power": power,
            "cpus": vm["config.hardware.numCPU"],
            "memory_mb": vm["config.hardware.memoryMB"],
            "template": vm["config.template"],
            "ip": vm.get("guest.ipAddress").filter(|ip| *ip != ""),
        })
    };
    let mut rows: Vec<_> = govc.vms(&PATHS).await.into_iter().map(row).collect();
    rows.sort_by_key(|row| row["name"].as_str().expect("a name").to_owned());
    rows
}

/// Only the fields that `expected` has.
fn reduced(rows: &Value) -> Vec<Value> {
    let fields = ["id", "name", "power", "cpus", "memory_mb", "template", "ip"];
    let reduce = |row: &Value| fields.iter().map(|name| ((*name).to_owned(), row[name].clone())).collect();
    rows.as_array().expect("a list").iter().map(reduce).collect()
}

#[tokio::test]
async fn what_is_listed_is_what_govc_lists() {
    let (vcsim, govc) = mixed_world().await;
    let expected = expected(&govc).await;
    assert_eq!(expected.len(), 10);
    assert!(expected.iter().any(|row| row["name"] == "a/b 100% \\"), "{expected:?}");

    let listed = json(rookery(&vcsim, &["vm", "ls", "-o", "json"]).await);
    assert_eq!(reduced(&listed), expected);
    let yaml = printed(rookery(&vcsim, &["vm", "ls", "-o", "yaml"]).await);
    assert_eq!(reduced(&read_yaml(&yaml)), expected);

    let table = printed(rookery(&vcsim, &["vm", "ls"]).await);
    let (header, lines) = table.split_once('\n').expect("a header");
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["NAME", "POWER", "IP", "CPU", "MEMORY", "ID"]);
    assert_eq!(lines.lines().count(), expected.len());
    for (line, row) in lines.lines().zip(&expected) {
        let rest = line.strip_prefix(row["name"].as_str().expect("a name")).expect(line);
        assert_eq!(rest.split_whitespace().collect::<Vec<_>>().join(" "), cells(row));
    }
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

/// What stands in the table behind the name.
fn cells(row: &Value) -> String {
    let power = if row["template"] == true { "template" } else { row["power"].as_str().expect("a state") };
    let memory = match row["memory_mb"].as_u64() {
        Some(1536) => "1.5 GiB".to_owned(),
        megabytes => format!("{} MiB", megabytes.expect("a size")),
    };
    let ip = row["ip"].as_str().unwrap_or("-");
    format!("{power} {ip} {} {memory} {}", row["cpus"], row["id"].as_str().expect("an id"))
}

/// Just enough YAML for a list of flat maps. Our own library would read back whatever it wrote; this one refuses a
/// plain text that some reader of YAML takes for something else.
fn read_yaml(text: &str) -> Value {
    let mut rows = Vec::new();
    for line in text.lines() {
        let (first, rest) = line.split_at(2);
        if first == "- " {
            rows.push(serde_json::Map::new());
        }
        let Some((key, value)) = rest.split_once(": ").filter(|(key, _)| !key.starts_with([' ', '-'])) else {
            continue;
        };
        let row = rows.last_mut().expect("an item");
        row.insert(key.to_owned(), scalar(value));
    }
    rows.into()
}

fn scalar(text: &str) -> Value {
    if let Some(single) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return json!(single.replace("''", "'"));
    }
    serde_json::from_str(text).unwrap_or_else(|_| {
        let word = ["yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str());
        let marked = !text.starts_with(char::is_alphanumeric) || text.contains(": ") || text.contains(" #");
        assert!(!word && !marked, "{text} is not quoted");
        json!(text)
    })
}

#[tokio::test]
async fn a_pattern_chooses_by_name() {
    let (vcsim, _govc) = mixed_world().await;
    let names = async |arguments: &[&str]| -> Vec<String> {
        let rows = json(rookery(&vcsim, &[&["vm", "ls", "-o", "json"], arguments].concat()).await);
        let names = rows.as_array().expect("a list").iter().map(|row| row["name"].as_str().expect("a name"));
        names.map(str::to_owned).collect()
    };
    assert_eq!(
        names(&["*VM?"]).await,
        ["DC0_H0_VM0", "DC0_H0_VM1", "DC0_H0_VM2", "DC0_H0_VM3", "DC0_H0_VM4"]
    );
    assert_eq!(names(&["a/*%*"]).await, ["a/b 100% \\"]);
    assert_eq!(names(&["*雛*"]).await, ["Ünï 雛 🐣"]);
    assert_eq!(names(&["--templates"]).await, ["DC0_H0_VM2"]);

    let none = rookery(&vcsim, &["vm", "ls", "-o", "json", "nothing*"]).await;
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "[]\n"));
    assert_eq!(none.stderr, "no VM fits; there are 10\n");
}

#[tokio::test]
async fn five_hundred_vms_are_listed_and_a_reader_that_leaves_early_is_no_error() {
    let vcsim = Vcsim::start(VcsimOptions::plain(500)).await;
    let govc = Govc::new(&vcsim);
    let expected = expected(&govc).await;
    assert_eq!(expected.len(), 500);
    let listed = rookery(&vcsim, &["vm", "ls", "-o", "json"]).await;
    // More than a pipe holds: below, the program still writes when its reader is gone.
    assert!(listed.stdout.len() > 100_000, "{} bytes", listed.stdout.len());
    assert_eq!(reduced(&json(listed)), expected);

    let mut running = start_rookery(&vcsim, &["vm", "ls", "-o", "json"]);
    assert_eq!(running.line().await, "[");
    running.hang_up();
    assert_eq!(printed(running.end().await), "");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}
