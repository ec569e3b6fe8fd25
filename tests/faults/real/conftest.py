"""Faults on a real control plane, one after another. They need servers built with Go.

    CLOSEKNIT_REAL=1 python -m pytest -n 0 -s tests/faults/real

CLOSEKNIT_KILLS is how often a controller is killed, CLOSEKNIT_SEED what users do. CLOSEKNIT_FOLDER names a folder for
logs; it stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.ground import Ground, prepared
from servers.failure_logs import pytest_runtest_makereport as pytest_runtest_makereport
from servers.real.conftest import pytest_ignore_collect as pytest_ignore_collect

FOLDER = "CLOSEKNIT_FOLDER"


@pytest.fixture(scope="session")
def ground(worker_id: str) -> Iterator[Ground]:
    """Each process that runs tests has its own."""
    folder = os.environ.get(FOLDER)
    with prepared(Path(folder) / worker_id if folder else None) as ground:
        yield ground
