"""The ends of the servers' logs, shown with a test that failed. A conftest imports the hook to have it.

Code that starts another kind of process adds its log to `ALSO` while it runs.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from .cluster import RealCluster
from .process import tail

SHOWN = 1500
ALSO: set[Path] = set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        servers = [log for cluster in RealCluster.running for log in cluster.logs().values()]
        for log in (*servers, *sorted(ALSO)):
            report.sections.append((f"end of {log}", tail(log, SHOWN)))
    return report
