//! Places, and who may do what there.

use anyhow::{Context as _, ensure};
use rookery_vim::MoRef;

use super::raw_client::{RawClient, is, tag};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

async fn found(client: &RawClient, method: &str, given: &str) -> anyhow::Result<Option<String>> {
    let this = client.content.search_index.clone().context("a search index")?;
    let answer = client.ask(method, &this, given).await?;
    Ok(answer.child_text("returnval").map(str::to_owned))
}

pub(super) async fn a_host_is_disconnected_and_reconnected(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let (vm, host) = (client.find(VM).await?, client.find("DC0/host/DC0_H0/DC0_H0").await?);
    let connection = async |wanted: &str| {
        for of in [&host, &vm] {
            let state = client.property(of, "runtime.connectionState").await?;
            ensure!(state == wanted, "{of:?} is {state}");
        }
        Ok(())
    };
    client.finish("DisconnectHost_Task", &host, "").await?;
    connection("disconnected").await?;
    ensure!(client.property(&vm, "runtime.powerState").await? == "poweredOn", "it went off");
    is(&client.refusal("PowerOffVM_Task", &vm, "").await?, "HostNotConnected")?;
    client.finish("ReconnectHost_Task", &host, "").await?;
    connection("connected").await?;
    client.off(&vm).await
}

pub(super) async fn a_vm_is_found_by_its_uuid(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    for (path, instance) in [("config.uuid", false), ("config.instanceUuid", true)] {
        let uuid = client.property(&vm, path).await?;
        let given =
            format!("<uuid>{uuid}</uuid><vmSearch>true</vmSearch><instanceUuid>{instance}</instanceUuid>");
        let seen = found(&client, "FindByUuid", &given).await?;
        ensure!(seen.as_deref() == Some(vm.id()), "by {path}: {seen:?}");
    }
    Ok(())
}

pub(super) async fn a_vm_is_found_by_its_address(subject: Subject) -> anyhow::Result<()> {
    let customize =
        ["vm.customize", "-vm", "DC0_H0_VM0", "-type", "Linux", "-name", "twig", "-ip", "192.0.2.17"];
    let words = [&customize[..], &["-netmask", "255.255.255.0", "-gateway", "192.0.2.1"]].concat();
    subject.govc(&["vm.power", "-off", "DC0_H0_VM0"]).await?;
    subject.govc(&words).await?;
    subject.govc(&["vm.power", "-on", "DC0_H0_VM0"]).await?;
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.until(&vm, "guest.ipAddress", "192.0.2.17").await?;
    let by_ip = found(&client, "FindByIp", "<ip>192.0.2.17</ip><vmSearch>true</vmSearch>").await?;
    ensure!(by_ip.as_deref() == Some(vm.id()), "by its IP: {by_ip:?}");
    let name = client.property(&vm, "guest.hostName").await?;
    let given = format!("<dnsName>{name}</dnsName><vmSearch>true</vmSearch>");
    let by_name = found(&client, "FindByDnsName", &given).await?;
    ensure!(by_name.as_deref() == Some(vm.id()), "by {name:?}: {by_name:?}");
    Ok(())
}

pub(super) async fn nothing_is_found_in_peace(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let nowhere = found(&client, "FindByInventoryPath", "<inventoryPath>DC0/vm/none</inventoryPath>").await?;
    let nobody = found(&client, "FindByIp", "<ip>192.0.2.99</ip><vmSearch>true</vmSearch>").await?;
    ensure!(nowhere.is_none() && nobody.is_none(), "{nowhere:?}, {nobody:?}");
    Ok(())
}

pub(super) async fn folders_hold_folders_and_vms(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["folder.create", "/DC0/vm/ci"]).await?;
    let client = RawClient::at(&subject).await?;
    let folder = client.find("DC0/vm/ci").await?;
    let spec = "<spec><location/><template>false</template><powerOn>false</powerOn></spec>";
    let given = format!("{}<name>inside</name>{spec}", tag("folder", &folder));
    client.finish("CloneVM_Task", &client.find(VM).await?, &given).await?;
    client.find("DC0/vm/ci/inside").await.map(drop)
}

pub(super) async fn a_card_is_on_a_distributed_port(subject: Subject) -> anyhow::Result<()> {
    let words = ["vm.network.change", "-vm", "DC0_H0_VM0", "-net", "DC0_DVPG0", "ethernet-0"];
    subject.govc(&words).await?;
    let client = RawClient::at(&subject).await?;
    let (vm, group) = (client.find(VM).await?, client.find("DC0/network/DC0_DVPG0").await?);
    let key = client.property(&group, "key").await?;
    let all = client.value(&vm, "config.hardware.device").await?.context("devices")?;
    let ports: Vec<_> =
        all.children.iter().filter_map(|device| device.child("backing")?.child("port")).collect();
    let groups: Vec<_> = ports.iter().filter_map(|port| port.child_text("portgroupKey")).collect();
    ensure!(groups == [key.as_str()], "{groups:?} and not {key}");
    Ok(())
}

pub(super) async fn a_datastore_cluster_says_where(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let pod = client.find("DC0/datastore/DC0_POD0").await?;
    let members = client.references(&pod, "childEntity").await?;
    if members.is_empty() {
        subject.govc(&["object.mv", "/DC0/datastore/LocalDS_0", "/DC0/datastore/DC0_POD0"]).await?;
    }
    let words = "vm.create -on=false -disk 1GB -datastore-cluster DC0_POD0 -net DC0_DVPG0 \
        -pool /DC0/host/DC0_H0/Resources egg";
    subject.govc(&words.split_whitespace().collect::<Vec<_>>()).await?;
    let vm = client.find("DC0/vm/egg").await?;
    let datastores = client.references(&vm, "datastore").await?;
    let members = client.references(&pod, "childEntity").await?;
    ensure!(
        !datastores.is_empty() && datastores.iter().all(|one| members.contains(one)),
        "it is on {datastores:?}, and the cluster has {members:?}"
    );
    Ok(())
}

pub(super) async fn tags_are_attached(subject: Subject) -> anyhow::Result<()> {
    subject.govc(&["tags.category.create", "-m", "role"]).await?;
    subject.govc(&["tags.create", "-c", "role", "worker"]).await?;
    subject.govc(&["tags.attach", "worker", "/DC0/vm/DC0_H0_VM0"]).await?;
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let attached = subject.govc(&["tags.attached.ls", "worker"]).await?;
    ensure!(attached.contains(vm.id()), "{attached:?}");
    subject.govc(&["tags.detach", "worker", "/DC0/vm/DC0_H0_VM0"]).await?;
    let attached = subject.govc(&["tags.attached.ls", "worker"]).await?;
    ensure!(!attached.contains(vm.id()), "{attached:?}");
    Ok(())
}

pub(super) async fn a_role_that_may_not_does_not(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let (vm, other) = (client.find(VM).await?, client.find("DC0/vm/DC0_H0_VM1").await?);
    let this = MoRef::new("ServiceInstance", "ServiceInstance");
    let content = client.ask("RetrieveServiceContent", &this, "").await?;
    let manager = content.child("returnval").and_then(|content| content.child("authorizationManager"));
    let manager = manager.map(super::raw_client::reference).context("an authorization manager")?;
    // Who may only look, at this one VM.
    let given = format!(
        "{}<permission><principal>user</principal><group>false</group><roleId>-2</roleId>\
         <propagate>true</propagate></permission>",
        tag("entity", &vm)
    );
    client.ask("SetEntityPermissions", &manager, &given).await?;
    client.property(&vm, "name").await?;
    let refused = client.refusal("PowerOffVM_Task", &vm, "").await?;
    is(&refused, "NoPermission")?;
    let privilege = refused.detail.as_ref().and_then(|detail| detail.child_text("privilegeId"));
    ensure!(privilege == Some("VirtualMachine.Interact.PowerOff"), "it lacks {privilege:?}");
    client.off(&other).await
}
