"""The loop of the embedded host: changes go to whoever they concern, what they decide is written, until all is quiet.

Everybody who takes part is a `Participant`: told of every change in order, asked for its next step, and told how its
writes ended. `Standin` is the small form that most take: an object concerns some keys, and for a key there is
something to do now, or later. Order is fixed, so the same beginning gives the same end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol

from ..errors import Refused
from ..port import Change, Raw, Write
from ..worklist import Worklist
from .store import HISTORY, Store


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


class Worker:
    """Makes a participant of a stand-in, one key at a time."""

    def __init__(self, store: Store, standin: Standin) -> None:
        self.store, self.standin = store, standin
        self._list: Worklist[Hashable] = Worklist()
        self._key: Hashable = None

    def see(self, change: Change) -> None:
        for key in self.standin.concerns(self.store, change):
            self._list.mark(key)

    def due(self) -> float | None:
        return self._list.due()

    def step(self, now: float) -> Sequence[Write]:
        self._key = key = self._list.next(now)
        if key is None:
            return ()
        writes = []
        for step in self.standin.reconcile(self.store, key, now):
            if isinstance(step, Later):
                self._list.later(key, step.at)
            else:
                writes.append(step)
        return writes

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        if isinstance(result, Refused):
            self._list.refused(self._key, now)
        else:
            self._list.went_well(self._key)


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
            if self.store.version - self.seen > HISTORY // 2:
                self.pass_on()
