"""Detects a running Kueue: two controllers that admit the same workloads would undo each other's work.

Kueue's leader renews a Lease. Clocks may differ, so timestamps are not compared with ours: Kueue is running if the
Lease changes while we watch it for its duration. A Lease that does not change was left behind by a stopped Kueue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic
from typing import NamedTuple, Protocol

from ..cluster.errors import Forbidden, NotFound
from ..cluster.kinds import LEASE, Kind
from ..cluster.port import Raw
from ..dialects.kueue.configuration import KUEUE_LEASE

log = logging.getLogger(__name__)

HOME = "kueue-system"
LOOK = 1.0
USUAL = 15
"""Duration in seconds of a Lease without leaseDurationSeconds."""


class LeaseReader(Protocol):
    async def get(self, kind: Kind, namespace: str, name: str) -> Raw: ...

    async def list(self, kind: Kind, namespace: str = "", *, accept: str = ..., **query: str | int) -> list[Raw]: ...


class RunningKueue(NamedTuple):
    namespace: str
    holder: str

    def __str__(self) -> str:
        remedy = f"kubectl -n {self.namespace} scale deployment kueue-controller-manager --replicas=0"
        return (
            f"Kueue runs on this cluster: {self.holder} renews its Lease {self.namespace}/{KUEUE_LEASE}. "
            f"Only one of the two may run; stop Kueue: {remedy}"
        )


async def detect_kueue(
    leases: LeaseReader,
    homes: Iterable[str] = (HOME,),
    now: Callable[[], float] = monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> RunningKueue | None:
    """The Kueue that runs on this cluster, if any. With a Lease it returns once that is renewed or expires."""
    homes = list(homes)
    first = await _held(leases, homes)
    seen = {place: _renewal(lease) for place, lease in first.items()}
    if first:
        log.info("found a Lease of Kueue; checking whether it is renewed")
    end = now() + max((one["spec"].get("leaseDurationSeconds") or USUAL for one in first.values()), default=0)
    while now() < end:
        await sleep(LOOK)
        for place, lease in (await _held(leases, homes)).items():
            if seen.get(place) != _renewal(lease):
                return RunningKueue(place, lease["spec"]["holderIdentity"])
    return None


async def _held(leases: LeaseReader, homes: list[str]) -> dict[str, Raw]:
    """Kueue's Leases with a holder, by namespace; from all namespaces if we may list them."""
    try:
        found = await leases.list(LEASE, fieldSelector=f"metadata.name={KUEUE_LEASE}")
    except Forbidden:
        found = [one for home in homes if (one := await _in(leases, home)) is not None]
    return {one["metadata"]["namespace"]: one for one in found if (one.get("spec") or {}).get("holderIdentity")}


async def _in(leases: LeaseReader, namespace: str) -> Raw | None:
    try:
        return await leases.get(LEASE, namespace, KUEUE_LEASE)
    except Forbidden:
        log.warning("cannot check whether Kueue runs in %s: get on its Lease is forbidden", namespace)
    except NotFound:
        pass
    return None


def _renewal(lease: Raw) -> tuple[object, object]:
    return lease["spec"]["holderIdentity"], lease["spec"].get("renewTime")
