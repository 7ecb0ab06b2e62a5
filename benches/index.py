"""Numbers over many events: Grail's index beside Python, over the same files and the same rows.

Usage: benches/index.py INDEX_BENCHMARK [--events N] [--folder FOLDER]. Python counts only a part of what `grail events stats` does: pass rates
and retries by week and by model, and how often each rule is left over.
"""

import argparse
import collections
import datetime
import json
import pathlib
import sqlite3
import subprocess
import tempfile
import time


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("benchmark", type=pathlib.Path)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path.cwd())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        folder = pathlib.Path(scratch)
        run = [str(arguments.benchmark.resolve()), str(folder), str(arguments.events)]
        ours = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        megabytes = ours["bytes"] / 1e6
        print(f"{ours['events']} events in {ours['files']} files, {megabytes:.0f} MB; the database {ours['database_bytes'] / 1e6:.0f} MB")
        rows = [
            ("made anew", ours["rebuild_seconds"], ours["events"]),
            (f"caught up with {ours['catch_up_events']} events", ours["catch_up_seconds"], ours["catch_up_events"]),
            ("nothing new", ours["nothing_new_seconds"], 0),
            ("all statistics", ours["stats_seconds"], 0),
            ("opened, caught up and asked", ours["opened_caught_up_and_asked_seconds"], 0),
            ("Python: the files again", timed(from_files, folder, ours["generations"]), ours["events"]),
            ("Python: sqlite3 over the same rows", timed(from_rows, folder, ours["generations"]), 0),
        ]
        for name, seconds, events in rows:
            rate = f"{events / seconds:12,.0f} events/s" if events else ""
            print(f"{name:40} {seconds:8.3f} s {rate}")


def timed(work, folder: pathlib.Path, generations: int) -> float:
    start = time.perf_counter()
    found = work(folder)
    took = time.perf_counter() - start
    assert found == generations, f"{work.__name__}: {found} generations, not {generations}"
    return took


def from_files(folder: pathlib.Path) -> int:
    groups = collections.defaultdict(lambda: [0, 0, 0])
    rules = collections.Counter()
    generations = 0
    for path in sorted((folder / ".grail/events").glob("*.jsonl")):
        with open(path) as lines:
            for line in lines:
                event = json.loads(line)
                if event["event"] == "generation":
                    generations += 1
                    week = datetime.date.fromisoformat(event["at"][:10]).isocalendar()[:2]
                    for group in (("week", week), ("model", event["model"])):
                        counts = groups[group]
                        counts[0] += 1
                        counts[1] += event["validated"]
                        counts[2] += event["retries"]
                elif event["event"] == "domain_validation":
                    rules.update(problem["rule"] for problem in event.get("problems", ()))
    return generations


def from_rows(folder: pathlib.Path) -> int:
    database = sqlite3.connect(folder / ".grail/grail.db")
    weeks = database.execute(
        "SELECT (day + 3) / 7, count(*), sum(passed), sum(retries) FROM events WHERE kind = 'generation' GROUP BY 1"
    ).fetchall()
    database.execute(
        "SELECT model, count(*), sum(passed), sum(retries) FROM events WHERE kind = 'generation' GROUP BY 1"
    ).fetchall()
    database.execute("SELECT rule, count(*) FROM rules WHERE way = 'problem' GROUP BY 1").fetchall()
    return sum(row[1] for row in weeks)


if __name__ == "__main__":
    main()
