"""Warns about reports of NUMA zones that contain mistakes, by an event on the NodeResourceTopology.

An agent repeats its report every minute, or whenever a pod starts, so one event has to do for the same mistakes. They
affect nothing but what they are about: the rest of the report counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..cluster.kinds import NODE_TOPOLOGY
from ..cluster.port import Change, Key
from ..model.event import Event
from ..model.mistake import Mistake
from ..observe.cluster_cache import ClusterCache
from ..write.events import Recorder, RecordEvent
from .reconciler import Reconciler, Step

REASON = "InvalidTopology"
SHOWN = 3
"""As many mistakes are spelled out; the others are counted."""


class ZoneReportChecker(Reconciler[Key]):
    def __init__(self, cache: ClusterCache, recorder: Recorder) -> None:
        super().__init__(cache, recorder)
        self._told: dict[str, tuple[str, str]] = {}
        """The uid and the text of the last event, by node."""

    def keys_for(self, change: Change) -> Iterable[Key]:
        if change.kind is not NODE_TOPOLOGY:
            return ()
        name = change.object["metadata"]["name"]
        if change.type == "DELETED":
            self._told.pop(name, None)
        zones = self.cache.world.zones.get(name)
        return () if zones is None or not zones.mistakes else (change.key,)

    def reconcile(self, key: Key, now: float) -> Iterator[Step]:
        raw, zones = self.cache.find(key), self.cache.world.zones.get(key.name)
        if raw is None or zones is None or not zones.mistakes:
            return
        told = str(raw["metadata"].get("uid", "")), text_of(zones.mistakes)
        if self._told.get(key.name) != told:
            self._told[key.name] = told
            yield RecordEvent(raw, Event(key.name, "Warning", REASON, told[1]), now)


def text_of(mistakes: Sequence[Mistake]) -> str:
    """The first mistakes, without the name of the object that the event is about anyway."""
    shown = [str(replace(one, where="", what="")) for one in mistakes[:SHOWN]]
    more = len(mistakes) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more > 0 else [])])
