"""Jobs from files as a server would store them on creation: with a queue, and suspended or gated.

An object with a uid was exported from a cluster and is complete. One without a uid was written by hand, so what the
server does on creation is applied here: the default queue of its namespace, suspend, gates on pods.
"""

from __future__ import annotations

from collections.abc import Collection

from ..cluster import kinds
from ..cluster.kinds import Kind
from ..cluster.port import Raw
from ..dialects.kueue import keys
from ..dialects.kueue.jobs.kinds import LIVE
from ..dialects.kueue.jobs.kinds.pod import prepared
from ..dialects.kueue.jobs.raw import at, put
from ..model.gates import Gates
from .workloads import DEFAULT


def as_created(kind: Kind, raw: Raw, queues: Collection[str], gates: Gates) -> Raw:
    """The job as created; `queues` are the LocalQueues of its namespace."""
    if at(raw, "metadata", "uid"):
        return raw
    if not at(raw, "metadata", "labels", keys.QUEUE):
        if DEFAULT not in queues:
            return raw
        raw = put(raw, ("metadata", "labels", keys.QUEUE), DEFAULT)
    if kind is kinds.POD:
        return raw if at(raw, "spec", "nodeName") or at(raw, "metadata", "ownerReferences") else prepared(raw, gates)
    integration = LIVE.get((kind.group, kind.kind))
    if integration is None or integration.is_suspended(raw) or integration.ignored(raw):
        return raw
    return integration.suspended(raw, True)
