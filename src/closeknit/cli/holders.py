"""Who keeps something that is to be deleted from going: workloads a queue, queues a flavor, flavors a topology."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..cluster import kinds
from ..cluster.kinds import Kind
from ..dialects.kueue.jobs.marks import IN_USE
from ..model.number import number_of
from .columns import listed
from .whereabouts import Raw, holds

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

SHOWN = 5


async def held_by(client: Client, kind: Kind, raw: Raw) -> str:
    """In words, with what would let it go; of other kinds its finalizers, or that its pods have time to stop."""
    meta = raw["metadata"]
    finalizers = meta.get("finalizers") or []
    if kind not in _LOOKS or IN_USE not in finalizers:
        return ", ".join(finalizers) or "its grace period"
    of, is_holder, remedy = _LOOKS[kind]
    found = [one for one in await listed(client, of) if is_holder(one, meta["name"])]
    others = [one for one in finalizers if one != IN_USE]
    if not found:
        return ", ".join(["nobody any more: it is about to go", *others])
    return "; ".join([f"{number_of(len(found), of.kind)}: {_names(found)}", remedy, *others])


def _names(found: Sequence[Raw]) -> str:
    names = [
        "/".join(part for part in (one["metadata"].get("namespace"), one["metadata"]["name"]) if part) for one in found
    ]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _has_quota(workload: Raw, queue: str) -> bool:
    admission = (workload.get("status") or {}).get("admission") or {}
    return admission.get("clusterQueue") == queue and not holds(workload, "Finished")


def _offers(queue: Raw, flavor: str) -> bool:
    groups = (queue.get("spec") or {}).get("resourceGroups") or ()
    return any(one.get("name") == flavor for group in groups for one in group.get("flavors") or ())


def _is_of(flavor: Raw, topology: str) -> bool:
    return bool((flavor.get("spec") or {}).get("topologyName") == topology)


_LOOKS = {
    kinds.CLUSTER_QUEUE: (kinds.WORKLOAD, _has_quota, "it goes when they have ended, or are deleted"),
    kinds.RESOURCE_FLAVOR: (kinds.CLUSTER_QUEUE, _offers, "it goes when no queue offers it any more"),
    kinds.TOPOLOGY: (kinds.RESOURCE_FLAVOR, _is_of, "it goes when no flavor names it any more"),
}
