//! Tags, as VMware's own command line uses them.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

#[path = "kit/govc.rs"]
mod kit;

use rookery_vim_sim::{Access, Permission, Role, Settings, User};

use kit::Sim;

const ADMIN: &str = "admin";
const VM: &str = "/DC0/vm/DC0_H0_VM0";
const OTHER: &str = "/DC0/vm/DC0_H0_VM1";

fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.sort_unstable();
    lines
}

/// The paths of what has a tag.
async fn attached(sim: &Sim, user: &str, tag: &str) -> Vec<String> {
    let references = sim.run_as(user, &["tags.attached.ls", tag]).await;
    let mut arguments = vec!["ls", "-L"];
    arguments.extend(references.lines());
    let paths = sim.run_as(user, &arguments).await;
    lines(&paths).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn categories_are_made_shown_changed_and_removed() {
    let sim = Sim::start(Settings::default()).await;
    let id = sim
        .run_as(ADMIN, &["tags.category.create", "-d", "where it is", "-t", "VirtualMachine", "place"])
        .await;
    assert!(id.starts_with("urn:vmomi:InventoryServiceCategory:") && id.ends_with(":GLOBAL"), "{id}");
    sim.run_as(ADMIN, &["tags.category.create", "-m", "owner"]).await;
    assert_eq!(lines(&sim.run_as(ADMIN, &["tags.category.ls"]).await), ["owner", "place"]);
    let shown = &sim.json_as(ADMIN, &["tags.category.info", "place"]).await[0];
    assert_eq!((shown["id"].as_str(), shown["description"].as_str()), (Some(&*id), Some("where it is")));
    assert_eq!(
        (&shown["cardinality"], &shown["associable_types"]),
        (&"SINGLE".into(), &serde_json::json!(["VirtualMachine"]))
    );
    assert_eq!(sim.json_as(ADMIN, &["tags.category.info", "owner"]).await[0]["cardinality"], "MULTIPLE");

    let twice = sim.refused(ADMIN, &["tags.category.create", "PLACE"]).await;
    assert!(twice.contains("400") && twice.contains("already_exists"), "{twice}");
    sim.run_as(ADMIN, &["tags.category.update", "-n", "site", "-m=true", "place"]).await;
    let shown = &sim.json_as(ADMIN, &["tags.category.info", &id]).await[0];
    assert_eq!((&shown["name"], &shown["cardinality"]), (&"site".into(), &"MULTIPLE".into()));
    let gone = sim.refused(ADMIN, &["tags.category.info", "place"]).await;
    assert!(gone.contains("404"), "{gone}");

    sim.run_as(ADMIN, &["tags.create", "-c", "site", "paris"]).await;
    sim.refused(ADMIN, &["tags.category.rm", "site"]).await;
    sim.run_as(ADMIN, &["tags.category.rm", "-f", "site"]).await;
    assert_eq!(sim.run_as(ADMIN, &["tags.category.ls"]).await, "owner");
    assert_eq!(sim.run_as(ADMIN, &["tags.ls"]).await, "");
}

#[tokio::test]
async fn tags_are_made_shown_changed_and_removed() {
    let sim = Sim::start(Settings::default()).await;
    let category = sim.run_as(ADMIN, &["tags.category.create", "-m", "owner"]).await;
    sim.run_as(ADMIN, &["tags.category.create", "other"]).await;
    let id = sim.run_as(ADMIN, &["tags.create", "-c", "owner", "-d", "the CI", "ci"]).await;
    sim.run_as(ADMIN, &["tags.create", "-c", "owner", "people"]).await;
    sim.run_as(ADMIN, &["tags.create", "-c", "other", "ci"]).await;
    let listed = sim.run_as(ADMIN, &["tags.ls", "-c", "owner"]).await;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let shown = &sim.json_as(ADMIN, &["tags.info", "-c", "owner", "ci"]).await[0];
    let expected = serde_json::json!([id, "ci", "the CI"]);
    assert_eq!(serde_json::json!([shown["id"], shown["name"], shown["description"]]), expected);
    assert!(
        [category.as_str(), "owner"].contains(&shown["category_id"].as_str().unwrap_or_default()),
        "{shown}"
    );
    assert!(sim.refused(ADMIN, &["tags.create", "-c", "owner", "CI"]).await.contains("already_exists"));
    sim.run_as(ADMIN, &["tags.update", "-n", "robots", "-d", "all of them", &id]).await;
    let shown = &sim.json_as(ADMIN, &["tags.info", &id]).await[0];
    assert_eq!((&shown["name"], &shown["description"]), (&"robots".into(), &"all of them".into()));
    sim.run_as(ADMIN, &["tags.rm", "-c", "owner", "robots"]).await;
    assert!(sim.run_as(ADMIN, &["tags.ls", "-c", "owner"]).await.contains("people"));
    let gone = sim.refused(ADMIN, &["tags.info", &id]).await;
    assert!(gone.contains("not found"), "{gone}");
}

#[tokio::test]
async fn tags_are_attached_to_what_they_fit_and_leave_with_it() {
    let sim = Sim::start(Settings::default()).await;
    sim.run_as(ADMIN, &["tags.category.create", "-t", "VirtualMachine", "size"]).await;
    sim.run_as(ADMIN, &["tags.create", "-c", "size", "small"]).await;
    sim.run_as(ADMIN, &["tags.create", "-c", "size", "large"]).await;
    sim.run_as(ADMIN, &["tags.attach", "small", VM]).await;
    // Once more is no mistake.
    sim.run_as(ADMIN, &["tags.attach", "-c", "size", "small", VM]).await;
    sim.run_as(ADMIN, &["tags.attach", "small", OTHER]).await;
    assert_eq!(sim.run_as(ADMIN, &["tags.attached.ls", "-r", VM]).await, "small");
    assert_eq!(attached(&sim, ADMIN, "small").await, [VM, OTHER]);

    // One tag of the category is enough, and datastores have no size.
    let second = sim.refused(ADMIN, &["tags.attach", "large", VM]).await;
    assert!(second.contains("may have only one"), "{second}");
    let unfit = sim.refused(ADMIN, &["tags.attach", "large", "/DC0/datastore/LocalDS_0"]).await;
    assert!(unfit.contains("is not for a Datastore"), "{unfit}");

    sim.run_as(ADMIN, &["tags.detach", "small", VM]).await;
    assert_eq!(sim.run_as(ADMIN, &["tags.attached.ls", "-r", VM]).await, "");
    sim.run_as(ADMIN, &["vm.power", "-off", "-force", OTHER]).await;
    sim.run_as(ADMIN, &["vm.destroy", OTHER]).await;
    assert_eq!(sim.run_as(ADMIN, &["tags.attached.ls", "small"]).await, "");
}

#[tokio::test]
async fn wrong_credentials_and_small_roles_are_refused() {
    let user = |name: &str| User { name: name.to_owned(), password: "secret".to_owned() };
    let grant = |principal: &str, role: &str| Permission {
        principal: principal.to_owned(),
        role: role.to_owned(),
        entity: "/".to_owned(),
        propagate: true,
    };
    let reads = ["System.View", "System.Read"];
    let attach = "InventoryService.Tagging.AttachTag";
    let role = |name: &str, more: &[&str]| Role {
        name: name.to_owned(),
        privileges: reads.iter().chain(more).map(|&id| id.to_owned()).collect(),
    };
    let access = Access {
        users: vec![user(ADMIN), user("reader"), user("sticker")],
        roles: vec![role("sticks", &[attach])],
        permissions: vec![grant(ADMIN, "Admin"), grant("reader", "ReadOnly"), grant("sticker", "sticks")],
    };
    let sim = Sim::start(Settings { access, ..Settings::default() }).await;
    assert!(sim.refused("stranger", &["tags.ls"]).await.contains("401"));
    sim.run_as(ADMIN, &["tags.category.create", "c"]).await;
    sim.run_as(ADMIN, &["tags.create", "-c", "c", "t"]).await;
    assert!(sim.run_as("reader", &["tags.ls"]).await.contains('t'));
    for refused in [
        &["tags.category.create", "d"][..],
        &["tags.create", "-c", "c", "u"],
        &["tags.attach", "t", VM],
        &["tags.rm", "t"],
        &["tags.category.rm", "-f", "c"],
    ] {
        let said = sim.refused("reader", refused).await;
        assert!(said.contains("403"), "{refused:?}: {said}");
    }
    sim.run_as("sticker", &["tags.attach", "t", VM]).await;
    assert!(sim.refused("sticker", &["tags.rm", "-f", "t"]).await.contains("403"));
    assert_eq!(attached(&sim, "reader", "t").await, [VM]);
}
