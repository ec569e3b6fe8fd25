"""The sets of pods that a node had lately: what an agent may have seen when it wrote the report that arrives now.

Changes are kept, not sets: an earlier set is the present one with the last changes taken back. Nothing is computed
before a report asks. The kubelet may see changes in another order than the API server, so the last of them can also
be combined freely (`mixtures`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from enum import Enum
from itertools import product
from typing import NamedTuple

from .bound_pod import AccountedPod

MOST_CHANGES = 64
LONGEST = 600.0
"""How long an earlier set of pods may be reported, in seconds."""
MIXED_CHANGES = 8
"""As many of the last changes may have reached the kubelet in any order."""
MOST_MIXTURES = 256


class PodPresence(Enum):
    ABSENT = "absent"
    LIVE = "live"
    ENDED = "ended"


class SetChange(NamedTuple):
    at: float
    uid: str
    before: PodPresence
    after: PodPresence


States = dict[str, PodPresence]
"""The pods of a set by uid; pods that are absent may be left out."""

EVER = float("inf")


class PastSet(NamedTuple):
    """A set of pods and the time during which the node had it."""

    states: States
    began: float = -EVER
    ceased: float = EVER


class PodSets:
    """The pods of one node, the present ones and those of its recent past."""

    def __init__(self) -> None:
        self.present: dict[str, AccountedPod] = {}
        self.came: dict[str, float] = {}
        self._past: dict[str, AccountedPod] = {}
        self._changes: deque[SetChange] = deque(maxlen=MOST_CHANGES)

    def put(self, pod: AccountedPod, now: float, is_noted: bool) -> bool:
        """Add or change a pod; whether the set changed. `is_noted`: the change is remembered."""
        before, after = self._state(pod.uid), PodPresence.ENDED if pod.ended else PodPresence.LIVE
        self.present[pod.uid] = pod
        self.came[pod.uid] = min(self.came.get(pod.uid, now), now if pod.since is None else pod.since)
        return self._note(SetChange(now, pod.uid, before, after), is_noted)

    def remove(self, uid: str, now: float, is_noted: bool) -> bool:
        before = self._state(uid)
        pod = self.present.pop(uid, None)
        if pod is None:
            return False
        if is_noted:
            self._past[uid] = pod
        self.came.pop(uid, None)
        return self._note(SetChange(now, uid, before, PodPresence.ABSENT), is_noted)

    def pod(self, uid: str) -> AccountedPod:
        """A pod of the present or of a remembered set."""
        return self.present.get(uid) or self._past[uid]

    def forget(self, now: float, kept: Collection[str]) -> None:
        """Forget old changes, and the pods that were in no set since, except those that are kept."""
        while self._changes and self._changes[0].at < now - LONGEST:
            self._changes.popleft()
        if self._past:
            needed = {change.uid for change in self._changes}.union(kept)
            self._past = {uid: pod for uid, pod in self._past.items() if uid in needed}

    def recent(self, until: float) -> Iterator[PastSet]:
        """The present set and earlier ones, the latest first; none that began after this time."""
        states, ceased = self._states(), EVER
        for change in reversed(self._changes):
            if change.at <= until:
                yield PastSet(dict(states), change.at, ceased)
            states[change.uid], ceased = change.before, change.at
        yield PastSet(states, -EVER, ceased)

    def mixtures(self, until: float) -> Iterator[PastSet]:
        """The present set with the last changes combined as if each might have happened or not."""
        options: dict[str, set[PodPresence]] = {}
        size = 1
        for change in list(reversed(self._changes))[:MIXED_CHANGES]:
            known = options.setdefault(change.uid, {self._state(change.uid)})
            more = known | {change.before, change.after}
            size = size // len(known) * len(more)
            if size > MOST_MIXTURES:
                break
            options[change.uid] = more if change.at <= until else {change.before}
        states = self._states()
        for chosen in product(*(sorted(one, key=lambda state: state.value) for one in options.values())):
            yield PastSet(states | dict(zip(options, chosen, strict=True)))

    @property
    def has_namesakes(self) -> bool:
        """Whether two of the pods have one name: one came after the other."""
        every = (*self.present.values(), *self._past.values())
        return len({pod.key for pod in every}) < len(every)

    def _states(self) -> States:
        return {uid: PodPresence.ENDED if pod.ended else PodPresence.LIVE for uid, pod in self.present.items()}

    def _state(self, uid: str) -> PodPresence:
        pod = self.present.get(uid)
        return PodPresence.ABSENT if pod is None else PodPresence.ENDED if pod.ended else PodPresence.LIVE

    def _note(self, change: SetChange, is_noted: bool) -> bool:
        if change.before is not change.after and is_noted:
            self._changes.append(change)
        return change.before is not change.after
