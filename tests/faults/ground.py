"""Real servers with our installation on them, simulated machines, and queues of the stories' data centre."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from closeknit.cluster import kinds
from closeknit.deploy.marks import NAME, NAMESPACE
from contract.client import Api
from contract.expect import eventually
from real.installation import leader, refusals
from real.plane import ACCOUNT, DAY, STRICT, install
from servers.cluster import USUAL, RealCluster
from servers.components import API_SERVER
from servers.nodes import await_nodes
from stories import objects

from .users import NODES, machine

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
{election}
---
apiVersion: config.closeknit.dev/v1alpha1
kind: Configuration
notReadyDelay: 3s
"""
QUICK = "leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}"
LEVELS = ("block", "rack", "kubernetes.io/hostname")


class Ground:
    def __init__(self, cluster: RealCluster) -> None:
        self.cluster, self.api = cluster, cluster.api
        self.account = cluster.kubeconfig_of(NAMESPACE, NAME, DAY)
        self._excused = 0

    @property
    def logs(self) -> Path:
        return self.cluster.folder / "logs"

    def config(self, election: str = QUICK) -> Path:
        file = self.cluster.folder / f"election-{'quick' if election else 'default'}.yaml"
        file.write_text(CONFIGURATION.format(election=election))
        return file

    @property
    def leader(self) -> str:
        return leader(self.api)

    def start(self, name: str) -> None:
        """Start a server again. At first it knows no permissions yet, so what it refuses then is excused."""
        self.cluster.start(name)
        controller = Api.from_kubeconfig(self.account)
        eventually(lambda: controller.get(kinds.WORKLOAD.path(), limit=1).status == 200)
        controller.close()
        self._excused = len(refusals(self.cluster))

    def refusals(self) -> list[str]:
        return refusals(self.cluster)[self._excused :]

    def clear(self) -> None:
        """Remove all jobs, and the lease, so that the next leader need not wait."""
        for kind in (kinds.JOB, kinds.POD):
            self.api.delete(kind.path("default"), {"propagationPolicy": "Background"})
        self.api.delete(kinds.LEASE.path(NAMESPACE, NAME))


@contextmanager
def prepared(folder: Path | None) -> Iterator[Ground]:
    flags = {API_SERVER: [STRICT]}
    with RealCluster(USUAL, flags=flags, audit=ACCOUNT, fsync=True, folder=folder) as cluster:
        config = cluster.folder / "configuration.yaml"
        config.write_text(CONFIGURATION.format(election=""))
        install(cluster, config)
        cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}])
        cluster.apply([_deep(raw) for raw in objects.data_centre() if raw["kind"] != "Node"])
        for name in NODES:
            assert cluster.api.post(kinds.NODE.path(), machine(name)).status == 201
        await_nodes(cluster.api, NODES)
        yield Ground(cluster)


def _deep(raw: objects.Raw) -> objects.Raw:
    """Racks are in blocks here."""
    if raw["kind"] == "Topology":
        return {**raw, "spec": {"levels": [{"nodeLabel": label} for label in LEVELS]}}
    return raw
