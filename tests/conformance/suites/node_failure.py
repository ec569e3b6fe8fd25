"""Nodes reconciled one after another: what each does to a workload and its pods."""

from __future__ import annotations

from typing import Any

import msgspec

from closeknit.dialects.core import WireNode, node
from closeknit.dialects.kueue import objects as kueue
from closeknit.dialects.pods import pod
from closeknit.dialects.timestamps import parse
from closeknit.lifecycle.action import EndPod, Requeue, StatusChange
from closeknit.lifecycle.node_failure import Affected, NodeView, node_failure
from closeknit.model.node import Node
from closeknit.model.pod import Pod
from closeknit.model.workload import Workload

from .case import Case, Prepared, gates

WORKLOAD = "default/test-workload"
ENDED = ("TerminatedByKueue", "UnschedulableOnAssignedNode", "Pod terminated by Kueue NodeController due to node taint")


def node_failures(case: Case) -> Prepared:
    return Prepared(lambda: _Play(case).run(), lambda answer: answer, _wanted(case))


class _Play:
    def __init__(self, case: Case) -> None:
        self.case, self.gates, self.now = case, gates(case), parse(case["now"])
        self.nodes = {one.name: one for one in (self._node(raw) for raw in self._objects("Node"))}
        self.pods = [pod(raw) for raw in self._objects("Pod")]
        self.workloads = {one.key: one for one in (kueue.workload(raw) for raw in self._objects("Workload"))}
        flavors = [*self._objects("ResourceFlavor"), *filter(None, [case.get("resourceFlavor")])]
        self.flavors = {one.name: one for one in (kueue.flavor(raw) for raw in flavors)}
        self.ended: list[str] = []
        self.error = False

    def run(self) -> Any:
        again = 0.0
        for request in self.case.get("reconcileRequests") or ():
            again = self._look_at(request["NamespacedName"]["Name"])
        status = self.workloads[WORKLOAD].status
        condition = status.conditions.get("Evicted")
        return {
            "unhealthy": None if self.case.get("ignoreUnhealthyNodes") else list(status.unhealthy),
            "again": round(again * 1e9),
            "evicted": None if condition is None else [condition.holds, condition.reason, condition.message],
            "ended": None if self.case.get("wantPatchedPods") is None else sorted(self.ended),
            "error": self.error,
        }

    def _look_at(self, name: str) -> float:
        """The seconds until the node is reconciled again; 0 for not at all."""
        affected = [Affected(one, [each for each in self.pods if _is_of(each, one)]) for one in self.workloads.values()]
        view = NodeView(name, self.nodes.get(name), affected, self.gates, self.flavors)
        again = 0.0
        for action in node_failure(view, self.now):
            match action:
                case StatusChange(before, after):
                    removes = len(after.status.unhealthy) < len(before.status.unhealthy) and not after.evicted
                    if removes and self.case.get("injectPatchError"):
                        self.error = True
                    else:
                        self.workloads[after.key] = after
                case EndPod(ended, kind, reason, message):
                    assert (kind, reason, message) == ENDED
                    self.ended.append(ended.name)
                case Requeue(at):
                    again = at - self.now
        return again

    def _objects(self, kind: str) -> list[Any]:
        return [raw for raw in self.case.get("initObjs") or () if raw["kind"] == kind]

    def _node(self, raw: Any) -> Node:
        return node(msgspec.convert(raw, WireNode))


def _is_of(one: Pod, workload: Workload) -> bool:
    return one.namespace == workload.namespace and one.workload == workload.name


def _wanted(case: Case) -> Any:
    """A list of pods that is not given is not compared."""
    condition = case.get("wantEvictedCond")
    ended = case.get("wantPatchedPods")
    names = [one["name"] for one in case.get("wantUnhealthyNodes") or ()]
    return {
        "unhealthy": None if case.get("ignoreUnhealthyNodes") else names,
        "again": case.get("wantRequeue") or 0,
        "evicted": condition and [condition["status"] == "True", condition["reason"], condition["message"]],
        "ended": None if ended is None else sorted(ended),
        "error": bool(case.get("wantError")),
    }
