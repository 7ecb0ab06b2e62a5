"""Whether mutants that the rules have put right pass everything else. Exits with 1 if less than nine in ten do.

    scripts/mutants
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from examples import LOCAL, RUNTIMES, SETS, ReferenceSet, running

ENOUGH = 0.9


def main(path: str) -> int:
    mutants = json.loads(Path(path).read_text())
    for number, mutant in enumerate(mutants):
        mutant["number"] = number
        mutant["problems"] = []
    for reference in SETS:
        own = [mutant for mutant in mutants if mutant["skill"] == reference.skill]
        print(f"{reference.skill}: {len(own)} mutants", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), own)
            lint(reference, Path(folder), own)
            types(reference, Path(folder), own)
        tests(reference, own)
    shares = []
    for name, is_frozen in (("open", False), ("frozen", True)):
        half = [mutant for mutant in mutants if mutant["is_frozen"] == is_frozen]
        right = sum(not mutant["problems"] for mutant in half)
        shares.append(right / max(len(half), 1))
        print(f"{name}: {right} of {len(half)} mutants that the rules put right pass ruff, ty and their tests ({shares[-1]:.1%})")
    for mutant in mutants:
        if mutant["problems"] and not mutant["is_frozen"]:
            print(f"  {mutant['example']}: {mutant['harm']}: {mutant['problems'][0]}")
    return 0 if min(shares) >= ENOUGH else 1


def write(folder: Path, mutants: list[dict]) -> None:
    """Each in a folder of its own: they have the names of the examples they come from."""
    for mutant in mutants:
        place = folder / str(mutant["number"])
        place.mkdir()
        (place / mutant["example"]).write_text(mutant["text"])


def lint(reference: ReferenceSet, folder: Path, mutants: list[dict]) -> None:
    version = "py314" if reference.runner == "wasm" else "py311"
    # The other examples are its neighbours, wherever the mutant lies.
    neighbours = f"src = [{json.dumps(str(reference.folder))}]"
    command = [LOCAL / "ruff", "check", "--isolated", "--config", neighbours, "--target-version", version]
    command += ["--output-format", "concise", "."]
    blame(mutants, "ruff", lines_of(command, folder))


def types(reference: ReferenceSet, folder: Path, mutants: list[dict]) -> None:
    version = "3.14" if reference.runner == "wasm" else "3.11"
    command = [LOCAL / "ty", "check", "--python", RUNTIMES / "local", "--python-version", version]
    command += ["--extra-search-path", RUNTIMES / "types", "--extra-search-path", reference.folder, "--output-format", "concise", "--error-on-warning", "."]
    blame(mutants, "ty", lines_of(command, folder))


def lines_of(command: list[str | Path], folder: Path) -> Iterator[tuple[int, str]]:
    """What a tool says, by the folder it says it about."""
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 1):
        sys.exit(f"error: {command[0]} failed\n{done.stderr}")
    for line in done.stdout.splitlines():
        number, separator, rest = line.partition("/")
        if separator and number.isdecimal():
            yield int(number), rest


def blame(mutants: list[dict], tool: str, lines: Iterator[tuple[int, str]]) -> None:
    by_number = {mutant["number"]: mutant for mutant in mutants}
    for number, line in lines:
        by_number[number]["problems"].append(f"{tool}: {line}")


def tests(reference: ReferenceSet, mutants: list[dict]) -> None:
    """The tests of its example, with the mutant in the example's place."""
    with running(reference.runner) as runner:
        for done, mutant in enumerate(mutants):
            print(f"\r{done + 1}/{len(mutants)} tested", end="", file=sys.stderr, flush=True)
            test = f"tests/test_{mutant['example']}"
            files = {path: text for path, text in reference.files().items() if path == test or not path.startswith("tests/test_")}
            files[mutant["example"]] = mutant["text"]
            request = {"id": mutant["number"], "files": files, "run": {"pytest": ["-q", "-W", "error", test]}}
            result = runner.ask(request)
            failed = [one for one in result.get("tests", []) if one["outcome"] != "passed"]
            mutant["problems"] += [f"test: {one['test']}: {one['message']}" for one in failed[:1]]
            if not failed and not (result["ok"] and result.get("tests")):
                mutant["problems"].append(f"test: {result.get('error')}")
    print(file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
