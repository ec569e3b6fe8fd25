"""HTTP endpoints of every host: metrics for Prometheus, the decision log, the configuration in force, NUMA zones.

The controller serves them on its metrics address, behind tokens of the API server; the embedded host serves them next
to the Kubernetes API and behind the same tokens. They are read-only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

from ..controller.decision_log import Record
from ..observe.zone_views import encode, zones_view
from . import decisions, rules
from .decisions import Decisions, is_about
from .http_server import Answer, Answerer, Query
from .metrics import MEDIA, Metrics

METRICS, BASE = "metrics", "closeknit"
MOST_UNREAD = 10_000
LINES = 200
"""How many stored records are written at once: a reader that is gone is noticed only between two writes."""


class Endpoints:
    """`metrics.runtime` is the host once it is connected."""

    def __init__(self, kept: Decisions, metrics: Metrics) -> None:
        self.decisions, self.metrics = kept, metrics

    def by_path(self) -> Mapping[str, Answerer]:
        return {
            METRICS: self._metrics,
            f"{BASE}/{decisions.NAME}": self._decisions,
            f"{BASE}/{rules.NAME}": self._rules,
            f"{BASE}/numa": self._zones,
        }

    async def _metrics(self, _: Query) -> Answer:
        return Answer(self.metrics.text(), MEDIA)

    async def _rules(self, _: Query) -> Answer:
        if self.metrics.runtime is None:
            return Answer(b"not connected to the API server yet\n", status=503)
        return Answer(rules.encode(self.metrics.runtime.options), "application/json")

    async def _zones(self, query: Query) -> Answer:
        """What is known of NUMA zones, of all nodes or of `node`."""
        runtime = self.metrics.runtime
        if runtime is None:
            return Answer(b"not connected to the API server yet\n", status=503)
        node = query.arguments.get("node", "")
        view = zones_view(runtime.control_plane.cache.world, runtime.now(), (node,) if node else ())
        return Answer(encode(view), "application/json")

    async def _decisions(self, query: Query) -> Answer:
        return Answer(self._records(query.arguments), "application/x-ndjson")

    async def _records(self, asked: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """Records as lines of JSON; with `watch=true` new ones as they are made."""
        since, workload, watches = (
            _number(asked.get("since", "")),
            asked.get("workload", ""),
            asked.get("watch") == "true",
        )
        queue: asyncio.Queue[Record] = asyncio.Queue(maxsize=MOST_UNREAD)

        def listen(record: Record) -> None:
            if queue.full():
                queue.get_nowait()  # a slow reader loses the oldest records
            queue.put_nowait(record)

        kept = self.decisions.read(since, workload)
        if watches:
            self.decisions.listeners.append(listen)
        try:
            for first in range(0, len(kept), LINES):
                yield b"".join(body + b"\n" for body in kept[first : first + LINES])
            while watches:
                record = await queue.get()
                if is_about(workload, record.workload, record.job):
                    yield decisions.line(record) + b"\n"
        finally:
            if watches:
                self.decisions.listeners.remove(listen)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
