"""Runs part of the tests with the lowest versions of the dependencies that `pyproject.toml` allows.

The environment is kept in .venv/minimums until a bound changes. `make test-minimums`, or with paths of tests to run.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".venv/minimums"
TOOLS = ("pytest", "hypothesis", "pytest-xdist")
TESTS = (
    *("tests/model", "tests/state", "tests/cluster/kube/test_client.py", "tests/cluster/test_files.py"),
    *("tests/host/test_rest.py", "tests/host/test_runtime.py", "tests/host/test_maintenance.py"),
    *("tests/cluster/embedded/rest/test_connections.py", "tests/attacks/test_bodies.py"),
    *(
        "tests/cluster/embedded/test_certificate.py",
        "tests/report",
        "tests/cli/test_place.py",
        "tests/cli/test_tree_live.py",
    ),
)
"""They use every dependency: the server and the client, certificates, columns, metrics, files and the screen."""


def minimums() -> list[str]:
    """The dependencies at their lower bounds: aiohttp==3.10."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [one.replace(">=", "==") for one in declared]


def prepared() -> Path:
    python, stamp = FOLDER / "bin/python", FOLDER / "installed"
    wanted = "\n".join(minimums())
    if not stamp.is_file() or stamp.read_text() != wanted:
        venv.create(FOLDER, with_pip=True, clear=True)
        pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *minimums(), *TOOLS], check=True, timeout=600)
        subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True, timeout=600)
        stamp.write_text(wanted)
    return python


def main(tests: list[str]) -> int:
    chosen = tests or [one for one in TESTS if (ROOT / one).exists()]
    print(f"with {', '.join(minimums())}", flush=True)
    command: list[str | Path] = [prepared(), "-m", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider", *chosen]
    return subprocess.run(command, cwd=ROOT, timeout=1200).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
