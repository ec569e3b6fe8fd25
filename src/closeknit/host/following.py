"""Every kind that the control plane is to know, kept in step with a server.

    discovery ──▶ kinds that are served ──▶ listed one after the other ──▶ followed, all at once
        ▲                                        └── forbidden: named with the verb that is missing, the rest goes on
        └── a CustomResourceDefinition came or went

What others refer to is listed first, workloads and pods last: then nothing is looked at before what it names.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager

import msgspec

from ..cluster.errors import Forbidden, NotFound, Refused
from ..cluster.kinds import NAMESPACE, POD, WORKLOAD, Kind
from ..cluster.kube.client import Client
from ..cluster.kube.discovery import CRD, Served, served
from ..cluster.kube.pauses import Pauses
from ..cluster.kube.unreachable import Unreachable
from ..cluster.kube.watch import Event, Follower, Listed
from ..cluster.port import Change, Key, Raw
from .trimming import Trimmer

log = logging.getLogger(__name__)

LAST = (WORKLOAD, POD)
"""Listed after everything that they refer to."""
SOON = 0.5
"""Seconds until discovery is read again after a definition came or went: they come in bunches."""
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
            if self.served.can(kind):
                self.off.pop(kind, None)
                if kind not in self._tasks:
                    await self._begin(kind)
            else:
                await self._end(kind)
                if kind not in self.off:
                    log.info("%s is not served: what needs it is off until it is", kind.resource)
                self.off[kind] = "not served"

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
        while True:
            follower = Follower(self.client, CRD, project=_name_only, keeps_objects=False)
            try:
                async with aclosing(follower.events()) as events:
                    async for _ in events:
                        self._changed.set()
            except Forbidden:
                log.warning("watch on %s is forbidden: kinds that come or go are not noticed", CRD.resource)
                return
            except (Refused, Unreachable):
                await Pauses().wait()

    async def _rediscover(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(SOON)
            self._changed.clear()
            try:
                await self._discover()
            except (Refused, Unreachable) as error:
                log.warning("discovery failed and is tried again: %s", error)
                self._changed.set()

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
                            self.off.pop(kind, None)
                            listed.set()
                        else:
                            self._tell(kind, event)
                        count += 1
                        if count % TURN == 0:
                            await asyncio.sleep(0)
            except (Forbidden, NotFound) as error:
                self._note(kind, error)
                listed.set()
            except (Refused, Unreachable) as error:
                log.warning("%s cannot be listed and is tried again: %s", kind.resource, error)
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
            )
        return follower

    def _begun_anew(self, kind: Kind, error: Exception) -> None:
        self.restarts[kind] += 1
        log.info("watch on %s is begun anew: %s", kind.resource, error)

    def _note(self, kind: Kind, error: Refused) -> None:
        verb = "watch" if "watch" in error.message else "list"
        why = f"{verb} is forbidden: grant it in the ClusterRole" if isinstance(error, Forbidden) else "not served"
        if self.off.get(kind) != why:
            self.off[kind] = why
            log.warning("%s: %s; what needs it is off", kind.resource, why)

    async def refresh(self, kind: Kind) -> None:
        """Returns when everything that the server has now was told.

        Whoever wrote before us may have done so a moment ago, and a stream may lag behind.
        """
        task, follower = self._tasks.pop(kind, None), self.followers.get(kind)
        if task is None or follower is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        follower.version = ""
        await self._begin(kind)


def _turn(kind: Kind) -> int:
    """When it is listed: whose namespaces are ours is asked of every job."""
    return LAST.index(kind) + 2 if kind in LAST else int(kind is not NAMESPACE)


def _name_only(data: bytes) -> Raw:
    meta = msgspec.json.decode(data)["metadata"]
    return {"metadata": {key: meta[key] for key in ("name", "uid", "resourceVersion")}}
