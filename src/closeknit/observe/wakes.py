"""What has happened that those who wait were not told yet, and from when on they may be.

Kueue gathers for a second what happens in a tree of cohorts before it wakes anybody there. With the gate WakeAtOnce
everybody is woken at once, and then not again for a second; in between only those for whom there is enough quota now.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from ..decide.scheduler import Scheduler
from ..queue.wake import FREED, RULES, Event, Reach

GATHERING = 1.0
"""Seconds."""


class Wake(NamedTuple):
    """From when on it may be told, and in which queues it happened."""

    at: float
    queues: set[str]


class Wakes:
    def __init__(self, scheduler: Scheduler, at_once: bool, now: Callable[[], float]) -> None:
        self._scheduler, self._at_once, self._now = scheduler, at_once, now
        self._noted: dict[tuple[Event, str], float] = {}
        """When what happened to which queue, since the trees of cohorts were last looked up."""
        self._pending: dict[tuple[Event, str], Wake] = {}
        """By event and the first queue beside which it happened; no queue is everywhere."""
        self._woken: dict[str, float] = {}
        """When the queues of a tree were last woken, by the first of them."""
        self._freed: set[str] = set()
        """Trees in which something gave its quota back, by the first of their queues."""

    def note(self, event: Event, queue: str = "") -> None:
        """Something happened to a queue, or everywhere. The tree is looked up later: many queues may come at once."""
        self._noted.setdefault((event, queue), self._now())

    def _gather(self) -> None:
        """What happens in one tree of cohorts is told to all of it together."""
        noted, self._noted = self._noted, {}
        for (event, queue), now in noted.items():
            where = self._scheduler.world.first_beside(queue) if RULES[event].reach is Reach.TREE else queue
            known = self._pending.get((event, where))
            if known is None:
                at = max(now, self._woken.get(where, -inf) + GATHERING) if self._at_once else now + GATHERING
                known = self._pending[event, where] = Wake(at, set())
            known.queues.add(queue)
            if self._at_once and RULES[event].wakes is FREED:
                self._freed.add(where)

    @property
    def next(self) -> float | None:
        """When there is next something to pass on; None if nothing has happened."""
        self._gather()
        return 0.0 if self._freed else min((one.at for one in self._pending.values()), default=None)

    def pass_on(self, now: float) -> bool:
        """Tell whoever waits what has happened; says whether anything had. Cohorts may be others by now."""
        self._gather()
        scheduler, moment = self._scheduler, float(int(self._now()))
        told = [one for one, wake in self._pending.items() if wake.at <= now]
        for event, where in told:
            self._woken[where] = now
            queues = self._pending.pop((event, where)).queues
            if where:
                for queue in {scheduler.world.first_beside(one): one for one in sorted(queues)}.values():
                    scheduler.wake(event, queue, moment)
            else:
                scheduler.wake_queues(event, list(scheduler.world.cluster_queues), moment)
        freed, self._freed = self._freed, set()
        back = sum(scheduler.wake_likely(queue, moment) for queue in sorted(freed))
        return bool(told or back)
