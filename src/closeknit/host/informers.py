"""One informer per kind that the control plane watches.

    discovery ──▶ served kinds ──▶ listed one after another ──▶ watched concurrently
        ▲                               └── list fails: reported with the reason, the other kinds continue
        └── a CustomResourceDefinition was added or removed

Kinds that others refer to are listed first, workloads and pods last, so that no object is reconciled before the objects
it names are in the cache. A kind whose list fails, for example because its conversion webhook is down, is retried for
ever. Startup waits only for the kinds without which nothing can be decided.
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
from ..cluster.kube.informer import Informer, InformerEvent, Listed
from ..cluster.kube.pauses import Pauses
from ..cluster.kube.retries import Failure, Retries
from ..cluster.kube.unreachable import Unreachable
from ..cluster.port import Change, Key, Raw
from .trimming import Trimmer

log = logging.getLogger(__name__)

LAST = (WORKLOAD, POD)
"""Kinds listed after everything that they refer to."""
NEEDED = (WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, NODE, POD)
"""Kinds without which nothing can be decided."""
LISTS = Retries(attempts=5, seconds=15.0)
"""Retries of a list before the kind is reported as failing, regardless of the client's own retries."""
SOON = 0.5
"""Seconds before discovery is read again after a CustomResourceDefinition changed; they change in bunches."""
LATER = (5.0, 25.0)
"""Seconds before the next two reads of discovery, because the server may publish a definition late."""
NOT_SERVED = "not served"
TURN = 200
"""Changes delivered before other tasks of the event loop get a turn."""


class InformerSet:
    """`tell` is called with every change, `find` looks an object up in the cache. `off`: unwatched kinds and why."""

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
        """Restarts of each watch after a failure."""
        self.served: Served | None = None
        self.informers: dict[Kind, Informer] = {}
        self._tasks: dict[Kind, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the informers; on entry all existing objects have been delivered."""
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
        """Deliver the object that a write returned, before the watch shows it."""
        informer = self.informers.get(kind)
        event = None if informer is None else informer.answered(raw)
        if event is not None:
            self._tell(kind, event)

    def _tell(self, kind: Kind, event: InformerEvent) -> None:
        """Deliver a change with the cached old object, which also stands in for one that a relist found deleted."""
        change = event.change(kind)
        try:
            old = self.find(change.key)
            gone = old is not None and event.type == "DELETED" and "spec" not in event.object
            self.tell(change._replace(old=old, object=old if gone and old is not None else change.object))
        except Exception:  # one object must not stop the others
            log.exception("a change of %s could not be delivered", change.key)

    # Discovery

    async def _discover(self) -> None:
        """Start informers for newly served kinds, and stop those of kinds no longer served."""
        self.served = await served(self.client, self.wanted)
        for kind in self.wanted:
            if not self.served.can(kind):
                await self._end(kind)
                if self.off.get(kind) != NOT_SERVED:
                    log.info("%s is not served: features that need it are disabled", kind.resource)
                self.off[kind] = NOT_SERVED
            elif kind not in self._tasks:
                await self._begin(kind)

    async def _begin(self, kind: Kind) -> None:
        """Start an informer; returns when all existing objects have been delivered, or the list has failed."""
        listed = asyncio.Event()
        self._tasks[kind] = asyncio.create_task(self._run_informer(kind, listed))
        waiting = asyncio.create_task(listed.wait())
        await asyncio.wait([waiting, self._tasks[kind]], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def _end(self, kind: Kind) -> None:
        task, informer = self._tasks.pop(kind, None), self.informers.pop(kind, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for event in () if informer is None else informer.forget():
            self._tell(kind, event)

    async def _watch_definitions(self) -> None:
        """Trigger discovery whenever a CustomResourceDefinition changes."""
        pauses, warned = Pauses(), False
        while True:
            informer = Informer(self.client, CRD, project=_name_only, keeps_objects=False)
            try:
                async with aclosing(informer.events()) as events:
                    async for _ in events:
                        self._changed.set()
            except (Refused, Unreachable) as error:
                if isinstance(error, Forbidden) and not warned:
                    log.warning("watch on %s is forbidden: kinds added or removed go unnoticed", CRD.resource)
                    warned = True
            await pauses.wait()

    async def _rediscover(self) -> None:
        """Read discovery soon after a definition changed, and twice more later."""
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
                log.warning("discovery failed, retrying: %s", error)
                self._changed.set()

    async def _has_changed(self, within: float | None) -> bool:
        try:
            await asyncio.wait_for(self._changed.wait(), within)
            return True
        except TimeoutError:
            return False

    # One kind

    async def _run_informer(self, kind: Kind, listed: asyncio.Event) -> None:
        pauses = Pauses()
        while True:
            informer = self._informer(kind)
            try:
                async with aclosing(informer.events()) as events:
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

    def _informer(self, kind: Kind) -> Informer:
        informer = self.informers.get(kind)
        if informer is None:
            informer = self.informers[kind] = Informer(
                self.client,
                kind,
                project=lambda data: self.trim(kind, data),
                keeps_objects=False,
                complain=lambda error: self._restarted(kind, error),
                retries=LISTS,
                begun=lambda: self._begun(kind),
            )
        return informer

    def _begun(self, kind: Kind) -> None:
        """The watch is open, so the kind works: permission to list alone does not prove that."""
        if self.off.pop(kind, None) is not None:
            log.info("%s is watched: features that need it are enabled", kind.resource)

    def _restarted(self, kind: Kind, error: Failure) -> None:
        self.restarts[kind] += 1
        if self.informers[kind].version:
            log.info("watch on %s restarted: %s", kind.resource, error)
        else:
            self._note(kind, error)

    def _note(self, kind: Kind, error: Failure) -> None:
        why = _why(error)
        if self.off.get(kind) != why:
            self.off[kind] = why
            log.warning("%s: %s; features that need it are disabled", kind.resource, why)

    async def refresh(self, kind: Kind) -> None:
        """List the kind again; returns when everything that the server has now has been delivered.

        The previous leader may have written a moment ago, and a watch may lag behind. The old task stays registered
        until the new one exists, or discovery would start another.
        """
        task, informer = self._tasks.get(kind), self.informers.get(kind)
        if task is None or informer is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if self._tasks.get(kind) is task:
            informer.version = ""
            await self._begin(kind)


def _turn(kind: Kind) -> int:
    """The order in which kinds are listed: Namespaces first, because every job is checked against its namespace."""
    return LAST.index(kind) + 2 if kind in LAST else int(kind is not NAMESPACE)


def _why(error: Failure) -> str:
    if isinstance(error, Forbidden):
        return f"{'watch' if 'cannot watch' in error.message else 'list'} is forbidden: grant it in the ClusterRole"
    return NOT_SERVED if isinstance(error, NotFound) else f"list failed, retrying: {error}"


def _can_be_left_out(kind: Kind, error: Failure) -> bool:
    """Whether startup continues without this kind: it is forbidden or not served, or the server fails to list it.

    That includes a 429, with which a server reports that it cannot fill its watch cache. An unreachable server does
    not count, because it says nothing about the kind.
    """
    return isinstance(error, Forbidden | NotFound) or (kind not in NEEDED and isinstance(error, Refused))


def _name_only(data: bytes | Raw) -> Raw:
    meta = (data if isinstance(data, dict) else msgspec.json.decode(data))["metadata"]
    return {"metadata": {key: meta[key] for key in ("name", "uid", "resourceVersion")}}
