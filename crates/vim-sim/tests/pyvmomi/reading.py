"""Reads every property that pyvmomi knows of every object. It is strict: a member that a class does not have raises."""

import ssl
import sys

import session
from pyVmomi import vim, vmodl

service = session.connect()
content = service.content
assert content.about.apiType == "VirtualCenter", content.about
assert service.CurrentTime() is not None

entities = session.all_of(service, vim.ManagedEntity)
classes = {type(entity) for entity in entities}
for kind in (
    vim.Folder,
    vim.Datacenter,
    vim.ClusterComputeResource,
    vim.ComputeResource,
    vim.HostSystem,
    vim.ResourcePool,
    vim.Datastore,
    vim.StoragePod,
    vim.Network,
    vim.dvs.DistributedVirtualPortgroup,
    vim.VirtualMachine,
):
    assert kind in classes, (kind, classes)

powered = [vm for vm in entities if isinstance(vm, vim.VirtualMachine)]
task = powered[0].CreateSnapshot("one", "a description", False, False)
managers = [service, content.rootFolder, content.viewManager, content.taskManager, content.eventManager,
            content.sessionManager, content.guestOperationsManager, task]

wrong = []
for thing in entities + managers:
    for prop in thing._GetPropertyList():
        try:
            getattr(thing, prop.name)
        except vmodl.fault.MethodNotFound:
            # Newer than the version that the server speaks: pyvmomi does not even ask.
            continue
        except vmodl.query.InvalidProperty:
            wrong.append((type(thing).__name__, prop.name, "InvalidProperty"))
        except Exception as error:  # noqa: BLE001 - every kind of trouble is to be told
            wrong.append((type(thing).__name__, prop.name, repr(error)[:300]))
for line in sorted(set(wrong)):
    print(line)
assert not wrong, "some properties cannot be read"

vm = powered[0]
assert vm.runtime.powerState == vim.VirtualMachinePowerState.poweredOn
assert vm.runtime.host.name and vm.runtime.connectionState == "connected"
assert vm.summary.config.name == vm.name == vm.config.name
assert vm.summary.runtime.powerState == vm.runtime.powerState
assert vm.summary.vm == vm
assert vm.config.hardware.numCPU >= 1 and vm.config.hardware.memoryMB >= 1
disks = [device for device in vm.config.hardware.device if isinstance(device, vim.vm.device.VirtualDisk)]
cards = [device for device in vm.config.hardware.device if isinstance(device, vim.vm.device.VirtualEthernetCard)]
assert len(disks) == 1 and disks[0].backing.datastore.name == "LocalDS_0", disks
assert len(cards) == 1 and cards[0].backing.network.name == "VM Network", cards
assert vm.guest.toolsRunningStatus == "guestToolsRunning", vm.guest
assert vm.guest.ipAddress and vm.guest.net[0].macAddress == cards[0].macAddress
assert vm.guest.net[0].ipConfig.ipAddress[0].ipAddress == vm.guest.ipAddress
assert vm.snapshot.rootSnapshotList[0].name == "one"
assert vm.snapshot.currentSnapshot.config.name == vm.name
host = vm.runtime.host
assert host.summary.hardware.memorySize > 0 and host.summary.quickStats.overallMemoryUsage > 0
assert host.summary.config.product.version and vm in host.vm
assert vm in vm.datastore[0].vm and vm.datastore[0].summary.freeSpace < vm.datastore[0].summary.capacity
assert vm in vm.network[0].vm
assert vm.resourcePool.owner is not None and vm in vm.resourcePool.vm
assert powered[1].snapshot is None, "what is unset is None"

# Hosts show the certificate that vCenter knows of them, as bytes with a sign.
shown = ssl.get_server_certificate(("127.0.0.1", int(sys.argv[1])))
for host in session.all_of(service, vim.HostSystem):
    known = bytes(byte % 256 for byte in host.config.certificate).decode()
    assert ssl.PEM_cert_to_DER_cert(known) == ssl.PEM_cert_to_DER_cert(shown), known

session.done(service)
