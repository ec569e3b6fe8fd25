"""Writes in flight: sent to the cluster and not answered yet, each with the component that handles its answer.

    step() ──▶ Flight ──depart()──▶ in flight ──land()──▶ Flight, for done() of the component that sent it

A host sends bare writes and reports the result of each. This table maps a write back to the component of the control
plane that made it and to the key that was reconciled, and tells which objects have a write in flight. Writes are
identified by object identity, because two equal writes are two writes; the table holds a reference, so that the
identity is not reused before the answer arrives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..cluster.port import Key, Write, target_of

if TYPE_CHECKING:
    from .events import RecordEvent

K = TypeVar("K")
P = TypeVar("P")


@dataclass(frozen=True, slots=True, eq=False)
class Flight(Generic[K]):
    """A write, the key whose reconciliation made it, and the events to record once it has succeeded."""

    write: Write
    key: K
    events: list[RecordEvent] = field(default_factory=list)


def flights(key: K, steps: Iterable[Write | RecordEvent], tell: Callable[[RecordEvent], None]) -> list[Flight[K]]:
    """The writes among these steps; an event goes with the write before it, or is recorded at once without one."""
    made: list[Flight[K]] = []
    for step in steps:
        if isinstance(step, Write):
            made.append(Flight(step, key))
        elif made:
            made[-1].events.append(step)
        else:
            tell(step)
    return made


class Landed(NamedTuple, Generic[P]):
    part: P
    flight: Flight[Any]


class InFlight(Generic[P]):
    """`P` is the type of the components that send writes and handle their results."""

    def __init__(self) -> None:
        self._open: dict[int, Landed[P]] = {}
        self._targets: Counter[Key] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def is_open(self, target: Key) -> bool:
        """Whether a write to this object has no answer yet."""
        return target in self._targets

    def depart(self, part: P, flight: Flight[Any]) -> None:
        self._open[id(flight.write)] = Landed(part, flight)
        self._targets[target_of(flight.write)] += 1

    def land(self, write: Write) -> Landed[P] | None:
        """Take an answered write off the table; None if it was not sent from here."""
        landed = self._open.pop(id(write), None)
        if landed is None:
            return None
        target = target_of(write)
        self._targets[target] -= 1
        if not self._targets[target]:
            del self._targets[target]
        return landed
