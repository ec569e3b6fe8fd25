"""Queues that admit nothing: an object they refer to is missing, they are inactive, or they were stopped.

References are looked up here, because a controller that does not run reports nothing; the rest is in its conditions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from ...cluster.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR
from ...model.number import number_of
from ..marks import Raw
from .finding import Finding, Patient, few, ok, problem, warning

CHECK = "queues"
NEEDED = (CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR)
NOT_TOLD = ("Stopped", "Terminating", "FlavorNotFound")
"""Reasons that are reported otherwise."""


async def check(patient: Patient) -> AsyncIterator[Finding]:
    if not all(patient.served.can(kind, "list") for kind in NEEDED):
        return
    queues, locals, flavors = [await patient.client.list(kind) for kind in NEEDED]
    wrong = [
        *_of_flavors(queues, _names(flavors)),
        *_inactive(queues),
        *_ending(queues),
        *_lost(locals, _names(queues)),
        *_stopped(patient, [*queues, *locals]),
    ]
    for finding in wrong:
        yield finding
    if not wrong:
        counts = f"{number_of(len(queues), 'ClusterQueue')} and {number_of(len(locals), 'LocalQueue')}"
        yield ok(CHECK, f"{counts} refer to existing objects and are not stopped")


def _names(objects: list[Raw]) -> set[str]:
    return {one["metadata"]["name"] for one in objects}


def _of_flavors(queues: list[Raw], known: set[str]) -> Iterator[Finding]:
    for one in queues:
        groups = (one.get("spec") or {}).get("resourceGroups") or ()
        named = {flavor["name"] for group in groups for flavor in group.get("flavors") or ()}
        if named - known:
            text = f"clusterqueue {one['metadata']['name']}: there is no ResourceFlavor {few(sorted(named - known))}"
            yield problem(CHECK, text, "create it, or name another in spec.resourceGroups")


def _inactive(queues: list[Raw]) -> Iterator[Finding]:
    for one in queues:
        for told in (one.get("status") or {}).get("conditions") or ():
            if told["type"] == "Active" and told["status"] != "True" and told.get("reason") not in NOT_TOLD:
                text = f"clusterqueue {one['metadata']['name']}: {told.get('message') or told.get('reason')}"
                yield problem(CHECK, text, "fix the object that it names")


def _ending(queues: list[Raw]) -> Iterator[Finding]:
    for one in queues:
        if "deletionTimestamp" in one["metadata"]:
            text = (
                f"clusterqueue {one['metadata']['name']} is being deleted: it admits nothing, and its workloads keep it"
            )
            yield warning(CHECK, text, "it is removed when they have finished; until then its name cannot be reused")


def _stopped(patient: Patient, queues: list[Raw]) -> Iterator[Finding]:
    """Stopped queues: a user's choice, and often one that was forgotten."""
    for one in queues:
        if (one.get("spec") or {}).get("stopPolicy") in ("Hold", "HoldAndDrain"):
            meta = one["metadata"]
            name = f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
            kind = "localqueue" if "namespace" in meta else "clusterqueue"
            text = f"{kind} {name} is stopped (stopPolicy {one['spec']['stopPolicy']}): it admits nothing"
            yield warning(CHECK, text, f"`{patient.command('queue', 'resume', name)}` resumes it")


def _lost(locals: list[Raw], known: set[str]) -> Iterator[Finding]:
    lost: dict[str, list[str]] = {}
    for one in locals:
        queue, meta = (one.get("spec") or {}).get("clusterQueue") or "", one["metadata"]
        if queue not in known:
            lost.setdefault(queue, []).append(f"{meta['namespace']}/{meta['name']}")
    for queue, names in sorted(lost.items()):
        what = f"there is no ClusterQueue {queue}" if queue else "names no ClusterQueue"
        yield problem(CHECK, f"localqueue {few(names)}: {what}", "create it, or name another in spec.clusterQueue")
