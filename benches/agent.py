"""How long `grail generate` takes from a cold start, and what a call over MCP costs.

Usage: benches/agent.py GRAIL [--rounds N]. Every round is a new process; the least and the median of all rounds are printed, beside the start
of a Python interpreter in the same run.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

INTENTS = {
    "component": "a user card component with name and email",
    "service": "an order service with number and total",
    "test": "a test for OrderService",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("grail", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    grail, rounds = str(arguments.grail.resolve()), arguments.rounds
    show("python -c pass", [seconds([sys.executable, "-c", "pass"]) for _ in range(rounds)])
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "grail.toml").write_text("")
        for kind, intent in INTENTS.items():
            command = [grail, "generate", intent, "--kind", kind, "--layer", "syntax", "--layer", "rules", "--format", "json"]
            show(f"generate a {kind}", [seconds(command, root) for _ in range(rounds)])
        over_mcp(grail, root, rounds * 20)


def seconds(command: list[str], folder: pathlib.Path | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def over_mcp(grail: str, root: pathlib.Path, rounds: int) -> None:
    server = subprocess.Popen(
        [grail, "mcp"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdin is not None and server.stdout is not None

    def send(message: dict[str, object]) -> None:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()

    def answer(id: int) -> dict[str, object]:
        while True:
            message = json.loads(server.stdout.readline())
            if message.get("id") == id:
                return message

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    send({"id": 0, "method": "initialize", "params": client})
    answer(0)
    send({"method": "notifications/initialized"})
    (root / "note.py").write_text("x = 1\n")
    for name, call in {"read_file": {"path": "note.py"}, "list_skills": {}}.items():
        times = []
        for number in range(1, rounds + 1):
            start = time.perf_counter()
            send({"id": number, "method": "tools/call", "params": {"name": name, "arguments": call}})
            answer(number)
            times.append(time.perf_counter() - start)
        show(f"mcp {name}", times)
    server.stdin.close()
    server.wait(timeout=10)


def show(what: str, times: list[float]) -> None:
    print(f"{what:24} {min(times) * 1e3:8.2f} ms best {statistics.median(times) * 1e3:8.2f} ms median")


if __name__ == "__main__":
    main()
