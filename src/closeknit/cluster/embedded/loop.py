"""The loop of the embedded host: deliver changes to participants and carry out their writes until all are idle.

A `Participant` sees every change in order, returns the writes of its next step, and gets the result of each. `Standin`
is the small form of most participants: a change adds keys to a work queue, and reconciling a key returns writes or a
time to reconcile it again. The order is fixed, so equal starts give equal ends.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence
from math import inf
from typing import NamedTuple, Protocol

from ..errors import InternalError, Refused
from ..kinds import Kind
from ..port import Change, Raw, Write, target_of
from ..work_queue import WorkQueue
from .store import Store

log = logging.getLogger(__name__)


class ReconcileAt(NamedTuple):
    """Reconcile the key again at this time."""

    at: float


Step = Write | ReconcileAt


class Participant(Protocol):
    """A controller that watches the cluster and writes to it. `watches` are the kinds that it sees; () means all."""

    @property
    def watches(self) -> tuple[Kind, ...]: ...

    def see(self, change: Change) -> None: ...

    def due(self) -> float | None:
        """When the next step is due; 0.0 means now, None that there is none until a change arrives."""

    def step(self, now: float) -> Sequence[Write]:
        """Take one step; returns the writes to carry out, in this order."""

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        """Receive the result of a write of the last step."""


class Standin(Protocol):
    """A controller of a real cluster as a function of the store. `watches` as in `Participant`."""

    @property
    def watches(self) -> tuple[Kind, ...]: ...

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        """The keys to reconcile after this change."""

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterable[Step]:
        """The writes for a key, and when to reconcile it again. It must not write itself."""


class Worker:
    """Runs a stand-in as a participant, one key per step."""

    def __init__(self, store: Store, standin: Standin) -> None:
        self.store, self.standin, self.watches = store, standin, standin.watches
        self.faults = 0
        """How often the stand-in raised an exception."""
        self._list: WorkQueue[Hashable] = WorkQueue()
        self._key: Hashable = None

    def see(self, change: Change) -> None:
        for key in self.standin.concerns(self.store, change):
            self._list.add(key)

    def due(self) -> float | None:
        return self._list.due()

    def step(self, now: float) -> Sequence[Write]:
        self._key = key = self._list.get(now)
        if key is None:
            return ()
        writes = []
        try:
            for step in self.standin.reconcile(self.store, key, now):
                if isinstance(step, ReconcileAt):
                    self._list.add_after(key, step.at)
                else:
                    writes.append(step)
        except Exception:  # one object must not stop the others
            self.faults += 1
            log.exception("%s failed for %s", type(self.standin).__name__, key)
            self._list.add_rate_limited(key, now)
            return ()
        return writes

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        if isinstance(result, Refused):
            self._list.add_rate_limited(self._key, now)
        else:
            self._list.forget(self._key)


class Loop:
    """Runs all participants in turn. A due time is read again only after its participant saw a change or ran a step."""

    def __init__(self, store: Store, participants: Iterable[Participant]) -> None:
        self.store = store
        self.participants: list[Participant] = []
        self.seen = store.history.needed = store.version
        self.steps = self.faults = 0
        self._at: list[float] = []
        self._watchers: dict[Kind, list[int]] = {}
        for one in participants:
            self.add(one)

    def add(self, one: Participant) -> None:
        """Add a participant after all others."""
        self.participants.append(one)
        self._at.append(0.0)
        self._watchers.clear()

    def run(self, now: float, most: int | None = None) -> float | None:
        """Run until no step is due at this time, or `most` steps were taken; returns when the next is due."""
        taken = 0
        while most is None or taken < most:
            self.pass_on()
            due = [place for place, at in enumerate(self._at) if at <= now]
            if not due:
                soonest = min(self._at, default=inf)
                return None if soonest == inf else soonest
            for place in due:
                taken += self._step(place, now)
        return now

    def pass_on(self) -> None:
        """Deliver the changes since the last call to the participants that watch their kinds."""
        if self.store.version == self.seen:
            return
        changes = self.store.changes(self.seen)
        self.seen = self.store.history.needed = self.store.version
        for change in changes:
            self.tell(change)

    def tell(self, change: Change) -> None:
        places = self._watchers.get(change.kind)
        if places is None:
            places = self._watchers[change.kind] = [
                place for place, one in enumerate(self.participants) if not one.watches or change.kind in one.watches
            ]
        for place in places:
            self._at[place] = 0.0
            try:
                self.participants[place].see(change)
            except Exception:  # one object must not stop the others
                self.faults += 1
                log.exception("%s failed for a change of %s", type(self.participants[place]).__name__, change.key)

    def _step(self, place: int, now: float) -> bool:
        """Take a step of a participant, if one is due."""
        one = self.participants[place]
        at = one.due()
        if at is None or at > now:
            self._at[place] = inf if at is None else at
            return False
        self.steps += 1
        for write in one.step(now):
            one.done(write, self._carried_out(write), now)
        return True

    def _carried_out(self, write: Write) -> Raw | Refused:
        try:
            return self.store.carry_out(write)
        except Refused as refused:
            return refused
        except Exception as error:  # one object must not stop the others
            self.faults += 1
            log.exception("the store failed for a write to %s", target_of(write))
            return InternalError(f"the write failed: {error}")
