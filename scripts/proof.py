"""Runs the whole wheel once for every seed and writes docs/proof.md. Started by scripts/proof."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Runs take hours, and outlive a build folder that is cleaned if somebody says where.
RUNS = Path(os.environ.get("GRAIL_PROOF", ROOT / "target" / "proof"))
PAGE = ROOT / "docs" / "proof.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/proof")
    parser.add_argument("grail")
    parser.add_argument("--seeds", default="0", help="seeds of training, each a run of its own")
    parser.add_argument("--asks", type=int, default=1, help="how often every prompt is asked")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--suite", default="held-out")
    parser.add_argument("--phases", type=int, default=2)
    parser.add_argument("--lessons", type=int, default=5_000, help="how many sentences are worked on at most")
    parser.add_argument("--rounds", type=int, default=1, help="how often a phase sees every example")
    parser.add_argument("--write-only", action="store_true", help="write the page of the runs that are there")
    options = parser.parse_args()
    if not options.write_only:
        subprocess.run([options.grail, "models", "pull", options.model], check=True)
    runs = [run(options, seed) for seed in options.seeds.split()]
    PAGE.write_text(page(options, runs))
    print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)


def run(options: argparse.Namespace, seed: str) -> dict:
    """One turn of everything, or what is known of it from before."""
    name = f"{options.model.replace('/', '-')}-{options.suite}-{options.phases}-{options.asks}-{seed}"
    result = RUNS / f"{name}.json"
    if result.is_file():
        return json.loads(result.read_text())
    folder = RUNS / name
    if options.write_only:
        return unfinished(folder, seed)
    RUNS.mkdir(parents=True, exist_ok=True)
    command = [options.grail, "demo", "--full", "--folder", str(folder), "--format", "json"]
    command += ["--model", options.model, "--suite", options.suite, "--phases", str(options.phases)]
    command += ["--runtimes", os.environ.get("GRAIL_RUNTIMES", ROOT / ".grail" / "runtimes")]
    command += ["--lessons", str(options.lessons)]
    command += ["--seeds", str(options.asks), "--seed", seed, "--rounds", str(options.rounds)]
    is_resumed = folder.exists()
    if is_resumed:
        command.append("--resume")
    print(f"seed {seed}: {' '.join(map(str, command[1:]))}", file=sys.stderr)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured = json.loads(told)
    measured["seed"] = seed
    measured["wall_seconds"] = sum(step["seconds"] for step in measured["steps"])
    # What a run that was broken off had cost is not known.
    if not is_resumed:
        measured["cpu_seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        # Of the largest process; on Linux in kilobytes.
        measured["peak_bytes"] = after.ru_maxrss * 1024
    measured["version"] = subprocess.run([options.grail, "--version"], capture_output=True, text=True).stdout.strip()
    result.write_text(json.dumps(measured))
    return measured


def unfinished(folder: Path, seed: str) -> dict:
    """What a run that has not ended has done so far."""
    journal = folder / ".grail" / "demo.jsonl"
    if not journal.is_file():
        sys.exit(f"error: there is no run of seed {seed}\nhint: run without --write-only")
    return {"seed": seed, "steps": [json.loads(line) for line in journal.read_text().splitlines()]}


def steps(run: dict, *words: str) -> list[dict]:
    """The steps whose command begins with these words."""
    wanted = "$ grail " + " ".join(words)
    return [step for step in run["steps"] if step["command"].startswith(wanted)]


def share(proportion: dict, with_interval: bool = True) -> str:
    if not proportion["of"]:
        return "–"
    text = f"{proportion['share'] * 100:.0f} %"
    if with_interval:
        text += f" ({proportion['passed']}/{proportion['of']}, {proportion['low'] * 100:.0f}–{proportion['high'] * 100:.0f})"
    return text


def table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    line = lambda cells: "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |"
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


def arms(run: dict) -> list[tuple[str, dict]]:
    """Who was asked, each once: the controls of the first evaluation, then every phase."""
    told: dict[str, dict] = {}
    for number, step in enumerate(steps(run, "eval"), start=1):
        for arm in step["said"]["arms"]:
            control = arm["arm"].get("control")
            name = {"base": "base", "base_with_skill": "base with the skills in its prompt"}.get(
                control, f"phase {number}"
            )
            told.setdefault(name, arm["score"])
    order = lambda name: (name.startswith("phase"), name)
    return sorted(told.items(), key=lambda item: order(item[0]))


def page(options: argparse.Namespace, runs: list[dict]) -> str:
    later = LATER if all(len(steps(run, "train")) > 1 for run in runs) else ""
    if any("wall_seconds" not in run for run in runs):
        later = f"{later} {UNFINISHED}".strip()
    if any("wall_seconds" in run and "cpu_seconds" not in run for run in runs):
        later = f"{later} {RESUMED}".strip()
    told = {"seeds": options.seeds, "asks": options.asks, "model": options.model, "suite": options.suite}
    parts = [HEAD.format(later=later, **told)]
    parts.append("## What came out\n")
    for run in runs:
        told = arms(run)
        groups = [
            [name, *(share(score["by_group"].get(group, {"of": 0})[kind] if group in score["by_group"] else {"of": 0}, True)
                     for group in ("seen-pattern", "unseen-pattern") for kind in ("first_try", "with_fixes"))]
            for name, score in told
        ]
        prompts = told[0][1]["prompts"]
        parts.append(f"Seed {run['seed']}, {prompts} prompts:\n")
        head = ["who answers", "strictly right", "after fixes", "unseen patterns", "unseen, after fixes"]
        parts.append(table(head, groups) + "\n")
    if len(runs) > 1:
        parts.append(over_seeds(runs))
    parts.append("## By kind\n")
    for run in runs:
        told = arms(run)
        kinds = sorted({kind for _, score in told for kind in score["by_kind"]})
        rows = [[kind, *(share(score["by_kind"][kind]["first_try"]) for _, score in told)] for kind in kinds]
        parts.append(f"Seed {run['seed']}, strictly, both groups together:\n")
        parts.append(table(["kind", *(name for name, _ in told)], rows) + "\n")
    parts.append("## Step against step\n")
    rows = []
    for run in runs:
        for step in steps(run, "compare"):
            said = step["said"].get("comparison", step["said"])
            difference, interval = said["difference"], said["difference"]["interval"]
            rows.append([
                run["seed"],
                f"{said['before']['arm']['name']} → {said['after']['arm']['name']}",
                f"{difference['estimate'] * 100:+.1f}",
                f"{interval['low'] * 100:+.1f} to {interval['high'] * 100:+.1f}",
                f"{said['mcnemar']['won']} : {said['mcnemar']['lost']}",
                f"{said['mcnemar']['exact']:.1g}",
            ])
    parts.append(table(["seed", "from → to", "points", "95 % by bootstrap", "won : lost", "McNemar's p"], rows) + "\n")
    rows = []
    for run in runs:
        for step in steps(run, "promote"):
            verdict = "promoted" if step["exit"] == 0 else "refused: " + "; ".join(step.get("said", {}).get("reasons", ["it could not be weighed"]))
            rows.append([run["seed"], step["command"].split()[3], verdict])
    parts.append(table(["seed", "phase", "the gate says"], rows) + "\n")
    parts.extend(example(runs[0]))
    parts.append("## What it was made of\n")
    rows = []
    for run in runs:
        for step in steps(run, "train"):
            phase = step["said"]["phase"]
            losses = [point["loss"] for point in phase["curves"] if point.get("loss") is not None]
            asked = [f"{point['passed'] * 100:.0f} % at {point['step']}" for point in phase["curves"] if "passed" in point]
            rows.append([
                run["seed"], phase["id"], phase["dataset"][:12], str(len(losses)), f"{losses[0]:.2f} → {losses[-1]:.3f}",
                ", ".join(asked), f"{step['seconds'] / 60:.0f} min",
            ])
    head = ["seed", "phase", "dataset", "steps", "loss", "validation prompts right", "time"]
    parts.append(table(head, rows) + "\n")
    for run in runs:
        for step in steps(run, "generate '…'"):
            model = step["command"].split("--model ")[1].split()[0]
            parts.append(f"Seed {run['seed']}, worked on with `{model}`: {step['said']}.\n")
    settings = steps(runs[0], "train")[0]["said"]["phase"]["hyper_parameters"]
    parts.append("Settings: " + ", ".join(f"`{name}` {value}" for name, value in settings.items() if value not in (None, False)) + ".\n")
    rows = [
        [
            run["seed"],
            f"{run['wall_seconds'] / 60:.0f} min",
            f"{run['cpu_seconds'] / 60:.0f} min" if "cpu_seconds" in run else "–",
            f"{run['peak_bytes'] / 2**30:.1f} GiB" if "peak_bytes" in run else "–",
        ]
        for run in runs
        if "wall_seconds" in run
    ]
    if rows:
        parts.append(table(["seed", "time", "processor time", "largest process"], rows) + "\n")
    machine = steps(runs[0], "train")[0]["said"]["phase"]["machine"]
    parts.append("Measured on " + ", ".join(f"{name} {value}" for name, value in machine.items()) + f"{version(runs)}.\n")
    layers = sorted({layer for run in runs for step in steps(run, "eval") for arm in step["said"]["arms"] for layer in arm["layers"]})
    parts.append(f"Judged by: {', '.join(layers)}, and by the checks of each prompt.\n")
    notes = sorted({note for run in runs for step in steps(run, "eval") for note in step["said"]["notes"]})
    parts.extend(f"- {note}\n" for note in notes)
    return "\n".join(parts)


def example(run: dict) -> list[str]:
    """One prompt that the base gets wrong and the last phase gets right."""
    said = [step["said"]["comparison"] for step in steps(run, "compare")]
    from_base = [comparison for comparison in said if not comparison["before"]["arm"].get("phase")]
    won = [pair for pair in from_base[-1]["examples"] if pair["won"] and pair["kind"] == "view"]
    if not won:
        return []
    suite = tomllib.loads((ROOT / "crates/grail-flywheel/suites/held-out.toml").read_text())
    prompt = next(prompt for prompt in suite["prompts"] if prompt["id"] == won[0]["prompt"])
    told = lambda text: "\n".join(text.strip().splitlines()[:24]) or "(no code)"
    wrong = [problem["message"] for problem in won[0]["before"]["problems"]]
    return [
        "## One of them\n",
        f"> {prompt['prompt']}\n",
        f"Before ({'; '.join(wrong[:3])}):\n",
        f"```text\n{told(won[0]['before']['code'])}\n```\n",
        "After:\n",
        f"```python\n{told(won[0]['after']['code'])}\n```\n",
    ]


def version(runs: list[dict]) -> str:
    return "".join(f", {version}" for version in sorted({run["version"] for run in runs if "version" in run}))


def over_seeds(runs: list[dict]) -> str:
    """The mean over seeds of training, and how far they lie apart."""
    rows = []
    for name, _ in arms(runs[0]):
        shares = [dict(arms(run))[name]["by_group"]["seen-pattern"]["first_try"]["share"] for run in runs]
        rows.append([name, f"{statistics.mean(shares) * 100:.1f} %", f"{min(shares) * 100:.1f}–{max(shares) * 100:.1f} %"])
    return f"Over {len(runs)} seeds of training, strictly:\n\n" + table(["who answers", "mean", "range"], rows) + "\n"


HEAD = """# The proof

Written by `just proof`: nothing here is written by hand. A small model, {model}, is asked for code in the dialect of a sample project, with the
prompts of the suite `{suite}`, before and after it was trained on what work with Grail had left behind. No prompt of the suite, no thing it
is about and none of its ways of asking is in any lesson; the group *unseen patterns* asks for shapes that no lesson shows.

`strictly right` means: at the first try, the whole file parses, keeps every rule of its kind, has its types where a checker is at hand, and holds
what its prompt asks for. `after fixes` means: after the safe fixes that Grail's rules know, with names spelled and things called as the prompt has them, and with a file that
does not pass, or whose first line does not list all that the prompt lists, filled in from its kind's template by that line. In parentheses are counts and 95 % intervals (Wilson).

All who answer, the base too, are held to what Python can be while they write: names in certain places are ones that the answer has given, and words of the prompt are
preferred to ones that only begin like them (`names.rs` and `said.rs` of `grail-local`). What is about the project is not among it: no rule, no template, no kind.

The first phase learned from lessons answered by the template model. {later} Seeds of training: {seeds}; prompts were asked with this many seeds of every arm: {asks}.
"""

LATER = """Every later phase went on from the one before, with what came of working with it:
right answers as they were, wrong ones put right."""
UNFINISHED = "The run was broken off, and what is not here was not measured."
RESUMED = """The run was broken off and gone on with, so that its steps need not be those of one and the same build of Grail."""

if __name__ == "__main__":
    main()
