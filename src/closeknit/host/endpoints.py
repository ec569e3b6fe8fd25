"""HTTP endpoints of every host: metrics for Prometheus, the decision log, and the configuration in force.

The controller serves them on its health address; the embedded host serves them next to the Kubernetes API and behind
the same token. They are read-only, and show no more than a user who may list workloads can see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from ..controller.decision_log import Record
from . import decisions, rules
from .decisions import Decisions, is_about
from .metrics import MEDIA, Metrics

METRICS, BASE = "metrics", "closeknit"
MOST_UNREAD = 10_000

Endpoint = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Endpoints:
    """`metrics.runtime` is the host once it is connected."""

    def __init__(self, kept: Decisions, metrics: Metrics) -> None:
        self.decisions, self.metrics = kept, metrics

    def by_path(self) -> Mapping[str, Endpoint]:
        return {
            METRICS: self._metrics,
            f"{BASE}/{decisions.NAME}": self._decisions,
            f"{BASE}/{rules.NAME}": self._rules,
        }

    async def _metrics(self, _: web.BaseRequest) -> web.Response:
        return web.Response(body=self.metrics.text(), headers={"Content-Type": MEDIA})

    async def _rules(self, _: web.BaseRequest) -> web.Response:
        if self.metrics.runtime is None:
            return status_response("not connected to the API server yet")
        return web.Response(body=rules.encode(self.metrics.runtime.options), content_type="application/json")

    async def _decisions(self, request: web.BaseRequest) -> web.StreamResponse:
        """Stream records as lines of JSON; with `watch=true` new ones as they are made."""
        query = {key: values[-1] for key, values in parse_qs(urlsplit(request.raw_path).query).items()}
        since = _number(query.get("since", ""))
        workload = query.get("workload", "")
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        queue: asyncio.Queue[Record] = asyncio.Queue(maxsize=MOST_UNREAD)
        watches = query.get("watch") == "true"

        def listen(record: Record) -> None:
            if queue.full():
                queue.get_nowait()  # a slow reader loses the oldest records
            queue.put_nowait(record)

        kept = self.decisions.read(since, workload)
        if watches:
            self.decisions.listeners.append(listen)
        try:
            await response.prepare(request)
            for body in kept:
                await response.write(body + b"\n")
            while watches:
                record = await queue.get()
                if is_about(workload, record.workload, record.job):
                    await response.write(decisions.line(record) + b"\n")
        finally:
            if watches:
                self.decisions.listeners.remove(listen)
        return response


def status_response(problem: str) -> web.Response:
    return web.Response(text=f"{problem or 'ok'}\n", status=503 if problem else 200)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
