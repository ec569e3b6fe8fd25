"""Writes in flight: sent to the cluster and not answered yet, each with what to do about its answer.

    step() ──▶ Flight ──depart()──▶ in flight ──land()──▶ Flight, for done() of the part that sent it

A host carries out bare writes and reports how each ended. The one table here leads from a write back to the part of the
control plane that made it and to what that part was looking at, and says to which objects something is on its way. A
write is known by its identity, for two equal writes are two writes; the table holds the write, so no other one can get
the same identity before the answer is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..cluster.port import Key, Write, target_of

if TYPE_CHECKING:
    from .events import Tell

K = TypeVar("K")
P = TypeVar("P")


@dataclass(frozen=True, slots=True, eq=False)
class Flight(Generic[K]):
    """A write, the key that was looked at when it was made, and what users are told once it went well."""

    write: Write
    key: K
    tells: list[Tell] = field(default_factory=list)


def flights(key: K, steps: Iterable[Write | Tell], tell: Callable[[Tell], None]) -> list[Flight[K]]:
    """The writes among these steps; what is to be told goes with the write before it, or is told at once."""
    made: list[Flight[K]] = []
    for step in steps:
        if isinstance(step, Write):
            made.append(Flight(step, key))
        elif made:
            made[-1].tells.append(step)
        else:
            tell(step)
    return made


class Landed(NamedTuple, Generic[P]):
    part: P
    flight: Flight[Any]


class InFlight(Generic[P]):
    """`P` is what sends writes and wants to know how they ended."""

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
        """A write was answered; None for one that is not from here."""
        landed = self._open.pop(id(write), None)
        if landed is None:
            return None
        target = target_of(write)
        self._targets[target] -= 1
        if not self._targets[target]:
            del self._targets[target]
        return landed
