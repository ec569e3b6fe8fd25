"""The columns that `closeknit get` adds to the server's own: queue, level, domains, waiting for.

The server defines the columns of a kind, as it does for kubectl. Ours follow at the end. The columns of a job are
filled from its Workload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import time
from typing import Any

from ..cluster import kinds
from ..cluster.errors import NotFound
from ..cluster.kinds import Kind
from ..cluster.kube.client import METADATA, Client
from ..dialects.kueue import keys
from ..dialects.kueue.jobs.kinds import JOB_KINDS
from ..dialects.kueue.objects.state import STANDING, state_of
from ..dialects.timestamps import parse
from .late_pods import unstarted_pods
from .owners import Owners
from .placements import Atlas, Raw, groups_of, levels_of, reason_of, short_level

JOBS = frozenset(one.served for one in JOB_KINDS if one.hosted and one.owner is None and one.served is not kinds.POD)
"""Kinds that have a Workload, except pods, which have columns of their own."""

PLACES = ("Level", "Domains", "Waiting for")
HEADERS: dict[Kind, tuple[str, ...]] = {
    kinds.WORKLOAD: PLACES,
    **dict.fromkeys(JOBS, ("Queue", *PLACES)),
    kinds.NODE: ("Domain",),
    kinds.POD: ("Node", "Workload"),
    kinds.CLUSTER_QUEUE: ("State",),
    kinds.LOCAL_QUEUE: ("State",),
    kinds.RESOURCE_FLAVOR: ("Topology", "State"),
    kinds.TOPOLOGY: ("Levels", "State"),
    kinds.MAINTENANCE: ("Domains", "State"),
}


class Around:
    """Other objects that our columns need, read from the cluster only when a column needs them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.atlas, self.owners = Atlas(), Owners(client)
        self._workloads: dict[str, Raw] = {}
        self._is_mapped = False
        self.unstarted: dict[str, str] = {}
        """What holds back the pods of admitted workloads, by the workload's uid."""
        self.seen: list[Raw] = []
        """Workloads read so far."""

    async def learn(self, kind: Kind, objects: Sequence[Raw], namespace: str = "") -> None:
        """Read what the columns of these objects need."""
        workloads = objects
        if kind in JOBS:
            workloads = await self._of_jobs(objects, namespace)
        if kind in JOBS or kind is kinds.WORKLOAD:
            self.seen += workloads
            self.unstarted |= await unstarted_pods(self.client, workloads, namespace)
        if kind is kinds.POD:
            await self.owners.learn(objects, namespace)
        elif kind is kinds.NODE:
            self.atlas = Atlas(await listed(self.client, kinds.TOPOLOGY))
        elif not self._is_mapped and any(_has_places(one) for one in workloads):
            self.atlas, self._is_mapped = await atlas_of(self.client), True

    async def _of_jobs(self, jobs: Sequence[Raw], namespace: str) -> list[Raw]:
        uids = [one["metadata"].get("uid", "") for one in jobs]
        selector = {"labelSelector": f"{keys.JOB_UID}={uids[0]}"} if len(uids) == 1 else {}
        found = await listed(self.client, kinds.WORKLOAD, namespace, **selector) if uids else []
        self._workloads.update(newest_by_owner(found))
        return [one for uid in uids if (one := self._workloads.get(uid)) is not None]

    def cells(self, kind: Kind, raw: Raw) -> list[str]:
        fill = _CELLS.get(kind)
        return [] if fill is None else fill(raw, self)

    def is_late(self, kind: Kind, raw: Raw) -> bool:
        """Whether pods of a job or Workload should run by now and do not."""
        workload = self.workload_of(raw) if kind in JOBS else raw
        return workload is not None and workload["metadata"].get("uid") in self.unstarted

    def workload_of(self, job: Raw) -> Raw | None:
        return self._workloads.get(job["metadata"].get("uid", ""))


async def listed(client: Client, kind: Kind, namespace: str = "", **query: str) -> list[Raw]:
    """All objects of a kind; none if the cluster does not serve it."""
    try:
        return await client.list(kind, namespace, **query)
    except NotFound:
        return []


async def atlas_of(client: Client) -> Atlas:
    topologies, flavors = await listed(client, kinds.TOPOLOGY), await listed(client, kinds.RESOURCE_FLAVOR)
    return Atlas(topologies, flavors, await client.list(kinds.NODE, accept=METADATA))


def newest_by_owner(workloads: Iterable[Raw]) -> dict[str, Raw]:
    """Workloads by the uid of their job; the newest if a job has several."""
    found: dict[str, Raw] = {}
    for one in sorted(workloads, key=lambda raw: raw["metadata"].get("creationTimestamp") or ""):
        for owner in one["metadata"].get("ownerReferences") or ():
            found[owner.get("uid", "")] = one
    return found


def newest_of(workloads: Iterable[Raw], name: str, kind: str = "") -> Raw | None:
    """The newest workload of the job with this name."""
    found = [one for one in workloads if owner_named(one, name, kind) is not None]
    return max(found, key=lambda raw: raw["metadata"].get("creationTimestamp") or "", default=None)


def owner_named(workload: Raw, name: str, kind: str = "") -> Raw | None:
    owners = workload["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("name") == name and kind in ("", one.get("kind"))), None)


def _has_places(workload: Raw) -> bool:
    admission = (workload.get("status") or {}).get("admission") or {}
    return any(one.get("topologyAssignment") for one in admission.get("podSetAssignments") or ())


def _places(workload: Raw, around: Around) -> list[str]:
    groups = [one for one in groups_of(workload, around.atlas) if one.pods]
    levels = ", ".join(dict.fromkeys(short_level(one.level) for one in groups if one.level))
    domains = "; ".join(dict.fromkeys(one.where for one in groups))
    late = around.unstarted.get(workload["metadata"].get("uid", ""))
    return [levels, domains, f"its pods to start: {late}" if late else reason_of(workload)[0]]


def _job(raw: Raw, around: Around) -> list[str]:
    meta = raw["metadata"]
    queue = (meta.get("labels") or {}).get(keys.QUEUE) or (meta.get("annotations") or {}).get(keys.QUEUE, "")
    workload = around.workload_of(raw)
    return [queue, *(["", "", ""] if workload is None else _places(workload, around))]


def _node(raw: Raw, around: Around) -> list[str]:
    """The node's path in the topology with the most levels."""
    labels = raw["metadata"].get("labels") or {}
    paths = [[labels.get(level, "") for level in levels] for levels in around.atlas.topologies.values()]
    whole = [path for path in paths if all(path)]
    return ["/".join(sorted(whole, key=len)[-1]) if whole else ""]


def _pod(raw: Raw, around: Around) -> list[str]:
    return [(raw.get("spec") or {}).get("nodeName", ""), around.owners.workload_of(raw)]


def _flavor(raw: Raw, _: Around) -> list[str]:
    return [(raw.get("spec") or {}).get("topologyName", ""), state_of(raw, unjudged=STANDING)]


def _topology(raw: Raw, _: Around) -> list[str]:
    return [", ".join(levels_of(raw)), state_of(raw, unjudged=STANDING)]


def _maintenance(raw: Raw, _: Around) -> list[str]:
    """Its domains by their paths, and whether it is planned, active or has ended."""
    spec, now = raw["spec"], time()
    state = "Planned" if now < parse(spec["from"]) else "Active" if now < parse(spec["until"]) else "Ended"
    return [", ".join("/".join(one["nodeLabels"].values()) for one in spec["domains"]), state]


def _queue(raw: Raw, _: Around) -> list[str]:
    return [state_of(raw)]


_CELLS: dict[Kind, Callable[[Raw, Around], list[Any]]] = {
    kinds.WORKLOAD: _places,
    **dict.fromkeys(JOBS, _job),
    kinds.NODE: _node,
    kinds.POD: _pod,
    kinds.CLUSTER_QUEUE: _queue,
    kinds.LOCAL_QUEUE: _queue,
    kinds.RESOURCE_FLAVOR: _flavor,
    kinds.TOPOLOGY: _topology,
    kinds.MAINTENANCE: _maintenance,
}
