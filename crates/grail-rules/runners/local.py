"""Answers requests to run Python: one JSON object per line in, one per line out.

Started as a program it is the runner `local`, in whatever interpreter starts it; `wasm.mjs` loads the same file into Pyodide and calls
`answer`. It is no wall: it keeps requests apart from one another and their output bounded, and what it runs can do whatever the process
can. Whoever starts it sets the environment, keeps the time and believes a result no further than the code that was run.

A request names a bundle of files and what to run in it:

    {"id": 1, "files": {"card.py": "..."}, "run": {"pytest": ["-q"]}}

    run     {"code": TEXT}                                          the value is that of the last expression
            {"module": NAME}                                        like `python -m NAME`
            {"module": NAME, "call": FUNCTION, "arguments": {...}}  the value is what it returns; coroutines are run to their end
            {"pytest": [ARGUMENT, ...]}                             every test is listed in `tests`
    paths   folders to import from as well, relative to the bundle or absolute; optional

A result has `id`, `ok`, `exit`, `value`, `stdout`, `stderr`, `tests` and `error` (`type`, `message`, `traceback`, and `file` and `line` of
the deepest place inside the bundle).
"""

import ast
import asyncio
import importlib
import inspect
import io
import json
import os
import runpy
import shutil
import sys
import tempfile
import traceback

MAX_REQUEST = 16 * 1024 * 1024
MAX_FILES = 2000
MAX_PATH = 255
MAX_STREAM = 64 * 1024
MAX_VALUE = 1024 * 1024
MAX_TESTS = 5000
MAX_MESSAGE = 4000


def main():
    """Serve requests from standard input until it ends."""
    # What runs shall neither read the next request nor write among the results, so both ends move to descriptors of their own.
    requests = os.fdopen(os.dup(0), "rb")
    results = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    while True:
        line = requests.readline(MAX_REQUEST + 1)
        if not line:
            return
        if len(line) > MAX_REQUEST:
            while line and not line.endswith(b"\n"):
                line = requests.readline(MAX_REQUEST)
            text = json.dumps(refusal(None, "request has more than %d bytes" % MAX_REQUEST))
        else:
            text = answer(line.decode("utf-8", "replace"))
        results.write(text.encode("utf-8") + b"\n")
        results.flush()


def answer(line):
    """One request as text, one result as text. Raises nothing."""
    identity = None
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            raise Refused("request is no object")
        if isinstance(request.get("id"), (str, int)):
            identity = request["id"]
        result = execute(read_request(request))
    except Refused as refused:
        result = refusal(identity, str(refused))
    except ValueError as error:
        result = refusal(identity, "request is no JSON: %s" % error)
    except RecursionError:
        result = refusal(identity, "request is nested too deeply")
    result["id"] = identity
    return json.dumps(result)


class Refused(Exception):
    """A request that makes no sense; nothing was run."""


def refusal(identity, message):
    error = {"type": "RequestError", "message": message, "traceback": ""}
    return {"id": identity, "ok": False, "exit": None, "stdout": "", "stderr": "", "error": error}


def read_request(request):
    files = request.get("files", {})
    run = request.get("run")
    paths = request.get("paths", [])
    if not isinstance(files, dict) or len(files) > MAX_FILES:
        raise Refused("`files` is no object with at most %d entries" % MAX_FILES)
    for path, text in files.items():
        if not is_inside(path):
            raise Refused("`%s` is no relative path inside the bundle" % path[:MAX_PATH])
        if not isinstance(text, str):
            raise Refused("`files` has something else than text under `%s`" % path)
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise Refused("`paths` is no list of folders")
    if not isinstance(run, dict) or not is_program(run):
        raise Refused("`run` has none of `code`, `module` and `pytest`, or not in the form they have")
    return files, run, paths


def is_inside(path):
    parts = path.split("/")
    return (
        0 < len(path) <= MAX_PATH
        and not any(character in path for character in "\\:\0")
        and all(part not in ("", ".", "..") for part in parts)
    )


def is_program(run):
    if "code" in run:
        return isinstance(run["code"], str)
    if "module" in run:
        names = [run["module"]] + ([run["call"]] if "call" in run else [])
        return all(isinstance(name, str) for name in names) and isinstance(run.get("arguments", {}), dict)
    arguments = run.get("pytest")
    return isinstance(arguments, list) and all(isinstance(argument, str) for argument in arguments)


def execute(request):
    """Run a request in a fresh folder and put the process back to how it was."""
    files, run, paths = request
    streams = {"stdout": BoundedBytes(), "stderr": BoundedBytes()}
    result = {"ok": True, "exit": 0, "error": None}
    before = {name: getattr(sys, name) for name in ("stdout", "stderr", "argv", "dont_write_bytecode")}
    import_paths, environment, folder_before = list(sys.path), dict(os.environ), os.getcwd()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="bundle-"))
    try:
        write_files(folder, files)
        os.chdir(folder)
        sys.path[:] = [folder] + [os.path.join(folder, path) for path in paths] + import_paths
        sys.argv = ["bundle"]
        sys.dont_write_bytecode = True
        for name, stream in streams.items():
            setattr(sys, name, stream.as_text())
        importlib.invalidate_caches()
        result.update(run_program(folder, run))
    except SystemExit as ended:
        result["exit"] = exit_code(ended)
        result["ok"] = result["exit"] == 0
    except BaseException as error:
        result.update(ok=False, exit=1, error=describe(error, folder))
    finally:
        for name, value in before.items():
            setattr(sys, name, value)
        sys.path[:] = import_paths
        os.environ.clear()
        os.environ.update(environment)
        forget_modules(folder)
        os.chdir(folder_before)
        shutil.rmtree(folder, ignore_errors=True)
    for name, stream in streams.items():
        result[name] = stream.text()
    return result


def write_files(folder, files):
    for path, text in files.items():
        target = os.path.join(folder, *path.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8", newline="") as file:
            file.write(text)


def run_program(folder, run):
    if "code" in run:
        return {"value": checked_value(run_code(run["code"]))}
    if "call" in run:
        function = getattr(importlib.import_module(run["module"]), run["call"])
        value = function(**run.get("arguments", {}))
        return {"value": checked_value(asyncio.run(value) if inspect.iscoroutine(value) else value)}
    if "module" in run:
        runpy.run_module(run["module"], run_name="__main__", alter_sys=True)
        return {}
    return run_pytest(folder, run["pytest"])


def run_code(code):
    module = ast.parse(code, "<code>")
    last = module.body.pop() if module.body and isinstance(module.body[-1], ast.Expr) else None
    namespace = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(compile(module, "<code>", "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<code>", "eval"), namespace)


def checked_value(value):
    text = json.dumps(value, allow_nan=False)
    if len(text) > MAX_VALUE:
        raise ValueError("value has more than %d bytes as JSON" % MAX_VALUE)
    return value


def run_pytest(folder, arguments):
    import pytest

    recorder = Recorder(folder)
    os.environ.pop("PYTEST_ADDOPTS", None)
    # Neither of the two switched off has a place to work in a bundle; descriptors belong to the protocol.
    fixed = ["--rootdir", folder, "--capture=sys", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    code = int(pytest.main(fixed + arguments, plugins=[recorder]))
    return {"ok": code == 0, "exit": code, "tests": list(recorder.tests.values())}


class Recorder:
    """A pytest plugin: what became of each test, and of each file that could not be collected."""

    def __init__(self, folder):
        self.folder = folder
        self.tests = {}

    def pytest_collectreport(self, report):
        if report.failed:
            self.record(report, "error")

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            # A test that passed can still fail in its teardown; the worse news stays.
            self.record(report, report.outcome if report.when == "call" or report.skipped else "error")

    def record(self, report, outcome):
        if len(self.tests) >= MAX_TESTS:
            return
        line, message = None, ""
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            line, message = crash.lineno, crash.message
        elif isinstance(report.longrepr, tuple):
            _, line, message = report.longrepr
        elif report.longrepr is not None:
            message = str(report.longrepr)
        message = message.replace(self.folder + os.sep, "")[:MAX_MESSAGE]
        self.tests[report.nodeid] = {"test": report.nodeid, "outcome": outcome, "message": message, "line": line}


def exit_code(ended):
    if ended.code is None:
        return 0
    return ended.code if isinstance(ended.code, int) else 1


def describe(error, folder):
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == "<code>" or frame.filename.startswith(folder + os.sep)]
    lines = traceback.format_list(own) + traceback.format_exception_only(type(error), error)
    described = {
        "type": type(error).__name__,
        "message": safe_text(error)[:MAX_MESSAGE],
        "traceback": "".join(lines).replace(folder + os.sep, "")[-MAX_MESSAGE:],
    }
    place = (own[-1].filename, own[-1].lineno) if own else (None, None)
    if isinstance(error, SyntaxError) and (error.filename or "").startswith((folder, "<code>")):
        place = (error.filename, error.lineno)
    if place[0]:
        described["file"], described["line"] = place[0].replace(folder + os.sep, ""), place[1]
    return described


def safe_text(error):
    try:
        return str(error)
    except Exception:
        return "(its message could not be made)"


def forget_modules(folder):
    """Drop what was imported from the bundle, so that the next one finds its own files under the same names."""

    def is_from_bundle(module):
        file = getattr(module, "__file__", None) or ""
        places = [file] + [str(place) for place in getattr(module, "__path__", [])]
        return any(place.startswith(folder) for place in places)

    # All are found before the first is dropped: a package without `__init__.py` asks its parent where it is.
    for name in [name for name, module in list(sys.modules.items()) if is_from_bundle(module)]:
        del sys.modules[name]
    for path in [path for path in sys.path_importer_cache if path.startswith(folder)]:
        del sys.path_importer_cache[path]


class BoundedBytes(io.RawIOBase):
    """A stream that keeps the beginning of what is written to it and counts the rest."""

    def __init__(self):
        super().__init__()
        self.kept = bytearray()
        self.dropped = 0

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        room = MAX_STREAM - len(self.kept)
        self.kept += data[:room]
        self.dropped += max(0, len(data) - room)
        return len(data)

    def as_text(self):
        return io.TextIOWrapper(self, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True)

    def close(self):
        """Stay open: code that closes its `sys.stdout` shall not lose what it wrote."""

    def text(self):
        text = self.kept.decode("utf-8", "replace")
        return text + ("\n[%d more bytes]\n" % self.dropped if self.dropped else "")


if __name__ == "__main__":
    main()
