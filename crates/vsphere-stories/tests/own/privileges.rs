//! What `rookery doctor` says of a user who may do everything that Rookery needs but one thing.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rookery_kit::{Program, Sim, Vcsim};
use serde_json::Value;
use tempfile::NamedTempFile;

/// One of each thing that a privilege is needed on; both the template and the VM as one wants them for linked clones.
const WORLD: &str = r#"
[[datacenter]]
name = "leeds"
networks = ["wire"]
folders = ["nests"]

[[datacenter.datastore]]
name = "fast"

[[datacenter.cluster]]
name = "blade"

[[datacenter.cluster.host]]
name = "blade-1"

[[datacenter.cluster.pool]]
name = "ci"

[[datacenter.vm]]
name = "golden"
template = true
snapshots = ["base"]

[[datacenter.vm]]
name = "silver"
snapshots = ["base"]
"#;

/// The folders of a datacenter; everything is in one of them.
const BELOW: [&str; 4] = ["leeds/vm", "leeds/host", "leeds/datastore", "leeds/network"];

/// A check and what it is about.
type Name = (String, String);

/// A world whose only user has a role with some privileges on some entities and another one on others.
fn model(roles: &[(&str, Vec<&String>)], permissions: &[(&str, &str, bool)]) -> NamedTempFile {
    let mut text =
        format!("[access]\nusers = [{{ name = {:?}, password = {:?} }}]\n", Vcsim::USER, Vcsim::PASSWORD);
    for (name, privileges) in roles {
        write!(text, "[[access.roles]]\nname = {name:?}\nprivileges = {privileges:?}\n").expect("text");
    }
    for (role, entity, propagate) in permissions {
        let of = format!("principal = {:?}\nrole = {role:?}\nentity = {entity:?}", Vcsim::USER);
        write!(text, "[[access.permissions]]\n{of}\npropagate = {propagate}\n").expect("text");
    }
    let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a temporary file");
    std::fs::write(file.path(), text + WORLD).expect("it takes text");
    file
}

async fn doctor(model: &NamedTempFile) -> Vec<Value> {
    let sim = Sim::start(&["--model", model.path().to_str().expect("a path")]).await;
    let outcome = Program::new(&["doctor", "-ojson", "--datacenter=leeds", "--datastore=fast"])
        .and(&["--network=wire", "--pool=ci", "--folder=nests", "--template=golden", "--template=silver"])
        .with("GOVC_URL", format!("{}/sdk", sim.address()))
        .with("GOVC_USERNAME", Vcsim::USER)
        .with("GOVC_PASSWORD", Vcsim::PASSWORD)
        .run()
        .await;
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

fn names<'a>(checks: impl IntoIterator<Item = &'a Value>) -> BTreeSet<Name> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    checks.into_iter().map(|row| (text(&row["check"]), text(&row["about"]))).collect()
}

fn not_ok(checks: &[Value]) -> BTreeSet<Name> {
    names(checks.iter().filter(|row| row["state"] != "ok"))
}

#[tokio::test]
async fn each_privilege_that_is_missing_fails_its_own_check_and_no_other() {
    let all = doctor(&model(&[], &[("Admin", "/", true)])).await;
    let plain = not_ok(&all);
    assert_eq!(plain, [("TLS".to_owned(), String::new())].into(), "the connection is not encrypted");
    let asked = names(all.iter().filter(|row| row["group"] == "privileges"));
    let needed: BTreeSet<&String> = asked.iter().map(|(privilege, _)| privilege).collect();
    assert!(needed.len() > 30, "{needed:?}");

    let everything: Vec<&String> = needed.iter().copied().collect();
    let enough = doctor(&model(&[("enough", everything.clone())], &[("enough", "/", true)])).await;
    assert_eq!(not_ok(&enough), plain, "nothing else is needed");

    for missing in needed {
        let rest: Vec<_> = everything.iter().copied().filter(|privilege| *privilege != missing).collect();
        // Whoever sees nothing anywhere finds nothing to ask about: here it is the datacenter alone.
        let permissions = if missing.starts_with("System.") {
            let mut permissions = BELOW.map(|entity| ("enough", entity, true)).to_vec();
            permissions.extend([("short", "leeds", false), ("enough", "/", false)]);
            permissions
        } else {
            vec![("short", "/", true)]
        };
        let checks = doctor(&model(&[("enough", everything.clone()), ("short", rest)], &permissions)).await;
        let mut expected = plain.clone();
        expected.extend(asked.iter().filter(|(privilege, _)| privilege == missing).cloned());
        assert_eq!(not_ok(&checks), expected, "without {missing}: {checks:#?}");
    }
}
