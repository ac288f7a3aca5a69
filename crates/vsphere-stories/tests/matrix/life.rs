//! From nothing to the end of a VM.

use anyhow::{Context as _, ensure};
use rookery_vim::MoRef;

use super::clones::linked;
use super::raw_client::{RawClient, is, is_well_founded, named, reference, tag};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

async fn made(client: &RawClient, config: &str) -> anyhow::Result<MoRef> {
    let (folder, given) = order(client, config).await?;
    let info = client.finish("CreateVM_Task", &folder, &given).await?;
    info.child("result").map(reference).context("the new VM is told")
}

pub(super) async fn order(client: &RawClient, config: &str) -> anyhow::Result<(MoRef, String)> {
    let pool = client.find("DC0/host/DC0_H0/Resources").await?;
    Ok((client.find("DC0/vm").await?, format!("<config>{config}</config>{}", tag("pool", &pool))))
}

pub(super) async fn a_vm_is_made_from_nothing(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["datastore.mkdir", "iso"]).await?;
    let client = RawClient::at(&subject).await?;
    client.http("PUT", "/folder/iso/x.iso?dcPath=%2FDC0&dsName=LocalDS_0", true, b"boot me").await?;
    let words = "vm.create -on=false -c 4 -m 8192 -g rhel8_64Guest -firmware efi -disk 20GB -disk.controller pvscsi \
        -net.adapter vmxnet3 -iso iso/x.iso -pool /DC0/host/DC0_H0/Resources -host /DC0/host/DC0_H0/DC0_H0";
    let mut words: Vec<&str> = words.split_whitespace().collect();
    words.extend(["-net", "VM Network", "egg"]);
    subject.govc(&words).await?;
    let vm = client.find("DC0/vm/egg").await?;
    for (path, expected) in [
        ("config.firmware", "efi"),
        ("config.guestId", "rhel8_64Guest"),
        ("config.hardware.numCPU", "4"),
        ("config.hardware.memoryMB", "8192"),
    ] {
        let seen = client.property(&vm, path).await?;
        ensure!(seen == expected, "{path} is {seen:?}");
    }
    for class in ["ParaVirtualSCSIController", "VirtualVmxnet3", "VirtualDisk"] {
        ensure!(client.devices(&vm, class).await?.len() == 1, "there is not one {class}");
    }
    let drives = client.devices(&vm, "VirtualCdrom").await?;
    let iso = drives.first().and_then(|drive| drive.child("backing")?.child_text("fileName"));
    ensure!(iso == Some("[LocalDS_0] iso/x.iso"), "in the drive is {iso:?}");
    Ok(())
}

pub(super) async fn a_vm_gets_the_uuid_that_was_chosen(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let uuid = "421bd2a1-7a3f-4c55-8a1e-0c9b3f6f1a77";
    let vm = made(
        &client,
        &format!(
            "<name>egg</name><uuid>{uuid}</uuid><guestId>otherLinux64Guest</guestId><annotation>fresh</annotation>\
             <files><vmPathName>[LocalDS_0]</vmPathName></files>"
        ),
    )
    .await?;
    ensure!(client.property(&vm, "config.annotation").await? == "fresh", "its notes are others");
    let this = client.content.search_index.clone().context("a search index")?;
    let given = format!("<uuid>{uuid}</uuid><vmSearch>true</vmSearch>");
    let found = client.ask("FindByUuid", &this, &given).await?;
    ensure!(found.child_text("returnval") == Some(vm.id()), "{found:?}");
    Ok(())
}

pub(super) async fn a_taken_name_is_refused(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let config = "<name>DC0_H0_VM0</name><guestId>otherLinux64Guest</guestId>\
        <files><vmPathName>[LocalDS_0]</vmPathName></files>";
    let (folder, given) = order(&client, config).await?;
    is(&client.refusal("CreateVM_Task", &folder, &given).await?, "DuplicateName")
}

pub(super) async fn a_change_of_something_older_is_refused(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let version = client.property(&vm, "config.changeVersion").await?;
    let change = |notes: &str| {
        format!("<spec><changeVersion>{version}</changeVersion><annotation>{notes}</annotation></spec>")
    };
    client.finish("ReconfigVM_Task", &vm, &change("first")).await?;
    is(&client.refusal("ReconfigVM_Task", &vm, &change("second")).await?, "ConcurrentAccess")
}

pub(super) async fn cpus_do_not_change_while_on(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let refused = client.refusal("ReconfigVM_Task", &vm, "<spec><numCPUs>4</numCPUs></spec>").await?;
    ensure!(["InvalidPowerState", "CpuHotPlugNotSupported"].contains(&refused.fault.as_str()), "{refused}");
    Ok(())
}

pub(super) async fn a_device_is_added_and_removed(subject: Subject) -> anyhow::Result<()> {
    subject
        .govc(&["vm.network.add", "-vm", "DC0_H0_VM0", "-net", "VM Network", "-net.adapter", "vmxnet3"])
        .await?;
    let cards = subject.govc(&["device.ls", "-vm", "DC0_H0_VM0", "ethernet-*"]).await?;
    ensure!(cards.lines().count() == 2, "{cards}");
    subject.govc(&["device.remove", "-vm", "DC0_H0_VM0", "ethernet-1"]).await?;
    let cards = subject.govc(&["device.ls", "-vm", "DC0_H0_VM0", "ethernet-*"]).await?;
    ensure!(cards.lines().count() == 1, "{cards}");
    Ok(())
}

pub(super) async fn a_template_has_no_pool(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    is(&client.refusal("MarkAsTemplate", &vm, "").await?, "InvalidPowerState")?;
    client.off(&vm).await?;
    client.ask("MarkAsTemplate", &vm, "").await?;
    ensure!(client.property(&vm, "config.template").await? == "true", "it is no template");
    ensure!(client.property(&vm, "resourcePool").await?.is_empty(), "it has a pool");
    client.refusal("PowerOnVM_Task", &vm, "").await?;
    let pool = client.find("DC0/host/DC0_H0/Resources").await?;
    client.ask("MarkAsVirtualMachine", &vm, &tag("pool", &pool)).await?;
    ensure!(client.property(&vm, "resourcePool").await? == pool.id(), "it has no pool");
    Ok(())
}

pub(super) async fn a_running_vm_is_not_destroyed(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    is(&client.refusal("Destroy_Task", &vm, "").await?, "InvalidPowerState")
}

pub(super) async fn a_parent_of_a_linked_clone_stays(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    let snapshot = client.snapshot(&vm, "base").await?;
    client.clone_vm(&vm, "clone", &linked(&snapshot)).await?;
    is_well_founded(&client.refusal("Destroy_Task", &vm, "").await?)?;
    client.find(VM).await.map(drop)
}

pub(super) async fn a_destroyed_vm_leaves_no_files(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["vm.destroy", "DC0_H0_VM0"]).await?;
    let files = subject.govc(&["datastore.ls"]).await?;
    let left: Vec<_> = files.lines().filter(|line| line.contains("DC0_H0_VM0")).collect();
    ensure!(left.is_empty(), "{left:?} is left");
    Ok(())
}

pub(super) async fn an_unregistered_vm_leaves_its_files(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["vm.power", "-off", "DC0_H0_VM0"]).await?;
    subject.govc(&["vm.unregister", "DC0_H0_VM0"]).await?;
    let found = subject.govc(&["find", "/", "-type", "m", "-name", "DC0_H0_VM0"]).await?;
    ensure!(found.is_empty(), "it is still there");
    let files = subject.govc(&["datastore.ls", "DC0_H0_VM0"]).await?;
    ensure!(files.contains("DC0_H0_VM0.vmx"), "its files are {files:?}");
    Ok(())
}

pub(super) async fn snapshots_are_a_tree(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    let base = client.snapshot(&vm, "base").await?;
    client.snapshot(&vm, "one").await?;
    client.finish("RevertToSnapshot_Task", &base, "").await?;
    let two = client.snapshot(&vm, "two").await?;
    let known = client.value(&vm, "snapshot").await?.context("snapshots")?;
    ensure!(known.child_text("currentSnapshot") == Some(two.id()), "{known:?}");
    let root = known.child("rootSnapshotList").context("a root")?;
    let children: Vec<_> =
        named(root, "childSnapshotList").filter_map(|child| child.child_text("name")).collect();
    ensure!(root.child_text("name") == Some("base") && children == ["one", "two"], "below it {children:?}");
    client.finish("RemoveSnapshot_Task", &base, "<removeChildren>true</removeChildren>").await?;
    ensure!(client.value(&vm, "snapshot").await?.is_none(), "some snapshot is left");
    Ok(())
}

pub(super) async fn a_snapshot_brings_back_what_was(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    let cpus = client.property(&vm, "config.hardware.numCPU").await?;
    let base = client.snapshot(&vm, "base").await?;
    client.finish("ReconfigVM_Task", &vm, "<spec><numCPUs>7</numCPUs></spec>").await?;
    client.finish("RevertToSnapshot_Task", &base, "").await?;
    let after = client.property(&vm, "config.hardware.numCPU").await?;
    ensure!(after == cpus, "{after} CPUs and not {cpus}");
    Ok(())
}
