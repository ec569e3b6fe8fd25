"""Finds the workload of a pod: by the pod's own annotation, else through its owners up to a workload's owner.

    Pod ──▶ Job ──▶ JobSet ◀── Workload

Whether a pod has the annotation depends on feature gates and on its controller; owner references always exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..cluster import kinds
from ..cluster.errors import NotFound
from ..cluster.kinds import BY_NAME, Kind
from ..cluster.kube.client import METADATA
from ..dialects.kueue import keys

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.port import Raw

HIGHEST = 4
"""How many levels of owners are followed."""


class Owners:
    """Reads owners from a cluster, each kind once per call."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._workloads: dict[str, str] = {}
        self._above: dict[str, list[Raw]] = {}

    async def learn(self, pods: Sequence[Raw], namespace: str) -> None:
        unsaid = [pod for pod in pods if not said(pod) and self.workload_of(pod) == ""]
        if not unsaid:
            return
        for one in await self._listed(kinds.WORKLOAD, namespace):
            for owner in _owners(one):
                self._workloads[owner.get("uid", "")] = one["metadata"]["name"]
        above = [owner for pod in unsaid for owner in _owners(pod)]
        for _ in range(HIGHEST):
            found = {_kind(one) for one in above if one.get("uid") not in self._workloads} - {None}
            above = [owner for kind in found if kind is not None for owner in await self._climb(kind, namespace)]

    async def below(self, uid: str, pods: Sequence[Raw], namespace: str) -> list[Raw]:
        """The pods that an object owns, directly or through other objects; a pod may own pods too."""
        self._above |= {pod["metadata"].get("uid", ""): _owners(pod) for pod in pods}
        above = [owner for pod in pods for owner in _owners(pod)]
        for _ in range(HIGHEST):
            found = {_kind(one) for one in above if one.get("uid") not in {uid, *self._above}} - {None}
            above = [owner for kind in found if kind is not None for owner in await self._climb(kind, namespace)]
        return [pod for pod in pods if self._is_below(uid, _owners(pod), HIGHEST)]

    def _is_below(self, uid: str, owners: Iterable[Raw], steps: int) -> bool:
        above = [str(one.get("uid")) for one in owners]
        return uid in above or (
            steps > 0 and any(self._is_below(uid, self._above.get(one, ()), steps - 1) for one in above)
        )

    async def _climb(self, kind: Kind, namespace: str) -> list[Raw]:
        """Record the owners of all objects of this kind; return those not recorded yet."""
        for one in await self._listed(kind, namespace):
            self._above[one["metadata"].get("uid", "")] = _owners(one)
        return [owner for owners in self._above.values() for owner in owners if owner.get("uid") not in self._above]

    async def _listed(self, kind: Kind, namespace: str) -> list[Raw]:
        try:
            return await self.client.list(kind, namespace if kind.namespaced else "", accept=METADATA)
        except NotFound:
            return []

    def workload_of(self, pod: Raw) -> str:
        return said(pod) or self._upwards(pod["metadata"].get("uid", ""), _owners(pod), HIGHEST)

    def _upwards(self, uid: str, owners: Iterable[Raw], steps: int) -> str:
        if uid in self._workloads or steps < 0:
            return self._workloads.get(uid, "")
        above = ((one.get("uid", ""), steps - 1) for one in owners)
        return next((found for one, left in above if (found := self._upwards(one, self._above.get(one, ()), left))), "")


def said(pod: Raw) -> str:
    """The workload by the pod's own annotation, or by its pod group, which has its workload's name."""
    meta = pod["metadata"]
    notes, labels = meta.get("annotations") or {}, meta.get("labels") or {}
    return str(notes.get(keys.WORKLOAD) or labels.get(keys.POD_GROUP) or "")


def _owners(raw: Raw) -> list[Raw]:
    return raw["metadata"].get("ownerReferences") or []


def _kind(owner: Raw) -> Kind | None:
    return BY_NAME.get((str(owner.get("apiVersion", "")).rpartition("/")[0], str(owner.get("kind", ""))))
