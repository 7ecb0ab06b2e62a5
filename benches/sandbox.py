"""The sandbox beside its peers, in one go. Prints a Markdown table.

    scripts/bench-sandbox                 all of it
    scripts/bench-sandbox --rounds 1      a quick look
    scripts/bench-sandbox --only grail,monty-pool,pydantic-monty

Every round runs every tool once, so that a busy moment of the machine does not hit one tool alone. Of the times of a round the one
counts that a tenth of the runs beat: what the work takes when nothing else is in the way. Of the rounds the best counts. Each tool
runs in a process of its own and writes lines of JSON.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PYODIDE = "pyodide@314.0.7"
CALLS = 50
CROWD = 1000

TWENTY_LINES = """def is_prime(number):
    if number < 2:
        return False
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 1
    return True

primes = [number for number in range(200) if is_prime(number)]
by_digit = {}
for prime in primes:
    digit = prime % 10
    if digit not in by_digit:
        by_digit[digit] = []
    by_digit[digit].append(prime)
words = ["the", "quick", "brown", "fox"]
sentence = " ".join([word.capitalize() for word in words])
{"count": len(primes), "digits": sorted(by_digit), "sentence": sentence}
"""

PAUSING = """orders = [{"id": number, "name": "order " + str(number), "tags": ["a", "b"]} for number in range(200)]
total = len(orders)
add(total, 1)
"""

CALLING = "total = 0\nfor number in range({}):\n    total = add(total, number)\ntotal\n"

ONE_AND_ONE = "`1 + 1`"
PROGRAM = "a program of twenty lines"
TOOL_CALL = "a tool call and its answer"
FIRST = "from nothing to the first result"
SNAPSHOT = "dump and load of a paused run"
HOST = "the host's own memory"
IDLE = "an idle worker"
CHECKED = "a worker that has checked types"
TOGETHER = "1,000 runs at once"


def add(left, right):
    return left + right


def report(row, tool, unit, value):
    print(json.dumps({"row": row, "tool": tool, "unit": unit, "value": value}), flush=True)


def undisturbed(durations):
    """The time that a tenth of them beat, in microseconds."""
    return sorted(durations)[len(durations) // 10] * 1e6


def measure(times, work):
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        durations.append(time.perf_counter() - started)
    return undisturbed(durations)


def resident(process="self"):
    """In megabytes; not a number where the kernel does not say."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmRSS:"))
    except (OSError, StopIteration):
        return float("nan")


def children():
    return [pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]


def figures_of_runs(tool, run, times):
    """The rows that every tool has."""
    report(ONE_AND_ONE, tool, "us", measure(times, lambda: run("1 + 1")))
    report(PROGRAM, tool, "us", measure(times, lambda: run(TWENTY_LINES)))


def figures_of_calls(tool, run, times):
    many, none = CALLING.format(CALLS), CALLING.format(0)
    report(TOOL_CALL, tool, "us", (measure(times, lambda: run(many)) - measure(times, lambda: run(none))) / CALLS)


def pydantic_monty(tool):
    before = resident()
    from pydantic_monty import AsyncMonty, Monty

    lookup = {"add": add}

    def from_nothing():
        with Monty() as pool, pool.checkout() as session:
            session.feed_run("1 + 1")

    with Monty() as pool:

        def run(code):
            with pool.checkout() as session:
                return session.feed_run(code, external_lookup=lookup)

        assert run("1 + 1") == 2
        report(HOST, tool, "MB", resident() - before)
        report(IDLE, tool, "MB", max(map(resident, children())))
        figures_of_runs(tool, run, 300)
        figures_of_calls(tool, run, 100)
        durations = []
        for _ in range(20):
            with pool.checkout() as session, pool.checkout() as other:
                snapshot = session.feed_start(PAUSING, external_lookup=lookup)
                started = time.perf_counter()
                loaded = other.load_snapshot(session.dump(), external_lookup=lookup)
                durations.append(time.perf_counter() - started)
                assert loaded.resume({"return_value": 1}).output == snapshot.resume({"return_value": 1}).output == 1
        report(SNAPSHOT, tool, "us", undisturbed(durations))
        with pool.checkout(type_check=True) as session:
            session.feed_run("1 + 1")
        report(CHECKED, tool, "MB", max(map(resident, children())))
    report(FIRST, tool, "us", measure(5, from_nothing))

    async def together():
        async with AsyncMonty() as pool:

            async def run():
                async with pool.checkout() as session:
                    return await session.feed_run(TWENTY_LINES)

            started = time.perf_counter()
            await asyncio.gather(*[run() for _ in range(CROWD)])
            return time.perf_counter() - started

    report(TOGETHER, tool, "ms", asyncio.run(together()) * 1e3)


def smolagents(tool):
    before = resident()
    from smolagents.local_python_executor import LocalPythonExecutor

    # One for all runs: what a run leaves behind, the next one sees.
    executor = LocalPythonExecutor([])
    executor.send_tools({"add": add})
    assert executor("1 + 1").output == 2
    report(HOST, tool, "MB", resident() - before)
    figures_of_runs(tool, executor, 20)
    figures_of_calls(tool, executor, 20)

    def from_nothing():
        executor = LocalPythonExecutor([])
        executor.send_tools({})
        executor("1 + 1")

    # A thousand runs would take minutes, one after the other.
    report(FIRST, tool, "us", measure(20, from_nothing))


def fresh_process(tool):
    import resource

    def run(code):
        subprocess.run([sys.executable, "-I", "-c", code], check=True)

    figures_of_runs(tool, run, 30)
    report(FIRST, tool, "us", measure(30, lambda: run("1 + 1")))
    report(IDLE, tool, "MB", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6)

    async def one(gate):
        async with gate:
            process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", TWENTY_LINES)
            await process.wait()

    async def together():
        gate = asyncio.Semaphore(os.cpu_count() or 2)
        started = time.perf_counter()
        await asyncio.gather(*[one(gate) for _ in range(CROWD)])
        return time.perf_counter() - started

    report(TOGETHER, tool, "ms", asyncio.run(together()) * 1e3)


NODE = """
const { loadPyodide } = await import(process.argv[1]);
const { programs, rows, tool, calls, crowd } = JSON.parse(process.argv[2]);
const report = (row, unit, value) => console.log(JSON.stringify({ row, tool, unit, value }));
const measure = (times, work) => {
  const durations = [];
  for (let run = 0; run < times; run += 1) {
    const started = performance.now();
    work();
    durations.push(performance.now() - started);
  }
  return durations.sort((left, right) => left - right)[Math.floor(durations.length / 10)] * 1e3;
};
const before = process.memoryUsage().rss;
const started = performance.now();
const python = await loadPyodide();
python.runPython("1 + 1");
report(rows.first, "us", (performance.now() - started) * 1e3);
python.globals.set("add", (left, right) => left + right);
report(rows.host, "MB", (process.memoryUsage().rss - before) / 1e6);
// Names of its own for every run; everything else is shared between runs.
const run = (code) => {
  const globals = python.globals.get("dict")();
  globals.set("add", (left, right) => left + right);
  const result = python.runPython(code, { globals });
  result?.destroy?.();
  globals.destroy();
};
report(rows.small, "us", measure(200, () => run("1 + 1")));
report(rows.program, "us", measure(200, () => run(programs.program)));
report(rows.call, "us", (measure(100, () => run(programs.many)) - measure(100, () => run(programs.none))) / calls);
report(rows.together, "ms", measure(1, () => { for (let n = 0; n < crowd; n += 1) run(programs.program); }) / 1e3);
"""


def pyodide_command(folder):
    """The command that measures Pyodide, installing it first; `None` where there is no Node."""
    if not (shutil.which("node") and shutil.which("npm")):
        print("no Node here: Pyodide is left out", file=sys.stderr)
        return None
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, PYODIDE], check=True)
    module = Path(folder, "node_modules", "pyodide", "pyodide.mjs").as_uri()
    data = {
        "tool": "Pyodide",
        "calls": CALLS,
        "crowd": CROWD,
        "programs": {"program": TWENTY_LINES, "many": CALLING.format(CALLS), "none": CALLING.format(0)},
        "rows": {
            "small": ONE_AND_ONE, "program": PROGRAM, "call": TOOL_CALL, "first": FIRST, "host": HOST, "together": TOGETHER,
        },
    }
    return ["node", "--input-type=module", "--eval", NODE, "--", module, json.dumps(data)]


PEERS = {"pydantic-monty": pydantic_monty, "smolagents": smolagents, "CPython process": fresh_process}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often every tool is run")
    parser.add_argument("--only", default="", metavar="TOOLS", help="only these tools, separated by commas")
    parser.add_argument("--profile", default="dist", help="cargo's profile for the worker and the bench")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        PEERS[arguments.peer](arguments.peer)
        return
    wanted = [tool for tool in arguments.only.split(",") if tool]
    with tempfile.TemporaryDirectory() as folder:
        commands = all_commands(folder, arguments.profile, wanted)
        figures, units = {}, {}
        for number in range(arguments.rounds):
            for command in commands:
                print(f"round {number + 1}: {command[-1] if '--peer' in command else Path(command[0]).name}", file=sys.stderr)
                for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
                    figure = json.loads(line)
                    units[figure["row"]] = figure["unit"]
                    figures.setdefault((figure["row"], figure["tool"]), []).append(figure["value"])
    print_table(figures, units)


def all_commands(folder, profile, wanted):
    def is_wanted(*tools):
        return not wanted or any(tool in wanted for tool in tools)

    commands = []
    if is_wanted("grail", "monty-pool"):
        bench, worker = build(profile)
        monty = [] if wanted and "monty-pool" not in wanted else ["--monty", Path(sys.executable).parent / "monty"]
        commands.append([bench, "--worker", worker, *monty])
    commands += [[sys.executable, __file__, "--peer", tool] for tool in PEERS if is_wanted(tool)]
    pyodide = pyodide_command(folder) if is_wanted("Pyodide") else None
    return commands + ([pyodide] if pyodide else [])


def build(profile):
    """Builds bench and worker; returns where they are. The bench is a host, so it goes without the interpreter."""
    cargo = ["cargo", "build", "--quiet", "--profile", profile, "-p", "grail-sandbox", "--message-format", "json"]
    built = {}
    for target in (["--bin", "grail-sandbox-worker"], ["--bench", "pool", "--no-default-features"]):
        output = subprocess.run(cargo + target, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True).stdout
        for line in output.splitlines():
            message = json.loads(line)
            if message.get("executable"):
                built[message["target"]["name"]] = message["executable"]
    return built["pool"], built["grail-sandbox-worker"]


def print_table(figures, units):
    tools = list(dict.fromkeys(tool for _, tool in figures))
    print("| | " + " | ".join(tools) + " |")
    print("| --- |" + " ---: |" * len(tools))
    for row, unit in units.items():
        ours = figures.get((row, "grail"))
        cells = []
        for tool in tools:
            values = figures.get((row, tool))
            if not values:
                cells.append("")
                continue
            value = min(values)
            ratio = f" ({value / min(ours):.2f}×)" if ours and tool != "grail" else ""
            cells.append(shown(value, unit) + ratio)
        print(f"| {row} | " + " | ".join(cells) + " |")
    print(f"\n{os.cpu_count()} cores. In brackets: the figure divided by Grail's.")


def shown(value, unit):
    if unit == "us" and value >= 10_000:
        return f"{value / 1e3:.0f} ms"
    if unit == "us" and value >= 1000:
        return f"{value / 1e3:.1f} ms"
    if unit == "us":
        return f"{value:.0f} µs" if value >= 10 else f"{value:.1f} µs"
    if unit == "ms" and value >= 10_000:
        return f"{value / 1e3:.1f} s"
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"


if __name__ == "__main__":
    main()
