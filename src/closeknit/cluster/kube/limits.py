"""Client-side rate limits, so that one client does not crowd out the others of an API server.

A token bucket: `burst` tokens at first, `qps` more per second, one for each request. When it is empty requests wait,
and a more urgent one goes first however late it comes. A rate of 0 means no limit. Each kind of objects has its own
bucket, so that events do not delay admissions.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count

from .request import ApiCall, RequestPriority

WHOLE = 1 - 1e-9
"""One token, with tolerance for the rounding error of adding up fractions."""


class Bucket:
    def __init__(self, qps: float = 0.0, burst: int = 0) -> None:
        self.qps, self.burst = qps, max(1.0, burst or 2 * qps)
        self._tokens = self.burst
        self._counted_at = float("-inf")
        self._order = count()
        self._waiting: list[tuple[RequestPriority, int, asyncio.Future[None]]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, priority: RequestPriority = RequestPriority.ORDINARY) -> None:
        """Take one token, waiting until there is one."""
        if self.qps <= 0:
            return
        loop = asyncio.get_running_loop()
        mine = loop.create_future()
        heappush(self._waiting, (priority, next(self._order), mine))
        self._hand_out(loop)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._tokens += 1
                self._hand_out(loop)
            raise

    def _hand_out(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._tokens = min(self.burst, self._tokens + (now - self._counted_at) * self.qps)
        self._counted_at = now
        while self._waiting and self._tokens >= WHOLE:
            *_, first = heappop(self._waiting)
            if not first.done():
                first.set_result(None)
                self._tokens -= 1
        if self._waiting and self._timer is None:
            self._timer = loop.call_later((1 - self._tokens) / self.qps, self._on_time, loop)

    def _on_time(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._hand_out(loop)


class Limits:
    """A bucket per kind of objects, as Kueue's clients have, and one for all writes."""

    def __init__(self, qps: float = 0.0, burst: int = 0, writes: Bucket | None = None) -> None:
        self.qps, self.burst, self.writes = qps, burst, writes or Bucket()
        self._kinds: dict[str, Bucket] = {}

    async def take(self, request: ApiCall) -> None:
        if request.is_write:
            await self.writes.take(request.priority)
        await self._of(request.resource).take(request.priority)

    def _of(self, resource: str) -> Bucket:
        found = self._kinds.get(resource)
        if found is None:
            found = self._kinds[resource] = Bucket(self.qps, self.burst)
        return found
