"""A run that selects tests of a real cluster without having one reports that they were skipped and how to run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def summary(*asked: str) -> list[str]:
    environ = {key: value for key, value in os.environ.items() if key not in ("CLOSEKNIT_REAL", "PYTEST_ADDOPTS")}
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", *asked]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "SKIPPED, LOUDLY" in line]


@pytest.mark.parametrize("asked", ["tests/real/test_jobs.py", "tests/cli/real"])
def test_it_is_reported_in_one_line(asked: str) -> None:
    [line] = summary(asked)
    folder = asked.partition("/test_")[0]
    assert line.startswith(f"SKIPPED, LOUDLY: {folder}: ")
    assert "CLOSEKNIT_REAL=1 python -m pytest" in line


def test_other_selections_get_no_report() -> None:
    assert summary("tests/model/test_address.py") == []
