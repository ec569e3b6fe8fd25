"""What every host answers over HTTP: metrics for Prometheus, what was decided, and by which rules.

The controller serves this on its health address, the embedded host beside the Kubernetes protocol and behind the same
token. All of it is read only, and shows no more than a user sees that may list workloads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from ..controller.records import Record
from . import decisions, rules
from .decisions import Decisions, is_about
from .metrics import MEDIA, Metrics

METRICS, BASE = "metrics", "closeknit"
MOST_UNREAD = 10_000

Endpoint = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Endpoints:
    """`metrics.runtime` is the host, as soon as there is one."""

    def __init__(self, told: Decisions, metrics: Metrics) -> None:
        self.decisions, self.metrics = told, metrics

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
            return said("not connected to the API server yet")
        return web.Response(body=rules.told(self.metrics.runtime.options), content_type="application/json")

    async def _decisions(self, request: web.BaseRequest) -> web.StreamResponse:
        """Records as lines of JSON; with `watch=true` those that are still to come, too."""
        query = {key: values[-1] for key, values in parse_qs(urlsplit(request.raw_path).query).items()}
        since = _number(query.get("since", ""))
        workload = query.get("workload", "")
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        queue: asyncio.Queue[Record] = asyncio.Queue(maxsize=MOST_UNREAD)
        watches = query.get("watch") == "true"

        def listen(record: Record) -> None:
            if queue.full():
                queue.get_nowait()  # a reader that is too slow misses the oldest
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


def said(trouble: str) -> web.Response:
    return web.Response(text=f"{trouble or 'ok'}\n", status=503 if trouble else 200)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
