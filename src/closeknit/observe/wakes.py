"""Wake events that are not delivered to parked workloads yet, and when they may be.

Kueue collects the events of a cohort tree for a second before it wakes any workload there. With the gate WakeAtOnce all
workloads are woken at once, and then not again for a second; in between only those for which there is enough quota now.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from ..decide.scheduler import Scheduler
from ..queue.wake import FREED, RULES, Reach, WakeEvent

GATHERING = 1.0
"""Seconds for which events of a cohort tree are collected."""


class Wake(NamedTuple):
    """When the event may be delivered, and the queues in which it happened."""

    at: float
    queues: set[str]


class Wakes:
    def __init__(self, scheduler: Scheduler, at_once: bool, now: Callable[[], float]) -> None:
        self._scheduler, self._at_once, self._now = scheduler, at_once, now
        self._noted: dict[tuple[WakeEvent, str], float] = {}
        """When what happened to which queue, since the trees of cohorts were last looked up."""
        self._pending: dict[tuple[WakeEvent, str], Wake] = {}
        """By event and the first queue of the tree in which it happened; "" stands for all queues."""
        self._woken: dict[str, float] = {}
        """When each tree was last woken, by its first queue."""
        self._freed: set[str] = set()
        """Trees in which quota was released, by their first queue."""

    def note(self, event: WakeEvent, queue: str = "") -> None:
        """Note an event. Its cohort tree is looked up later, since events of many queues may arrive together."""
        self._noted.setdefault((event, queue), self._now())

    def _gather(self) -> None:
        """Collect the events of each cohort tree, to deliver them to all of it together."""
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
        """When the next event may be delivered; None if there is none."""
        self._gather()
        return 0.0 if self._freed else min((one.at for one in self._pending.values()), default=None)

    def pass_on(self, now: float) -> bool:
        """Wake workloads by the events that are due; returns whether there were any. Cohorts may have changed since."""
        self._gather()
        scheduler, moment = self._scheduler, float(int(self._now()))
        due = [one for one, wake in self._pending.items() if wake.at <= now]
        for event, where in due:
            self._woken[where] = now
            scheduler.retry_second_passes(event, moment)
            queues = self._pending.pop((event, where)).queues
            if where:
                for queue in {scheduler.world.first_beside(one): one for one in sorted(queues)}.values():
                    scheduler.wake(event, queue, moment)
            else:
                scheduler.wake_queues(event, list(scheduler.world.cluster_queues), moment)
        freed, self._freed = self._freed, set()
        back = sum(scheduler.wake_likely(queue, moment) for queue in sorted(freed))
        return bool(due or back)
