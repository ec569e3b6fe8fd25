"""The rollout of a Deployment: which of its ReplicaSets is scaled up or down next.

roll   up:   the new set grows as long as all sets together stay within replicas + maxSurge
       down: the old sets shrink as long as replicas - maxUnavailable stay available
recreate     the old sets are scaled to 0 first
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...kinds import DEPLOYMENT, POD, REPLICA_SET
from ...port import Create, Patch, Raw, key_of
from ..loop import Step
from ..store import Store
from .children import child, children, deletion, fingerprint, is_ended, number, part_of

HASH = "pod-template-hash"
PREFIX = "deployment.kubernetes.io/"
REVISION, DESIRED, MOST = PREFIX + "revision", PREFIX + "desired-replicas", PREFIX + "max-replicas"
NOT_COPIED = ("kubectl.kubernetes.io/last-applied-configuration", REVISION, DESIRED, MOST)


class Rollout(NamedTuple):
    """A Deployment, its ReplicaSets from the oldest to the newest, and the one with its template."""

    owner: Raw
    sets: list[Raw]
    current: Raw | None

    @property
    def newest(self) -> list[Raw]:
        return [] if self.current is None else [self.current]

    @property
    def old(self) -> list[Raw]:
        return [one for one in self.sets if one is not self.current]

    @property
    def desired(self) -> int:
        return number(self.owner["spec"].get("replicas"), 1)

    @property
    def recreates(self) -> bool:
        return bool((self.owner["spec"].get("strategy") or {}).get("type") == "Recreate")

    @property
    def bounds(self) -> tuple[int, int]:
        """maxSurge and maxUnavailable as numbers of pods."""
        if self.recreates:
            return 0, self.desired
        rolling = (self.owner["spec"].get("strategy") or {}).get("rollingUpdate") or {}
        surge = part_of(_given(rolling, "maxSurge"), self.desired, up=True)
        missing = part_of(_given(rolling, "maxUnavailable"), self.desired, up=False)
        return surge, min(self.desired, missing if surge or missing else 1)

    @property
    def ceiling(self) -> int:
        return self.desired + self.bounds[0]

    @property
    def floor(self) -> int:
        return self.desired - self.bounds[1]

    def step(self, store: Store) -> Iterator[Step]:
        spec = self.owner["spec"]
        if self.recreates and self.old:
            going = [one for one in self.old if wanted(one)]
            for one in going:
                yield self.scaled(one, 0)
            if going or _still_there(store, self.old):
                return
        if self.current is None:
            if not spec.get("paused"):
                yield from self._begin()
            return
        number_now = revision(self.current)
        if self.sets[-1] is not self.current:
            number_now = revision(self.sets[-1]) + 1
            yield Patch(key_of(REPLICA_SET, self.current), {"metadata": {"annotations": {REVISION: str(number_now)}}})
        if (self.owner["metadata"].get("annotations") or {}).get(REVISION) != str(number_now):
            yield _noted(self.owner, number_now)
        size = self._next_size()
        if size != wanted(self.current):
            yield self.scaled(self.current, size)
        elif not spec.get("paused"):
            yield from self._shrink()
            yield from self._forget()

    def _begin(self) -> Iterator[Step]:
        """Create a set for the template; an older set with the same template would have been reused."""
        number_next = max((revision(one) for one in self.sets), default=0) + 1
        room = self.ceiling - sum(wanted(one) for one in self.sets)
        yield _new_set(self.owner, number_next, max(0, min(room, self.desired)), self._notes())
        yield _noted(self.owner, number_next)

    def _next_size(self) -> int:
        """The size to which the newest set can be scaled now."""
        assert self.current is not None
        has = wanted(self.current)
        if has >= self.desired:
            return self.desired
        room = self.ceiling - sum(wanted(one) for one in self.sets)
        return has + max(0, min(room, self.desired - has))

    def _shrink(self) -> Iterator[Step]:
        """Scale down the old sets, unavailable pods first."""
        assert self.current is not None
        running = [one for one in self.old if wanted(one)]
        lacking = wanted(self.current) - available(self.current)
        spare = sum(wanted(one) for one in self.sets) - self.floor - lacking
        if not running or spare <= 0:
            return
        sizes = {one["metadata"]["name"]: wanted(one) for one in running}
        for one in running:
            down = min(spare, max(0, wanted(one) - available(one)))
            sizes[one["metadata"]["name"]] -= down
            spare -= down
        healthy = sum(available(one) for one in self.sets) - self.floor
        for one in running:
            name = one["metadata"]["name"]
            down = max(0, min(healthy, spare, sizes[name]))
            sizes[name] -= down
            healthy, spare = healthy - down, spare - down
        for one in running:
            if sizes[one["metadata"]["name"]] != wanted(one):
                yield self.scaled(one, sizes[one["metadata"]["name"]])

    def _forget(self) -> Iterator[Step]:
        """Delete old sets beyond revisionHistoryLimit."""
        limit = number(self.owner["spec"].get("revisionHistoryLimit"), 10)
        idle = [one for one in self.old if not wanted(one) and not (one.get("status") or {}).get("replicas")]
        for one in idle[: max(0, len(idle) - limit)]:
            yield from deletion(REPLICA_SET, one)

    def scaled(self, one: Raw, replicas: int) -> Patch:
        return Patch(
            key_of(REPLICA_SET, one), {"metadata": {"annotations": self._notes()}, "spec": {"replicas": replicas}}
        )

    def _notes(self) -> dict[str, str]:
        return {DESIRED: str(self.desired), MOST: str(self.ceiling)}


def wanted(one: Raw) -> int:
    return number(one["spec"].get("replicas"), 1)


def available(one: Raw) -> int:
    return number((one.get("status") or {}).get("availableReplicas"), 0)


def total(sets: Iterable[Raw], part: str) -> int:
    return sum((one.get("status") or {}).get(part) or 0 for one in sets)


def revision(one: Raw) -> int:
    return int((one["metadata"].get("annotations") or {}).get(REVISION, "0"))


def _given(rolling: Raw, part: str) -> Any:
    return "25%" if rolling.get(part) is None else rolling[part]


def current(owner: Raw, sets: list[Raw]) -> Raw | None:
    """The oldest set with the Deployment's template, apart from the hash label."""
    template = _plain(owner["spec"]["template"])
    return next((one for one in sets if _plain(one["spec"]["template"]) == template), None)


def _plain(template: Raw) -> tuple[Any, ...]:
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != HASH}
    return labels, meta.get("annotations") or {}, template.get("spec")


def _new_set(owner: Raw, number_next: int, replicas: int, notes: dict[str, str]) -> Create:
    spec, meta = owner["spec"], owner["metadata"]
    template = spec["template"]
    text = fingerprint(list(_plain(template)))
    inner = template.get("metadata") or {}
    labels = {**(inner.get("labels") or {}), HASH: text}
    selector = spec.get("selector") or {}
    copied = {key: value for key, value in (meta.get("annotations") or {}).items() if key not in NOT_COPIED}
    body = {
        "spec": {
            "replicas": replicas,
            **({"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}),
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH: text}},
            "template": {**template, "metadata": {**inner, "labels": labels}},
        }
    }
    return child(
        REPLICA_SET,
        body,
        DEPLOYMENT,
        owner,
        name=f"{meta['name']}-{text}",
        labels=labels,
        annotations={**copied, **notes, REVISION: str(number_next)},
    )


def _noted(owner: Raw, number_now: int) -> Patch:
    """Set the revision annotation through the status, since another write would increase the generation."""
    notes = {"metadata": {"annotations": {REVISION: str(number_now)}}}
    return Patch(key_of(DEPLOYMENT, owner), notes, subresource="status")


def _still_there(store: Store, sets: Iterable[Raw]) -> bool:
    return any(not is_ended(one) for each in sets for one in children(store, each, POD))
