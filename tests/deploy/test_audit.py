"""`make audit`: a package that was not looked up is never taken for one without vulnerabilities."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Package = dict[str, Any]
Verdict = Callable[[list[Package]], tuple[str, int]]

FINE: Package = {"name": "a", "version": "1", "vulns": []}
UNKNOWN: Package = {"name": "b", "skip_reason": "not found"}
BAD: Package = {"name": "c", "version": "2", "vulns": [{"id": "X-1", "fix_versions": ["3"]}]}


@pytest.fixture
def verdict() -> Verdict:
    found: Verdict = runpy.run_path(str(Path(__file__).parents[2] / "deploy/audit.py"))["verdict"]
    return found


@pytest.mark.parametrize(
    ("packages", "said", "code"),
    [
        ([FINE, FINE], "2 packages, no known vulnerability", 0),
        ([FINE, BAD], "c 2: X-1, fixed in 3", 1),
        ([FINE, UNKNOWN], "not looked up: b", 1),
        ([UNKNOWN, UNKNOWN], "SKIPPED, LOUDLY: the database of vulnerabilities knows none of 2 packages", 0),
    ],
)
def test_only_packages_that_were_looked_up_are_judged(
    verdict: Verdict, packages: list[Package], said: str, code: int
) -> None:
    text, found = verdict(packages)
    assert text.startswith(said)
    assert found == code
