"""Tests that the real cluster does what other tests rely on. They need servers built with Go.

CLOSEKNIT_REAL=1 python -m pytest tests/servers/real
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.client import Api
from contract.expect import namespace
from servers.cluster import USUAL, RealCluster
from servers.failure_logs import pytest_runtest_makereport as pytest_runtest_makereport
from servers.nodes import make_nodes

VARIABLE = "CLOSEKNIT_REAL"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if VARIABLE not in os.environ and collection_path.name.startswith("test_") else None


@pytest.fixture(scope="session")
def cluster() -> Iterator[RealCluster]:
    """One that tests share: Kubernetes, KWOK and the operators, with eight nodes in two racks."""
    with RealCluster([*USUAL, "jobset", "lws"], audit="system:serviceaccount:default:watched") as cluster:
        make_nodes(cluster.api, racks=2, hosts=4)
        yield cluster


@pytest.fixture
def api(cluster: RealCluster) -> Api:
    return cluster.api


@pytest.fixture
def space(api: Api) -> Iterator[str]:
    with namespace(api) as name:
        yield name
