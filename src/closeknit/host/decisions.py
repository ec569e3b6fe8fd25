"""The host's side of the decision log: records are stored as lines of JSON and passed to listeners."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import msgspec

from ..controller.decision_log import Record

NAME = "decisions"
"""The path under which decisions are served."""
KEPT = 10_000


class StreamLine(NamedTuple):
    body: bytes


class HasBody(Protocol):
    @property
    def body(self) -> bytes: ...


class Book(Protocol):
    """A store of decisions, oldest first."""

    def decide(self, body: bytes) -> int: ...

    def decisions(self) -> Iterable[HasBody]: ...


class Memory:
    """Keeps the latest decisions in memory."""

    def __init__(self) -> None:
        self._lines: deque[StreamLine] = deque(maxlen=KEPT)

    def decide(self, body: bytes) -> int:
        self._lines.append(StreamLine(body))
        return len(self._lines)

    def decisions(self) -> list[StreamLine]:
        return list(self._lines)


@dataclass(slots=True)
class Decisions:
    """Stores each record in the book and passes it to the listeners."""

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
    """Whether a query names the workload or its job: is_about("ns/train", "ns/job-train-1a2b3", "Job/train")."""
    namespace = workload.partition("/")[0]
    return asked in ("", workload, f"{namespace}/{job.partition('/')[2]}")


def line(record: Record) -> bytes:
    """The line of JSON that is stored and served."""
    return msgspec.json.encode(record._asdict())
