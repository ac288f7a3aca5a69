//! What happened, and in which order.

use anyhow::{Context as _, ensure};
use rookery_vim::{MoRef, Node};

use super::raw_client::{CloneSpec, RawClient, named, reference, tag};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

/// All events of a VM, oldest first.
async fn events(client: &RawClient, vm: &MoRef) -> anyhow::Result<Vec<Node>> {
    let this = client.content.event_manager.clone().context("an event manager")?;
    let filter = format!(
        "<filter><entity>{}<recursion>self</recursion></entity><maxCount>1000</maxCount></filter>",
        tag("entity", vm)
    );
    let mut answer = client.ask("QueryEvents", &this, &filter).await?;
    let mut events = answer.take_all("returnval");
    events.sort_by_key(|event| event.child_text("key").and_then(|key| key.parse::<i64>().ok()));
    Ok(events)
}

fn classes(events: &[Node]) -> Vec<&str> {
    events.iter().filter_map(|event| event.xsi_type.as_deref()).collect()
}

/// Whether these come in this order, among others.
fn in_order(seen: &[&str], wanted: &[&str]) -> anyhow::Result<()> {
    let mut rest = seen.iter();
    for class in wanted {
        ensure!(rest.any(|other| other == class), "no {class} in its place among {seen:?}");
    }
    Ok(())
}

pub(super) async fn power_is_told_in_order(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let before = events(&client, &vm).await?.len();
    client.off(&vm).await?;
    client.finish("PowerOnVM_Task", &vm, "").await?;
    let events = events(&client, &vm).await?.split_off(before);
    in_order(
        &classes(&events),
        &["VmStoppingEvent", "VmPoweredOffEvent", "VmStartingEvent", "VmPoweredOnEvent"],
    )
}

pub(super) async fn a_clone_is_told_in_order(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let source = client.find(VM).await?;
    let clone = client.clone_vm(&source, "clone", &CloneSpec::default()).await?;
    in_order(&classes(&events(&client, &source).await?), &["VmBeingClonedEvent"])?;
    in_order(&classes(&events(&client, &clone).await?), &["VmClonedEvent"])
}

pub(super) async fn a_new_address_is_told(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let clone = client.clone_vm(&client.find(VM).await?, "clone", &CloneSpec::default()).await?;
    in_order(&classes(&events(&client, &clone).await?), &["VmMacAssignedEvent"])
}

pub(super) async fn a_deployed_template_is_told(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let source = client.find(VM).await?;
    client.off(&source).await?;
    client.ask("MarkAsTemplate", &source, "").await?;
    let pool = client.find("DC0/host/DC0_H0/Resources").await?;
    let spec = CloneSpec { location: tag("pool", &pool), ..CloneSpec::default() };
    let clone = client.clone_vm(&source, "clone", &spec).await?;
    in_order(&classes(&events(&client, &clone).await?), &["VmDeployedEvent"])
}

pub(super) async fn a_new_name_is_told(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.finish("Rename_Task", &vm, "<newName>other</newName>").await?;
    let events = events(&client, &vm).await?;
    let renamed = events.iter().find(|event| event.xsi_type.as_deref() == Some("VmRenamedEvent"));
    let renamed = renamed.with_context(|| format!("no VmRenamedEvent among {:?}", classes(&events)))?;
    let names = (renamed.child_text("oldName"), renamed.child_text("newName"));
    ensure!(names == (Some("DC0_H0_VM0"), Some("other")), "{names:?}");
    Ok(())
}

pub(super) async fn events_are_told_in_words(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    let events = events(&client, &vm).await?;
    let last = events.iter().rfind(|event| event.xsi_type.as_deref() == Some("VmPoweredOffEvent"));
    let text = last.and_then(|event| event.child_text("fullFormattedMessage")).context("a text")?;
    ensure!(text.contains("DC0_H0_VM0") && text.contains("powered off"), "{text:?}");
    Ok(())
}

pub(super) async fn more_than_ten_events_are_told(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    for _ in 0..6 {
        client.off(&vm).await?;
        client.finish("PowerOnVM_Task", &vm, "").await?;
    }
    let this = client.content.event_manager.clone().context("an event manager")?;
    let filter =
        format!("<filter><entity>{}<recursion>self</recursion></entity></filter>", tag("entity", &vm));
    let answer = client.ask("QueryEvents", &this, &filter).await?;
    let told = named(&answer, "returnval").count();
    ensure!(told >= 24, "only {told} are told");
    Ok(())
}

pub(super) async fn a_collector_reads_page_by_page(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    client.finish("PowerOnVM_Task", &vm, "").await?;
    let all: Vec<_> = events(&client, &vm).await?.iter().filter_map(key).collect();
    let this = client.content.event_manager.clone().context("an event manager")?;
    let filter =
        format!("<filter><entity>{}<recursion>self</recursion></entity></filter>", tag("entity", &vm));
    let made = client.ask("CreateCollectorForEvents", &this, &filter).await?;
    let collector = made.child("returnval").map(reference).context("a collector")?;
    client.ask("RewindCollector", &collector, "").await?;
    let mut read = Vec::new();
    loop {
        let page = client.ask("ReadNextEvents", &collector, "<maxCount>3</maxCount>").await?;
        let keys: Vec<_> = named(&page, "returnval").filter_map(key).collect();
        if keys.is_empty() {
            break;
        }
        ensure!(keys.len() <= 3, "a page of {}", keys.len());
        read.extend(keys);
    }
    ensure!(read == all, "read {read:?} of {all:?}");
    Ok(())
}

fn key(event: &Node) -> Option<i64> {
    event.child_text("key")?.parse().ok()
}

pub(super) async fn events_are_picked_by_their_class(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    let this = client.content.event_manager.clone().context("an event manager")?;
    let filter = "<filter><eventTypeId>VmPoweredOffEvent</eventTypeId></filter>";
    let mut answer = client.ask("QueryEvents", &this, filter).await?;
    let events = answer.take_all("returnval");
    ensure!(classes(&events) == ["VmPoweredOffEvent"], "{:?}", classes(&events));
    Ok(())
}
