"""Queues that admit nothing, though nobody has stopped them: something that they name is not there, or is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from ...cluster.kinds import CLUSTER_QUEUE, LOCAL_QUEUE
from ..marks import Raw
from .finding import Finding, Patient, few, ok, problem

CHECK = "queues"
NO_QUEUE = "ClusterQueueDoesNotExist"
NOT_TOLD = ("Stopped", "ClusterQueueIsInactive")
"""Somebody's choice, or told of the ClusterQueue itself."""


async def check(patient: Patient) -> AsyncIterator[Finding]:
    if not patient.served.can(CLUSTER_QUEUE, "list") or not patient.served.can(LOCAL_QUEUE, "list"):
        return
    queues, locals = await patient.client.list(CLUSTER_QUEUE), await patient.client.list(LOCAL_QUEUE)
    wrong = [
        problem(CHECK, f"clusterqueue {one['metadata']['name']}: {told['message']}", "make what is missing, or mend it")
        for one in queues
        for told in _inactive(one)
    ]
    lost: dict[str, list[str]] = {}
    for one in locals:
        if any(told["reason"] == NO_QUEUE for told in _inactive(one)):
            meta = one["metadata"]
            lost.setdefault(one["spec"]["clusterQueue"], []).append(f"{meta['namespace']}/{meta['name']}")
    wrong += [
        problem(CHECK, f"localqueue {few(names)}: there is no ClusterQueue {queue}", "make it, or name another")
        for queue, names in sorted(lost.items())
    ]
    for finding in wrong:
        yield finding
    if not wrong:
        yield ok(CHECK, f"{len(queues)} ClusterQueues and {len(locals)} LocalQueues have all that they name")


def _inactive(queue: Raw) -> Iterable[Raw]:
    for one in (queue.get("status") or {}).get("conditions") or ():
        if one["type"] == "Active" and one["status"] != "True" and one["reason"] not in NOT_TOLD:
            yield one
