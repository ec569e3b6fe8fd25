"""A running server for the tests of the REST layer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from closeknit.cluster.embedded.rules import HostRules
from cluster.embedded.rest.running import Running
from contract.client import Api
from servers.build import cache
from servers.versions import SERVERS

KUBECTL = cache() / SERVERS["kubectl"].file


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not KUBECTL.exists():
        terminalreporter.write_line(f"SKIPPED, LOUDLY: the tour with kubectl, for there is no {KUBECTL}")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for the tests of a module, with the host's rules."""
    with Running(tmp_path_factory.mktemp("server"), rules=HostRules()) as running:
        yield running


@pytest.fixture
def api(running: Running) -> Api:
    return running.api


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """For a server that a test starts itself."""
    return tmp_path
