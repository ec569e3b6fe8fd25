"""The status of PodDisruptionBudgets: how many of their pods are healthy, and how many may be evicted.

The pods that a budget selects are tracked incrementally. `eviction` finds a pod's budgets itself, records the pod in
`disruptedPods`, and uses up one disruption; here the record is removed when the pod is gone, or not deleted in time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ....dialects.timestamps import parse
from ...kinds import BUDGET, JOB, POD, kind_of
from ...port import Change, Key, Raw
from ..label_selector import selects
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import controller_of, is_active, is_ended, is_ready, number, part_of, status_write, with_condition
from .pace import ReconcileThrottle

FORGOTTEN = 120.0
"""Seconds after which an eviction without a deletion is forgotten."""


class Budgets:
    watches = (POD, BUDGET)

    def __init__(self) -> None:
        self._pace = ReconcileThrottle()
        self._members: dict[str, dict[Key, dict[Key, None]]] = {}
        """By namespace: the budgets, and the pods of each."""

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            return self._pod_changed(store, change)
        if change.kind is BUDGET:
            return self._budget_changed(store, change)
        return ()

    def _pod_changed(self, store: Store, change: Change) -> Iterable[Key]:
        budgets = self._members.get(change.object["metadata"].get("namespace", ""))
        if not budgets:
            return ()
        labels, key = change.object["metadata"].get("labels"), change.key
        found = []
        for budget_key, pods in budgets.items():
            budget = store.find(BUDGET, budget_key.namespace, budget_key.name)
            inside = change.type != "DELETED" and budget is not None and selects(budget["spec"].get("selector"), labels)
            if not inside and key not in pods:
                continue
            found.append(budget_key)
            if inside:
                pods[key] = None
            else:
                del pods[key]
        return found

    def _budget_changed(self, store: Store, change: Change) -> Iterable[Key]:
        key = change.key
        budgets = self._members.setdefault(key.namespace, {})
        if change.type == "DELETED":
            budgets.pop(key, None)
            return ()
        selector = change.object["spec"].get("selector")
        if change.old is None or change.old["spec"].get("selector") != selector:
            budgets[key] = {
                Key(POD, key.namespace, one["metadata"]["name"]): None
                for one in store.all(POD, key.namespace)
                if selects(selector, one["metadata"].get("labels"))
            }
        return (key,)

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        assert isinstance(key, Key)
        budget = store.find(BUDGET, key.namespace, key.name)
        if budget is None:
            return
        at = self._pace.wait(key, now)
        if at is not None:
            yield ReconcileAt(at)
            return
        keys = self._members.get(key.namespace, {}).get(key, {})
        found = (store.find(POD, one.namespace, one.name) for one in keys)
        pods = [one for one in found if one is not None and not is_ended(one)]
        self._pace.looked(key, len(pods), now)
        disrupted = _pending(budget, pods, now)
        if disrupted:
            yield ReconcileAt(min(parse(text) for text in disrupted.values()) + FORGOTTEN)
        yield from status_write(BUDGET, budget, status_of(store, budget, pods, disrupted, now))


def status_of(store: Store, budget: Raw, pods: list[Raw], disrupted: dict[str, str], now: float) -> Raw:
    expected, desired = needs(store, budget, pods)
    healthy = sum(is_ready(one) and is_active(one) and one["metadata"]["name"] not in disrupted for one in pods)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    generation = budget["metadata"].get("generation", 1)
    before = budget.get("status") or {}
    reason = "SufficientPods" if allowed else "InsufficientPods"
    conditions = with_condition(
        before.get("conditions"), "DisruptionAllowed", allowed > 0, reason, "", now, observedGeneration=generation
    )
    return {
        "observedGeneration": generation,
        **({"disruptedPods": disrupted} if disrupted else {}),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "conditions": conditions,
    }


def needs(store: Store, budget: Raw, pods: list[Raw]) -> tuple[int, int]:
    """The expected number of pods, and how many of them have to be healthy."""
    spec = budget["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if most is not None:
        expected = expected_pods(store, pods)
        return expected, max(0, expected - part_of(most, expected, up=True))
    if isinstance(least, str):
        expected = expected_pods(store, pods)
        return expected, part_of(least, expected, up=True)
    return len(pods), number(least, 0)


def expected_pods(store: Store, pods: list[Raw]) -> int:
    """The total replicas of the pods' controllers; a pod without a controller counts as one."""
    seen: set[str] = set()
    total = 0
    for one in pods:
        owner = controller_of(one)
        if owner is None:
            total += 1
        elif owner["uid"] not in seen:
            seen.add(owner["uid"])
            total += _scale(store, one["metadata"].get("namespace", ""), owner)
    return total


def _scale(store: Store, namespace: str, reference: Raw) -> int:
    kind = kind_of(reference["apiVersion"], reference["kind"])
    owner = None if kind is None else store.find(kind, namespace, reference["name"])
    if owner is None or kind is None:
        return 0
    return number(owner["spec"].get("parallelism" if kind is JOB else "replicas"), 1)


def _pending(budget: Raw, pods: list[Raw], now: float) -> dict[str, str]:
    """Allowed evictions whose deletion has not been observed yet."""
    noted: dict[str, str] = (budget.get("status") or {}).get("disruptedPods") or {}
    if not noted:
        return {}
    there = {one["metadata"]["name"] for one in pods if is_active(one)}
    return {name: text for name, text in noted.items() if name in there and parse(text) + FORGOTTEN > now}
