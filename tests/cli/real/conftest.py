"""The controller as a process on a real control plane, with its own ServiceAccount. Needs servers built with Go.

CLOSEKNIT_REAL=1 python -m pytest tests/cli/real
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.real.controller_process import ControllerProcess
from closeknit.deploy.crds import definitions
from closeknit.deploy.marks import NAME, NAMESPACE
from closeknit.deploy.objects import InstallOptions, access
from servers import manifests
from servers.cluster import RealCluster
from servers.failure_logs import pytest_runtest_makereport as pytest_runtest_makereport
from servers.nodes import make_nodes
from servers.real.conftest import pytest_ignore_collect as pytest_ignore_collect

Start = Callable[..., ControllerProcess]

QUICK = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
leaderElection: {leaseDuration: 8s, renewDeadline: 6s, retryPeriod: 500ms}
"""
QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: closeknit-system}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: kwok}
spec: {nodeLabels: {type: kwok}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: kwok, resources: [{name: cpu, nominalQuota: "100"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: default}
spec: {clusterQueue: all}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    with RealCluster() as cluster:
        manifests.define(cluster.api, definitions())
        make_nodes(cluster.api, racks=1, hosts=2)
        cluster.apply(QUEUES)
        cluster.apply(access(InstallOptions()))
        yield cluster


@pytest.fixture(scope="module")
def account(cluster: RealCluster) -> Path:
    """A kubeconfig with the shipped permissions. The token is requested while the server runs."""
    return cluster.kubeconfig_of(NAMESPACE, NAME)


@pytest.fixture
def start(account: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a controller with these options; all are stopped at the end of the test."""
    started: list[ControllerProcess] = []

    def begin(*options: str, **environ: str) -> ControllerProcess:
        log, config = tmp_path / f"controller-{len(started)}.log", tmp_path / "config.yaml"
        config.write_text(QUICK)
        started.append(ControllerProcess(account, log, "--config", str(config), *options, **environ))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
