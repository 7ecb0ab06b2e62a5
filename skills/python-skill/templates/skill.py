# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""What the skill does, in one sentence."""

import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TextIO

NAME = "example"
VERSION = "0.1.0"
MAX_LINE_BYTES = 100 * 1024

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
SKILL_FAILED = -32000


class SkillError(Exception):
    """Something the caller can do something about; the message says what."""

    def __init__(self, message: str, code: int = SKILL_FAILED) -> None:
        super().__init__(message)
        self.code = code


def run(input: Any) -> Any:
    """The skill itself: from the input of a call to its output. Both are JSON."""
    if not isinstance(input, dict) or not isinstance(input.get("text"), str):
        raise SkillError('the input needs a "text"', INVALID_PARAMS)
    return {"words": len(input["text"].split())}


def handshake(params: dict[str, Any]) -> dict[str, str]:
    expected = params.get("expected_name")
    if expected is not None and expected != NAME:
        raise SkillError(f"this is the skill {NAME!r}, not {expected!r}")
    return {"name": NAME, "version": VERSION}


def invoke(params: dict[str, Any]) -> dict[str, Any]:
    if "input" not in params:
        raise SkillError('the parameters need an "input"', INVALID_PARAMS)
    return {"output": run(params["input"])}


def health(params: dict[str, Any]) -> dict[str, str]:
    return {"status": "ok"}


def shutdown(params: dict[str, Any]) -> dict[str, Any]:
    return {}


METHODS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "skill.handshake": handshake,
    "skill.invoke": invoke,
    "skill.health": health,
    "skill.shutdown": shutdown,
}


def answer(line: bytes) -> tuple[dict[str, Any] | None, bool]:
    """The response to one line, if it wants one, and whether to go on."""
    if len(line) > MAX_LINE_BYTES:
        return failure(None, INVALID_REQUEST, f"the line is longer than {MAX_LINE_BYTES} bytes"), True
    try:
        request = json.loads(line)
    except ValueError as error:
        return failure(None, PARSE_ERROR, f"the line is not JSON: {error}"), True
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
        return failure(None, INVALID_REQUEST, "the line is not a JSON-RPC 2.0 request"), True
    name, params = request.get("method"), request.get("params", {})
    response = respond(request.get("id"), name, params)
    return (response if "id" in request else None), name != "skill.shutdown"


def respond(id: Any, name: Any, params: Any) -> dict[str, Any]:
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        return failure(id, METHOD_NOT_FOUND, f"there is no method {name!r}")
    if not isinstance(params, dict):
        return failure(id, INVALID_PARAMS, "the parameters are not an object")
    try:
        return {"jsonrpc": "2.0", "id": id, "result": method(params)}
    except SkillError as error:
        return failure(id, error.code, str(error))
    except Exception as error:
        return failure(id, SKILL_FAILED, f"{type(error).__name__}: {error}")


def failure(id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def read_line(stream: BinaryIO) -> bytes:
    """One line. Of one that is too long, just enough to see that it is; the rest is read and dropped."""
    line = stream.readline(MAX_LINE_BYTES + 1)
    rest = line
    while len(line) > MAX_LINE_BYTES and rest and not rest.endswith(b"\n"):
        rest = stream.readline(MAX_LINE_BYTES)
    return line


def serve(requests: BinaryIO, responses: TextIO) -> None:
    while line := read_line(requests):
        if not line.strip():
            continue
        # Whatever the skill prints belongs to the log, not between the responses.
        with contextlib.redirect_stdout(sys.stderr):
            response, goes_on = answer(line)
        if response is not None:
            print(json.dumps(response), file=responses, flush=True)
        if not goes_on:
            return


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout)
