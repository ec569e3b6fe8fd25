"""Events as objects: what users are told about their jobs, pods and workloads.

    tell() ──▶ waits for the write that it tells of ──▶ in line ──▶ made, or counted up
                    └── refused: it never happened

There is one event for an object and a reason: it counts up, and has the last message. The same message is not written
at every turn: a workload that waits in front of its queue is looked at many times a second. Events are for people: they
come last, no faster than the server should have to take them, and what is too much is dropped, the oldest first.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..cluster.errors import Refused, is_of_an_end
from ..cluster.kinds import EVENT
from ..cluster.port import Change, Create, Key, Patch, Raw, Write
from ..dialects import timestamps
from ..model.event import Event
from .allowance import Allowance, Pace
from .in_flight import Flight

REMEMBERED = 4096
QUIET = 60.0
"""Seconds in which a repeated event is only counted, not written."""
LIFETIME = 1800.0
"""Seconds after which an event may be gone, so that another one is made."""
LONGEST = 1024
SOURCE = "closeknit"


MOST, AT_ONCE = 10_000, 20
"""So many may stand in line, and so many may be on their way to the server."""


class Tell(NamedTuple):
    """`about` is the object that the event is shown with."""

    about: Raw
    event: Event
    now: float


Subject = tuple[str, str, str]
"""What one event is about: the uid of the object, the type and the reason."""


@dataclass(slots=True)
class _Told:
    key: Key
    count: int
    written: float
    made: float
    message: str


class Recorder:
    """Makes the writes for events, and remembers what it told; a part of the control plane, the last in turn.

    `ending` are namespaces that are being deleted, where nobody is told anything any more.
    """

    def __init__(self, pace: Pace | None = None, ending: Container[str] = ()) -> None:
        self.allowance, self.ending = Allowance(pace), ending
        self._line: deque[Tell] = deque(maxlen=MOST)
        self._told: OrderedDict[Subject, _Told] = OrderedDict()
        self._open = 0
        """How many writes are in flight."""
        self._number = 0

    def tell(self, tell: Tell) -> None:
        """What it tells of has happened."""
        if tell.about["metadata"].get("namespace") not in self.ending:
            self._line.append(tell)

    # As a part of the control plane

    def see(self, change: Change) -> None:
        """Nothing follows from what others do."""

    def due(self) -> float | None:
        return self.allowance.next if self._line and self._open < AT_ONCE else None

    def step(self, now: float) -> Sequence[Flight[Subject]]:
        made: list[Flight[Subject]] = []
        while self._line and self._open < AT_ONCE and self.allowance.taken(now):
            flight = self._written(self._line.popleft())
            if flight is not None:
                made.append(flight)
                self._open += 1
        return made

    def done(self, flight: Flight[Subject], result: Raw | Refused, now: float) -> None:
        """What could not be written was not told; but nothing ever is where a namespace ends."""
        self._open -= 1
        if isinstance(result, Refused) and not is_of_an_end(result):
            self._told.pop(flight.key, None)

    def _written(self, tell: Tell) -> Flight[Subject] | None:
        about, event, now = tell
        message = event.message[:LONGEST]
        same = (about["metadata"].get("uid", ""), event.type, event.reason)
        told = self._told.get(same)
        if told is not None and now - told.made > LIFETIME:
            told = None
        write: Write | None
        if told is None:
            key, body = self._object(about, event, message, now)
            self._told[same], write = _Told(key, 1, now, now, message), Create(EVENT, body)
            if len(self._told) > REMEMBERED:
                self._told.popitem(last=False)
        else:
            write = self._counted(told, message, now)
        return None if write is None else Flight(write, same)

    @staticmethod
    def _counted(told: _Told, message: str, now: float) -> Write | None:
        told.count += 1
        if message == told.message and now - told.written < QUIET:
            return None
        told.written, told.message = now, message
        return Patch(told.key, {"count": told.count, "lastTimestamp": timestamps.stamp(now), "message": message})

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
