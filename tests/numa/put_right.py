"""Reports without what NodeResourceTopologyMatch has no answer for, or a bad one.

`put_right` changes a report as our reader says that it reads it: a zone that it ignores is removed, an amount is the
one that it counts. What we answer for the report as it is must be what the plug-in answers for the one put right, so
each deliberate difference is compared with the plug-in too. The words name rows of docs/designs/topology-match.md.
"""

from __future__ import annotations

from copy import deepcopy

from closeknit.model.numa import MAX_ZONE_ID
from closeknit.model.quantity import nanos
from closeknit.model.resources import ABSURD, CPU
from closeknit.numa.zone_names import zone_id

from .plugin_cases import Problem
from .wire import Raw

NANO = 10**9
ABOVE = "a zone id above 63"
TWICE = "two zones of one name"
SPARSE = "sparse ids"
POSITION = "sparse ids that are taken for positions"
NEGATIVE = "an amount below 0"
LARGE = "an absurd amount"
FRACTION = "a fraction of a milli-CPU or unit"
DECIMAL = "an amount with a decimal point"
EMPTY = "a container that requests nothing"
SINGLE = "the variance of a single resource, or of none"
BARE = "a pod without containers"
UNSURE = "a sum of floats in random order"


def put_right(problem: Problem) -> tuple[Problem, dict[str, set[str]]]:
    """The problem put right, and what was wrong with each node's report."""
    topologies = deepcopy(problem.topologies)
    wrong = {one["metadata"]["name"]: _put_right(one) for one in topologies}
    pod = deepcopy(problem.pod)
    if _round_requests(pod):
        for faults in wrong.values():
            faults.add(FRACTION)
    return Problem(pod, problem.nodes, topologies, problem.args), wrong


def _put_right(topology: Raw) -> set[str]:
    faults: set[str] = set()
    kept: list[Raw] = []
    ids: list[int] = []
    for zone in topology["zones"]:
        number = zone_id(zone["name"]) if zone["type"] == "Node" else None
        if number is None or number > MAX_ZONE_ID or number in ids:
            faults |= set() if number is None else {ABOVE if number > MAX_ZONE_ID else TWICE}
            continue
        ids.append(number)
        kept.append(zone)
        for resource in zone["resources"]:
            faults |= _put_amount_right(resource)
    topology["zones"] = kept
    if any(one >= len(ids) for one in ids):
        faults.add(SPARSE)
        _renumber(kept, ids)
    return faults


def _renumber(zones: list[Raw], ids: list[int]) -> None:
    """Name zones by the rank of their ids; distances to ids that no zone has are of no use."""
    ranks = {number: f"node-{rank}" for rank, number in enumerate(sorted(ids))}
    for zone, number in zip(zones, ids, strict=True):
        zone["name"] = ranks[number]
        named = [(zone_id(one["name"]), one["value"]) for one in zone.get("costs", [])]
        zone["costs"] = [{"name": ranks[other], "value": value} for other, value in named if other in ranks]


def _put_amount_right(resource: Raw) -> set[str]:
    text = str(resource["available"])
    value, unit = nanos(text), _unit(resource["name"])
    counted = max(0, min(-(-value // unit), ABSURD))
    resource["available"] = _spelled(resource["name"], counted)
    found = {DECIMAL} if "." in text else set()
    if value < 0:
        return {NEGATIVE, *found}
    return found | ({LARGE} if value > ABSURD * unit else {FRACTION} if value % unit else set())


def _unit(name: str) -> int:
    """What the model counts, in nano-units."""
    return NANO // 1000 if name == CPU else NANO


def _spelled(name: str, counted: int) -> str:
    return f"{counted}m" if name == CPU else str(counted)


def _round_requests(pod: Raw) -> bool:
    """Round what containers request up; tells whether that changed anything."""
    changed = False
    for container in pod["spec"]["initContainers"] + pod["spec"]["containers"]:
        requests = container["resources"].get("requests", {})
        for name, text in requests.items():
            if nanos(text) % _unit(name):
                requests[name], changed = _spelled(name, -(-nanos(text) // _unit(name))), True
    return changed


def pod_faults(problem: Problem, strategy: str) -> set[str]:
    """What is wrong with scoring this pod, whatever the report."""
    spec = problem.pod["spec"]
    containers = spec["initContainers"] + spec["containers"]
    names = [len(one["resources"].get("requests", {})) for one in containers]
    found = set() if containers else {BARE}
    if strategy == "BalancedAllocation" and min(names, default=0) <= 1:
        found.add(SINGLE)
    if strategy in ("LeastAllocated", "MostAllocated") and min(names, default=0) == 0:
        found.add(EMPTY)
    return found
