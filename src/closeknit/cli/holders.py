"""What blocks a deletion: workloads block their queue, queues their flavors, flavors their topology."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..cluster import kinds
from ..cluster.kinds import Kind
from ..dialects.kueue.jobs.marks import IN_USE
from ..dialects.kueue.objects import usage
from ..model.number import number_of
from .columns import listed
from .placements import Raw

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

SHOWN = 5


async def held_by(client: Client, kind: Kind, raw: Raw) -> str:
    """The objects that block the deletion and the remedy; for other kinds the finalizers or the grace period."""
    meta = raw["metadata"]
    finalizers = meta.get("finalizers") or []
    if kind not in _LOOKS or IN_USE not in finalizers:
        return ", ".join(finalizers) or "its grace period"
    of, is_holder, remedy = _LOOKS[kind]
    found = [one for one in await listed(client, of) if is_holder(one, meta["name"])]
    others = [one for one in finalizers if one != IN_USE]
    if not found:
        return ", ".join(["nothing: it is about to be deleted", *others])
    return "; ".join([f"{number_of(len(found), of.kind)}: {_names(found)}", remedy, *others])


def _names(found: Sequence[Raw]) -> str:
    names = [
        "/".join(part for part in (one["metadata"].get("namespace"), one["metadata"]["name"]) if part) for one in found
    ]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


_LOOKS = {
    kinds.CLUSTER_QUEUE: (kinds.WORKLOAD, usage.has_quota, "it is deleted once they finish or are deleted"),
    kinds.RESOURCE_FLAVOR: (
        kinds.CLUSTER_QUEUE,
        lambda queue, name: name in usage.flavors(queue),
        "it is deleted once no queue uses it",
    ),
    kinds.TOPOLOGY: (
        kinds.RESOURCE_FLAVOR,
        lambda flavor, name: usage.topology(flavor) == name,
        "it is deleted once no flavor uses it",
    ),
}
