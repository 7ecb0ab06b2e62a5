"""What it costs to remember events: Grail's log beside `sqlite3` and plain JSONL from Python, on the same events and the same disk.

Usage: benches/flywheel.py EVENTS_BENCHMARK [--events N] [--folder FOLDER]. Every program writes the same lines. Programs that force each event
to the disk on its own get fewer of them, since a disk takes milliseconds each. The disk itself comes first, as the yardstick.
"""

import argparse
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile
import time

FEW = 500
GROUP = 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("benchmark", type=pathlib.Path)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path.cwd())
    arguments = parser.parse_args()
    benchmark, events = str(arguments.benchmark.resolve()), arguments.events
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        folder = pathlib.Path(scratch)
        run_rust(benchmark, "lines", folder, events, folder / "lines.jsonl")
        lines = (folder / "lines.jsonl").read_text().splitlines()
        print(f"{events} events, {sum(map(len, lines)) / len(lines):.0f} bytes each as a line")
        disk(folder)
        appending(benchmark, folder, lines, arguments.rounds)
        reading(benchmark, folder, lines)
        # Further measurements (statistics over the index) go here, each a function of its own.


def disk(folder: pathlib.Path) -> None:
    """The time that the disk takes to make one short line safe: no program is faster for a single event."""
    took = []
    with open(folder / "probe", "ab", buffering=0) as file:
        for _ in range(FEW):
            file.write(b"x" * 1000)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - start)
    took.sort()
    print(f"\nthe disk: fdatasync of 1000 bytes, p50 {ms(took[len(took) // 2])}, p99 {ms(took[int(len(took) * 0.99)])}")


def appending(benchmark: str, folder: pathlib.Path, lines: list[str], rounds: int) -> None:
    events = [json.loads(line) for line in lines]
    runs = [run_rust(benchmark, "append", folder / f"grail-{number}", len(lines)) for number in range(rounds)]
    ours = max(runs, key=lambda run: run["events_per_second"])
    print(f"\nappended and on the disk, events a second (best of {rounds} each):")
    grail = ours["events_per_second"]
    rate("Grail, group commit, redacted", [grail], grail)
    numbers = range(rounds)
    grouped = [sqlite(folder / f"grouped-{number}.db", events, GROUP) for number in numbers]
    rate(f"sqlite3, WAL, {GROUP} events a transaction", grouped, grail)
    single = [sqlite(folder / f"single-{number}.db", events[:FEW], 1) for number in numbers]
    rate("sqlite3, WAL, one event a transaction", single, grail)
    synced = [python_lines(folder / f"fsync-{number}.jsonl", events[:FEW], True) for number in numbers]
    rate("json.dumps and write, fsync for each event", synced, grail)
    plain = [python_lines(folder / f"plain-{number}.jsonl", events, False) for number in numbers]
    rate("json.dumps and write, never fsynced", plain, grail)

    runs = [run_rust(benchmark, "acknowledge", folder / f"few-{number}", 20_000) for number in range(rounds)]
    best = min(runs, key=lambda run: run["acknowledged"]["p99"])
    acknowledged, handing = best["acknowledged"], best["handing_over"]
    print(f"\n64 events on their way at a time: {best['events_per_second']:.0f} events a second")
    print(f"  acknowledged after    p50 {acknowledged['p50'] / 1000:.2f} ms, p99 {acknowledged['p99'] / 1000:.2f} ms")
    p99s = statistics.median(run["acknowledged"]["p99"] for run in runs)
    print(f"                        p99 in the median round {p99s / 1000:.2f} ms")
    print(f"  handing over          p50 {handing['p50']:.2f} µs, p99 {handing['p99']:.2f} µs, p99.9 {handing['p99.9']:.2f} µs")
    handing = ours["handing_over"]
    print(f"  as fast as it takes   p50 {handing['p50']:.2f} µs, p99 {handing['p99']:.2f} µs, p99.9 {handing['p99.9']:.2f} µs")


def reading(benchmark: str, folder: pathlib.Path, lines: list[str]) -> None:
    ours = min((run_rust(benchmark, "read", folder / "grail-0", 0) for _ in range(3)), key=lambda run: run["seconds"])
    start = time.perf_counter()
    with open(folder / "lines.jsonl", encoding="utf-8") as file:
        count = sum(1 for _ in map(json.loads, file))
    python = time.perf_counter() - start
    print(f"\nreading {ours['events']} events: Grail {ours['seconds']:.2f} s, typed and checked;", end=" ")
    print(f"json.loads in Python {python:.2f} s for {count}, neither")


def sqlite(path: pathlib.Path, events: list[dict], group: int) -> float:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    # Without it, what is committed can be lost with the power.
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE events (id TEXT PRIMARY KEY, session TEXT, number INTEGER, kind TEXT, body TEXT)")
    start = time.perf_counter()
    for first in range(0, len(events), group):
        database.execute("BEGIN")
        rows = (
            (event["id"], event["session"], event["number"], event["event"], json.dumps(event))
            for event in events[first : first + group]
        )
        database.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
        database.execute("COMMIT")
    took = time.perf_counter() - start
    database.close()
    return len(events) / took


def python_lines(path: pathlib.Path, events: list[dict], is_synced: bool) -> float:
    start = time.perf_counter()
    with open(path, "a", encoding="utf-8") as file:
        for event in events:
            file.write(json.dumps(event) + "\n")
            file.flush()
            if is_synced:
                os.fsync(file.fileno())
    return len(events) / (time.perf_counter() - start)


def run_rust(benchmark: str, command: str, folder: pathlib.Path, count: int, *rest: pathlib.Path) -> dict:
    folder.mkdir(exist_ok=True)
    output = subprocess.run([benchmark, command, folder, str(count), *rest], check=True, capture_output=True, text=True)
    result = json.loads(output.stdout or "{}")
    if result.get("problem"):
        raise SystemExit(result["problem"])
    return result


def rate(name: str, rates: list[float], grail: float) -> None:
    best = max(rates)
    print(f"  {name:<46} {best:>10,.0f}   Grail is {grail / best:,.1f} times as fast")


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


if __name__ == "__main__":
    main()
