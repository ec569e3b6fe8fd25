"""The ends of the servers' logs, shown with a test that failed. A conftest imports the hook to have it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from .cluster import RealCluster
from .process import tail

SHOWN = 1500


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for cluster in RealCluster.running:
            for log in cluster.logs().values():
                report.sections.append((f"end of {log}", tail(log, SHOWN)))
    return report
