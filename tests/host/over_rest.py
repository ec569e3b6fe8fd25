"""The control plane over HTTP, on an in-process cluster without one of its own: as on a real server, without Go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from closeknit.cluster.embedded.folder import Folder
from closeknit.cluster.embedded.store import WriteOptions as Writing
from closeknit.cluster.errors import Refused
from closeknit.cluster.kinds import Kind, kind_of
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.cluster.port import Change, Write
from closeknit.host.embedded import EmbeddedOptions as ClusterOptions
from closeknit.host.kubernetes import KubernetesHost, KubernetesOptions
from closeknit.host.outbox import PATIENCE
from closeknit.host.service import Service

Raw = dict[str, Any]
CLIENT = Writing(trusted=False)


class NoControlPlane:
    """Stands in for the cluster's own control plane and does nothing."""

    watches: tuple[Kind, ...] = ()

    def see(self, change: Change) -> None:
        """Ignores changes."""

    def due(self) -> float | None:
        return None

    def step(self, now: float) -> Sequence[Write]:
        return ()

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        """It writes nothing."""


class Cluster:
    """Stand-ins and an API server, in this event loop."""

    def __init__(self, service: Service) -> None:
        self.service, self.store = service, service.store

    @property
    def kubeconfig(self) -> Path:
        return self.service.folder.path / "kubeconfig"

    def apply(self, manifests: str) -> None:
        for raw in yaml.safe_load_all(manifests):
            self.create(raw)

    def create(self, raw: Raw) -> Raw:
        kind = kind_of(raw["apiVersion"], raw["kind"])
        assert kind is not None, raw["kind"]
        made = self.store.create(kind, raw, CLIENT)
        self.service.nudge()
        return made

    def all(self, kind: Kind) -> list[Raw]:
        return list(self.store.all(kind))

    async def until(self, what: Callable[[], object], seconds: float = 20.0) -> None:
        async with asyncio.timeout(seconds):
            while not what():
                await asyncio.sleep(0.02)


@asynccontextmanager
async def cluster(folder: Path, options: ClusterOptions | None = None) -> AsyncIterator[Cluster]:
    with Folder(folder) as own:
        service = Service(own, options or ClusterOptions(seed=1))
        service.cluster.loop.participants[0] = NoControlPlane()
        service.begin()
        await service.serve()
        living = asyncio.create_task(service.run())
        try:
            yield Cluster(service)
        finally:
            service.stop()
            await living


@asynccontextmanager
async def controller(of: Cluster, options: KubernetesOptions | None = None) -> AsyncIterator[KubernetesHost]:
    """A control plane whose informers have synced."""
    async with Client(read_config([of.kubeconfig]), retries=PATIENCE) as client:
        host = KubernetesHost(client, options)
        living = asyncio.create_task(host.run())
        try:
            await of.until(lambda: host.is_synced or living.done())
            yield host
        finally:
            host.stop()
            await living
