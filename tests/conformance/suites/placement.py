"""Placement: a cluster, some usage, and the pod sets of one workload."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from closeknit.dialects.core import NodeAffinity, WireNode, WirePod, WireToleration, node, requests, shape_of
from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.topology_request import TopologyRequest
from closeknit.engine.place import Result, place
from closeknit.engine.policy import Policy
from closeknit.engine.replace import Broken, replace
from closeknit.model.assignment import Assignment
from closeknit.model.encoding import decode
from closeknit.model.request import PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

from .case import Case, Prepared, gates
from .encoding import plain

NO_RESULT = "__no_result__"
NOTHING_SAID: dict[str, Any] = {"assignment": None, "reason": NO_RESULT}


def placement(case: Case) -> Prepared:
    policy = Policy(gates(case), empty=bool(case.get("simulateEmpty")))
    shared = "TASHandleOverlappingFlavors" in policy.gates and case["levels"][-1] == "kubernetes.io/hostname"
    usage = case.get("priorOwnUsage") or ()
    if shared and ("aggregatedDomainUsages" in case or case.get("priorFlavorUsage") is not None):
        usage = [*(case.get("aggregatedDomainUsages") or ()), *(case.get("priorFlavorUsage") or ())]
    snapshot = build_snapshot(case, case["levels"], case.get("nodeLabels") or {}, usage)
    pod_sets = [pod_set(wire) for wire in case["podSets"]]
    workload = case.get("workload") or {}
    unhealthy = (workload.get("status") or {}).get("unhealthyNodes") or []
    want = [
        {"assignment": wire["wantAssignment"] and _tidy(wire["wantAssignment"]), "reason": wire["wantReason"]}
        for wire in case["podSets"]
    ]
    if unhealthy:
        existing = admitted(workload)
        broken = [Broken(one, existing[one.name]) for one in pod_sets]
        owned = owned_by_one_pod(workload)
        return Prepared(
            lambda: replace(snapshot, broken, unhealthy[0]["name"], policy, owned),
            lambda result: shown(pod_sets, result),
            want,
        )
    request = Request.of(pod_sets)
    return Prepared(lambda: place(snapshot, request, policy), lambda result: shown(pod_sets, result), want)


def layered_replacement(case: Case) -> Prepared:
    policy = Policy(gates(case))
    levels = case["levels"] or case["defaultLevels"]
    usage = [*(case["aggregatedDomainUsages"] or ()), *(case["priorFlavorUsage"] or ())]
    snapshot = build_snapshot(case, levels, {}, usage)
    request = msgspec.convert(case["topologyRequest"], TopologyRequest)
    main = PodSet("main", case["count"], Shape.of({"cpu": 1000}), request.constraint())
    broken = [Broken(main, decode(case["existingTA"]))]
    want = [{"assignment": case["wantAssignment"] and _tidy(case["wantAssignment"]), "reason": case["wantReason"]}]
    return Prepared(
        lambda: replace(snapshot, broken, case["unhealthyNode"], policy),
        lambda result: shown([main], result),
        want,
    )


def build_snapshot(case: Case, levels: list[str], labels: dict[str, str], usage: Iterable[Any]) -> Snapshot:
    nodes = [node(msgspec.convert(wire, WireNode)) for wire in case["nodes"] or ()]
    snapshot = Snapshot(Topology("default", tuple(levels)), NodeTable.of(nodes), labels)
    for wire in case.get("pods") or ():
        pod = msgspec.convert(wire, WirePod)
        annotations = pod.metadata.annotations or {}
        if pod.runs and not any(key in annotations for key in keys.TOPOLOGY_ANNOTATIONS):
            snapshot.use(pod.spec.node_name or "", requests(pod.spec))
    for entry in usage:
        leaf = snapshot.leaf(tuple(entry["Values"]))
        if leaf is not None:
            charge = Shape.of(entry["SinglePodRequests"]).charge
            snapshot.admit(np.array([leaf]), np.array([entry["Count"]]), charge)
    snapshot.commit()
    return snapshot


def pod_set(wire: dict[str, Any]) -> PodSet:
    request = wire["topologyRequest"] and msgspec.convert(wire["topologyRequest"], TopologyRequest)
    affinity = wire["nodeAffinity"] and msgspec.convert(wire["nodeAffinity"], NodeAffinity)
    tolerations = msgspec.convert(wire["tolerations"] or [], list[WireToleration])
    return PodSet(
        name=wire["podSetName"] or "",
        count=wire["count"],
        shape=shape_of(wire["requests"] or {}, wire["nodeSelector"], tolerations, affinity),
        constraint=request.constraint() if request else None,
        group=wire["podSetGroupName"],
        previous=decode(wire["previousAssignment"]) if wire["previousAssignment"] else None,
    )


def admitted(workload: dict[str, Any]) -> dict[str, Assignment]:
    sets = workload["status"]["admission"]["podSetAssignments"]
    return {one["name"]: decode(one["topologyAssignment"]) for one in sets if one.get("topologyAssignment")}


def owned_by_one_pod(workload: dict[str, Any]) -> bool:
    meta = workload["metadata"]
    owners = meta.get("ownerReferences") or []
    alone = len(owners) == 1 and owners[0]["kind"] == "Pod" and owners[0]["apiVersion"] == "v1"
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
    return {"Levels": assignment["Levels"], "Domains": assignment["Domains"] or []}
