"""Writes to pods: ungate a pod for its place, and fail a pod that can never start."""

from __future__ import annotations

from collections.abc import Mapping

from ..cluster.kinds import POD
from ..cluster.port import Key, Patch, Raw, Write
from ..dialects import timestamps
from ..dialects.nrt.keys import EXPECTED_ZONES
from ..dialects.nrt.zones_of_pods import written_zones
from ..dialects.pods import TOPOLOGY_GATE
from ..lifecycle.action import EndPod, Ungate
from ..model.pod import Pod


def ungated(action: Ungate, raw: Raw, labels: Mapping[str, str]) -> Write:
    """Remove the gate and add the selector and labels of the place; a Conflict if the pod has changed meanwhile."""
    spec = raw["spec"]
    gates = [gate for gate in spec.get("schedulingGates") or () if gate.get("name") != TOPOLOGY_GATE]
    selector = {**(spec.get("nodeSelector") or {}), **action.selector}
    meta: Raw = {"resourceVersion": raw["metadata"]["resourceVersion"]}
    if labels:
        meta["labels"] = dict(labels)
    if action.zones:
        meta["annotations"] = {EXPECTED_ZONES: written_zones(action.zones)}
    body = {
        "metadata": meta,
        "spec": {"schedulingGates": gates or None, "nodeSelector": selector},
    }
    return Patch(_key(action.pod), body)


def ended(action: EndPod, raw: Raw, now: float) -> Write:
    status = raw.get("status") or {}
    condition = {
        "type": action.kind,
        "status": "True",
        "reason": action.reason,
        "message": action.message,
        "lastTransitionTime": timestamps.stamp(now),
    }
    others = [one for one in status.get("conditions") or () if one.get("type") != action.kind]
    return Patch(
        _key(action.pod), {"status": {"phase": "Failed", "conditions": [*others, condition]}}, "merge", "status"
    )


def _key(pod: Pod) -> Key:
    return Key(POD, pod.namespace, pod.name)
