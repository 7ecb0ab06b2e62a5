"""The work of `scripts/generated`. Prints one line per artifact and exits with 1 if anything was not as it should be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIMES = Path(os.environ.get("GRAIL_RUNTIMES", ROOT / ".grail/runtimes")).resolve()
GRAIL = os.environ["GRAIL"]
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 300

FILES = {
    "pyproject.toml": f"""[project]
name = "shop"
version = "0.1.0"
requires-python = ">=3.14"
dependencies = ["tdom==0.1.20", "svcs==26.2.0"]

[tool.pytest.ini_options]
pythonpath = ["src"]

[tool.ty.environment]
python-version = "3.14"
root = ["src"]
extra-paths = [{json.dumps(str(RUNTIMES / "types"))}]
""",
    "grail.toml": """[check]
select = ["view-conventions", "middleware", "routes-and-wiring", "pytest-tests"]

[check.options.view-decorator]
decorator = "shop.web:view"
""",
    "src/shop/__init__.py": '"""A small shop."""\n',
    "src/shop/web.py": '''"""What the shop is served with."""

from collections.abc import Callable


def view[**P](function: Callable[P, str]) -> Callable[P, str]:
    """Marks a function that answers a request with a page."""
    return function
''',
}

# The first is the line of the README.
INTENTS = {
    "a user profile view with avatar, name and bio": "src/shop/views/user_profile_view.py",
    "a product card component with title, price, tags and an optional note": "src/shop/components/product_card.py",
    "an OrderService that places orders with customer and amount": "src/shop/services/order_service.py",
    "middleware that adds a request id": "src/shop/middleware/request_id_middleware.py",
    "a route at /users/{user_id}/orders with limit": "src/shop/views/show_user_orders.py",
    "a test for the order service": "tests/test_order_service.py",
    "a test for the product card": "tests/test_product_card.py",
    "a test for the user profile view": "tests/test_user_profile_view.py",
    "a test for the user orders": "tests/test_user_orders.py",
    "a factory for the mail service with host and port": "src/shop/services/make_mail_service.py",
    "a component middleware with theme and language": "src/shop/middleware/theme_middleware.py",
    "a fixture for a customer with name and email": "tests/conftest.py",
    "a test class for invoices with number, date and amount": "tests/test_invoices.py",
    "a test fixture for a parcel with weight and is_fragile": "tests/test_parcel.py",
}


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="grail-generated-"))
    try:
        make_project(folder)
        problems = generate_all(folder)
        problems += check(folder)
        problems += format_check(folder)
    finally:
        if "KEEP" in os.environ:
            print(f"the project is in {folder}")
        else:
            shutil.rmtree(folder)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def make_project(folder: Path) -> None:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / ".venv").symlink_to(RUNTIMES / "local")
    (folder / ".grail").mkdir()
    (folder / ".grail/runtimes").symlink_to(RUNTIMES)


def generate_all(folder: Path) -> list[str]:
    problems = []
    for intent, path in INTENTS.items():
        begin = time.monotonic()
        done = run(folder, "generate", intent, "--yes", "--format", "json")
        seconds = time.monotonic() - begin
        if done.returncode != 0:
            problems.append(f"{intent}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        elif not (folder / path).is_file():
            problems.append(f"{intent}: no `{path}`\n{done.stdout}")
        else:
            print(f"{path:45} {seconds:5.1f} s  {layers(json.loads(done.stdout))}")
    return problems


def layers(answer: dict) -> str:
    checks = answer.get("proposal", answer).get("checks", [])
    return ", ".join(f"{layer['layer']} {layer['status']}" for file in checks for layer in file["layers"])


def check(folder: Path) -> list[str]:
    """The whole project, with every layer; each must really have run."""
    wanted = ["syntax", "rules", "lint", "types", "tests"]
    done = run(folder, "check", "--format", "json", *(word for layer in wanted for word in ("--layer", layer)))
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return [f"grail check: {done.stdout}{done.stderr}"]
    problems = [f"{found['path']}:{found['start']['line']}: {found['message']}" for found in answer["diagnostics"]]
    problems += [f"grail check: {error}" for error in answer["errors"]]
    ran = {layer["layer"]: layer for layer in answer["layers"]}
    for name in ("lint", "types", "tests"):
        if ran.get(name, {}).get("status") != "ran":
            problems.append(f"grail check: `{name}` did not run: {ran.get(name)}")
    if "wasm" not in json.dumps(ran.get("tests", {})):
        problems.append(f"grail check: the tests did not run in WebAssembly: {ran.get('tests')}")
    print(f"grail check: {', '.join(ran)}: {len(problems)} problems")
    return problems


def format_check(folder: Path) -> list[str]:
    command = [str(RUNTIMES / "local/bin/ruff"), "format", "--check", "--isolated", "--target-version", "py314", "src", "tests"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    print(f"ruff format --check: {done.stdout.strip() or done.stderr.strip()}")
    return [done.stdout] if done.returncode else []


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(folder / "no-home"), "NO_COLOR": "1"}
    return subprocess.run(
        [GRAIL, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
