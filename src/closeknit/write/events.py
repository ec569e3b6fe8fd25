"""The event recorder: Event objects on jobs, pods and workloads.

    the write it reports succeeds ──▶ record() ──▶ queued ──▶ created, or its count increased
                  └── refused: no event

There is one event per object and reason, with a count and the last message. A repeated message is not written each
time, because the head of a queue is evaluated many times per second. Events are for people: they are written last, rate
limited, and if too many are queued the oldest are dropped.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..cluster.errors import Refused, is_namespace_terminating
from ..cluster.kinds import EVENT
from ..cluster.port import Change, Create, Key, Patch, Raw, Write
from ..dialects import timestamps
from ..model.event import Event
from .faults import Faults
from .in_flight import Flight
from .token_bucket import Rate, TokenBucket

REMEMBERED = 4096
QUIET = 60.0
"""Seconds in which a repeated event is only counted, not written."""
LIFETIME = 1800.0
"""Seconds after which an event may have expired, so that a new one is created."""
LONGEST = 1024
SOURCE = "closeknit"


MOST, AT_ONCE = 10_000, 20
"""How many events may be queued, and how many may be in flight."""


class RecordEvent(NamedTuple):
    """`about` is the involved object."""

    about: Raw
    event: Event
    now: float


Subject = tuple[str, str, str]
"""The identity of an event: the uid of the object, the type and the reason."""


@dataclass(slots=True)
class _Recorded:
    key: Key
    count: int
    written: float
    made: float
    message: str


class Recorder:
    """Creates the writes for events and remembers which ones exist; the last component of the control plane.

    `ending` are the namespaces that are being deleted; no events are recorded there.
    """

    def __init__(self, pace: Rate | None = None, ending: Container[str] = ()) -> None:
        self.allowance, self.ending = TokenBucket(pace), ending
        self._queued: deque[RecordEvent] = deque(maxlen=MOST)
        self._recorded: OrderedDict[Subject, _Recorded] = OrderedDict()
        self._in_flight = 0
        self._number = 0
        self.faults = Faults(lambda about, event, now: self.record(RecordEvent(about, event, now)))

    def record(self, one: RecordEvent) -> None:
        """Queue an event; what it reports has happened."""
        if one.about["metadata"].get("namespace") not in self.ending:
            self._queued.append(one)

    # As a component of the control plane

    def see(self, change: Change) -> None:
        """Changes do not concern the recorder."""

    def due(self) -> float | None:
        return self.allowance.available_at if self._queued and self._in_flight < AT_ONCE else None

    def step(self, now: float) -> Sequence[Flight[Subject]]:
        made: list[Flight[Subject]] = []
        while self._queued and self._in_flight < AT_ONCE and self.allowance.take(now):
            flight = self._write_for(self._queued.popleft())
            if flight is not None:
                made.append(flight)
                self._in_flight += 1
        return made

    def done(self, flight: Flight[Subject], result: Raw | Refused, now: float) -> None:
        """Forget an event whose write was refused, unless its namespace is being deleted."""
        self._in_flight -= 1
        if isinstance(result, Refused) and not is_namespace_terminating(result):
            self._recorded.pop(flight.key, None)

    def _write_for(self, one: RecordEvent) -> Flight[Subject] | None:
        about, event, now = one
        message = event.message[:LONGEST]
        same = (about["metadata"].get("uid", ""), event.type, event.reason)
        recorded = self._recorded.get(same)
        if recorded is not None and now - recorded.made > LIFETIME:
            recorded = None
        write: Write | None
        if recorded is None:
            key, body = self._object(about, event, message, now)
            self._recorded[same], write = _Recorded(key, 1, now, now, message), Create(EVENT, body)
            if len(self._recorded) > REMEMBERED:
                self._recorded.popitem(last=False)
        else:
            write = self._counted_up(recorded, message, now)
        return None if write is None else Flight(write, same)

    @staticmethod
    def _counted_up(recorded: _Recorded, message: str, now: float) -> Write | None:
        recorded.count += 1
        if message == recorded.message and now - recorded.written < QUIET:
            return None
        recorded.written, recorded.message = now, message
        return Patch(
            recorded.key, {"count": recorded.count, "lastTimestamp": timestamps.stamp(now), "message": message}
        )

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
