"""Reach a server on this machine through Python's own networking."""

import asyncio
import socket
import urllib.request

import pyodide_js


async def connect(port):
    await asyncio.open_connection("127.0.0.1", port)


def attempt(secret, target, port):
    found = []
    address = ("127.0.0.1", port)
    attempts = [
        lambda: pyodide_js.useNodeSockFS(),
        lambda: pyodide_js._api.initializeNodeSockFS(),
        lambda: socket.create_connection(address, 1),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", address),
        lambda: asyncio.run(connect(port)),
        lambda: urllib.request.urlopen("http://127.0.0.1:%d/" % port, timeout=1).read(),
    ]
    for each in attempts:
        try:
            found.append(repr(each()))
        except Exception as error:
            found.append(repr(error))
    return found
