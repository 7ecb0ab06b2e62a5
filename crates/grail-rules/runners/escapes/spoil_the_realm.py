"""Put traps into the realm's own objects, for the outside to step into when it takes the result."""

import js
from pyodide.ffi import create_proxy

TRAPPED = []


def attempt(secret, target, port):
    def trap(this, *values):
        TRAPPED.append((this, values))
        for value in values:
            try:
                value.constructor.constructor("return 1")()
                js.Object.prototype.escaped = True
            except Exception:
                continue

    proxy = create_proxy(trap, capture_this=True)
    for owner in (js.Object.prototype, js.Array.prototype):
        js.Object.defineProperty(owner, "then", js.Object.fromEntries([["get", proxy], ["configurable", True]]))
    js.Promise.prototype.then = proxy
    return ["%d trapped" % len(TRAPPED)]
