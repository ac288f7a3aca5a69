"""Prints what calls may hold: the methods that the vocabulary has, and all types that can stand in them.

A line is a name, `<` and its base if it has one, and its own members in order: `[]` marks lists, and the type follows
if it has members itself. Any type may stand where it is `*`.
"""

import re
import sys
from pathlib import Path

from pyVmomi import VmomiSupport

sources = Path(sys.argv[1])
names = {
    name
    for source in [sources / "methods.rs", *sorted((sources / "methods").glob("*.rs"))]
    for name in re.findall(r'= "(\w+)", repeatable', source.read_text())
}

namespace = "urn:vim25"
root = VmomiSupport.GetVmodlType("vmodl.DynamicData")
fault = VmomiSupport.GetVmodlType("vmodl.MethodFault")
derived = {}
for name in VmomiSupport.ListDataTypes():
    kind = VmomiSupport.GetVmodlType(name)
    if VmomiSupport.GetWsdlNamespace(kind._version) == namespace:
        derived.setdefault(kind.__bases__[0], []).append(kind)

seen, queue = set(), []


def member(info):
    kind = getattr(info.type, "Item", info.type)
    name = info.name if kind is info.type else info.name + "[]"
    if kind is object:
        return f"{name}:*"
    # Nobody sends faults.
    if not issubclass(kind, root) or issubclass(kind, fault):
        return name
    queue.append(kind)
    return f"{name}:{kind._wsdlName}"


# How properties are read is no method of theirs.
lines = ["Fetch _this prop"]
for name in sorted(names - {"Fetch"}):
    method = VmomiSupport.GetWsdlMethod(namespace, name)
    lines.append(" ".join([name, "_this", *(member(parameter) for parameter in method.info.params)]))
while queue:
    kind = queue.pop()
    if kind in seen or kind is root:
        continue
    seen.add(kind)
    queue.extend(derived.get(kind, []))
    base = kind.__bases__[0]
    queue.append(base)
    above = [] if base is root else ["<" + base._wsdlName]
    own = (member(info) for info in kind._GetPropertyList(includeBaseClassProps=False))
    lines.append(" ".join([kind._wsdlName, *above, *own]))
for line in sorted(lines):
    print(line)
