"""Writes on their way to a server: to one object in order, to others at the same time, each until it is answered.

    send ──▶ in its lane ──▶ on its way ──▶ answered ──▶ shown ──▶ done

Whoever decides stops while a lane is full: what is decided long before it is written is decided on old news.

A write without an answer may have been carried out, or may yet be. To take it for failed would give away twice what it
gave away, so it is sent until there is an answer: writes name the version that they go by, so it cannot happen twice.

Where somebody else was faster, the object is read before the refusal is reported. A stream may hang for a minute before
anybody can know, and until then the same would be decided on the same old object, and be refused, over and over.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Protocol

from ..cluster.errors import Conflict, InternalError, Refused
from ..cluster.kinds import CLUSTER_QUEUE, COHORT, EVENT, LOCAL_QUEUE, POD, Kind
from ..cluster.kube.client import Lane as Way
from ..cluster.kube.retries import Retries
from ..cluster.kube.unreachable import Unreachable
from ..cluster.port import Delete, Key, Raw, Update, Write, target_of
from .lanes import Lane, Turn, Unhurried

PATIENCE = Retries(attempts=2**62, seconds=inf)
"""What a client that carries out writes for a control plane has to have."""
AT_ONCE = 6
"""Writes that are on their way at the same time, and that may wait for it. More are not answered sooner, and the
requests of others later."""
PODS, PODS_BEHIND = 32, 256
"""Of these a job waits for the last: they have a lane of their own."""
QUEUES, STATUSES = (CLUSTER_QUEUE, LOCAL_QUEUE, COHORT), 2
"""What queues say of themselves has a lane in which nobody stands in its way."""


class Carrier(Protocol):
    """As much of a client as is needed here."""

    async def carry_out(self, write: Write, lane: Way) -> Raw: ...

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw: ...


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
        self._lines: dict[Key, deque[Write]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._free = Lane(AT_ONCE, AT_ONCE, may)
        pods, statuses = Lane(PODS, PODS_BEHIND, may), Lane(STATUSES, inf, may)
        self._lanes = {POD: pods, EVENT: Unhurried(may), **dict.fromkeys(QUEUES, statuses)}

    @property
    def is_full(self) -> bool:
        return any(lane.behind >= lane.most for lane in (self._free, *self._lanes.values()))

    def send(self, writes: Sequence[Write]) -> None:
        for write in writes:
            target = target_of(write)
            self.size += 1
            if target in self._lines:
                self._lines[target].append(write)
                continue
            self._lines[target] = deque([write])
            task = asyncio.create_task(self._work_off(target, self._turn(target)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _turn(self, target: Key) -> Turn:
        return Turn(self._lanes.get(target.kind, self._free))

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

    async def _work_off(self, target: Key, turn: Turn) -> None:
        """All writes to one object, the first with this turn."""
        line = self._lines[target]
        try:
            while line:
                result = await self._carried_out(line[0], turn)
                write = line.popleft()
                self.size -= 1
                if not line:
                    del self._lines[target]
                if not isinstance(result, Refused) and not isinstance(write, Delete):
                    self.show(target.kind, result)
                self.done(write, result)
                if line:
                    turn = self._turn(target)
        finally:
            if self._lines.get(target) is line:
                del self._lines[target]

    async def _carried_out(self, write: Write, turn: Turn) -> Raw | Refused:
        try:
            return await self.client.carry_out(write, turn)
        except Refused as refused:
            if isinstance(refused, Conflict) and isinstance(write, Update):
                await self._look(target_of(write))
            return refused
        except Unreachable as error:
            return InternalError(str(error))
        finally:
            turn.begin()

    async def _look(self, key: Key) -> None:
        """What is there now; if that cannot be had, the stream will tell."""
        with suppress(Refused, Unreachable):
            self.show(key.kind, await self.client.get(*key))
