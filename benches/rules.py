"""`grail check` beside its peers, on the same files, in one go. Prints a Markdown table.

    scripts/bench-rules                all of it
    scripts/bench-rules --every 20     a quick look: every 20th file

The files are those of the standard library of the newest Python found. Every tool looks for what it looks for by default, and then all of
them for one and the same thing: calls of `time.sleep`. CPU seconds count all threads and child processes.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from compare import BINARIES, build, copy_corpus, measure, newest_standard_library

GRAIL_RULE = """---
id: {name}
severity: warning
---

# `{function}` is not called

```yaml rule
match: {function}($$$)
message: "`{function}` is called"
```
"""

AST_GREP_RULE = """id: no-sleep
language: python
severity: warning
message: "`time.sleep` is called"
rule:
  pattern: time.sleep($$$)
"""

FIXIT_RULE = '''
import libcst
import libcst.matchers as m
from fixit import LintRule


class NoSleep(LintRule):
    MESSAGE = "`time.sleep` is called"

    def visit_Call(self, node: libcst.Call) -> None:
        if m.matches(node.func, m.Attribute(value=m.Name("time"), attr=m.Name("sleep"))):
            self.report(node)
'''

PYTHON_RULE = """---
id: short-functions
severity: warning
---

# Functions are short
"""

PYTHON_CHECK = """def check(tree):
    found = []
    for function in findall(tree, {"type": "FunctionDef"}):
        if len(function["body"]) > 50:
            found.append({"node": function["name"], "message": "too long"})
    return found
"""

# Patterns of the shapes that real rules have: some name nothing that could be looked for first.
MORE_RULES = [
    "os.remove", "subprocess.run", "logging.getLogger", "re.compile", "print", "open", "isinstance", "len", "str",
    "json.loads", "threading.Thread", "socket.socket", "random.choice", "copy.deepcopy", "pickle.loads", "eval",
    "exec", "getattr", "setattr", "super",
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take every N-th file only")
    parser.add_argument("--runs", type=int, default=3, help="best of how many runs")
    arguments = parser.parse_args()
    grail = build("grail")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        corpus = folder / "corpus"
        files, size = copy_corpus(newest_standard_library(), corpus, arguments.every)
        (corpus / "grail.toml").write_text("")
        print(f"{files} files, {size / 1e6:.1f} MB, {os.cpu_count()} cores\n")
        print("| task | tool | wall s | CPU s | CPU ratio to grail |")
        print("| --- | --- | ---: | ---: | ---: |")
        whole = compare_whole(grail, corpus, arguments.runs)
        compare_one_rule(grail, corpus, folder)
        cost_of_a_rule(grail, corpus, arguments.runs, whole)
        rule_in_python(grail, corpus, arguments.runs)


def compare_whole(grail, corpus, runs):
    """Every built-in rule of Grail beside the default rules of ruff, without and with a cache."""
    everything = [grail, "check", "--select", "ALL", "--format", "json", corpus]
    ruff = [BINARIES / "ruff", "check", "--isolated", "--output-format", "json", "--cache-dir", corpus.parent / "ruff-cache", corpus]
    cold = rows("every rule, cold", {"grail": [*everything, "--no-cache"], "ruff": [*ruff, "--no-cache"]}, runs)
    rows("every rule, nothing changed since", {"grail": everything, "ruff": ruff}, runs + 1)
    return cold


def compare_one_rule(grail, corpus, folder):
    """The same one rule in every tool."""
    write_rules(corpus, ["time.sleep"])
    rule = folder / "no-sleep.yml"
    rule.write_text(AST_GREP_RULE)
    fixit = folder / "fixit-rules"
    (fixit / "rules").mkdir(parents=True)
    (fixit / "rules" / "__init__.py").write_text(FIXIT_RULE)
    (corpus / "fixit.toml").write_text('[tool.fixit]\nroot = true\nenable = ["rules:NoSleep"]\ndisable = ["fixit.rules"]\n')
    os.environ["PYTHONPATH"] = str(fixit)
    commands = {
        "grail": [grail, "check", "--select", "rule-0", "--no-cache", "--format", "json", corpus],
        "ast-grep": [BINARIES / "ast-grep", "scan", "--rule", rule, "--json=compact", corpus],
        "Fixit": [BINARIES / "fixit", "lint", corpus],
    }
    # Fixit takes minutes over all of them: once is enough.
    rows("calls of `time.sleep`", commands, 1)


def cost_of_a_rule(grail, corpus, runs, whole):
    """What one more pattern rule adds to a run of all of them."""
    write_rules(corpus, MORE_RULES)
    _, more, _ = measure([grail, "check", "--select", "ALL", "--no-cache", "--format", "json", corpus], runs)
    share = (more - whole) / len(MORE_RULES) / whole * 100
    print(f"\none more pattern rule costs {share:.2f} % of a run ({len(MORE_RULES)} rules: {whole:.2f} s to {more:.2f} s)")


def rule_in_python(grail, corpus, runs):
    """A rule in Python over a thousand files, of which none is spared by a word it lacks."""
    rules = corpus / ".agents" / "skills" / "python-bench" / "rules"
    rules.mkdir(parents=True)
    (rules / "short-functions.md").write_text(PYTHON_RULE)
    (rules / "short-functions.py").write_text(PYTHON_CHECK)
    files = sorted(corpus.rglob("*.py"), key=lambda path: path.stat().st_size)
    files = files[len(files) // 4 :][:1000]
    command = [grail, "check", "--select", "short-functions", "--format", "json", *files]
    size = sum(path.stat().st_size for path in files)
    wall, cpu, _ = measure([*command, "--no-cache"], 1)
    warm, _, _ = measure(command, runs + 1)
    print(
        f"\na rule in Python over {len(files)} files, {size / 1e6:.1f} MB: {wall:.2f} s ({cpu:.2f} CPU s with workers that have ended), "
        f"{warm:.2f} s when nothing changed since"
    )


def rows(task, commands, runs):
    baseline = None
    for tool, command in commands.items():
        wall, cpu, _ = measure(command, runs)
        baseline = baseline or cpu
        print(f"| {task} | {tool} | {wall:.2f} | {cpu:.2f} | {cpu / baseline:.1f}× |", flush=True)
    return baseline


def write_rules(corpus, functions):
    folder = corpus / ".agents" / "skills" / "bench" / "rules"
    folder.mkdir(parents=True, exist_ok=True)
    for number, function in enumerate(functions):
        name = f"rule-{number}"
        (folder / f"{name}.md").write_text(GRAIL_RULE.format(name=name, function=function))


if __name__ == "__main__":
    sys.exit(main())
