"""Decisions for later questions: kept as lines of JSON, and passed on to listeners."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import msgspec

from ..controller.records import Record

NAME = "decisions"
"""Under which they are served."""
KEPT = 10_000


class Line(NamedTuple):
    body: bytes


class HasBody(Protocol):
    @property
    def body(self) -> bytes: ...


class Book(Protocol):
    """Where decisions are kept, oldest first."""

    def decide(self, body: bytes) -> int: ...

    def decisions(self) -> Iterable[HasBody]: ...


class Memory:
    """The latest, for as long as the process lives."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=KEPT)

    def decide(self, body: bytes) -> int:
        self._lines.append(Line(body))
        return len(self._lines)

    def decisions(self) -> list[Line]:
        return list(self._lines)


@dataclass(slots=True)
class Decisions:
    """What was decided: kept in the book, and passed on to listeners."""

    book: Book
    listeners: list[Callable[[Record], object]] = field(default_factory=list)

    def keep(self, record: Record) -> None:
        self.book.decide(line(record))
        for listen in self.listeners:
            listen(record)

    def read(self, since: float = 0.0, workload: str = "") -> list[bytes]:
        found = []
        for one in self.book.decisions():
            body = msgspec.json.decode(one.body)
            if body["at"] >= since and is_about(workload, body["workload"], body.get("job", "")):
                found.append(one.body)
        return found


def is_about(asked: str, workload: str, job: str) -> bool:
    """is_about("ns/train", "ns/job-train-1a2b3", "Job/train"): a workload goes by the name of its job, too."""
    namespace = workload.partition("/")[0]
    return asked in ("", workload, f"{namespace}/{job.partition('/')[2]}")


def line(record: Record) -> bytes:
    """As it is kept and served."""
    return msgspec.json.encode(record._asdict())
