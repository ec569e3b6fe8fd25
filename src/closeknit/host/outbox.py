"""Sends writes to a server: writes to one object in order, others concurrently, each until there is a response.

    send ──▶ queued in its lane ──▶ in flight ──▶ response ──▶ shown ──▶ done

The control plane pauses while a lane is full, because a decision made long before its write rests on stale state.

A write without a response may have been applied, or may still be. Treating it as failed could assign the same capacity
twice, so it is retried until there is a response. Writes carry a resourceVersion, so none is applied twice.

After a conflict the object is read before the conflict is reported. A watch may hang for a minute before that is
noticed, and until then the same decision on the same stale object would be refused again and again.
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
from .lanes import AdaptiveLane, Lane, Turn

PATIENCE = Retries(attempts=2**62, seconds=inf)
"""The retries of a client that sends a control plane's writes."""
AT_ONCE = 6
"""Writes in flight at once, and as many queued behind them. More would not complete sooner, and would slow down other
clients."""
PODS, PODS_BEHIND = 32, 256
"""Pods have a lane of their own, because a job waits for its last pod."""
QUEUES, STATUSES = (CLUSTER_QUEUE, LOCAL_QUEUE, COHORT), 2
"""Queue statuses have a lane of their own, so that no other write delays them."""


class Carrier(Protocol):
    """The part of a client that an outbox needs."""

    async def carry_out(self, write: Write, lane: Way) -> Raw: ...

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw: ...


class Outbox:
    """`show` is called with the object that a write returned, then `done`. Nothing is sent while `may` is false."""

    def __init__(
        self,
        client: Carrier,
        show: Callable[[Kind, Raw], None],
        done: Callable[[Write, Raw | Refused], None],
        may: Callable[[], bool] = lambda: True,
    ) -> None:
        self.client, self.show, self.done = client, show, done
        self.size = 0
        """Number of writes without a response."""
        self._lines: dict[Key, deque[Write]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._free = Lane(AT_ONCE, AT_ONCE, may)
        pods, statuses = Lane(PODS, PODS_BEHIND, may), Lane(STATUSES, inf, may)
        self._lanes = {POD: pods, EVENT: AdaptiveLane(may), **dict.fromkeys(QUEUES, statuses)}

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
        """Wait up to `seconds` for all responses; returns whether they arrived."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)
        return not self._tasks

    async def close(self) -> None:
        """Abandon all writes without a response."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work_off(self, target: Key, turn: Turn) -> None:
        """Send all writes to one object, the first with this turn."""
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
                await self._refresh(target_of(write))
            return refused
        except Unreachable as error:
            return InternalError(str(error))
        finally:
            turn.begin()

    async def _refresh(self, key: Key) -> None:
        """Read the object and show it; if the read fails, the watch will show it later."""
        with suppress(Refused, Unreachable):
            self.show(key.kind, await self.client.get(*key))
