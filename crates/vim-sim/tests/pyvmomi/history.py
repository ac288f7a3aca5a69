"""The history of tasks: page by page, both ways, and picked by all that it can be picked by."""

from datetime import timedelta

import session
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

service = session.connect()
content = service.content
manager = content.taskManager
Spec = vim.TaskFilterSpec

vms = [session.named(service, vim.VirtualMachine, f"DC0_H0_VM{n}") for n in range(2)]
datacenter = session.named(service, vim.Datacenter, "DC0")
host = vms[0].runtime.host
start = service.CurrentTime()
tasks = []
for vm in vms * 3:
    for order in (vm.PowerOffVM_Task, vm.PowerOnVM_Task):
        tasks.append(order())
        WaitForTask(tasks[-1])
failed = vms[0].PowerOnVM_Task()
try:
    WaitForTask(failed)
    raise AssertionError("it is on")
except vim.fault.InvalidPowerState:
    tasks.append(failed)


def keys(found):
    return [info.key for info in found]


def of(**by):
    reader = manager.CreateCollectorForTasks(Spec(**by))
    found = []
    while page := reader.ReadNextTasks(5):
        assert len(page) <= 5, page
        found += page
    reader.DestroyCollector()
    return found


def about(entity, recursion):
    return of(entity=Spec.ByEntity(entity=entity, recursion=recursion))


def within(kind, begin=None, end=None):
    return of(time=Spec.ByTime(timeType=kind, beginTime=begin, endTime=end))


# All of them, oldest first, with what they were about and how they ended.
history = of()
assert keys(history) == [task.info.key for task in tasks], history
assert [info.task for info in history] == tasks
assert [info.entity for info in history] == [vm for vm in vms for _ in range(2)] * 3 + [vms[0]]
assert [info.state for info in history] == ["success"] * 12 + ["error"]
assert isinstance(history[-1].error, vim.fault.InvalidPowerState), history[-1]
assert history[0].descriptionId == "VirtualMachine.powerOff" and history[0].entityName == "DC0_H0_VM0"
assert isinstance(history[0].reason, vim.TaskReasonUser) and history[0].reason.userName == "user"

# Back and forth.
reader = manager.CreateCollectorForTasks(Spec())
assert isinstance(reader, vim.TaskHistoryCollector) and isinstance(reader, vim.HistoryCollector)
newest_first = keys(reversed(history))
assert keys(reader.ReadPreviousTasks(4)) == newest_first[:4]
assert keys(reader.ReadPreviousTasks(4)) == newest_first[4:8]
reader.RewindCollector()
assert keys(reader.ReadNextTasks(3)) == keys(history)[:3]
assert keys(reader.ReadNextTasks(1000)) == keys(history)[3:]
assert reader.ReadNextTasks(1) == []
reader.ResetCollector()
assert keys(reader.ReadPreviousTasks(2)) == newest_first[:2]
for wrong in (0, 1001):
    try:
        reader.ReadNextTasks(wrong)
        raise AssertionError(f"{wrong} tasks were told")
    except vmodl.fault.InvalidArgument:
        pass

# The newest page, which follows what happens.
assert keys(reader.latestPage) == newest_first[:10]
reader.SetCollectorPageSize(3)
assert keys(reader.latestPage) == newest_first[:3]
assert isinstance(reader.filter, Spec)
path = vmodl.query.PropertyCollector.PropertySpec(type=vim.TaskHistoryCollector, pathSet=["latestPage"])
seen = vmodl.query.PropertyCollector.ObjectSpec(obj=reader)
watcher = content.propertyCollector.CreatePropertyCollector()
watcher.CreateFilter(vmodl.query.PropertyCollector.FilterSpec(propSet=[path], objectSet=[seen]), True)
version = watcher.WaitForUpdates(None).version
one_more = vms[1].PowerOffVM_Task()
WaitForTask(one_more)
update = watcher.WaitForUpdates(version).filterSet[0].objectSet[0]
assert update.obj == reader and update.changeSet[0].name == "latestPage", update
assert reader.latestPage[0].task == one_more
watcher.Destroy()
reader.DestroyCollector()
try:
    reader.ReadNextTasks(1)
    raise AssertionError("it has gone")
except vmodl.fault.ManagedObjectNotFound:
    pass
tasks.append(one_more)

# By what they are about.
assert len(about(vms[0], "self")) == 7 and len(about(vms[1], "self")) == 7
assert about(vms[0], "children") == [] and len(about(vms[0], "all")) == 7
assert about(vms[0].parent, "self") == [] and len(about(vms[0].parent, "children")) == 14
assert about(datacenter, "children") == [] and len(about(datacenter, "all")) == 14
assert len(about(content.rootFolder, "all")) == len(about(host, "all")) == 14

# By time, by who ordered them, by how they are, by their number.
now = service.CurrentTime()
for kind in ("queuedTime", "startedTime"):
    assert len(within(kind, begin=start)) == 14, kind
    assert within(kind, end=start - timedelta(minutes=1)) == []
assert keys(within("completedTime", begin=start, end=now)) == [task.info.key for task in tasks]
assert within("completedTime", begin=now + timedelta(minutes=1)) == []
assert len(of(userName=Spec.ByUsername(systemUser=False, userList=["user"]))) == 14
assert of(userName=Spec.ByUsername(systemUser=True, userList=["somebody"])) == []
assert keys(of(state=["error"])) == [failed.info.key]
assert len(of(state=["success", "queued"])) == 13
assert keys(of(eventChainId=[one_more.info.eventChainId])) == [one_more.info.key]
assert of(parentTaskKey=[one_more.info.key]) == of(rootTaskKey=["x"]) == of(tag=["x"]) == []

# A VM that has gone is still part of what happened where it was.
folder, gone = vms[1].parent, WaitForTask(vms[1].Destroy_Task())
assert [info.descriptionId for info in about(folder, "all")][-1] == "VirtualMachine.destroy"

# A session has only so many readers.
readers = [manager.CreateCollectorForTasks(Spec()) for _ in range(manager.maxCollector)]
try:
    manager.CreateCollectorForTasks(Spec())
    raise AssertionError("there are more than it has")
except vim.fault.InvalidState:
    pass
readers[0].DestroyCollector()
manager.CreateCollectorForTasks(Spec())

session.done(service)
