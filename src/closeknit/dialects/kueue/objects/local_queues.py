"""LocalQueue: a namespace's entry to a ClusterQueue."""

from __future__ import annotations

from typing import Any, cast

from ....model.cluster_queue import LocalQueue
from .quotas import FlavorUsage
from .wire import FairShare, FairSharing, Raw, Wire, WireCondition, WireMeta, convert, reader, weight


class LocalQueueSpec(Wire, frozen=True):
    cluster_queue: str = ""
    stop_policy: str | None = None
    fair_sharing: FairSharing | None = None


class LocalQueueStatus(Wire, frozen=True):
    conditions: tuple[WireCondition, ...] = ()
    pending_workloads: int = 0
    reserving_workloads: int = 0
    admitted_workloads: int = 0
    flavors_reservation: tuple[FlavorUsage, ...] = ()
    flavors_usage: tuple[FlavorUsage, ...] = ()
    fair_sharing: FairShare | None = None


class WireLocalQueue(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()


@reader
def local_queue(raw: Raw) -> LocalQueue:
    wire = convert(raw, WireLocalQueue)
    return LocalQueue(
        wire.metadata.namespace,
        wire.metadata.name,
        wire.spec.cluster_queue,
        cast(Any, wire.spec.stop_policy or "None"),
        weight(wire.spec.fair_sharing),
    )
