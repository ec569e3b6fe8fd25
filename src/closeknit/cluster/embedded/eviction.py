"""Evicting a pod: deleting it, unless a PodDisruptionBudget forbids it.

A pod that is pending, finished or terminating may always be evicted. One that runs and is not ready may be evicted if
its budget's unhealthyPodEvictionPolicy allows it: always, or by default while enough others are healthy. An eviction
updates the budget's status in the same step, so that the next one sees it; the budget's controller recounts afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dialects.timestamps import stamp
from ..errors import BadRequest, Cause, TooManyRequests
from ..kinds import BUDGET, POD
from ..port import Key, Raw
from .label_selector import selects

if TYPE_CHECKING:
    from .store import Store, WriteOptions

SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
SOON = 10
"""Retry-After in seconds for a budget that its controller has not processed yet."""


def evict(store: Store, namespace: str, pod: str, options: WriteOptions, grace: int | None = None) -> Raw:
    """Evict a pod; returns the evicted pod. Raises TooManyRequests if a budget forbids it."""
    found = store.get(POD, namespace, pod)
    if not _may_always_go(found):
        labels = found["metadata"].get("labels")
        budgets = [one for one in store.all(BUDGET, namespace) if selects(one["spec"].get("selector"), labels)]
        if len(budgets) > 1:
            raise BadRequest(SEVERAL)
        for budget in budgets:
            if not _lets_unready_go(budget, found):
                _take(store, budget, pod, options)
    if not _is_over(found):
        _mark(store, found, options)
    return store.delete(Key(POD, namespace, pod), found["metadata"]["uid"], grace=grace, options=options)


def _may_always_go(pod: Raw) -> bool:
    return _is_over(pod) or pod["status"].get("phase") == "Pending"


def _is_over(pod: Raw) -> bool:
    status = pod.get("status") or {}
    return "deletionTimestamp" in pod["metadata"] or status.get("phase") in (None, "Succeeded", "Failed")


def _lets_unready_go(budget: Raw, pod: Raw) -> bool:
    if any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or ()):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _take(store: Store, budget: Raw, pod: str, options: WriteOptions) -> None:
    """Take one disruption from the budget; raises TooManyRequests if none is left."""
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 1):
        why = f"The disruption budget {name} is still being processed by the server."
        raise TooManyRequests(WOULD_VIOLATE, causes=[Cause("", why, "DisruptionBudget")], retry_after=SOON)
    left = status.get("disruptionsAllowed", 0) - 1
    if left < 0:
        needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        why = f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
        raise TooManyRequests(WOULD_VIOLATE, causes=[Cause("", why, "DisruptionBudget")])
    noted = {**(status.get("disruptedPods") or {}), pod: stamp(store.now())}
    store.update(
        BUDGET, {**budget, "status": {**status, "disruptionsAllowed": left, "disruptedPods": noted}}, "status", options
    )


def _mark(store: Store, pod: Raw, options: WriteOptions) -> None:
    """Set the DisruptionTarget condition, which records why the pod is deleted."""
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(store.now()),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    others = [one for one in pod["status"].get("conditions") or () if one["type"] != "DisruptionTarget"]
    store.update(POD, {**pod, "status": {**pod["status"], "conditions": [*others, target]}}, "status", options)
