"""Leader election: one of several replicas leads, by a Lease that it keeps renewing.

                  lease free, or not renewed for its duration
    standing by ─────────────────────────────────────────────▶ leading ──▶ work
         ▲                                                        │
         │   not renewed within the deadline, or taken by another │   work ends, or is cancelled
         └──── LeadershipLost ◀───────────────────────────────────┴──▶ the lease is released

Clocks of different machines differ, so timestamps in the Lease are ignored: a lease has expired when this process has
seen no change of it for its duration, by its own clock. The leader stops at its deadline, before any other may start.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from math import ceil, inf
from time import monotonic, time
from typing import NamedTuple, Protocol, TypeVar
from uuid import uuid4

from ..errors import Conflict, NotFound, Refused
from ..kinds import LEASE, Kind
from ..port import Create, Raw, Update, Write
from .unreachable import Unreachable

T = TypeVar("T")

JITTER, SPREAD = 0.5, 0.1
"""Jitter as fractions of the retry period, so that standbys do not all try at once: added to each wait between two
attempts, and to the wait for a lease that is about to expire."""


class Timing(NamedTuple):
    """In seconds: the lease duration, the renew deadline, and the retry period."""

    duration: float = 10.0
    deadline: float = 7.0
    retry: float = 2.0

    def checked(self) -> Timing:
        if not self.duration > self.deadline > self.retry > 0 or self.duration < 1:
            said = f"{self.duration:g} s, {self.deadline:g} s and {self.retry:g} s"
            raise ValueError(f"a lease needs duration > deadline > retry > 0 and duration >= 1 s, not {said}")
        return self


class Leases(Protocol):
    """The part of a client that election uses."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw: ...

    async def carry_out(self, write: Write) -> Raw: ...


class LeadershipLost(Exception):  # noqa: N818 - it is a state of things, not a fault
    """Another replica may lead by now: stop, and stand by again."""


def own_identity() -> str:
    """A unique identity for this process."""
    return f"{socket.gethostname()}_{uuid4()}"


class Elector:
    """One replica's part in the election.

    `on_change` is called with the new leader's identity whenever it changes, empty for none; `complain` with errors.
    """

    def __init__(
        self,
        client: Leases,
        name: str,
        namespace: str,
        identity: str = "",
        timing: Timing = Timing(),  # noqa: B008 - it is a constant
        *,
        on_change: Callable[[str], None] = lambda _: None,
        complain: Callable[[Exception], None] = lambda _: None,
        now: Callable[[], float] = monotonic,
        wall: Callable[[], float] = time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.client, self.name, self.namespace = client, name, namespace
        self.identity, self.timing = identity or own_identity(), timing.checked()
        self.leader = ""
        self._on_change, self._complain = on_change, complain
        self._now, self._wall, self._chance = now, wall, chance
        self._lease: Raw | None = None
        self._is_sure = False
        """Whether the lease is presumably still as this process wrote it last."""
        self._seen_at = self._renewed_at = float("-inf")

    @property
    def is_leader(self) -> bool:
        """True only while no other replica can be leader, even if this process was suspended for a while."""
        return self.leader == self.identity and self._left() > 0

    def _left(self) -> float:
        """Seconds until the renew deadline."""
        return self._renewed_at + self.timing.deadline - self._now()

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Stand by until elected, then do the work. If leadership is lost, cancel it and raise LeadershipLost."""
        try:
            await self._win()
            return await self._lead(work)
        finally:
            await asyncio.shield(self._give_back())

    async def _win(self) -> None:
        while not await self._attempted(self.timing.deadline):
            await asyncio.sleep(self._pause())

    def _pause(self) -> float:
        """Seconds until the next attempt, which is not later than the lease's expiry plus jitter."""
        usual, retry = self.timing.retry * (1 + JITTER * self._chance()), self.timing.retry
        left = -inf if self._lease is None else self._seen_at + self._lasts(self._lease) - self._now()
        return usual if left <= 0 else min(usual, left + retry * SPREAD * self._chance())

    async def _lead(self, work: Callable[[], Awaitable[T]]) -> T:
        async def working() -> T:
            return await work()

        own, renewing = asyncio.create_task(working()), asyncio.create_task(self._renew())
        try:
            await asyncio.wait((own, renewing), return_when=asyncio.FIRST_COMPLETED)
            if own.done():
                return own.result()
        finally:
            for task in (own, renewing):
                task.cancel()
            await asyncio.gather(own, renewing, return_exceptions=True)
        raise LeadershipLost(f"lost the lease {self.namespace}/{self.name}")

    async def _renew(self) -> None:
        """Renew the lease until leadership is lost. An attempt without a response leaves time for another."""
        pause = retry = self.timing.retry
        while self.is_leader:
            await asyncio.sleep(min(pause, self._left()))
            if self.is_leader:
                left = self._left()
                renewed = await self._attempted(max(left / 2, min(retry, left)))
                pause = retry if renewed else retry / 4
        if self.leader == self.identity:
            self._see_leader("")

    # The lease

    async def _attempted(self, seconds: float) -> bool:
        """Try to acquire or renew the lease within this time; returns whether it is held."""
        try:
            async with asyncio.timeout(seconds):
                return await self._attempt()
        except Conflict:
            pass
        except TimeoutError:
            self._complain(TimeoutError(f"the server did not answer within {seconds:.1f} s"))
        except (Refused, Unreachable) as error:
            self._complain(error)
        return False

    async def _attempt(self) -> bool:
        before, lease = self._now(), await self._current()
        if not self._may_take(lease):
            return False
        self._is_sure = False
        self._see(await self.client.carry_out(self._claim(lease)))
        self._renewed_at, self._is_sure = before, True
        self._see_leader(self.identity)
        return True

    async def _current(self) -> Raw | None:
        """The lease. The leader uses what it wrote last without reading: if that is outdated, its write conflicts."""
        if self._is_sure and self.leader == self.identity:
            return self._lease
        try:
            lease = await self.client.get(LEASE, self.namespace, self.name)
        except NotFound:
            return None
        self._see(lease)
        if _holder(lease) != self.identity:
            self._see_leader(_holder(lease))
        return lease

    def _see(self, lease: Raw) -> None:
        if self._lease is None or lease.get("spec") != self._lease.get("spec"):
            self._seen_at = self._now()
        self._lease = lease

    def _may_take(self, lease: Raw | None) -> bool:
        if lease is None or _holder(lease) in ("", self.identity):
            return True
        return self._now() >= self._seen_at + self._lasts(lease)

    def _lasts(self, lease: Raw) -> float:
        return float((lease.get("spec") or {}).get("leaseDurationSeconds") or self.timing.duration)

    def _claim(self, lease: Raw | None) -> Write:
        moment = _micro(self._wall())
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": ceil(self.timing.duration),
            "acquireTime": moment,
            "renewTime": moment,
            "leaseTransitions": 0,
        }
        if lease is None:
            meta = {"name": self.name, "namespace": self.namespace}
            return Create(LEASE, {"metadata": meta, "spec": spec})
        old = lease.get("spec") or {}
        transitions = old.get("leaseTransitions") or 0
        if _holder(lease) == self.identity:
            spec |= {"acquireTime": old.get("acquireTime") or moment, "leaseTransitions": transitions}
        else:
            spec["leaseTransitions"] = transitions + 1
        return Update(LEASE, {**lease, "spec": {**old, **spec}})

    async def _give_back(self) -> None:
        """Release the lease so that the next leader need not wait; not if another replica may hold it by now."""
        with suppress(Refused, Unreachable, TimeoutError):
            async with asyncio.timeout(self.timing.retry):
                lease = await self._current() if self.is_leader else None
                if lease is not None and _holder(lease) == self.identity:
                    await self.client.carry_out(self._released(lease))
        self._is_sure = False
        if self.leader == self.identity:
            self._see_leader("")

    def _released(self, lease: Raw) -> Write:
        moment = _micro(self._wall())
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": moment, "acquireTime": moment}
        return Update(LEASE, {**lease, "spec": {**lease["spec"], **spec}})

    def _see_leader(self, leader: str) -> None:
        if leader != self.leader:
            self.leader = leader
            self._on_change(leader)


def _holder(lease: Raw) -> str:
    return (lease.get("spec") or {}).get("holderIdentity") or ""


def _micro(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
