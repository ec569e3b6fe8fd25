"""What was decided, for those who ask later: kept as lines of JSON, told to whoever listens, served over HTTP."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol
from urllib.parse import parse_qs, urlsplit

import msgspec
from aiohttp import web

from ..controller.records import Record

NAME = "decisions"
"""Under which they are served."""
KEPT = 10_000
MOST_UNREAD = 10_000


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
    """What was decided: kept in the book, and passed on to whoever listens."""

    book: Book
    listeners: list[Callable[[Record], None]] = field(default_factory=list)

    def keep(self, record: Record) -> None:
        self.book.decide(_line(record))
        for listen in self.listeners:
            listen(record)

    def read(self, since: float = 0.0, workload: str = "") -> list[bytes]:
        found = []
        for one in self.book.decisions():
            body = msgspec.json.decode(one.body)
            if body["at"] >= since and is_about(workload, body["workload"], body.get("job", "")):
                found.append(one.body)
        return found

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Records as lines of JSON; with `watch=true` those that are still to come, too."""
        query = {key: values[-1] for key, values in parse_qs(urlsplit(request.raw_path).query).items()}
        since = _number(query.get("since", ""))
        workload = query.get("workload", "")
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        queue: asyncio.Queue[Record] = asyncio.Queue(maxsize=MOST_UNREAD)
        watches = query.get("watch") == "true"

        def listen(record: Record) -> None:
            if queue.full():
                queue.get_nowait()  # whoever reads too slowly misses the oldest
            queue.put_nowait(record)

        kept = self.read(since, workload)
        if watches:
            self.listeners.append(listen)
        try:
            await response.prepare(request)
            for body in kept:
                await response.write(body + b"\n")
            while watches:
                record = await queue.get()
                if is_about(workload, record.workload, record.job):
                    await response.write(_line(record) + b"\n")
        finally:
            if watches:
                self.listeners.remove(listen)
        return response


def is_about(asked: str, workload: str, job: str) -> bool:
    """is_about("ns/train", "ns/job-train-1a2b3", "Job/train"): a workload goes by the name of its job, too."""
    namespace = workload.partition("/")[0]
    return asked in ("", workload, f"{namespace}/{job.partition('/')[2]}")


def _line(record: Record) -> bytes:
    return msgspec.json.encode(record._asdict())


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
