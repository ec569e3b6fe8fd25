"""The loop of the embedded host: changes go to whoever they concern, what they decide is written, until all is quiet.

Everybody who takes part is a `Participant`: told of every change in order, asked for its next step, and told how its
writes ended. `Standin` is the small form that most take: an object concerns some keys, and for a key there is
something to do now, or later. Order is fixed, so the same beginning gives the same end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from ..errors import Refused
from ..port import Change, Raw, Write
from .store import Options, Store

RETRY = 0.05
"""Seconds after which something that was refused is looked at again, doubled up to the last."""
LAST_RETRY = 5.0


class Later(NamedTuple):
    """Look at this again at that time."""

    at: float


Step = Write | Later


class Participant(Protocol):
    """Somebody who watches the cluster and writes to it."""

    def see(self, change: Change) -> None: ...

    def due(self) -> float | None:
        """When there is next something to do; None if only a change can bring that about. 0.0 means at once."""

    def step(self, now: float) -> Sequence[Write]:
        """What to write now, in this order."""

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        """How a write of its last step ended."""


class Standin(Protocol):
    """One controller of the real cluster, as a function of the store."""

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        """What has to be looked at after this change."""

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterable[Step]:
        """What to write for a key, and when to look again. Must not write itself."""


@dataclass(slots=True)
class _Retry:
    delay: float = RETRY


class Worker:
    """Makes a participant of a stand-in: a queue of keys without repeats, and timers."""

    def __init__(self, store: Store, standin: Standin, options: Options | None = None) -> None:
        self.store, self.standin, self.options = store, standin, options
        self._ready: dict[Hashable, None] = {}
        self._timers: list[tuple[float, int, Hashable]] = []
        self._at: dict[Hashable, float] = {}
        self._retries: dict[Hashable, _Retry] = {}
        self._count = 0
        self._key: Hashable = None
        self._failed = False

    def see(self, change: Change) -> None:
        for key in self.standin.concerns(self.store, change):
            self._ready[key] = None

    def due(self) -> float | None:
        if self._ready:
            return 0.0
        while self._timers and self._at.get(self._timers[0][2]) != self._timers[0][0]:
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def step(self, now: float) -> Sequence[Write]:
        while self._timers and self._timers[0][0] <= now:
            at, _, key = heappop(self._timers)
            if self._at.get(key) == at:
                del self._at[key]
                self._ready[key] = None
        if not self._ready:
            return ()
        key = next(iter(self._ready))
        del self._ready[key]
        self._key, self._failed = key, False
        writes = []
        for step in self.standin.reconcile(self.store, key, now):
            if isinstance(step, Later):
                self.later(key, step.at)
            else:
                writes.append(step)
        if not writes:
            self._retries.pop(key, None)
        return writes

    def later(self, key: Hashable, at: float) -> None:
        """Only the earliest time for a key counts."""
        known = self._at.get(key)
        if known is None or at < known:
            self._at[key] = at
            self._count += 1
            heappush(self._timers, (at, self._count, key))

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        if isinstance(result, Refused):
            retry = self._retries.setdefault(self._key, _Retry())
            self.later(self._key, now + retry.delay)
            retry.delay = min(LAST_RETRY, retry.delay * 2)
            self._failed = True
        elif not self._failed:
            self._retries.pop(self._key, None)


class Loop:
    """Runs all participants in turn."""

    def __init__(self, store: Store, participants: Iterable[Participant]) -> None:
        self.store = store
        self.participants = list(participants)
        self.seen = store.version
        self.steps = 0

    def run(self, now: float, most: int | None = None) -> float | None:
        """Until nobody has anything to do at this time, or so many steps were taken; then says when there is."""
        taken = 0
        while most is None or taken < most:
            self.pass_on()
            due = [one for one in self.participants if (at := one.due()) is not None and at <= now]
            if not due:
                return min((at for one in self.participants if (at := one.due()) is not None), default=None)
            for one in due:
                self._step(one, now)
                taken += 1
        return now

    def pass_on(self) -> None:
        """Tell everybody what happened since."""
        if self.store.version == self.seen:
            return
        changes = deque(self.store.changes(self.seen))
        self.seen = self.store.version
        for change in changes:
            for one in self.participants:
                one.see(change)

    def _step(self, one: Participant, now: float) -> None:
        self.steps += 1
        for write in one.step(now):
            try:
                result: Raw | Refused = self.store.carry_out(write)
            except Refused as refused:
                result = refused
            one.done(write, result, now)
