"""The StatefulSet controller: numbered pods, created and deleted in order, or all at once.

    OrderedReady   a pod is created when the previous one is ready; the last is deleted first, one at a time
    Parallel       all at once

A new template is rolled out from the highest ordinal down to `partition`, one pod at a time. An ended pod is deleted
and created again with the same name. Volume claims are left out: this host has no volumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ...kinds import POD, STATEFUL_SET
from ...port import Create, Raw
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import (
    available_at,
    children,
    deletion,
    is_deleting,
    is_ended,
    is_ready,
    number,
    pod,
    status_write,
)
from .controller import Controller, Observation
from .operators.leader_worker_pods import dressed, is_dressable
from .revisions import Revisions, revisions

HASH = "controller.kubernetes.io/hash"
REVISION = "controller-revision-hash"
POD_NAME, POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"


class StatefulSets(Controller):
    kind, watches = STATEFUL_SET, (STATEFUL_SET, POD)

    def minds(self, owner: Raw) -> bool:
        return True

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        known, pods = revisions(store, STATEFUL_SET, owner, HASH), children(store, owner, POD)
        return Observation(len(pods), chain(known.writes, Roll(owner, pods, known, now).steps()))


class Roll:
    """One reconcile of a StatefulSet. `by_number` are the existing pods, `numbers` the desired ordinals."""

    def __init__(self, owner: Raw, pods: list[Raw], known: Revisions, now: float) -> None:
        self.owner, self.known, self.now = owner, known, now
        self.spec: Raw = owner["spec"]
        self.status: Raw = owner.get("status") or {}
        self.name: str = owner["metadata"]["name"]
        first = number((self.spec.get("ordinals") or {}).get("start"), 0)
        self.numbers = range(first, first + number(self.spec.get("replicas"), 1))
        self.by_number = {at: one for one in pods if (at := ordinal(self.name, one)) is not None}
        self.ordered = self.spec.get("podManagementPolicy") != "Parallel"
        self.current: str = self.status.get("currentRevision") or known.name
        self.made: dict[int, str] = {}
        self.removed: set[int] = set()

    def steps(self) -> Iterator[Step]:
        if not is_deleting(self.owner):
            yield from self._manage()
        yield from status_write(STATEFUL_SET, self.owner, self._new_status())
        times = [at for one in self.by_number.values() if (at := self._available_at(one)) is not None and at > self.now]
        if times:
            yield ReconcileAt(min(times))
        used = {revision(one) for one in self.by_number.values()} | {self.current}
        yield from self.known.forget(used, number(self.spec.get("revisionHistoryLimit"), 10))

    def _manage(self) -> Iterator[Step]:
        for at in self.numbers:
            one = self.by_number.get(at)
            if one is None:
                yield self._new_pod(at)
                if self.ordered:
                    return
            elif is_ended(one) and not is_deleting(one):
                yield from self._remove(at)
                if self.ordered:
                    return
            elif self.ordered and not self._is_healthy(one):
                return
        surplus = sorted((at for at in self.by_number if at not in self.numbers), reverse=True)
        for at in surplus:
            one = self.by_number[at]
            if not is_deleting(one):
                yield from self._remove(at)
            if self.ordered:
                return
        if not surplus and not self.made and not self.removed:
            yield from self._update()

    def _update(self) -> Iterator[Step]:
        strategy = self.spec.get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        for at in reversed(self.numbers[self._partition() :]):
            one = self.by_number[at]
            if revision(one) != self.known.name and not is_deleting(one):
                yield from self._remove(at)
                return
            if not self._is_healthy(one):
                return

    def _partition(self) -> int:
        rolling = (self.spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        return number(rolling.get("partition"), 0)

    def _new_pod(self, at: int) -> Create:
        """A new pod: of the old revision below the partition, otherwise of the new one."""
        wanted = self.current if at - self.numbers.start < self._partition() else self.known.name
        name = f"{self.name}-{at}"
        template = self.spec["template"]
        if wanted != self.known.name:
            template = self.known.template(wanted, template)
        self.made[at] = wanted
        labels = {POD_NAME: name, POD_INDEX: str(at), REVISION: wanted}
        spec = {"hostname": name}
        if self.spec.get("serviceName"):
            spec["subdomain"] = self.spec["serviceName"]
        made = pod(template, STATEFUL_SET, self.owner, name=name, prefix=f"{self.name}-", labels=labels, spec=spec)
        return Create(POD, dressed(made.body)) if is_dressable(made.body) else made

    def _remove(self, at: int) -> Iterator[Step]:
        self.removed.add(at)
        yield from deletion(POD, self.by_number[at])

    def _is_healthy(self, one: Raw) -> bool:
        at = self._available_at(one)
        return at is not None and at <= self.now and not is_deleting(one)

    def _available_at(self, one: Raw) -> float | None:
        return available_at(one, self.spec.get("minReadySeconds") or 0)

    def _new_status(self) -> Raw:
        pods = [one for one in self.by_number.values() if not is_ended(one)]
        going = {at for at, one in self.by_number.items() if is_deleting(one)} | self.removed
        names = [*(revision(one) for at, one in self.by_number.items() if at not in going), *self.made.values()]
        ready = sum(is_ready(one) for one in pods)
        available = sum(at <= self.now for one in pods if (at := self._available_at(one)) is not None)
        total, updated = len(pods) + len(self.made), names.count(self.known.name)
        current = self.current
        if updated == total == ready == len(self.numbers) and not self.removed:
            current = self.known.name
        status: Raw = {"observedGeneration": self.owner["metadata"].get("generation", 1), "replicas": total}
        counts = {"readyReplicas": ready, "currentReplicas": names.count(current), "updatedReplicas": updated}
        status.update({part: count for part, count in counts.items() if count})
        return {
            **status,
            "currentRevision": current,
            "updateRevision": self.known.name,
            "collisionCount": 0,
            "availableReplicas": available,
        }


def ordinal(name: str, pod: Raw) -> int | None:
    """The ordinal in the name of a pod: ordinal("db", {… "name": "db-3" …}) == 3."""
    tail = pod["metadata"]["name"].removeprefix(f"{name}-")
    return int(tail) if tail.isdigit() else None


def revision(pod: Raw) -> str:
    return str((pod["metadata"].get("labels") or {}).get(REVISION, ""))
