"""Load a library of the machine, or a module of Node, in place of a WebAssembly one."""

import ctypes
import importlib.machinery
import importlib.util

import pyodide_js


def attempt(secret, target, port):
    found = []

    def load_extension():
        loader = importlib.machinery.ExtensionFileLoader("secret", secret)
        return importlib.util.module_from_spec(importlib.util.spec_from_loader("secret", loader))

    attempts = [
        lambda: ctypes.CDLL("libc.so.6"),
        lambda: ctypes.CDLL(secret),
        load_extension,
        lambda: pyodide_js._module.loadDynamicLibrary("node:fs"),
        lambda: pyodide_js._api.loadScript("node:fs"),
    ]
    for each in attempts:
        try:
            found.append(repr(each()))
        except Exception as error:
            found.append(type(error).__name__)
    return found
