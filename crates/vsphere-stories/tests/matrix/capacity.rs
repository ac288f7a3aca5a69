//! Room that is kept account of, and refused when there is none.

use anyhow::{Context as _, ensure};
use rookery_vim::{MoRef, Node};

use super::life::order;
use super::raw_client::{CloneSpec, RawClient, reference, tag};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

pub(super) async fn a_full_pool_starts_nothing(subject: Subject) -> anyhow::Result<()> {
    let pool = "/DC0/host/DC0_H0/Resources/small";
    subject.govc(&["pool.create", "-mem.limit", "64", "-mem.expandable=false", pool]).await?;
    let client = RawClient::at(&subject).await?;
    let pool = client.find(pool).await?;
    // All of its memory is reserved, so that it is short by any rule.
    let config =
        "<memoryMB>512</memoryMB><memoryAllocation><reservation>512</reservation></memoryAllocation>";
    let spec = CloneSpec { location: tag("pool", &pool), config: config.to_owned(), ..CloneSpec::default() };
    let clone = client.clone_vm(&client.find(VM).await?, "large", &spec).await?;
    let refused = client.refusal("PowerOnVM_Task", &clone, "").await?;
    ensure!(refused.fault.starts_with("Insufficient"), "{refused}");
    Ok(())
}

pub(super) async fn a_full_datastore_takes_no_disk(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let datastore = client.find("DC0/datastore/LocalDS_0").await?;
    let capacity: i64 = client.property(&datastore, "summary.capacity").await?.parse()?;
    let (folder, given) = order(&client, &with_disk("huge", capacity / 1024 + 1024)).await?;
    let refused = client.refusal("CreateVM_Task", &folder, &given).await?;
    ensure!(["NoDiskSpace", "InsufficientStorageSpace"].contains(&refused.fault.as_str()), "{refused}");
    Ok(())
}

/// A VM with a disk of so many KiB, all of which is taken at once.
fn with_disk(name: &str, kib: i64) -> String {
    format!(
        "<name>{name}</name><guestId>otherLinux64Guest</guestId><files><vmPathName>[LocalDS_0]</vmPathName></files>\
         <deviceChange><operation>add</operation><device xsi:type=\"ParaVirtualSCSIController\"><key>-201</key>\
         <busNumber>0</busNumber><sharedBus>noSharing</sharedBus></device></deviceChange><deviceChange>\
         <operation>add</operation><fileOperation>create</fileOperation><device xsi:type=\"VirtualDisk\"><key>-202</key>\
         <backing xsi:type=\"VirtualDiskFlatVer2BackingInfo\"><fileName></fileName><diskMode>persistent</diskMode>\
         <thinProvisioned>false</thinProvisioned></backing><controllerKey>-201</controllerKey><unitNumber>0</unitNumber>\
         <capacityInKB>{kib}</capacityInKB></device></deviceChange>"
    )
}

pub(super) async fn a_disk_takes_space_while_it_is_there(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let datastore = client.find("DC0/datastore/LocalDS_0").await?;
    let free =
        || async { anyhow::Ok(client.property(&datastore, "summary.freeSpace").await?.parse::<i64>()?) };
    let before = free().await?;
    let (folder, given) = order(&client, &with_disk("large", 10 << 20)).await?;
    let info = client.finish("CreateVM_Task", &folder, &given).await?;
    let vm = info.child("result").map(reference).context("the VM is told")?;
    let during = free().await?;
    client.finish("Destroy_Task", &vm, "").await?;
    let after = free().await?;
    ensure!(before - during >= 10 << 30 && after == before, "free: {before}, {during}, {after}");
    Ok(())
}

pub(super) async fn a_pool_tells_what_runs_in_it(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let pool = client.find("DC0/host/DC0_H0/Resources").await?;
    let on = used(&client, &pool).await?;
    client.off(&client.find(VM).await?).await?;
    let off = used(&client, &pool).await?;
    ensure!(on != off, "it tells the same with a VM less: {on:?}");
    Ok(())
}

async fn used(client: &RawClient, pool: &MoRef) -> anyhow::Result<Node> {
    client.value(pool, "runtime.memory").await?.context("what is used")
}
