//! Reading: what is told, and what is refused.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use rookery_vim::{MoRef, Node};

use super::raw_client::{CloneSpec, RawClient, is, named, reference, tag, viewed};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

pub(super) async fn properties_are_retrieved(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    ensure!(client.property(&vm, "name").await? == "DC0_H0_VM0", "the name is another one");
    ensure!(client.property(&vm, "summary.runtime.powerState").await? == "poweredOn", "it is not on");
    ensure!(client.value(&vm, "runtime.question").await?.is_none(), "a question that nobody asked");
    Ok(())
}

pub(super) async fn pages_hold_what_was_asked_for(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let spec = viewed("specSet", &client.view().await, &["name"]);
    let collector = &client.content.property_collector;
    let first = format!("{spec}<options><maxObjects>3</maxObjects></options>");
    let first = client.ask("RetrievePropertiesEx", collector, &first).await?;
    let first = first.child("returnval").context("a page")?;
    let token = first.child_text("token").context("a token")?;
    let more = format!("<token>{token}</token>");
    let second = client.ask("ContinueRetrievePropertiesEx", collector, &more).await?;
    let second = second.child("returnval").context("a second page")?;
    let counts = [first, second].map(|page| named(page, "objects").count());
    ensure!(counts == [3, 1] && second.child("token").is_none(), "pages of {counts:?}");
    let ids: BTreeSet<_> = [first, second].into_iter().flat_map(ids).collect();
    ensure!(ids.len() == 4, "only {ids:?}");
    Ok(())
}

fn ids(page: &Node) -> Vec<String> {
    named(page, "objects").filter_map(|object| object.child_text("obj")).map(str::to_owned).collect()
}

pub(super) async fn fetch_reads_one_property(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let set = client.ask("Fetch", &vm, "<prop>name</prop>").await?;
    ensure!(set.child_text("returnval") == Some("DC0_H0_VM0"), "{set:?}");
    let unset = client.ask("Fetch", &vm, "<prop>parentVApp</prop>").await?;
    ensure!(unset.child("returnval").is_none(), "an unset property is {unset:?}");
    Ok(())
}

pub(super) async fn a_device_is_read_by_its_key(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let all = client.value(&vm, "config.hardware.device").await?.context("devices")?;
    let key = all.children.last().and_then(|device| device.child_text("key")).context("a key")?;
    let one = client.value(&vm, &format!("config.hardware.device[{key}]")).await?.context("the device")?;
    ensure!(one.child_text("key") == Some(key), "{one:?}");
    Ok(())
}

pub(super) async fn a_wrong_path_is_a_fault(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let spec = viewed("specSet", &client.view().await, &["name", "config.colour"]);
    let given = format!("{spec}<options/>");
    let refused = client.refusal("RetrievePropertiesEx", &client.content.property_collector, &given).await?;
    is(&refused, "InvalidProperty")
}

pub(super) async fn the_order_of_members_is_checked(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    // The schema has the annotation before the CPUs.
    let given = "<spec><numCPUs>2</numCPUs><annotation>late</annotation></spec>";
    is(&client.refusal("ReconfigVM_Task", &vm, given).await?, "InvalidRequest")
}

pub(super) async fn a_missing_member_is_noticed(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let folder = client.find("DC0/vm").await?;
    // Every clone is told whether to be powered on.
    let given =
        format!("{}<name>x</name><spec><location/><template>false</template></spec>", tag("folder", &folder));
    is(&client.refusal("CloneVM_Task", &vm, &given).await?, "InvalidRequest")
}

pub(super) async fn an_unknown_member_is_refused(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let given = "<spec><colour>red</colour></spec>";
    is(&client.refusal("ReconfigVM_Task", &vm, given).await?, "InvalidRequest")
}

pub(super) async fn an_unknown_method_is_a_fault(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let refused = client.refusal("PaintVM_Task", &vm, "<colour>red</colour>").await?;
    ensure!(["InvalidRequest", "MethodNotFound"].contains(&refused.fault.as_str()), "{refused}");
    Ok(())
}

pub(super) async fn one_that_is_gone_fails_the_call(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let (vm, gone) = (client.find(VM).await?, MoRef::new("VirtualMachine", "vm-987654"));
    let spec = |report: &str| {
        format!(
            "<specSet><propSet><type>VirtualMachine</type><pathSet>name</pathSet></propSet><objectSet>{}</objectSet>\
             <objectSet>{}</objectSet>{report}</specSet>",
            tag("obj", &vm),
            tag("obj", &gone)
        )
    };
    let collector = &client.content.property_collector;
    is(&client.refusal("RetrieveProperties", collector, &spec("")).await?, "ManagedObjectNotFound")?;
    let spec = spec("<reportMissingObjectsInResults>true</reportMissingObjectsInResults>");
    let answer = client.ask("RetrieveProperties", collector, &spec).await?;
    ensure!(named(&answer, "returnval").count() == 1, "{answer:?}");
    Ok(())
}

pub(super) async fn a_container_view_follows_the_inventory(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let view = client.view().await;
    let before = client.references(&view, "view").await?.len();
    let vm = client.find(VM).await?;
    client.clone_vm(&vm, "one-more", &CloneSpec::default()).await?;
    let after = client.references(&view, "view").await?.len();
    ensure!((before, after) == (4, 5), "{before} VMs, then {after}");
    Ok(())
}

pub(super) async fn a_list_view_says_what_it_does_not_know(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let manager = client.content.view_manager.clone().context("a view manager")?;
    let made = client.ask("CreateListView", &manager, "").await?;
    let view = made.child("returnval").map(reference).context("a view")?;
    let gone = MoRef::new("VirtualMachine", "vm-987654");
    let given = format!("{}{}", tag("add", &vm), tag("add", &gone));
    let answer = client.ask("ModifyListView", &view, &given).await?;
    let unknown: Vec<_> = named(&answer, "returnval").map(reference).collect();
    ensure!(unknown == [gone], "unknown: {unknown:?}");
    let listed = client.references(&view, "view").await?;
    ensure!(listed == [vm], "the list has {listed:?}");
    Ok(())
}
