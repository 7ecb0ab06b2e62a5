"""Grail beside its peers, on the same files, in one go. Prints a Markdown table.

    scripts/bench                      all of it
    scripts/bench --every 20           a quick look: every 20th file
    scripts/bench --only find,unused   some of the tasks

The files are those of the standard library of the newest Python found, as far as they are UTF-8 and compile. Times are the best of
`--runs`; CPU seconds count all threads and child processes, so that tools are compared by work and not by cores.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BINARIES = Path(sys.executable).parent

LIBCST_ROUND_TRIP = """
import pathlib, sys, libcst
different = 0
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    text = path.read_bytes()
    try:
        different += libcst.parse_module(text).bytes != text
    except Exception:
        different += 1
print(different, "files differ or fail")
"""

ROPE_RENAME = """
import sys
from rope.base.project import Project
from rope.refactor.rename import Rename
project = Project(sys.argv[1], ropefolder=None)
module = project.get_resource("textwrap.py")
offset = module.read().index("class TextWrapper") + len("class ")
changes = Rename(project, module, offset).get_changes("TextFolder")
print(len(changes.changes), "files would change")
"""


def tasks(corpus, mentions, grail, grail_dev):
    """Name of the task -> the commands that do it, Grail's first."""
    old, new = "os.path.join", "os.path.merge"
    return {
        "parse and round trip": {
            "grail": [grail_dev, "roundtrip", "--tree-only", corpus],
            "LibCST": [sys.executable, "-c", LIBCST_ROUND_TRIP, corpus],
        },
        "find `os.path.join($$$)`": {
            "grail": [grail, "code", "find", "os.path.join($$$)", corpus],
            "ast-grep": [BINARIES / "ast-grep", "run", "--lang", "python", "--pattern", "os.path.join($$$)", corpus],
        },
        "unused imports": {
            "grail": [grail, "code", "imports", "unused", corpus],
            "ruff": [BINARIES / "ruff", "check", "--isolated", "--no-cache", "--select", "F401", corpus],
        },
        "rename `os.path.join` in files that mention it": {
            "grail": [grail, "code", "codemod", "run", "rename", mentions, "--arg", f"old-name={old}", "--arg", f"new-name={new}"],
            "LibCST": [
                sys.executable, "-m", "libcst.tool", "codemod", "--no-format", "--unified-diff=3", "--hide-progress",
                "rename.RenameCommand", "--old_name", old, "--new_name", new, mentions,
            ],
        },
        "rename `textwrap.TextWrapper`": {
            "grail": [grail, "code", "rename", "--name", "textwrap.TextWrapper", "TextFolder", "--in", corpus],
            "rope": [sys.executable, "-c", ROPE_RENAME, corpus],
        },
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take every N-th file only")
    parser.add_argument("--runs", type=int, default=3, help="best of how many runs")
    parser.add_argument("--only", default="", metavar="WORDS", help="only tasks whose name holds one of these words")
    arguments = parser.parse_args()
    words = [word for word in arguments.only.split(",") if word]

    grail, grail_dev = build("grail"), build("grail-dev")
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        files, size = copy_corpus(newest_standard_library(), corpus, arguments.every)
        mentions = Path(folder, "mentions")
        mentioning = copy_mentions(corpus, mentions, b"os.path.join")
        print(f"{files} files, {size / 1e6:.1f} MB, {os.cpu_count()} cores; {mentioning} files mention `os.path.join`\n")
        print("| task | tool | wall s | CPU s | peak MB | CPU ratio to grail |")
        print("| --- | --- | ---: | ---: | ---: | ---: |")
        for name, commands in tasks(corpus, mentions, grail, grail_dev).items():
            if words and not any(word in name for word in words):
                continue
            baseline = None
            for tool, command in commands.items():
                wall, cpu, peak = measure(command, arguments.runs)
                baseline = baseline or cpu
                print(f"| {name} | {tool} | {wall:.2f} | {cpu:.2f} | {peak:.0f} | {cpu / baseline:.1f}× |", flush=True)


def build(package):
    subprocess.run(["cargo", "build", "--quiet", "--profile", "dist", "-p", package], cwd=REPOSITORY, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")
    return Path(target, "dist", package)


def newest_standard_library():
    folders = [os.path.dirname(os.__file__)]
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    folders += glob.glob(os.path.join(pyenv, "versions", "3.*", "lib", "python3.*"))
    return max(folders, key=lambda folder: int(re.search(r"python3\.(\d+)", folder).group(1)))


def copy_corpus(source, target, every):
    """Copies what every tool can be expected to read: UTF-8 that compiles, without installed packages."""
    files = size = 0
    paths = sorted(path for path in Path(source).rglob("*.py") if "site-packages" not in path.parts)
    for path in paths[::every]:
        data = path.read_bytes()
        try:
            data.decode()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(data, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        files, size = files + 1, size + len(data)
    return files, size


def copy_mentions(corpus, target, word):
    """Copies the files of the corpus that hold a word: LibCST takes minutes over them, and would take an hour over all."""
    files = 0
    for path in sorted(corpus.rglob("*.py")):
        if word in path.read_bytes():
            copy = target / path.relative_to(corpus)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            files += 1
    return files


def measure(command, runs):
    """Best wall and CPU seconds, and the peak memory in MB. Exit code 1 means findings, which is fine here."""
    results = []
    for _ in range(runs):
        started = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        code = os.waitstatus_to_exitcode(status)
        # LibCST exits with 1 both for files it could not change and for a command line it does not understand.
        is_done = "libcst.tool" not in command or b"Finished codemodding" in errors
        # Fixit adds 2 where LibCST cannot read a file.
        accepted = (0, 1, 2, 3) if Path(command[0]).name == "fixit" else (0, 1)
        if code not in accepted or not is_done:
            sys.exit(f"error: `{' '.join(map(str, command))[:200]}` exited with {code}\n{errors.decode()[-2000:]}")
        results.append((wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    return min(wall for wall, _, _ in results), min(cpu for _, cpu, _ in results), max(peak for _, _, peak in results)


if __name__ == "__main__":
    main()
