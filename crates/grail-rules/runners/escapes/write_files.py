"""Write a file of the machine, through Python and through the file systems of Emscripten."""

import pyodide_js


def attempt(secret, target, port):
    writes = [
        lambda: open(target, "w").write("out"),
        lambda: pyodide_js.FS.writeFile(target, "out"),
        lambda: pyodide_js._module.FS.writeFile(target, "out"),
    ]
    for write in writes:
        try:
            write()
        except Exception:
            continue
    return []
