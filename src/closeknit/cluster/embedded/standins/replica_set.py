"""The ReplicaSet controller: keeps the desired number of pods. Ended pods are replaced, but not deleted."""

from __future__ import annotations

from collections.abc import Iterator

from ...kinds import POD, REPLICA_SET
from ...port import Raw
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import (
    available_at,
    children,
    deletion,
    dispensable_first,
    is_active,
    is_deleting,
    is_ended,
    is_ready,
    number,
    pod,
    status_write,
)
from .controller import Controller, Observation


class ReplicaSets(Controller):
    kind, watches = REPLICA_SET, (REPLICA_SET, POD)

    def minds(self, owner: Raw) -> bool:
        return True

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        pods = children(store, owner, POD)
        return Observation(len(pods), _sync(owner, pods, now))


def _sync(owner: Raw, pods: list[Raw], now: float) -> Iterator[Step]:
    spec = owner["spec"]
    active = [one for one in pods if is_active(one)]
    missing = 0
    if not is_deleting(owner):
        missing = number(spec.get("replicas"), 1) - len(active)
        for _ in range(missing):
            yield pod(spec["template"], REPLICA_SET, owner, prefix=f"{owner['metadata']['name']}-")
        if missing < 0:
            ranked = dispensable_first(active)
            active = ranked[-missing:]
            for one in ranked[:-missing]:
                yield from deletion(POD, one)
    going = sum(is_deleting(one) and not is_ended(one) for one in pods) + max(0, -missing)
    times = [at for one in active if (at := available_at(one, spec.get("minReadySeconds") or 0)) is not None]
    yield from status_write(REPLICA_SET, owner, _status(owner, active, max(0, missing), going, times, now))
    if later := [at for at in times if at > now]:
        yield ReconcileAt(min(later))


def _status(owner: Raw, active: list[Raw], made: int, going: int, times: list[float], now: float) -> Raw:
    total = len(active) + made
    status: Raw = {"replicas": total}
    counts = {
        "fullyLabeledReplicas": total,
        "readyReplicas": sum(is_ready(one) for one in active),
        "availableReplicas": sum(at <= now for at in times),
    }
    status.update({part: count for part, count in counts.items() if count})
    return {**status, "terminatingReplicas": going, "observedGeneration": owner["metadata"].get("generation", 1)}
