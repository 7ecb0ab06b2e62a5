"""Reach a server on this machine through what JavaScript has for it."""

import js
import pyodide_js
from pyodide.http import open_url, pyfetch


def drive(coroutine):
    """Run a coroutine as far as it goes without waiting."""
    return coroutine.send(None)


def attempt(secret, target, port):
    address = "http://127.0.0.1:%d/" % port
    found = []
    attempts = [
        lambda: js.fetch(address),
        lambda: js.WebSocket.new(address.replace("http", "ws")),
        lambda: js.XMLHttpRequest.new(),
        lambda: js.EventSource.new(address),
        lambda: js.importScripts(address),
        lambda: drive(pyfetch(address)),
        lambda: open_url(address),
        lambda: pyodide_js.loadPackage(address + "package-1.0-py3-none-any.whl"),
        lambda: pyodide_js._api.loadBinaryFile(address),
        lambda: pyodide_js._module.readAsync(address),
    ]
    for each in attempts:
        try:
            found.append(repr(each()))
        except BaseException as error:
            found.append(repr(error))
    return found
