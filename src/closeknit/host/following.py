"""Every kind that the control plane is to know, kept in step with a server.

    discovery ──▶ kinds that are served ──▶ listed one after the other ──▶ followed, all at once
        ▲                                        └── cannot be had: named with the reason, the rest goes on
        └── a CustomResourceDefinition came or went

What others refer to is listed first, workloads and pods last: then nothing is looked at before what it names. A kind
that the server fails to list, as it does while a conversion webhook is dead, is tried again for ever. Only those
without which nothing can be decided are waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager

import msgspec

from ..cluster.errors import Forbidden, NotFound, Refused
from ..cluster.kinds import CLUSTER_QUEUE, LOCAL_QUEUE, NAMESPACE, NODE, POD, RESOURCE_FLAVOR, WORKLOAD, Kind
from ..cluster.kube.client import Client
from ..cluster.kube.discovery import CRD, Served, served
from ..cluster.kube.pauses import Pauses
from ..cluster.kube.retries import Failure, Retries
from ..cluster.kube.unreachable import Unreachable
from ..cluster.kube.watch import Event, Follower, Listed
from ..cluster.port import Change, Key, Raw
from .trimming import Trimmer

log = logging.getLogger(__name__)

LAST = (WORKLOAD, POD)
"""Listed after everything that they refer to."""
NEEDED = (WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, NODE, POD)
"""Without these nothing can be decided."""
LISTS = Retries(attempts=5, seconds=15.0)
"""Then it is said that a kind cannot be listed, whatever patience the client has."""
SOON = 0.5
"""Seconds until discovery is read again after a definition came or went: they come in bunches."""
LATER = (5.0, 25.0)
"""And until it is read once more, and again: it may learn of a definition late."""
NOT_SERVED = "not served"
TURN = 200
"""So many changes are told before others have their turn."""


class Following:
    """`tell` is called with every change, `find` knows what was told. `off` says why a kind is not followed."""

    def __init__(
        self,
        client: Client,
        wanted: Iterable[Kind],
        tell: Callable[[Change], None],
        find: Callable[[Key], Raw | None],
        trim: Trimmer | None = None,
    ) -> None:
        self.client, self.tell, self.find, self.trim = client, tell, find, trim or Trimmer()
        self.wanted = sorted(wanted, key=_turn)
        self.off: dict[Kind, str] = {}
        self.restarts: Counter[Kind] = Counter()
        """How often a watch had to be begun anew since something went wrong."""
        self.served: Served | None = None
        self.followers: dict[Kind, Follower] = {}
        self._tasks: dict[Kind, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Once begun, everything that was there has been told; afterwards what changes."""
        watching = []
        try:
            await self._discover()
            watching = [asyncio.create_task(self._watch_definitions()), asyncio.create_task(self._rediscover())]
            yield
        finally:
            tasks = [*watching, *self._tasks.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def answered(self, kind: Kind, raw: Raw) -> None:
        """What a write of ours led to is told before the stream shows it."""
        follower = self.followers.get(kind)
        event = None if follower is None else follower.answered(raw)
        if event is not None:
            self._tell(kind, event)

    def _tell(self, kind: Kind, event: Event) -> None:
        """With what is known of the object so far; of one that was found to be gone nothing else is left."""
        change = event.change(kind)
        old = self.find(change.key)
        gone = old is not None and event.type == "DELETED" and "spec" not in event.object
        self.tell(change._replace(old=old, object=old if gone and old is not None else change.object))

    # Which kinds

    async def _discover(self) -> None:
        """Begin with what is served now, and stop with what is not any more."""
        self.served = await served(self.client, self.wanted)
        for kind in self.wanted:
            if not self.served.can(kind):
                await self._end(kind)
                if self.off.get(kind) != NOT_SERVED:
                    log.info("%s is not served: what needs it is off until it is", kind.resource)
                self.off[kind] = NOT_SERVED
            elif kind not in self._tasks:
                await self._begin(kind)

    async def _begin(self, kind: Kind) -> None:
        """Returns when all that is there was told, or cannot be had."""
        listed = asyncio.Event()
        self._tasks[kind] = asyncio.create_task(self._follow(kind, listed))
        waiting = asyncio.create_task(listed.wait())
        await asyncio.wait([waiting, self._tasks[kind]], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def _end(self, kind: Kind) -> None:
        task, follower = self._tasks.pop(kind, None), self.followers.pop(kind, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for event in () if follower is None else follower.forget():
            self._tell(kind, event)

    async def _watch_definitions(self) -> None:
        """Of these only that they change is of interest."""
        pauses, told = Pauses(), False
        while True:
            follower = Follower(self.client, CRD, project=_name_only, keeps_objects=False)
            try:
                async with aclosing(follower.events()) as events:
                    async for _ in events:
                        self._changed.set()
            except (Refused, Unreachable) as error:
                if isinstance(error, Forbidden) and not told:
                    log.warning("watch on %s is forbidden: kinds that come or go are not noticed", CRD.resource)
                    told = True
            await pauses.wait()

    async def _rediscover(self) -> None:
        """Soon after something changed, and some more times."""
        left: tuple[float, ...] = ()
        while True:
            if await self._has_changed(left[0] if left else None):
                await asyncio.sleep(SOON)
                self._changed.clear()
                left = LATER
            else:
                left = left[1:]
            try:
                await self._discover()
            except (Refused, Unreachable) as error:
                log.warning("discovery failed and is tried again: %s", error)
                self._changed.set()

    async def _has_changed(self, within: float | None) -> bool:
        try:
            await asyncio.wait_for(self._changed.wait(), within)
            return True
        except TimeoutError:
            return False

    # One kind

    async def _follow(self, kind: Kind, listed: asyncio.Event) -> None:
        pauses = Pauses()
        while True:
            follower = self._follower(kind)
            try:
                async with aclosing(follower.events()) as events:
                    count = 0
                    async for event in events:
                        if isinstance(event, Listed):
                            listed.set()
                        else:
                            self._tell(kind, event)
                        count += 1
                        if count % TURN == 0:
                            await asyncio.sleep(0)
            except (Refused, Unreachable) as error:
                self._note(kind, error)
                if _can_be_left_out(kind, error):
                    listed.set()
            await pauses.wait()

    def _follower(self, kind: Kind) -> Follower:
        follower = self.followers.get(kind)
        if follower is None:
            follower = self.followers[kind] = Follower(
                self.client,
                kind,
                project=lambda data: self.trim(kind, data),
                keeps_objects=False,
                complain=lambda error: self._begun_anew(kind, error),
                retries=LISTS,
                begun=lambda: self._begun(kind),
            )
        return follower

    def _begun(self, kind: Kind) -> None:
        """Only now is all well: who may list need not be allowed to watch."""
        if self.off.pop(kind, None) is not None:
            log.info("%s is followed: what needs it is on", kind.resource)

    def _begun_anew(self, kind: Kind, error: Failure) -> None:
        self.restarts[kind] += 1
        if self.followers[kind].version:
            log.info("watch on %s is begun anew: %s", kind.resource, error)
        else:
            self._note(kind, error)

    def _note(self, kind: Kind, error: Failure) -> None:
        why = _why(error)
        if self.off.get(kind) != why:
            self.off[kind] = why
            log.warning("%s: %s; what needs it is off", kind.resource, why)

    async def refresh(self, kind: Kind) -> None:
        """Returns when everything that the server has now was told.

        Whoever wrote before us may have done so a moment ago, and a stream may lag behind. Until the new task is there
        the old one keeps its place, or discovery would begin another.
        """
        task, follower = self._tasks.get(kind), self.followers.get(kind)
        if task is None or follower is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if self._tasks.get(kind) is task:
            follower.version = ""
            await self._begin(kind)


def _turn(kind: Kind) -> int:
    """When it is listed: whose namespaces are ours is asked of every job."""
    return LAST.index(kind) + 2 if kind in LAST else int(kind is not NAMESPACE)


def _why(error: Failure) -> str:
    if isinstance(error, Forbidden):
        return f"{'watch' if 'cannot watch' in error.message else 'list'} is forbidden: grant it in the ClusterRole"
    return NOT_SERVED if isinstance(error, NotFound) else f"cannot be listed, and is tried again: {error}"


def _can_be_left_out(kind: Kind, error: Failure) -> bool:
    """Whether others go on without it: where it may not be had, or where the server fails with it.

    That may be a 429 as well, by which a server says that its cache cannot be filled. One that is not there has failed
    with nothing yet.
    """
    return isinstance(error, Forbidden | NotFound) or (kind not in NEEDED and isinstance(error, Refused))


def _name_only(data: bytes) -> Raw:
    meta = msgspec.json.decode(data)["metadata"]
    return {"metadata": {key: meta[key] for key in ("name", "uid", "resourceVersion")}}
