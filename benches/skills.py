"""How long it takes until a runnable skill has introduced itself, beside the start of the interpreter alone.

Every row is a number of starts one after the other; the median is shown, since machines are noisy. The interpreter is the one that Grail
would choose: the newest one there is, without the packages installed in it.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-E", "-s", "-S", "-B", "-X", "utf8"]
GREETING = b'{"jsonrpc":"2.0","id":1,"method":"skill.handshake","params":{"expected_name":"example"}}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grail", default=ROOT / "target/release/grail", type=Path, help="the binary to measure")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to compare with")
    parser.add_argument("--rounds", default=30, type=int)
    options = parser.parse_args()
    grail = str(options.grail.resolve())
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "grail.toml").touch()
        example = project / "example"
        shutil.copytree(ROOT / "skills/python-skill/templates", example)
        # Without uv on PATH, so that the interpreter is all there is.
        path = os.pathsep.join(
            part for part in os.environ["PATH"].split(os.pathsep) if not (Path(part) / "uv").exists()
        )
        environment = os.environ | {"XDG_STATE_HOME": str(project / "state"), "PATH": path}
        subprocess.run(
            [grail, "skills", "install", "example"], cwd=project, env=environment, check=True, capture_output=True
        )
        script = str(example / "skill.py")
        rows = {
            "`python -c pass`": lambda: start([options.python, "-c", "pass"]),
            f"`python {' '.join(FLAGS)} -c pass`": lambda: start([options.python, *FLAGS, "-c", "pass"]),
            "the script greeted over bare pipes": lambda: greet([options.python, *FLAGS, script]),
            "Grail: start, fence and handshake": lambda: invoke(grail, project, environment)["handshake_ms"],
            "Grail: one request after that": lambda: invoke(grail, project, environment)["request_ms"],
        }
        # One round of each in turn: what else the machine does is shared by all rows.
        times: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(options.rounds):
            for name, measure in rows.items():
                times[name].append(measure())
    print("| | ms, fastest | median |\n| --- | ---: | ---: |")
    for name, milliseconds in times.items():
        print(f"| {name} | {min(milliseconds):.1f} | {statistics.median(milliseconds):.1f} |")


def start(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True)
    return (time.perf_counter() - begun) * 1000


def greet(command: list[str]) -> float:
    begun = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(GREETING)
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        took = (time.perf_counter() - begun) * 1000
        process.stdin.close()
    return took


def invoke(grail: str, project: Path, environment: dict[str, str]) -> dict[str, float]:
    command = [grail, "skills", "invoke", "example", "--input", '{"text": "one two"}', "--format", "json"]
    output = subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True).stdout
    return json.loads(output)


if __name__ == "__main__":
    main()
