"""SIGUSR2 dumps the state of the control plane, which keeps running."""

from __future__ import annotations

import json
import logging
import signal
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from closeknit.cli.configuration import Configured
from closeknit.cli.controlling import ControllerOptions, Controlling
from closeknit.cluster.kube.config import Config
from closeknit.model.gates import Gates
from closeknit.observe.live_jobs import Managed
from host.process import HostProcess

PATIENCE = 20.0


def test_the_embedded_host_dumps_into_its_folder_for_its_owner_only(tmp_path: Path) -> None:
    with HostProcess(tmp_path / "up", "--port", "0", "--demo", "first-steps") as host:
        file = host.folder / "dump.json"
        host.process.send_signal(signal.SIGUSR2)
        end = monotonic() + PATIENCE
        while not file.exists() and monotonic() < end:
            sleep(0.02)
        found = json.loads(file.read_text())
        assert set(found) == {"time", "holdings", "waiting", "quota", "free"}
        assert found["free"]
        assert file.stat().st_mode & 0o777 == 0o600
        assert host.api.get("/readyz").status == 200, "it goes on"


def controlling() -> Controlling:
    wishes = ControllerOptions(Configured(), Gates.profile(), Managed(), "closeknit-system", True, None, None, "info")
    return Controlling(Config("https://127.0.0.1:1"), wishes)


class Host:
    def dump(self) -> dict[str, Any]:
        return {"leads": True, "holdings": {}}


def test_the_controller_dumps_one_line_to_stdout(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    one = controlling()
    one.host = Host()  # type: ignore[assignment]
    one._dump()
    assert capfdbinary.readouterr().out == b'{"leads":true,"holdings":{}}\n'


def test_a_controller_without_state_logs_that(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        controlling()._dump()
    assert "SIGUSR2: no state to dump yet" in caplog.text
