"""Writes on their way to a server: to one object in order, to others at the same time, each until it is answered.

    send ──▶ on its way ──▶ answered ──▶ shown ──▶ done

A write without an answer may have been carried out, or may yet be. To take it for failed would give away twice what it
gave away, so it is sent until there is an answer: writes name the version that they go by, so it cannot happen twice.

Where somebody else was faster, the object is read before the refusal is reported. A stream may hang for a minute before
anybody can know, and until then the same would be decided on the same old object, and be refused, over and over.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Literal, Protocol

from ..cluster.errors import Conflict, InternalError, Refused
from ..cluster.kinds import CLUSTER_QUEUE, COHORT, EVENT, LOCAL_QUEUE, POD, Kind
from ..cluster.kube.client import Lane
from ..cluster.kube.retries import Retries
from ..cluster.kube.unreachable import Unreachable
from ..cluster.port import Delete, Key, Raw, Update, Write, target_of

PATIENCE = Retries(attempts=2**62, seconds=inf)
"""What a client that carries out writes for a control plane has to have."""
AT_ONCE = 6
"""Writes that are on their way at the same time. More are not answered sooner, and the requests of others later."""
PODS = 32
"""Of these a job waits for the last: they have a lane of their own."""
NEWS = (EVENT, CLUSTER_QUEUE, LOCAL_QUEUE, COHORT)
"""What people are told, and what queues say of themselves: one at a time, so that a busy server hears less of it."""
WATCHFUL = 0.05
"""Seconds between two looks at whether somebody may write again."""


class Carrier(Protocol):
    """As much of a client as is needed here."""

    async def carry_out(self, write: Write, lane: Lane) -> Raw: ...

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw: ...


class Guarded(asyncio.Semaphore):
    """So many at a time, and nobody while it `may` not be: each attempt at a write goes through it anew."""

    def __init__(self, size: int, may: Callable[[], bool]) -> None:
        super().__init__(size)
        self._may = may

    async def acquire(self) -> Literal[True]:
        while True:
            await super().acquire()
            if self._may():
                return True
            self.release()
            await asyncio.sleep(WATCHFUL)


class Outbox:
    """`show` is called with what a write led to, `done` right after it. While it `may` not, nothing is sent."""

    def __init__(
        self,
        client: Carrier,
        show: Callable[[Kind, Raw], None],
        done: Callable[[Write, Raw | Refused], None],
        may: Callable[[], bool] = lambda: True,
    ) -> None:
        self.client, self.show, self.done = client, show, done
        self.size = 0
        """How many writes are not answered yet."""
        self.pressing = 0
        """How many of them are no mere news."""
        self.answered: Counter[tuple[str, str]] = Counter()
        """How many were, by what was to be done and what came of it: update, Conflict."""
        self._lines: dict[Key, deque[Write]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._free = Guarded(AT_ONCE, may)
        self._lanes = {POD: Guarded(PODS, may), **dict.fromkeys(NEWS, Guarded(1, may))}

    def send(self, writes: Sequence[Write]) -> None:
        for write in writes:
            target = target_of(write)
            self._count(target, 1)
            if target in self._lines:
                self._lines[target].append(write)
                continue
            self._lines[target] = deque([write])
            task = asyncio.create_task(self._work_off(target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _count(self, target: Key, change: int) -> None:
        self.size += change
        self.pressing += 0 if target.kind in NEWS else change

    async def drain(self, seconds: float) -> bool:
        """Wait for all answers, but not longer than that; says whether they came."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)
        return not self._tasks

    async def close(self) -> None:
        """Whatever has no answer yet is left without one."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work_off(self, target: Key) -> None:
        line = self._lines[target]
        try:
            while line:
                result = await self._carried_out(line[0])
                write = line.popleft()
                self._count(target, -1)
                self.answered[type(write).__name__.lower(), _outcome(result)] += 1
                if not line:
                    del self._lines[target]
                if not isinstance(result, Refused) and not isinstance(write, Delete):
                    self.show(target.kind, result)
                self.done(write, result)
        finally:
            if self._lines.get(target) is line:
                del self._lines[target]

    async def _carried_out(self, write: Write) -> Raw | Refused:
        try:
            return await self.client.carry_out(write, self._lanes.get(target_of(write).kind, self._free))
        except Refused as refused:
            if isinstance(refused, Conflict) and isinstance(write, Update):
                await self._look(target_of(write))
            return refused
        except Unreachable as error:
            return InternalError(str(error))

    async def _look(self, key: Key) -> None:
        """What is there now; if that cannot be had, the stream will tell."""
        with suppress(Refused, Unreachable):
            self.show(key.kind, await self.client.get(*key))


def _outcome(result: Raw | Refused) -> str:
    return type(result).__name__ if isinstance(result, Refused) else "done"
