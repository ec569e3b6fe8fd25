"""The Deployment controller: a ReplicaSet for every revision of the pod template, and the rollout from one to the next.

Each reconcile takes one step, and its change triggers the next reconcile. The status is written when there is nothing
else to do.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ....dialects.timestamps import parse
from ...kinds import DEPLOYMENT, REPLICA_SET
from ...port import Change, Key, Raw
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import (
    children,
    family,
    is_deleting,
    status_write,
)
from .deployment_rollout import Rollout, current, revision, total, wanted
from .deployment_status import UNDER_WAY, conditions_of


class Deployments:
    watches = (DEPLOYMENT, REPLICA_SET)

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is DEPLOYMENT or change.kind is REPLICA_SET:
            return family(change, DEPLOYMENT)
        return ()

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        assert isinstance(key, Key)
        owner = store.find(DEPLOYMENT, key.namespace, key.name)
        if owner is None or is_deleting(owner):
            return
        sets = sorted(children(store, owner, REPLICA_SET), key=lambda one: (revision(one), one["metadata"]["name"]))
        rollout = Rollout(owner, sets, current(owner, sets))
        acted = False
        for step in rollout.step(store):
            acted = True
            yield step
        if not acted:
            yield from self._status(rollout, now)

    def _status(self, rollout: Rollout, now: float) -> Iterator[Step]:
        owner, sets = rollout.owner, rollout.sets
        counts = {
            "replicas": total(sets, "replicas"),
            "updatedReplicas": total(rollout.newest, "replicas"),
            "readyReplicas": total(sets, "readyReplicas"),
            "availableReplicas": total(sets, "availableReplicas"),
        }
        counts["unavailableReplicas"] = max(0, sum(wanted(one) for one in sets) - counts["availableReplicas"])
        status: Raw = {"observedGeneration": owner["metadata"].get("generation", 1)}
        status.update({part: count for part, count in counts.items() if count})
        status["terminatingReplicas"] = total(sets, "terminatingReplicas")
        name = rollout.current["metadata"]["name"] if rollout.current is not None else ""
        status["conditions"] = conditions_of(owner, counts, rollout.desired, rollout.floor, name, now)
        yield from status_write(DEPLOYMENT, owner, status)
        limit = owner["spec"].get("progressDeadlineSeconds")
        for one in status["conditions"]:
            if limit and one["type"] == "Progressing" and one["reason"] in UNDER_WAY:
                yield ReconcileAt(parse(one["lastUpdateTime"]) + limit)
