"""An asyncio event loop for a Python without sockets, so that `asyncio.run` works inside WebAssembly.

Pyodide's own loop belongs to JavaScript and cannot be run to an end from Python on every engine. This one knows callbacks, timers and
nothing else: it has no file descriptors to wait for, and while it waits, nobody else could have woken it.
"""

import asyncio
import time


class QuietLoop(asyncio.BaseEventLoop):
    """Callbacks and timers only."""

    def __init__(self):
        super().__init__()
        self._selector = Waiter()

    def _process_events(self, event_list):
        """There are none."""

    def _write_to_self(self):
        """There is no other thread that could ask to be heard."""


class Waiter:
    """Stands where a loop expects its selector."""

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError("everything waits and nothing is left to run")
        if timeout > 0:
            time.sleep(timeout)
        return []

    def close(self):
        """There is nothing to close."""


class QuietPolicy(asyncio.events._BaseDefaultEventLoopPolicy):
    """Hands out quiet loops."""

    _loop_factory = QuietLoop


def install():
    """Make it the loop of `asyncio.run` and `asyncio.new_event_loop`."""
    asyncio.events._set_event_loop_policy(QuietPolicy())
    asyncio._set_running_loop(None)
