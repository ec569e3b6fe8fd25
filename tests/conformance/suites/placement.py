"""Placement: a cluster, some usage, and the pod sets of one workload."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from closeknit.dialects.core import NodeAffinity, WireNode, WirePod, WireToleration, node, requests, shape_of
from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.topology_request import TopologyRequest, grouped
from closeknit.engine.place import Result, place
from closeknit.engine.policy import Policy
from closeknit.engine.replace import Broken, replace
from closeknit.model.assignment import Assignment
from closeknit.model.encoding import decode
from closeknit.model.request import PodSet
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

from .case import Case, Prepared, gates
from .encoding import plain

NO_RESULT = "__no_result__"
NOTHING_SAID: dict[str, Any] = {"assignment": None, "reason": NO_RESULT}


def placement(case: Case) -> Prepared:
    """Random problems: usage of all flavors if it is given and hosts are shared, else the flavor's own."""
    shared = case.get("priorFlavorUsage") or ()
    return _placement(case, shared if shared and _hosts_are_shared(case) else case.get("priorOwnUsage") or ())


def table_placement(case: Case) -> Prepared:
    """Cases of the table: with shared hosts only the usage of all flavors counts, even if there is none."""
    if not _hosts_are_shared(case):
        return _placement(case, case.get("priorOwnUsage") or ())
    return _placement(case, [*(case.get("aggregatedDomainUsages") or ()), *(case.get("priorFlavorUsage") or ())])


def _hosts_are_shared(case: Case) -> bool:
    return "TASHandleOverlappingFlavors" in gates(case) and case["levels"][-1] == HOSTNAME


def _placement(case: Case, usage: Iterable[Any]) -> Prepared:
    policy = Policy(gates(case), empty=bool(case.get("simulateEmpty")))
    snapshot = build_snapshot(case, case["levels"], case.get("nodeLabels") or {}, usage)
    pod_sets = [pod_set(wire) for wire in case["podSets"]]
    workload = case.get("workload") or {}
    unhealthy = (workload.get("status") or {}).get("unhealthyNodes") or []
    want = [wanted(wire) for wire in case["podSets"]]
    if unhealthy:
        existing = admitted(workload)
        broken = [Broken(one, existing[one.name]) for one in pod_sets]
        owned = owned_by_one_pod(workload)
        return Prepared(
            lambda: replace(snapshot, broken, unhealthy[0]["name"], policy, owned),
            lambda result: shown(pod_sets, result),
            want,
        )
    names = [wire.get("podSetGroupName") for wire in case["podSets"]]
    request = grouped(zip(pod_sets, names, strict=True))
    return Prepared(lambda: place(snapshot, request, policy), lambda result: shown(pod_sets, result), want)


def layered_replacement(case: Case) -> Prepared:
    policy = Policy(gates(case))
    levels = case.get("levels") or case["defaultLevels"]
    usage = [*(case.get("aggregatedDomainUsages") or ()), *(case.get("priorFlavorUsage") or ())]
    snapshot = build_snapshot(case, levels, {}, usage)
    request = msgspec.convert(case.get("topologyRequest") or {}, TopologyRequest)
    main = PodSet("main", case.get("count") or 0, Shape.of({"cpu": 1000}), request.constraint())
    broken = [Broken(main, decode(case.get("existingTA") or {}))]
    want = [wanted(case)]
    return Prepared(
        lambda: replace(snapshot, broken, case["unhealthyNode"], policy),
        lambda result: shown([main], result),
        want,
    )


def wanted(wire: dict[str, Any]) -> dict[str, Any]:
    assignment = wire.get("wantAssignment")
    return {"assignment": assignment and _tidy(assignment), "reason": wire.get("wantReason") or ""}


def build_snapshot(case: Case, levels: list[str], labels: dict[str, str], usage: Iterable[Any]) -> Snapshot:
    nodes = [node(msgspec.convert(wire, WireNode)) for wire in case.get("nodes") or ()]
    snapshot = Snapshot(Topology("default", tuple(levels)), NodeTable.of(nodes), labels)
    for wire in case.get("pods") or ():
        pod = msgspec.convert(wire, WirePod)
        annotations = pod.metadata.annotations or {}
        if pod.runs and not any(key in annotations for key in keys.TOPOLOGY_ANNOTATIONS):
            snapshot.use(pod.spec.node_name or "", requests(pod.spec))
    for entry in usage:
        leaf = snapshot.leaf(tuple(entry.get("Values") or ()))
        if leaf is not None:
            charge = Shape.of(entry.get("SinglePodRequests") or {}).charge
            snapshot.admit(np.array([leaf]), np.array([entry.get("Count") or 0]), charge)
    snapshot.commit()
    return snapshot


def pod_set(wire: dict[str, Any]) -> PodSet:
    request = wire.get("topologyRequest") and msgspec.convert(wire.get("topologyRequest"), TopologyRequest)
    affinity = wire.get("nodeAffinity") and msgspec.convert(wire.get("nodeAffinity"), NodeAffinity)
    tolerations = msgspec.convert(wire.get("tolerations") or [], list[WireToleration])
    return PodSet(
        name=wire.get("podSetName") or "",
        count=wire.get("count") or 0,
        shape=shape_of(wire.get("requests") or {}, wire.get("nodeSelector"), tolerations, affinity),
        constraint=request.constraint() if request else None,
        previous=decode(wire["previousAssignment"]) if wire.get("previousAssignment") else None,
    )


def admitted(workload: dict[str, Any]) -> dict[str, Assignment]:
    admission = (workload.get("status") or {}).get("admission") or {}
    sets = admission.get("podSetAssignments") or ()
    return {one.get("name") or "": decode(one["topologyAssignment"]) for one in sets if one.get("topologyAssignment")}


def owned_by_one_pod(workload: dict[str, Any]) -> bool:
    meta = workload.get("metadata") or {}
    owners = meta.get("ownerReferences") or []
    alone = len(owners) == 1 and (owners[0].get("apiVersion"), owners[0].get("kind")) == ("v1", "Pod")
    return alone and (meta.get("annotations") or {}).get(keys.IS_GROUP) != "true"


def shown(pod_sets: list[PodSet], result: Result) -> list[Any]:
    said = {id(outcome.pod_set): outcome for outcome in result.outcomes}
    answers = []
    for one in pod_sets:
        outcome = said.get(id(one))
        if outcome is None:
            answers.append(NOTHING_SAID)
            continue
        assignment = None if outcome.assignment is None else _tidy(plain(outcome.assignment))
        answers.append({"assignment": assignment, "reason": "" if outcome.reason is None else str(outcome.reason)})
    return answers


def _tidy(assignment: dict[str, Any]) -> dict[str, Any]:
    return {"Levels": assignment.get("Levels") or [], "Domains": assignment.get("Domains") or []}
