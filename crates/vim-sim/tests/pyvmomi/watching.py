"""The property collector: pages, filters and updates as pyvmomi's users write them."""

import session
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

service = session.connect()
content = service.content
Collector = vmodl.query.PropertyCollector


def spec(view, *paths):
    step = Collector.TraversalSpec(name="view", type=vim.view.ContainerView, path="view", skip=False)
    return Collector.FilterSpec(
        objectSet=[Collector.ObjectSpec(obj=view, skip=True, selectSet=[step])],
        propSet=[Collector.PropertySpec(type=vim.VirtualMachine, pathSet=list(paths), all=False)],
    )


view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True)
collector = content.propertyCollector

# In pages of one.
result = collector.RetrievePropertiesEx([spec(view, "name")], Collector.RetrieveOptions(maxObjects=1))
names = [page.propSet[0].val for page in result.objects]
while result.token:
    result = collector.ContinueRetrievePropertiesEx(result.token)
    assert len(result.objects) == 1
    names += [page.propSet[0].val for page in result.objects]
assert sorted(names) == sorted(vm.name for vm in view.view), names

# Everything once, then what changes.
own = collector.CreatePropertyCollector()
watched = own.CreateFilter(spec(view, "name", "runtime.powerState", "config.annotation", "snapshot"), False)
first = own.WaitForUpdatesEx("", Collector.WaitOptions(maxWaitSeconds=10))
assert {update.kind for update in first.filterSet[0].objectSet} == {"enter"}
assert len(first.filterSet[0].objectSet) == len(names)
assert own.WaitForUpdatesEx(first.version, Collector.WaitOptions(maxWaitSeconds=0)) is None

vm = view.view[0]
WaitForTask(vm.ReconfigVM_Task(vim.vm.ConfigSpec(annotation="seen")))
update = own.WaitForUpdatesEx(first.version, Collector.WaitOptions(maxWaitSeconds=10))
changed = update.filterSet[0].objectSet[0]
assert changed.kind == "modify" and changed.obj == vm, changed
assert [(change.name, change.val) for change in changed.changeSet] == [("config.annotation", "seen")], changed

# An answer that was lost is told again; a version that was never given is refused.
again = own.WaitForUpdatesEx(first.version, Collector.WaitOptions(maxWaitSeconds=10))
assert again.filterSet[0].objectSet[0].changeSet[0].val == "seen"
try:
    own.WaitForUpdatesEx("12345", Collector.WaitOptions(maxWaitSeconds=0))
    raise AssertionError("no version is 12345")
except vmodl.query.InvalidCollectorVersion:
    pass

WaitForTask(vm.PowerOffVM_Task())
WaitForTask(vm.Destroy_Task())
version, kinds = again.version, []
while "leave" not in kinds:
    update = own.WaitForUpdatesEx(version, Collector.WaitOptions(maxWaitSeconds=10))
    version = update.version
    kinds += [entry.kind for entry in update.filterSet[0].objectSet]
watched.Destroy()
own.Destroy()
view.Destroy()

try:
    vm.name  # noqa: B018 - reading is the point
    raise AssertionError("the VM is gone")
except vmodl.fault.ManagedObjectNotFound as gone:
    assert gone.obj == vm, gone

session.done(service)
