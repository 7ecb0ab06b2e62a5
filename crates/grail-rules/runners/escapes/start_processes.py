"""Start a program that writes a file."""

import os
import subprocess

import pyodide_js


def attempt(secret, target, port):
    module = pyodide_js._module
    command = "touch " + target
    starts = [
        lambda: os.system(command),
        lambda: subprocess.run(["touch", target]),
        lambda: os.execv("/usr/bin/touch", ["touch", target]),
        lambda: os.posix_spawn("/usr/bin/touch", ["touch", target], {}),
        lambda: os.fork(),
        lambda: module.ccall("system", "number", ["string"], [command]),
        lambda: module.__emscripten_system(module.stringToNewUTF8(command)),
        lambda: module._emscripten_run_script(module.stringToNewUTF8(command)),
    ]
    for start in starts:
        try:
            start()
        except Exception:
            continue
    return []
