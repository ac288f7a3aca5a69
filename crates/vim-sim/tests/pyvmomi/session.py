"""A session with the simulator, and the few things that every script needs."""

import ssl
import sys

from pyVim.connect import Disconnect, SmartConnect


def connect():
    context = ssl._create_unverified_context()
    return SmartConnect(host="127.0.0.1", port=int(sys.argv[1]), user="user", pwd="pass", sslContext=context)


def all_of(service, *classes):
    content = service.content
    view = content.viewManager.CreateContainerView(content.rootFolder, list(classes), True)
    found = list(view.view)
    view.Destroy()
    return found


def named(service, kind, name):
    found = [entity for entity in all_of(service, kind) if entity.name == name]
    assert len(found) == 1, (kind, name, found)
    return found[0]


def done(service):
    Disconnect(service)
    print("all is well")
