"""The checks of `scripts/examples`. Prints one line per check and exits with 1 if one of them failed."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIMES = Path(os.environ.get("GRAIL_RUNTIMES", ROOT / ".grail/runtimes")).resolve()
LOCAL = RUNTIMES / "local/bin"
RUNNERS = ROOT / "crates/grail-rules/runners"
SECONDS = 300


@dataclass(frozen=True)
class ReferenceSet:
    """The examples of one skill: one file each, with the test of the same name in `tests/`."""

    skill: str
    runner: str
    least: int

    @property
    def folder(self) -> Path:
        return ROOT / "skills" / self.skill / "examples"

    def examples(self) -> list[Path]:
        return sorted(self.folder.glob("*.py"))

    def files(self) -> dict[str, str]:
        return {path.relative_to(self.folder).as_posix(): path.read_text() for path in sorted(self.folder.rglob("*.py"))}


SETS = [
    ReferenceSet("tdom-components", "wasm", 30),
    ReferenceSet("svcs-services", "local", 20),
    ReferenceSet("middleware", "local", 15),
]


@dataclass
class Outcome:
    """What a check looked at and what it found wrong."""

    count: int
    what: str
    problems: list[str] = field(default_factory=list)


class Runner:
    """One running `local.py` or `wasm.mjs`, asked one request at a time. The time is kept here: the process is killed when it is up."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True, cwd=RUNTIMES
        )

    def ask(self, request: dict[str, object], seconds: float = SECONDS) -> dict:
        assert self.process.stdin and self.process.stdout and self.process.stderr
        watch = threading.Timer(seconds, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        finally:
            watch.cancel()
        if not line:
            said = "killed" if self.process.wait() < 0 else self.process.stderr.read()[-2000:]
            return {"ok": False, "error": {"type": "RunnerError", "message": f"the runner ended: {said}"}}
        return json.loads(line)


@contextmanager
def running(kind: str) -> Iterator[Runner]:
    if kind == "wasm":
        # The walls must not depend on an empty environment; a secret in it shows that they do not.
        runner = Runner([node(), *node_arguments(), str(RUNTIMES / "wasm/runners/wasm.mjs")], {"SECRET": "canary"})
    else:
        runner = Runner([str(LOCAL / "python"), "-I", str(RUNNERS / "local.py")], {"PATH": os.environ["PATH"]})
    try:
        yield runner
    finally:
        runner.process.kill()
        runner.process.wait()


def node() -> str:
    found = shutil.which("node")
    if found is None:
        sys.exit("error: `node` not found\nhint: install Node 20 or newer")
    return found


def node_arguments() -> list[str]:
    knows = "process.allowedNodeEnvironmentFlags.has('--permission')"
    is_new = subprocess.run([node(), "-p", knows], capture_output=True, text=True, check=True).stdout.strip() == "true"
    return [
        "--permission" if is_new else "--experimental-permission",
        f"--allow-fs-read={RUNTIMES / 'wasm'}/",
        "--disallow-code-generation-from-strings",
        "--experimental-vm-modules",
        "--no-warnings",
        "--wasm-max-mem-pages=8192",
    ]


def check_layout(reference: ReferenceSet) -> Outcome:
    """Every example says in one sentence what was asked for, and has tests of its own."""
    outcome = Outcome(0, "examples with a description and tests")
    for path in reference.examples():
        outcome.count += 1
        name = path.relative_to(ROOT)
        if not re.match(r'"""[A-Z][^"\n]+\.("""\n|\n)', path.read_text()):
            outcome.problems.append(f"{name}:1: the first line is no sentence that says what was asked for")
        test = path.parent / "tests" / f"test_{path.name}"
        if not test.is_file():
            outcome.problems.append(f"{name}: no test `{test.relative_to(ROOT)}`")
        elif reference.skill == "tdom-components" and "ESCAPED" not in test.read_text():
            outcome.problems.append(f"{name}: its test tries no hostile text")
    if outcome.count < reference.least:
        outcome.problems.append(f"skills/{reference.skill}/examples: {outcome.count} examples, {reference.least} wanted")
    return outcome


def check_lint(reference: ReferenceSet) -> Outcome:
    arguments = ["--isolated", "--target-version", "py314" if reference.runner == "wasm" else "py311"]
    outcome = Outcome(len(reference.files()), "files: `ruff check`, `ruff format --check`")
    for command in (["check", "--output-format", "concise", "--extend-select", "I,B,UP,RUF,SIM,N,ANN"], ["format", "--check"]):
        if reference.runner == "wasm" and command[0] == "check":
            # Components have the names of tags.
            command += ["--ignore", "N802"]
        outcome.problems += failures([str(LOCAL / "ruff"), *command, *arguments, "."], reference.folder)
    return outcome


def check_types(reference: ReferenceSet) -> Outcome:
    version = "3.14" if reference.runner == "wasm" else "3.11"
    command = [str(LOCAL / "ty"), "check", "--python", str(RUNTIMES / "local"), "--python-version", version]
    command += ["--extra-search-path", str(RUNTIMES / "types"), "--output-format", "concise", "--error-on-warning", "."]
    return Outcome(len(reference.files()), f"files: `ty check` for Python {version}", failures(command, reference.folder))


def failures(command: list[str], folder: Path) -> list[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    return (done.stdout + done.stderr).strip().splitlines() if done.returncode else []


def check_tests(reference: ReferenceSet) -> Outcome:
    request = {"id": reference.skill, "files": reference.files(), "run": {"pytest": ["-q", "-W", "error", "tests"]}}
    with running(reference.runner) as runner:
        result = runner.ask(request)
    tests = result.get("tests", [])
    outcome = Outcome(sum(test["outcome"] == "passed" for test in tests), f"tests passed under `{reference.runner}`")
    outcome.problems += [f"{test['test']}: {test['outcome']}: {test['message']}" for test in tests if test["outcome"] != "passed"]
    tested = {test["test"].partition("::")[0] for test in tests}
    outcome.problems += [f"{path.name}: none of its tests ran" for path in reference.examples() if f"tests/test_{path.name}" not in tested]
    if not result["ok"] and not outcome.problems:
        outcome.problems.append(f"the run failed: {result.get('error')}\n{result.get('stdout', '')}")
    return outcome


def check_runners() -> Outcome:
    """Both runners answer every request of `cases.json` in the same way."""
    cases = json.loads((RUNNERS / "cases.json").read_text())
    outcome = Outcome(0, "requests answered as they should be")
    for kind in ("local", "wasm"):
        with running(kind) as runner:
            for number, case in enumerate(cases):
                outcome.count += 1
                result = runner.ask({"id": number, **case["request"]})
                lengths = {name: len(result.get(name) or "") for name in case["result"].get("length", {})}
                seen = {name: lengths if name == "length" else result.get(name) for name in case["result"]}
                if seen != case["result"] or result.get("id") != number:
                    outcome.problems.append(f"{kind}: {case['what']}: {json.dumps(seen)}")
    return outcome


def check_walls() -> Outcome:
    """Every file in `escapes/` tries to get out; none may bring anything back or leave anything behind."""
    outcome = Outcome(0, "attempts to get out of `wasm` failed")
    with tempfile.TemporaryDirectory() as folder, listening() as (port, visits):
        secret, target = Path(folder, "secret.txt"), Path(folder, "written.txt")
        secret.write_text("canary")
        call = {"call": "attempt", "arguments": {"secret": str(secret), "target": str(target), "port": port}}
        for path in sorted((RUNNERS / "escapes").glob("*.py")):
            outcome.count += 1
            # A process each: what one spoils must not stop the next.
            with running("wasm") as runner:
                request = {"id": 1, "files": {path.name: path.read_text()}, "run": {"module": path.stem, **call}}
                result = runner.ask(request)
                after = runner.ask({"id": 2, "run": {"code": "6 * 7"}})
            if not result["ok"] or after.get("value") != 42:
                outcome.problems.append(f"{path.stem}: the runner did not hold: {result['error']}, then {after}")
            said = json.dumps(result)
            if "canary" in said or "ESCAPED" in said or target.exists() or visits:
                outcome.problems.append(f"{path.stem}: got out: {said[:500]}")
                target.unlink(missing_ok=True)
                visits.clear()
    outcome.problems += check_refusals() + check_deadline()
    return outcome


def check_refusals() -> list[str]:
    """A runner with a wall missing does not serve."""
    script, whole = str(RUNTIMES / "wasm/runners/wasm.mjs"), node_arguments()
    started = {
        "without the permission model": whole[2:],
        "with text as code": [flag for flag in whole if "code-generation" not in flag],
        "with child processes": [*whole, "--allow-child-process"],
        "with threads": [*whole, "--allow-worker"],
        "with every file": [*whole, "--allow-fs-read=*"],
        "with writing": [*whole, "--allow-fs-write=*"],
    }
    problems = []
    for name, flags in started.items():
        done = subprocess.run([node(), *flags, script], input="", capture_output=True, text=True, timeout=SECONDS)
        if done.returncode != 2 or "error: the walls are not up" not in done.stderr:
            problems.append(f"started {name} it serves: {done.returncode} {done.stderr[:200]}")
    return problems


def check_deadline() -> list[str]:
    with running("wasm") as runner:
        runner.ask({"id": 1, "run": {"code": "1"}})
        result = runner.ask({"id": 2, "run": {"code": "while True: pass"}}, seconds=1)
    return [] if "killed" in json.dumps(result) else [f"an endless loop was not ended: {result}"]


@contextmanager
def listening() -> Iterator[tuple[int, list[str]]]:
    visits: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def handle(self) -> None:
            visits.append(str(self.client_address))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], visits
        server.shutdown()


def main(chosen: list[str]) -> int:
    per_set: dict[str, Callable[[ReferenceSet], Outcome]] = {
        "layout": check_layout,
        "lint": check_lint,
        "types": check_types,
        "tests": check_tests,
    }
    once = {"runners": check_runners, "walls": check_walls}
    unknown = set(chosen) - {*per_set, *once}
    if unknown:
        print(f"error: no check `{min(unknown)}`\nhint: there are {', '.join([*per_set, *once])}", file=sys.stderr)
        return 2
    checks = [
        (f"{reference.skill} {name}", check, (reference,))
        for reference in SETS
        for name, check in per_set.items()
        if not chosen or name in chosen
    ]
    checks += [(name, check, ()) for name, check in once.items() if not chosen or name in chosen]
    failed = 0
    for name, check, arguments in checks:
        started = time.monotonic()
        outcome = check(*arguments)
        failed += bool(outcome.problems)
        verdict = "FAILED" if outcome.problems else "ok"
        print(f"{name:<24} {outcome.count:>4} {outcome.what:<44} {time.monotonic() - started:>6.1f} s  {verdict}", flush=True)
        for problem in outcome.problems:
            print(f"    {problem}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
