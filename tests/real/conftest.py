"""Scenarios that share a real control plane. They need servers built with Go.

    CLOSEKNIT_REAL=1 python -m pytest -n 6 --dist loadfile tests/real

Each has a namespace, nodes, a flavor and queues of its own, so that files run at the same time. CLOSEKNIT_FOLDER names
a folder for logs and the audit log; it stays. CLOSEKNIT_PLACE=KUBECONFIG:LOG names a control plane that runs already.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from real.plane import Place, controlled, raised
from real.scene import Scene
from servers.real.conftest import VARIABLE
from servers.real.conftest import pytest_ignore_collect as pytest_ignore_collect

FOLDER, PLACE = "CLOSEKNIT_FOLDER", "CLOSEKNIT_PLACE"
HANDED = "closeknit_place"


class Shared:
    """The one control plane of a run, started on first use."""

    open = ExitStack()
    place: Place | None = None

    @classmethod
    def get(cls) -> Place:
        if cls.place is None and PLACE in os.environ:
            cls.place = Place(*os.environ[PLACE].split(":"))
        elif cls.place is None:
            folder = os.environ.get(FOLDER)
            cluster = cls.open.enter_context(raised(Path(folder) if folder else None))
            cls.place = cls.open.enter_context(controlled(cluster))
        return cls.place


def pytest_configure_node(node: Any) -> None:
    """With several worker processes, start the control plane before the first test."""
    if VARIABLE in os.environ:
        node.workerinput[HANDED] = tuple(Shared.get())


def pytest_unconfigure() -> None:
    Shared.open.close()


@pytest.fixture(scope="session")
def place(request: pytest.FixtureRequest) -> Place:
    handed = getattr(request.config, "workerinput", {}).get(HANDED)
    return Place(*handed) if handed else Shared.get()


@pytest.fixture
def scene(place: Place) -> Iterator[Scene]:
    with Scene.begin(place) as scene:
        yield scene
