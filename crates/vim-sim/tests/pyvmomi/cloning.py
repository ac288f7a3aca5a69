"""A clone with hardware, a card, extra configuration and a customization; its events; and what is refused."""

import session
from pyVim.task import WaitForTask
from pyVmomi import vim

service = session.connect()
content = service.content

source = session.named(service, vim.VirtualMachine, "DC0_H0_VM0")
network = session.named(service, vim.dvs.DistributedVirtualPortgroup, "DC0_DVPG0")
datacenter = session.named(service, vim.Datacenter, "DC0")


def fixed(ip):
    return vim.vm.customization.AdapterMapping(
        adapter=vim.vm.customization.IPSettings(
            ip=vim.vm.customization.FixedIp(ipAddress=ip), subnetMask="255.255.255.0", gateway=["10.1.2.1"]
        )
    )


def identity(name):
    return vim.vm.customization.LinuxPrep(
        hostName=vim.vm.customization.FixedName(name=name), domain="example.com"
    )


def customization(name, *ips):
    return vim.vm.customization.Specification(
        options=vim.vm.customization.LinuxOptions(),
        identity=identity(name),
        globalIPSettings=vim.vm.customization.GlobalIPSettings(),
        nicSettingMap=[fixed(ip) for ip in ips],
    )


card = vim.vm.device.VirtualVmxnet3(
    key=-1,
    backing=vim.vm.device.VirtualEthernetCard.DistributedVirtualPortBackingInfo(
        port=vim.dvs.PortConnection(
            portgroupKey=network.key, switchUuid=network.config.distributedVirtualSwitch.uuid
        )
    ),
)
config = vim.vm.ConfigSpec(
    annotation="made by pyvmomi",
    numCPUs=2,
    memoryMB=256,
    deviceChange=[vim.vm.device.VirtualDeviceSpec(operation="add", device=card)],
    extraConfig=[vim.option.OptionValue(key="guestinfo.role", value="worker")],
)
where = vim.vm.RelocateSpec(pool=source.resourcePool)
spec = vim.vm.CloneSpec(
    location=where, powerOn=True, template=False, config=config,
    customization=customization("worker-1", "10.1.2.3", "10.1.2.4"),
)
task = source.CloneVM_Task(folder=datacenter.vmFolder, name="worker-1", spec=spec)
WaitForTask(task)
clone = task.info.result
assert isinstance(clone, vim.VirtualMachine) and clone.name == "worker-1"
assert task.info.state == "success" and task.info.entity == source and task.info.completeTime

assert clone.config.annotation == "made by pyvmomi"
assert (clone.config.hardware.numCPU, clone.config.hardware.memoryMB) == (2, 256)
assert {option.key: option.value for option in clone.config.extraConfig}["guestinfo.role"] == "worker"
assert clone.runtime.powerState == "poweredOn" and clone.summary.runtime.powerState == "poweredOn"
assert clone.guest.hostName == "worker-1", clone.guest
assert [net.ipAddress for net in clone.guest.net] == [["10.1.2.3"], ["10.1.2.4"]], clone.guest.net
assert clone.guest.net[0].ipConfig.ipAddress[0].prefixLength == 24
macs = {nic.macAddress for vm in (source, clone) for nic in vm.guest.net}
assert len(macs) == 3, macs
assert clone.config.instanceUuid != source.config.instanceUuid
assert content.searchIndex.FindByUuid(None, clone.config.instanceUuid, True, True) == clone
assert content.searchIndex.FindByIp(None, "10.1.2.4", True) == clone
assert content.searchIndex.FindByInventoryPath("DC0/vm/worker-1") == clone

# What happened, in order.
about = vim.event.EventFilterSpec.ByEntity(entity=clone, recursion="self")
events = content.eventManager.QueryEvents(vim.event.EventFilterSpec(entity=about))
classes = [type(event) for event in sorted(events, key=lambda event: event.key)]
wanted = [vim.event.VmClonedEvent, vim.event.VmStartingEvent, vim.event.VmPoweredOnEvent,
          vim.event.CustomizationStartedEvent, vim.event.CustomizationSucceeded]
assert [kind for kind in classes if kind in wanted] == wanted, classes
assert all(event.vm.vm == clone and event.vm.name == "worker-1" for event in events)
assert all(event.createdTime and event.userName is not None and event.fullFormattedMessage for event in events)
reader = content.eventManager.CreateCollectorForEvents(vim.event.EventFilterSpec(entity=about))
reader.SetCollectorPageSize(1000)
assert len(reader.latestPage) == len(events)
reader.DestroyCollector()
being = content.eventManager.QueryEvents(vim.event.EventFilterSpec(
    entity=vim.event.EventFilterSpec.ByEntity(entity=source, recursion="self"),
    eventTypeId=["vim.event.VmBeingClonedEvent"],
))
assert len(being) == 1 and being[0].destName == "worker-1", being

# What is refused, and how.
try:
    WaitForTask(source.CloneVM_Task(folder=datacenter.vmFolder, name="worker-1", spec=vim.vm.CloneSpec(
        location=where, powerOn=False, template=False)))
    raise AssertionError("there is such a VM")
except vim.fault.DuplicateName as fault:
    assert fault.name == "worker-1" and fault.object == clone, fault
try:
    WaitForTask(clone.PowerOnVM_Task())
    raise AssertionError("it is on")
except vim.fault.InvalidPowerState as fault:
    assert (fault.requestedState, fault.existingState) == ("poweredOn", "poweredOn"), fault
try:
    WaitForTask(source.CloneVM_Task(folder=datacenter.vmFolder, name="x", spec=vim.vm.CloneSpec(
        location=where, powerOn=False, template=False, customization=customization("x"))))
    raise AssertionError("the VM has a card")
except vim.fault.NicSettingMismatch as fault:
    assert (fault.numberOfNicsInSpec, fault.numberOfNicsInVM) == (0, 1), fault

WaitForTask(clone.PowerOffVM_Task())
clone.MarkAsTemplate()
assert clone.config.template and clone.resourcePool is None
clone.MarkAsVirtualMachine(pool=source.resourcePool)
WaitForTask(clone.Rename_Task("renamed"))
assert clone.name == "renamed"
WaitForTask(clone.Destroy_Task())
assert content.searchIndex.FindByInventoryPath("DC0/vm/renamed") is None

session.done(service)
