//! Clones: every word of the order counts.

use anyhow::{Context as _, ensure};
use rookery_vim::MoRef;

use super::raw_client::{CloneSpec, RawClient, is, is_well_founded, tag};
use super::subject::Subject;

const SOURCE: &str = "DC0/vm/DC0_H0_VM0";

/// A clone of a VM that is off.
async fn cloned(subject: &Subject, spec: CloneSpec) -> anyhow::Result<(RawClient, MoRef, MoRef)> {
    let client = RawClient::at(subject).await?;
    let source = client.find(SOURCE).await?;
    client.off(&source).await?;
    let clone = client.clone_vm(&source, "clone", &spec).await?;
    Ok((client, source, clone))
}

fn configured(config: &str) -> CloneSpec {
    CloneSpec { config: config.to_owned(), ..CloneSpec::default() }
}

/// A fixed address for each of so many cards.
fn customized(cards: usize) -> CloneSpec {
    let card = "<nicSettingMap><adapter><ip xsi:type=\"CustomizationFixedIp\"><ipAddress>192.0.2.17</ipAddress></ip>\
        <subnetMask>255.255.255.0</subnetMask><gateway>192.0.2.1</gateway></adapter></nicSettingMap>";
    let customization = format!(
        "<customization><options xsi:type=\"CustomizationLinuxOptions\"/><identity xsi:type=\"CustomizationLinuxPrep\">\
         <hostName xsi:type=\"CustomizationFixedName\"><name>twig</name></hostName><domain>example.com</domain>\
         </identity><globalIPSettings/>{}</customization>",
        card.repeat(cards)
    );
    CloneSpec { customization, power_on: true, ..CloneSpec::default() }
}

pub(super) async fn a_clone_is_powered_on(subject: Subject) -> anyhow::Result<()> {
    let (client, _, clone) = cloned(&subject, CloneSpec { power_on: true, ..CloneSpec::default() }).await?;
    client.until(&clone, "runtime.powerState", "poweredOn").await
}

pub(super) async fn a_clone_gets_its_fixed_address(subject: Subject) -> anyhow::Result<()> {
    let (client, _, clone) = cloned(&subject, customized(1)).await?;
    client.until(&clone, "guest.ipAddress", "192.0.2.17").await?;
    let name = client.property(&clone, "guest.hostName").await?;
    ensure!(name.starts_with("twig"), "its name is {name:?}");
    Ok(())
}

pub(super) async fn too_many_addresses_are_refused(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let source = client.find(SOURCE).await?;
    let order = client.clone_order("clone", &customized(2)).await?;
    is(&client.refusal("CloneVM_Task", &source, &order).await?, "NicSettingMismatch")
}

pub(super) async fn a_clone_gets_its_hardware(subject: Subject) -> anyhow::Result<()> {
    let spec = configured("<numCPUs>3</numCPUs><memoryMB>512</memoryMB>");
    let (client, _, clone) = cloned(&subject, spec).await?;
    let cpus = client.property(&clone, "config.hardware.numCPU").await?;
    let memory = client.property(&clone, "config.hardware.memoryMB").await?;
    ensure!((cpus.as_str(), memory.as_str()) == ("3", "512"), "{cpus} CPUs, {memory} MiB");
    Ok(())
}

pub(super) async fn a_clone_gets_its_extra_settings(subject: Subject) -> anyhow::Result<()> {
    let option = "<extraConfig xsi:type=\"OptionValue\"><key>guestinfo.nest</key>\
        <value xsi:type=\"xsd:string\">twigs</value></extraConfig>";
    let (client, _, clone) = cloned(&subject, configured(option)).await?;
    let settings = client.value(&clone, "config.extraConfig").await?.context("settings")?;
    let found = settings.children.iter().find(|option| option.child_text("key") == Some("guestinfo.nest"));
    ensure!(found.and_then(|option| option.child_text("value")) == Some("twigs"), "{found:?}");
    Ok(())
}

pub(super) async fn a_clone_gets_its_notes(subject: Subject) -> anyhow::Result<()> {
    let (client, _, clone) = cloned(&subject, configured("<annotation>mine</annotation>")).await?;
    let notes = client.property(&clone, "config.annotation").await?;
    ensure!(notes == "mine", "its notes are {notes:?}");
    Ok(())
}

pub(super) async fn a_clone_has_an_address_of_its_own(subject: Subject) -> anyhow::Result<()> {
    let (client, source, clone) = cloned(&subject, CloneSpec::default()).await?;
    let (old, new) = (mac(&client, &source).await?, mac(&client, &clone).await?);
    ensure!(old != new, "both have {old}");
    Ok(())
}

async fn mac(client: &RawClient, vm: &MoRef) -> anyhow::Result<String> {
    let devices = client.value(vm, "config.hardware.device").await?.context("devices")?;
    let mac = devices.children.iter().find_map(|device| device.child_text("macAddress"));
    mac.map(str::to_owned).context("a card with an address")
}

pub(super) async fn a_clone_has_uuids_of_its_own(subject: Subject) -> anyhow::Result<()> {
    let (client, source, clone) = cloned(&subject, CloneSpec::default()).await?;
    for path in ["config.uuid", "config.instanceUuid"] {
        let (old, new) = (client.property(&source, path).await?, client.property(&clone, path).await?);
        ensure!(!new.is_empty() && old != new, "{path} is {old} and {new}");
    }
    Ok(())
}

pub(super) async fn a_clone_comes_to_its_network(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let source = client.find(SOURCE).await?;
    let all = client.value(&source, "config.hardware.device").await?.context("devices")?;
    let card = all.children.iter().find(|device| device.child("macAddress").is_some()).context("a card")?;
    let location = format!(
        "<deviceChange><operation>edit</operation><device xsi:type=\"{}\"><key>{}</key>\
         <backing xsi:type=\"VirtualEthernetCardNetworkBackingInfo\"><deviceName>VM Network</deviceName></backing>\
         </device></deviceChange>",
        card.xsi_type.as_deref().context("its class")?,
        card.child_text("key").context("its key")?
    );
    let spec = CloneSpec { location, ..CloneSpec::default() };
    let clone = client.clone_vm(&source, "clone", &spec).await?;
    let networks = client.references(&clone, "network").await?;
    ensure!(networks == [client.find("DC0/network/VM Network").await?], "its networks are {networks:?}");
    Ok(())
}

/// A linked clone of a snapshot.
pub(super) fn linked(snapshot: &MoRef) -> CloneSpec {
    CloneSpec {
        location: "<diskMoveType>createNewChildDiskBacking</diskMoveType>".to_owned(),
        snapshot: tag("snapshot", snapshot),
        ..CloneSpec::default()
    }
}

pub(super) async fn a_linked_clone_is_a_child_of_the_snapshot(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let source = client.find(SOURCE).await?;
    client.off(&source).await?;
    let base = disk_file(&client, &source, &["backing", "fileName"]).await?;
    let snapshot = client.snapshot(&source, "base").await?;
    let child = client.clone_vm(&source, "clone", &linked(&snapshot)).await?;
    let parent = disk_file(&client, &child, &["backing", "parent", "fileName"]).await?;
    ensure!(parent == base, "its disk's parent is {parent:?} and not {base:?}");
    Ok(())
}

async fn disk_file(client: &RawClient, vm: &MoRef, path: &[&str]) -> anyhow::Result<String> {
    let disks = client.devices(vm, "VirtualDisk").await?;
    let first = disks.first().context("a disk")?;
    let found = path.iter().try_fold(first, |node, name| node.child(name));
    found.map(|node| node.text.clone()).with_context(|| format!("its disk has no {}", path.join(".")))
}

pub(super) async fn a_linked_clone_needs_a_snapshot(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let source = client.find(SOURCE).await?;
    client.off(&source).await?;
    let spec = CloneSpec {
        location: "<diskMoveType>createNewChildDiskBacking</diskMoveType>".to_owned(),
        ..CloneSpec::default()
    };
    let order = client.clone_order("clone", &spec).await?;
    is_well_founded(&client.refusal("CloneVM_Task", &source, &order).await?)
}

pub(super) async fn a_clone_of_a_template_needs_a_pool(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let source = client.find(SOURCE).await?;
    client.off(&source).await?;
    client.ask("MarkAsTemplate", &source, "").await?;
    let order = client.clone_order("clone", &CloneSpec::default()).await?;
    is(&client.refusal("CloneVM_Task", &source, &order).await?, "InvalidArgument")
}

pub(super) async fn a_taken_name_tells_who_has_it(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let (source, other) = (client.find(SOURCE).await?, client.find("DC0/vm/DC0_H0_VM1").await?);
    let order = client.clone_order("DC0_H0_VM1", &CloneSpec::default()).await?;
    let refused = client.refusal("CloneVM_Task", &source, &order).await?;
    is(&refused, "DuplicateName")?;
    let object = refused.detail.as_ref().and_then(|detail| detail.child_text("object"));
    ensure!(object == Some(other.id()), "the one that has it is {object:?}");
    Ok(())
}

pub(super) async fn a_clone_runs_where_its_pool_is(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let cluster = client.find("DC0/host/DC0_C0").await?;
    let pool = client.find("DC0/host/DC0_C0/Resources").await?;
    let spec = CloneSpec { location: tag("pool", &pool), power_on: true, ..CloneSpec::default() };
    let clone = client.clone_vm(&client.find(SOURCE).await?, "clone", &spec).await?;
    let runs_on = client.property(&clone, "runtime.host").await?;
    let hosts = client.references(&cluster, "host").await?;
    ensure!(hosts.iter().any(|member| member.id() == runs_on), "{runs_on} is none of the cluster's");
    Ok(())
}
