"""A scheduler filled with the objects of a case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from closeknit.decide.scheduler import Scheduler
from closeknit.dialects.core import WireNode, WirePod, node, requests
from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue import objects as kueue
from closeknit.dialects.limits import limit_ranges
from closeknit.dialects.timestamps import parse
from closeknit.model.cluster_queue import ClusterQueue
from closeknit.model.quantity import nanos
from closeknit.model.settings import FAIR, Settings, Transformation
from closeknit.model.workload import Workload
from closeknit.state.mirror import OtherPod

from .case import Case, gates

NAMESPACES = {
    "default": {},
    "eng-alpha": {"dep": "eng"},
    "eng-beta": {"dep": "eng"},
    "eng-gamma": {"dep": "eng"},
    "sales": {"dep": "sales"},
    "lend": {"dep": "lend"},
}


def scheduler(case: Case) -> Scheduler:
    """Everything but the workloads."""
    fair = case.get("fairSharing") or case.get("enableFairSharing")
    built = Scheduler(gates(case), Settings(FAIR if fair else (), transformations=_transformations(case)))
    world = built.world
    world.namespaces = dict(NAMESPACES)
    for raw in case.get("topologies") or ():
        world.put_topology(kueue.topology(raw))
    for raw in case.get("resourceFlavors") or ():
        world.put_flavor(kueue.flavor(raw))
    for raw in case.get("admissionChecks") or ():
        world.put_check(kueue.admission_check(raw))
    for raw in case.get("cohorts") or ():
        world.put_cohort(kueue.cohort(raw))
    for raw in [*(case.get("clusterQueues") or ()), *(case.get("additionalClusterQueues") or ())]:
        built.put_cluster_queue(cluster_queue(raw))
    for raw in [*(case.get("queues") or ()), *(case.get("additionalLocalQueues") or ())]:
        built.put_local_queue(kueue.local_queue(raw))
    _fill_nodes(built, case)
    _fill_objects(built, case)
    return built


def cluster_queue(raw: dict[str, Any]) -> ClusterQueue:
    """A queue that has not passed through an API server: a policy that it does not name is empty, not Never."""
    queue = kueue.cluster_queue(raw)
    given = (raw.get("spec") or {}).get("preemption") or {}
    if given.get("reclaimWithinCohort"):
        return queue
    return replace(queue, preemption=queue.preemption._replace(reclaim=""))


def _fill_nodes(built: Scheduler, case: Case) -> None:
    for raw in case.get("nodes") or ():
        built.world.put_node(node(msgspec.convert(raw, WireNode)))
    for number, raw in enumerate(case.get("pods") or ()):
        pod = msgspec.convert(raw, WirePod)
        annotations = pod.metadata.annotations or {}
        if pod.runs and not any(key in annotations for key in keys.TOPOLOGY_ANNOTATIONS):
            built.world.put_pod(str(number), OtherPod(pod.spec.node_name or "", requests(pod.spec)))


def _fill_objects(built: Scheduler, case: Case) -> None:
    for raw in case.get("objects") or ():
        if raw.get("kind") == "LimitRange" or "limits" in (raw.get("spec") or {}):
            namespace = raw["metadata"]["namespace"]
            known = built.world.limit_ranges.get(namespace, ())
            built.world.limit_ranges[namespace] = (*known, *limit_ranges(raw))


def _transformations(case: Case) -> tuple[Transformation, ...]:
    return tuple(
        Transformation(
            one["input"],
            {name: nanos(str(value)) for name, value in (one.get("outputs") or {}).items()},
            one.get("strategy") != "Replace",
            one.get("multiplyBy") or "",
        )
        for one in case.get("resourceTransformations") or ()
    )


def workloads(case: Case) -> list[Workload]:
    return [kueue.workload(raw) for raw in case.get("workloads") or ()]


def now(case: Case) -> float:
    return parse(case["now"])


def admission(workload: Workload) -> Any:
    """An admission in wire form, amounts as numbers."""
    return plain_admission(kueue.workload_status(workload.status).get("admission"))


def plain_admission(raw: Any) -> Any:
    from closeknit.model.resources import amounts

    if not raw:
        return None
    sets = []
    for one in raw.get("podSetAssignments") or ():
        kept = {key: value for key, value in one.items() if value not in (None, {}, [], "")}
        if "resourceUsage" in kept:
            kept["resourceUsage"] = amounts(kept["resourceUsage"])
        kept.setdefault("count", 0)
        sets.append(kept)
    return {"clusterQueue": raw["clusterQueue"], "podSetAssignments": sets}
