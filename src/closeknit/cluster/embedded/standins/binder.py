"""Binds pods in place of kube-scheduler: to the first node by name that passes all filters of the stock scheduler.

It is not a second scheduler. Pods that our control plane has placed select their host, which is looked up; the others
wait in one queue per shape, which is reconciled when a pod joins it or a node changes. A queue whose pods have rules
about other pods is reconciled when any pod is bound or gone, too. Preferences and preemption are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import msgspec

from ....dialects import core
from ....dialects.pod_rules import read_rules
from ....model.claims import Volumes
from ....model.pod_rules import PodRules
from ....model.shape import Shape
from ...kinds import NAMESPACE, NODE, POD
from ...port import Bind, Change, Key, Raw
from ...volumes import VOLUME_KINDS, follow
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import is_deleting, is_ended, status_write, with_condition
from .room import HOSTNAME, NodeRoom, Pin, pin_of, why_not

SCHEDULER = "default-scheduler"
AT_ONCE = 256
"""How many pods of a queue are bound before other queues get their turn."""
REASON_INTERVAL = 1.0
"""Seconds for which the reason of a queue is reused."""


@dataclass(slots=True)
class UnboundPods:
    """Unbound pods of one shape. `unreported` are those whose status does not have the reason yet."""

    shape: Shape
    pin: Pin | None
    waiting: dict[Key, None] = field(default_factory=dict)
    unreported: dict[Key, None] = field(default_factory=dict)
    reason: str = ""
    reason_at: float = -REASON_INTERVAL


class Binder:
    watches = (POD, NODE, NAMESPACE, *VOLUME_KINDS)

    def __init__(self) -> None:
        self.room = NodeRoom()
        self._lines: dict[Shape, UnboundPods] = {}
        self._line_of: dict[Key, UnboundPods] = {}
        self._free: dict[Shape, None] = {}
        self._ruled: dict[Shape, None] = {}
        """The queues whose pods have rules about other pods."""
        self._volumes = Volumes()
        self._tied: dict[tuple[str, str], dict[Shape, None]] = {}
        self._tried: list[tuple[Key, str, Shape]] = []
        """Pods that were sent a binding in the last step."""

    # Keys of a change

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            return self._pod_changed(change)
        if change.kind is NODE:
            return self._node_changed(change)
        if change.kind in VOLUME_KINDS:
            return list(self._ruled) if follow(self._volumes, change) else ()
        return self._namespace_changed(change)

    def _pod_changed(self, change: Change) -> Iterable[Shape]:
        pod, key = change.object, change.key
        node = pod["spec"].get("nodeName")
        if change.type == "DELETED" or is_ended(pod):
            self._leave(key)
            freed = self.room.release(key)
            return self._wake(freed) if freed is not None else ()
        if node:
            self._leave(key)
            if not self.room.is_charged(key):
                self.room.charge(key, node, shape_of(pod).charge)
            kind = replace(rules_of(pod).kind, leaves=is_deleting(pod))
            was_free = change.old is not None and not change.old["spec"].get("nodeName")
            return list(self._ruled) if self.room.pods.put(key, kind, node) or was_free else ()
        if not wants_a_node(pod):
            self._leave(key)
            return ()
        if key in self._line_of and change.old is not None and _is_like(pod, change.old):
            return ()
        return self._join(key, shape_of(pod))

    def _node_changed(self, change: Change) -> Iterable[Shape]:
        name = change.object["metadata"]["name"]
        if change.type == "DELETED":
            self.room.drop_node(name)
            return list(self._ruled)
        return self._wake(name) if self.room.put_node(change.object) else ()

    def _namespace_changed(self, change: Change) -> Iterable[Shape]:
        meta = change.object["metadata"]
        if change.type == "DELETED":
            self.room.pods.namespaces.pop(meta["name"], None)
        else:
            self.room.pods.namespaces[meta["name"]] = meta.get("labels") or {}
        return list(self._ruled)

    def _join(self, key: Key, shape: Shape) -> Iterable[Shape]:
        line = self._lines.get(shape)
        if line is None:
            line = self._lines[shape] = UnboundPods(shape, pin_of(shape))
            if line.pin is None:
                self._free[shape] = None
            else:
                for value in line.pin.values:
                    self._tied.setdefault((line.pin.label, value), {})[shape] = None
            if shape.rules is not None:
                self._ruled[shape] = None
        if self._line_of.get(key) is not line:
            self._leave(key)
            self._line_of[key] = line
        line.waiting[key] = line.unreported[key] = None
        return (shape,)

    def _leave(self, key: Key) -> None:
        line = self._line_of.pop(key, None)
        if line is None:
            return
        line.waiting.pop(key, None)
        line.unreported.pop(key, None)
        if not line.waiting:
            self._close(line)

    def _close(self, line: UnboundPods) -> None:
        if self._lines.get(line.shape) is not line:
            return
        del self._lines[line.shape]
        self._free.pop(line.shape, None)
        self._ruled.pop(line.shape, None)
        if line.pin is None:
            return
        for value in line.pin.values:
            tied = self._tied[line.pin.label, value]
            tied.pop(line.shape, None)
            if not tied:
                del self._tied[line.pin.label, value]

    def _wake(self, node: str) -> Iterable[Shape]:
        """The shapes of the queues that a change of this node may unblock."""
        awake = list({**self._free, **self._ruled})
        if self._tied:
            awake += self._tied.get(("", node), ())
            known = self.room.nodes.get(node)
            if known is not None and HOSTNAME in known.labels:
                awake += self._tied.get((HOSTNAME, known.labels[HOSTNAME]), ())
        return awake

    # Reconciling

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        self._take_back(store)
        line = self._lines.get(key)  # type: ignore[call-overload]
        if line is None:
            return
        for pod_key in list(islice(line.waiting, AT_ONCE)):
            pod = store.find(POD, pod_key.namespace, pod_key.name)
            if pod is None or not wants_a_node(pod):
                self._leave(pod_key)
                continue
            rules = self._volumes.resolved(rules_of(pod))
            checked = self.room.pods.concern(rules)
            node = self.room.find_by_rules(line.shape, rules) if checked else self.room.find(line.shape)
            if node is None and checked and line.shape.rules is None:
                self._join(pod_key, line.shape.ruled(rules, None))
                yield from _unschedulable(pod, why_not(self.room, line.shape, rules), now)
                continue
            if node is None:
                yield from self._report(store, line, now)
                return
            self.room.charge(pod_key, node, line.shape.charge)
            self.room.pods.put(pod_key, rules.kind, node)
            line.waiting.pop(pod_key)
            line.unreported.pop(pod_key, None)
            uid = pod["metadata"]["uid"]
            self._tried.append((pod_key, uid, line.shape))
            yield Bind(pod_key.namespace, pod_key.name, node, uid)
        if line.waiting:
            yield ReconcileAt(now)

    def _take_back(self, store: Store) -> None:
        """Requeue the pods of failed bindings, unless another pod has taken the name."""
        for key, uid, shape in self._tried:
            pod = store.find(POD, key.namespace, key.name)
            if pod is not None and pod["metadata"]["uid"] != uid:
                continue
            if pod is None or not pod["spec"].get("nodeName"):
                self.room.release(key)
                if pod is not None and wants_a_node(pod):
                    self._join(key, shape)
        self._tried.clear()

    def _resolved(self, shape: Shape) -> PodRules | None:
        return None if shape.rules is None else self._volumes.resolved(shape.rules)

    def _report(self, store: Store, line: UnboundPods, now: float) -> Iterator[Step]:
        """Report the reason on all pods that do not have it, and update it on the first in the queue."""
        if now >= line.reason_at + REASON_INTERVAL:
            line.reason, line.reason_at = why_not(self.room, line.shape, self._resolved(line.shape)), now
        first = next(iter(line.waiting))
        for key in {first: None, **line.unreported}:
            pod = store.find(POD, key.namespace, key.name)
            if pod is not None and wants_a_node(pod):
                yield from _unschedulable(pod, line.reason, now)
        line.unreported.clear()


def wants_a_node(pod: Raw) -> bool:
    spec = pod["spec"]
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and spec.get("schedulerName", SCHEDULER) == SCHEDULER
        and not is_deleting(pod)
        and not is_ended(pod)
    )


def _is_like(pod: Raw, before: Raw) -> bool:
    """Whether no filter could tell the pod from what it was before."""
    return pod["spec"] is before["spec"] and pod["metadata"].get("labels") == before["metadata"].get("labels")


def shape_of(pod: Raw) -> Shape:
    plain = core.plain_shape(msgspec.convert(pod["spec"], core.PodSpec))
    rules = rules_of(pod)
    return plain.ruled(rules, None) if rules.asks else plain


def rules_of(pod: Raw) -> PodRules:
    meta = pod["metadata"]
    return read_rules(meta.get("namespace") or "default", meta.get("labels") or {}, {**pod["spec"], "nodeName": None})


def _unschedulable(pod: Raw, reason: str, now: float) -> Iterator[Step]:
    status = pod.get("status") or {}
    conditions = with_condition(
        status.get("conditions"),
        "PodScheduled",
        False,
        "Unschedulable",
        reason,
        now,
        lastProbeTime=None,
        observedGeneration=pod["metadata"].get("generation", 1),
    )
    yield from status_write(POD, pod, {**status, "conditions": conditions})
