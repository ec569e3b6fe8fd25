"""The two servers under attack: the embedded host as a process, and the controller's own port."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from attacks.line import Target
from attacks.port import ControllerPort
from host.process import HostProcess

FULL = "CLOSEKNIT_ATTACKS" in os.environ
"""Whether the volumes of `make test-host` are used."""
slow = pytest.mark.skipif(not FULL, reason="waits for time limits: run by make test-host, or with CLOSEKNIT_ATTACKS=1")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    with HostProcess(tmp_path_factory.mktemp("attacked") / "host", "--demo", "first-steps") as process:
        yield process


@pytest.fixture(scope="module")
def port() -> Iterator[ControllerPort]:
    with ControllerPort() as started:
        yield started


@pytest.fixture(params=["embedded", "controller", "probes"])
def target(request: pytest.FixtureRequest) -> Target:
    """Each of the servers; the controller's has two ports."""
    if request.param == "embedded":
        return Target.of(request.getfixturevalue("host").api)
    port: ControllerPort = request.getfixturevalue("port")
    return port.target if request.param == "controller" else port.probes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "host"
