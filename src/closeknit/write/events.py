"""Events as objects: what users are told about their jobs, pods and workloads.

Saying the same of the same object again only counts up, and not at every turn: a workload that waits in front of its
queue is looked at many times a second.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from ..cluster.kinds import EVENT
from ..cluster.port import Create, Key, Patch, Raw, Write
from ..dialects import timestamps
from ..model.event import Event

REMEMBERED = 4096
QUIET = 60.0
"""Seconds in which a repeated event is only counted, not written."""
LIFETIME = 1800.0
"""Seconds after which an event may be gone, so that another one is made."""
LONGEST = 1024
SOURCE = "closeknit"


@dataclass(slots=True)
class _Told:
    key: Key
    count: int
    written: float
    made: float


class Recorder:
    """Makes the writes for events, and remembers what it told."""

    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, str, str], _Told] = OrderedDict()
        self._number = 0

    def tell(self, about: Raw, event: Event, now: float) -> list[Write]:
        """`about` is the object that the event is shown with."""
        message = event.message[:LONGEST]
        same = (about["metadata"].get("uid", ""), event.reason, message)
        told = self._told.get(same)
        if told is not None:
            told.count += 1
            if now - told.written < QUIET:
                return []
            if now - told.made > LIFETIME:
                del self._told[same]
                return self.tell(about, event, now)
            told.written = now
            return [Patch(told.key, {"count": told.count, "lastTimestamp": timestamps.stamp(now)})]
        key, body = self._object(about, event, message, now)
        self._told[same] = _Told(key, 1, now, now)
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        return [Create(EVENT, body)]

    def _object(self, about: Raw, event: Event, message: str, now: float) -> tuple[Key, Raw]:
        meta = about["metadata"]
        namespace = meta.get("namespace") or "default"
        self._number += 1
        name = f"{meta['name'][:200]}.{int(now * 1000):x}{self._number:04x}"
        stamp = timestamps.stamp(now)
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "name": meta["name"],
                "uid": meta.get("uid", ""),
                "resourceVersion": meta.get("resourceVersion", ""),
                **({"namespace": meta["namespace"]} if meta.get("namespace") else {}),
            },
            "type": event.type,
            "reason": event.reason,
            "message": message,
            "source": {"component": SOURCE},
            "reportingComponent": SOURCE,
            "reportingInstance": "",
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }
        return Key(EVENT, namespace, name), body
