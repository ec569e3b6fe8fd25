"""The node lifecycle controller: marks silent nodes as lost, taints unhealthy nodes, and marks their pods not ready.

    heartbeats ──missed for the grace period──▶ Ready=Unknown ──▶ taints unreachable:NoSchedule, :NoExecute
    Ready=False ──▶ taints not-ready:NoSchedule, :NoExecute        spec.unschedulable ──▶ taint unschedulable:NoSchedule

This controller owns the taints with these keys and keeps all others; `taint_eviction` evicts the pods. A real cluster
reduces evictions when most of a zone is lost; this one does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ....dialects.timestamps import stamp
from ...kinds import NODE, POD
from ...port import Change, Key, Patch, Raw
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import condition, event, is_ready, status_write
from .heartbeat import silent_since
from .machine_faults import machine
from .pods_by_node import PodsByNode
from .settings import DEFAULTS, StandinSettings

PREFIX = "node.kubernetes.io/"
NOT_READY, UNREACHABLE, UNSCHEDULABLE = PREFIX + "not-ready", PREFIX + "unreachable", PREFIX + "unschedulable"
PRESSURES = {
    "MemoryPressure": PREFIX + "memory-pressure",
    "DiskPressure": PREFIX + "disk-pressure",
    "PIDPressure": PREFIX + "pid-pressure",
    "NetworkUnavailable": PREFIX + "network-unavailable",
}
OURS = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE, *PRESSURES.values()})
HEARD = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
STOPPED = "Kubelet stopped posting node status."


class NodeLifecycle:
    watches = (POD, NODE)

    def __init__(self, settings: StandinSettings = DEFAULTS, pods_by_node: PodsByNode | None = None) -> None:
        self.settings = settings
        self.pods_by_node = pods_by_node or PodsByNode()
        self._silent: dict[str, float] = {}

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            self.pods_by_node.see(change)
        if change.kind is not NODE:
            return ()
        name = change.object["metadata"]["name"]
        if change.type == "DELETED":
            self._silent.pop(name, None)
            return ()
        return (name,)

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        node = store.find(NODE, "", str(key))
        if node is None:
            return
        if machine(node).is_silent and not is_unknown(node):
            lost_at = self._heard_last(store, str(key), now) + self.settings.heartbeat_grace
            if now >= lost_at:
                yield from self._lose(node, now)
                return
            yield ReconcileAt(lost_at)
        elif not machine(node).is_silent:
            self._silent.pop(str(key), None)
        yield from self._taint(node, now)
        if not is_ready(node):
            yield from self._mark_pods_not_ready(store, node, now)

    def _heard_last(self, store: Store, name: str, now: float) -> float:
        seen = self._silent.setdefault(name, now)
        written = silent_since(store, name)
        return seen if written is None else min(seen, written)

    def _lose(self, node: Raw, now: float) -> Iterator[Step]:
        status = node.get("status") or {}
        yield from status_write(NODE, node, {**status, "conditions": unknown(status.get("conditions") or (), now)})
        text = f"Node {node['metadata']['name']} status is now: NodeNotReady"
        yield event(NODE, node, "NodeNotReady", text, now, by="node-controller")

    def _taint(self, node: Raw, now: float) -> Iterator[Step]:
        has = (node.get("spec") or {}).get("taints") or []
        wanted = due_taints(node)
        kept = [one for one in has if one["key"] not in OURS or (one["key"], one["effect"]) in wanted]
        there = {(one["key"], one["effect"]) for one in kept}
        new = [
            {"key": key, "effect": effect, "timeAdded": stamp(now)}
            for key, effect in wanted
            if (key, effect) not in there
        ]
        if new or len(kept) != len(has):
            yield Patch(Key(NODE, "", node["metadata"]["name"]), {"spec": {"taints": [*kept, *new] or None}})

    def _mark_pods_not_ready(self, store: Store, node: Raw, now: float) -> Iterator[Step]:
        """Mark the pods of a lost node as not ready, since their state is unknown."""
        for pod in self.pods_by_node.pods(store, node["metadata"]["name"]):
            if is_ready(pod):
                status = pod["status"]
                yield from status_write(POD, pod, {**status, "conditions": not_ready(status["conditions"], now)})


def is_unknown(node: Raw) -> bool:
    ready = condition(node, "Ready")
    return ready is not None and ready["status"] == "Unknown"


def due_taints(node: Raw) -> list[tuple[str, str]]:
    """The keys and effects of the taints that the node's state requires."""
    result = []
    ready = condition(node, "Ready")
    status = "False" if ready is None else ready["status"]
    if status != "True":
        key = UNREACHABLE if status == "Unknown" else NOT_READY
        result += [(key, "NoSchedule"), (key, "NoExecute")]
    if (node.get("spec") or {}).get("unschedulable"):
        result.append((UNSCHEDULABLE, "NoSchedule"))
    for kind, key in PRESSURES.items():
        found = condition(node, kind)
        if found is not None and found["status"] == "True":
            result.append((key, "NoSchedule"))
    return result


def unknown(conditions: Iterable[Raw], now: float) -> list[Raw]:
    """The kubelet's conditions with status Unknown; their heartbeat times are kept."""
    at = stamp(now)
    result = {one["type"]: one for one in conditions}
    for kind in HEARD:
        was = result.get(kind) or {"lastHeartbeatTime": at}
        result[kind] = {
            **was,
            "type": kind,
            "status": "Unknown",
            "lastTransitionTime": at,
            "reason": "NodeStatusUnknown",
            "message": STOPPED,
        }
    return list(result.values())


def not_ready(conditions: Iterable[Raw], now: float) -> list[Raw]:
    return [
        {**one, "status": "False", "lastTransitionTime": stamp(now)} if one["type"] == "Ready" else one
        for one in conditions
    ]
