"""Follow every property of every JavaScript object that Python can reach, and look for anything that belongs to Node."""

import asyncio
from collections import deque

import js
import pyodide_js
from pyodide.ffi import JsBuffer, JsProxy

# `process` and its kind, and what the modules of Node are known by.
WANTED = {
    "process", "require", "mainModule", "binding", "dlopen", "getBuiltinModule", "readFileSync", "openSync", "execSync", "spawnSync",
    "createServer", "createConnection", "createRequire", "fetch", "WebSocket", "XMLHttpRequest", "SourceTextModule", "runInThisContext",
}  # fmt: skip
MOST = 5_000


def attempt(secret, target, port):
    # Whatever looks like a promise is given a future, and that wants a loop.
    asyncio.set_event_loop(asyncio.new_event_loop())
    queue = deque([pyodide_js._module, pyodide_js._api, pyodide_js, js])
    seen, found = set(), []
    while queue and len(seen) < MOST:
        thing = queue.pop()
        if thing.js_id in seen:
            continue
        seen.add(thing.js_id)
        for name, part in parts_of(thing):
            if isinstance(part, JsProxy):
                queue.append(part)
                if name in WANTED:
                    found.append("ESCAPED: `%s` can be reached" % name)
    return [*found, "%d objects" % len(seen)]


def parts_of(thing):
    reflect = js.Object
    names = [] if isinstance(thing, JsBuffer) else list(reflect.getOwnPropertyNames(thing))
    if len(names) > 5000:
        # The module of Emscripten: reading all of it ends the interpreter, so only its names count.
        names = [name for name in names if name in WANTED]
    for name in names:
        for key in ("value", "get", "set"):
            try:
                yield name, getattr(reflect.getOwnPropertyDescriptor(thing, name), key, None)
            except Exception:
                # Half-made Python objects cannot be looked at from Python.
                continue
    yield "its prototype", reflect.getPrototypeOf(thing)
