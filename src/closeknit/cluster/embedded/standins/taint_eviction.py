"""Taint-based eviction: pods leave a node with a NoExecute taint, at once or after their toleration expires.

The toleration time starts at the taint's timeAdded, or when a taint without it was first observed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import msgspec

from ....dialects import core
from ....dialects.timestamps import parse
from ....model.shape import Taint
from ...kinds import NODE, POD
from ...port import Change, Delete, Raw, key_of
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import is_active, status_write, with_condition
from .pods_by_node import PodsByNode

NO_EXECUTE = "NoExecute"


class TaintEviction:
    watches = (POD, NODE)

    def __init__(self, pods_by_node: PodsByNode | None = None) -> None:
        self.pods_by_node = pods_by_node or PodsByNode()
        self._tainted: dict[str, dict[Taint, float]] = {}
        """Nodes with NoExecute taints, and since when each taint exists."""

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            self.pods_by_node.see(change)
            node = change.object["spec"].get("nodeName")
            return (node,) if node in self._tainted and change.type != "DELETED" else ()
        if change.kind is not NODE:
            return ()
        name = change.object["metadata"]["name"]
        taints = (change.object.get("spec") or {}).get("taints") or ()
        driving = (
            {} if change.type == "DELETED" else {_taint(one): _since(one, store) for one in taints if _drives(one)}
        )
        before = self._tainted.get(name) or {}
        if driving.keys() == before.keys():
            return ()
        if not driving:
            self._tainted.pop(name, None)
            return ()
        self._tainted[name] = {taint: before.get(taint, since) for taint, since in driving.items()}
        return (name,)

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        taints = self._tainted.get(str(key))
        if not taints:
            return
        soonest: float | None = None
        for pod in self.pods_by_node.pods(store, str(key)):
            if not is_active(pod):
                continue
            at = leaves_at(pod, taints)
            if at is None:
                continue
            if at <= now:
                yield from _evict(pod, now)
            elif soonest is None or at < soonest:
                soonest = at
        if soonest is not None:
            yield ReconcileAt(soonest)


def leaves_at(pod: Raw, taints: dict[Taint, float]) -> float | None:
    """When the pod is evicted; None if it tolerates all taints without limit."""
    given = pod["spec"].get("tolerations") or ()
    tolerations = core.tolerations(msgspec.convert(one, core.WireToleration) for one in given)
    ends = []
    for taint, since in taints.items():
        fitting = [one for one in tolerations if one.tolerates(taint)]
        if not fitting:
            return since
        ends += [since + max(0, one.seconds) for one in fitting if one.seconds is not None]
    return min(ends, default=None)


def _evict(pod: Raw, now: float) -> Iterator[Step]:
    status = pod.get("status") or {}
    conditions = with_condition(
        status.get("conditions"),
        "DisruptionTarget",
        True,
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
        now,
        lastProbeTime=None,
    )
    yield from status_write(POD, pod, {**status, "conditions": conditions})
    yield Delete(key_of(POD, pod), uid=pod["metadata"]["uid"])


def _drives(taint: Raw) -> bool:
    return taint.get("effect") == NO_EXECUTE


def _taint(raw: Raw) -> Taint:
    return Taint(raw["key"], raw.get("value") or "", raw["effect"])


def _since(raw: Raw, store: Store) -> float:
    return parse(raw["timeAdded"]) if raw.get("timeAdded") else store.now()
