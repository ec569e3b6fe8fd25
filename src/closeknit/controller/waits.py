"""The desk that tells workloads why they wait.

What a workload waits for changes with everything that others do, and each word of it is a write. So it is told what was
said last, after a moment in which it may well be admitted, and not again for a while unless the reason is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..cluster.port import Change
from ..decide.decision import Wait
from ..decide.status import carried_out
from ..observe.known import Known
from ..write.allowance import Allowance, Pace
from ..write.events import Recorder
from ..write.in_flight import Flight
from .desk import Desk, Step

REMEMBERED = 50_000


class Words(NamedTuple):
    """In seconds: how long to wait before a word is said, and how long until another one of the same kind.

    `pace`: how many words a second are said to all of them.
    """

    first: float = 0.0
    again: float = 0.0
    pace: Pace = Pace()


class Waits(Desk[str]):
    """By workload."""

    def __init__(self, known: Known, recorder: Recorder, words: Words | None = None) -> None:
        super().__init__(known, recorder)
        self.words = words or Words()
        self.allowance = Allowance(self.words.pace)
        self._said: dict[str, Wait] = {}
        self._last: dict[str, tuple[float, str]] = {}
        """When a workload was told, and for what reason."""

    def say(self, wait: Wait, now: float) -> None:
        key = wait.workload.key
        at, reason = self._last.get(key, (0.0, ""))
        is_same = reason == wait.reason and not _says_another(wait)
        self._said[key] = wait
        self.todo.later(key, max(now + self.words.first, at + self.words.again if is_same else 0.0))

    def due(self) -> float | None:
        at = super().due()
        return None if at is None else max(at, self.allowance.next)

    def step(self, now: float) -> Sequence[Flight[str]]:
        return super().step(now) if self.allowance.taken(now) else ()

    def concerns(self, change: Change) -> Iterable[str]:
        return ()

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        workload, wait = self.known.workloads.get(key), self._said.get(key)
        if workload is None or wait is None or workload.reserved or workload.finished or not workload.active:
            self._said.pop(key, None)
            self._last.pop(key, None)
            return
        if len(self._last) > REMEMBERED:
            self._last.clear()
        self._last[key] = now, wait.reason
        for after, events in carried_out(self.known.world, replace(wait, workload=workload), now):
            yield from self.status(workload, after, events, now)


def _says_another(wait: Wait) -> bool:
    """Whether something else was written since, as when a workload was admitted and evicted again."""
    said = wait.workload.status.conditions.get("QuotaReserved")
    return said is not None and said.reason != wait.reason
