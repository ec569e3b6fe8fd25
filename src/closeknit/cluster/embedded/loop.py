"""The loop of the embedded host: changes go to whoever they concern, what they decide is written, until all is quiet.

Everybody who takes part is a `Participant`: told of every change in order, asked for its next step, and told how its
writes ended. `Standin` is the small form that most take: an object concerns some keys, and for a key there is
something to do now, or later. Order is fixed, so the same beginning gives the same end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import inf
from typing import NamedTuple, Protocol

from ..errors import Refused
from ..kinds import Kind
from ..port import Change, Raw, Write
from ..worklist import Worklist
from .store import Store

BEHIND = 10_000
"""So many changes are passed on even within a step: the store does not remember them for ever."""


class Later(NamedTuple):
    """Look at this again at that time."""

    at: float


Step = Write | Later


class Participant(Protocol):
    """Somebody who watches the cluster and writes to it. `watches` names the kinds that it is told of; () is all."""

    @property
    def watches(self) -> tuple[Kind, ...]: ...

    def see(self, change: Change) -> None: ...

    def due(self) -> float | None:
        """When there is next something to do; None if only a change can bring that about. 0.0 means at once."""

    def step(self, now: float) -> Sequence[Write]:
        """What to write now, in this order."""

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        """How a write of its last step ended."""


class Standin(Protocol):
    """One controller of the real cluster, as a function of the store. `watches` as for a participant."""

    @property
    def watches(self) -> tuple[Kind, ...]: ...

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        """What has to be looked at after this change."""

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterable[Step]:
        """What to write for a key, and when to look again. Must not write itself."""


class Worker:
    """Makes a participant of a stand-in, one key at a time."""

    def __init__(self, store: Store, standin: Standin) -> None:
        self.store, self.standin, self.watches = store, standin, standin.watches
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
    """Runs all participants in turn. When each is next due is asked again only after it was told or did something."""

    def __init__(self, store: Store, participants: Iterable[Participant]) -> None:
        self.store = store
        self.participants: list[Participant] = []
        self.seen = store.version
        self.steps = 0
        self._at: list[float] = []
        self._told: dict[Kind, list[int]] = {}
        for one in participants:
            self.add(one)

    def add(self, one: Participant) -> None:
        """Somebody else who takes part, as the last of all."""
        self.participants.append(one)
        self._at.append(0.0)
        self._told.clear()

    def run(self, now: float, most: int | None = None) -> float | None:
        """Until nobody has anything to do at this time, or so many steps were taken; then says when there is."""
        taken = 0
        while most is None or taken < most:
            self.pass_on()
            due = [place for place, at in enumerate(self._at) if at <= now]
            if not due:
                soonest = min(self._at, default=inf)
                return None if soonest == inf else soonest
            for place in due:
                self._step(place, now)
                taken += 1
        return now

    def pass_on(self) -> None:
        """Tell everybody whom it concerns what happened since."""
        if self.store.version == self.seen:
            return
        changes = self.store.changes(self.seen)
        self.seen = self.store.version
        for change in changes:
            self.tell(change)

    def tell(self, change: Change) -> None:
        places = self._told.get(change.kind)
        if places is None:
            places = self._told[change.kind] = [
                place for place, one in enumerate(self.participants) if not one.watches or change.kind in one.watches
            ]
        for place in places:
            self.participants[place].see(change)
            self._at[place] = 0.0

    def _step(self, place: int, now: float) -> None:
        one = self.participants[place]
        at = one.due()
        if at is None or at > now:
            self._at[place] = inf if at is None else at
            return
        self.steps += 1
        for write in one.step(now):
            try:
                result: Raw | Refused = self.store.carry_out(write)
            except Refused as refused:
                result = refused
            one.done(write, result, now)
            if self.store.version - self.seen > BEHIND:
                self.pass_on()
