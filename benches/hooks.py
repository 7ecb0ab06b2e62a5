"""What the hooks of `grail hooks install` cost: the same commits in two repositories, one of them with hooks, in turn."""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

PLAIN = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}


def run(folder: pathlib.Path, *command: str) -> float:
    """Runs a command and tells how many milliseconds it took."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | PLAIN
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1000


def repository(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir()
    run(folder, "git", "init", "-q", "-b", "main")
    return folder


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("grail", type=pathlib.Path)
    arguments.add_argument("--commits", type=int, default=50)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bare, hooked = (repository(pathlib.Path(scratch, name)) for name in ("bare", "hooked"))
        run(hooked, str(options.grail.resolve()), "hooks", "install")
        times: dict[tuple[str, str], list[float]] = {}
        for number in range(options.commits + 3):
            for name, folder in (("bare", bare), ("hooked", hooked)):
                folder.joinpath("a.py").write_text(f"x = {number}\n")
                run(folder, "git", "add", "a.py")
                steps = {
                    "commit": ("git", "commit", "-q", "-m", "change"),
                    "checkout -b": ("git", "checkout", "-q", "-b", f"branch-{number}"),
                    "checkout main": ("git", "checkout", "-q", "main"),
                }
                for step, command in steps.items():
                    took = run(folder, *command)
                    if number >= 3:
                        times.setdefault((step, name), []).append(took)
        notes = hooked.joinpath(".git/grail-notes").read_text().count("\n")
        assert notes == 3 * (options.commits + 3), f"{notes} notes"
    print(f"{options.commits} of each, ms       without   with hooks   hooks cost   ratio")
    for step in ("commit", "checkout -b", "checkout main"):
        for kind, of in (("median", statistics.median), ("best", min)):
            without, with_hooks = of(times[step, "bare"]), of(times[step, "hooked"])
            print(
                f"{step + ', ' + kind:<24}{without:>8.1f}{with_hooks:>13.1f}{with_hooks - without:>13.1f}"
                f"{with_hooks / without:>7.2f}×"
            )


if __name__ == "__main__":
    main()
