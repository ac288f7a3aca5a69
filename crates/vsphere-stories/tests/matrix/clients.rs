//! What VMware's own clients make of it.

use anyhow::ensure;

use super::raw_client::RawClient;
use super::subject::Subject;

pub(super) async fn govc_collects_an_object(subject: Subject) -> anyhow::Result<()> {
    let words = ["object.collect", "-s", "/DC0/vm/DC0_H0_VM0", "config.name", "runtime.powerState"];
    let said = subject.govc(&words).await?;
    ensure!(said == "DC0_H0_VM0\npoweredOn", "{said:?}");
    Ok(())
}

pub(super) async fn govc_shows_all_of_a_vm(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find("DC0/vm/DC0_H0_VM0").await?;
    let info = subject.json("vm.info", &["DC0_H0_VM0"]).await?;
    let shown = &info["virtualMachines"][0];
    let uuid = client.property(&vm, "config.uuid").await?;
    ensure!(shown["config"]["uuid"] == uuid.as_str(), "{}", shown["config"]["uuid"]);
    ensure!(shown["summary"]["runtime"]["powerState"] == "poweredOn", "{}", shown["summary"]);
    Ok(())
}

pub(super) async fn pyvmomi_reads_all_of_a_vm(subject: Subject) -> anyhow::Result<()> {
    let program = "vm = content.searchIndex.FindByInventoryPath('DC0/vm/DC0_H0_VM0')\n\
        print(vm.runtime.powerState, vm.summary.config.name, vm.runtime.host.name)";
    let said = subject.python(program).await?;
    ensure!(said == "poweredOn DC0_H0_VM0 DC0_H0", "{said:?}");
    Ok(())
}

pub(super) async fn pyvmomi_waits_for_updates(subject: Subject) -> anyhow::Result<()> {
    let program = "\
from pyVim.task import WaitForTask
view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True)
collector = content.propertyCollector.CreatePropertyCollector()
spec = vmodl.query.PropertyCollector.FilterSpec(
    objectSet=[vmodl.query.PropertyCollector.ObjectSpec(obj=view, skip=True, selectSet=[
        vmodl.query.PropertyCollector.TraversalSpec(name='v', path='view', skip=False, type=vim.view.ContainerView)])],
    propSet=[vmodl.query.PropertyCollector.PropertySpec(type=vim.VirtualMachine, pathSet=['name'])])
collector.CreateFilter(spec, False)
options = vmodl.query.PropertyCollector.WaitOptions(maxWaitSeconds=10)
first = collector.WaitForUpdatesEx('', options)
vm = view.view[0]
WaitForTask(vm.Rename('other'))
second = collector.WaitForUpdatesEx(first.version, options)
print([(o.kind, c.val) for f in second.filterSet for o in f.objectSet for c in o.changeSet])";
    let said = subject.python(program).await?;
    ensure!(said == "[('modify', 'other')]", "{said:?}");
    Ok(())
}
