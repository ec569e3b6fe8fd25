"""The HTTP extender of a stock kube-scheduler: what is known of the cluster, and the verbs.

    informers: nodes, pods, NodeResourceTopologies ──▶ Extender ◀── POST filter, prioritize, bind, preempt
                                                          │
                                                          └── bind ──▶ Binding on the API server

Until everything is listed once, a request fails, and the scheduler tries again later. The definition of
NodeResourceTopology may come and go at any time; without it no node has a report, and every pod passes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter, time
from typing import Any

import msgspec

from ..cluster.errors import Refused
from ..cluster.kinds import NODE, NODE_TOPOLOGY, POD
from ..cluster.kube.client import Client
from ..cluster.kube.unreachable import Unreachable
from ..cluster.port import Bind, Change, Raw
from ..dialects import core
from ..dialects import scheduler_extender as wire
from ..dialects.nrt.reading import read_topology
from ..dialects.timestamps import parse
from ..extender.extender import Extender
from ..observe.applicants import applicant, has_ended
from .extender_metrics import ExtenderMetrics
from .http_server import Answer, Answerer, Posts, Query
from .informers import InformerSet
from .trimming import Trimmer

KINDS = (NODE, NODE_TOPOLOGY, POD)
MOST_BODY = 64 << 20
"""Bytes of a request: 5,000 whole nodes have 50 MB."""
MOST_CONNECTIONS = 512
JSON = "application/json"
BIND = "bind"

log = logging.getLogger(__name__)


class ExtenderHost:
    """`client` is set once the API server is reached."""

    def __init__(self, extender: Extender, now: Callable[[], float] = time) -> None:
        self.extender, self.now = extender, now
        self.metrics = ExtenderMetrics(extender, lambda: self.is_synced)
        self.client: Client | None = None
        self.is_synced = False
        self._faults: set[str] = set()

    # The cluster

    def informers(self, client: Client) -> InformerSet:
        self.client = client
        return InformerSet(client, KINDS, self.told, lambda _: None, _Whole())

    def told(self, change: Change) -> None:
        tell = {NODE: self._node, NODE_TOPOLOGY: self._report, POD: self._pod}[change.kind]
        self.extender.expire(self.now())
        try:
            tell(change.object, change.type == "DELETED")
            if self.is_synced:
                self.extender.zones.refresh()
        except (msgspec.ValidationError, ValueError) as error:
            self._complain(f"{change.kind.singular} {change.key.name} is ignored: {error}")

    def _node(self, raw: Raw, is_gone: bool) -> None:
        if is_gone:
            self.extender.drop_node(raw["metadata"]["name"])
            return
        node = msgspec.convert(raw, core.WireNode)
        self.extender.put_node(node.metadata.name or "", node.status.allocatable or {}, node.metadata.labels or {})

    def _report(self, raw: Raw, is_gone: bool) -> None:
        if is_gone:
            self.extender.drop_report(raw["metadata"]["name"])
            return
        report = read_topology(raw)
        for mistake in report.mistakes[:1]:
            self._complain(str(mistake))
        self.extender.put_report(report, _written_at(raw) or self.now())

    def _pod(self, raw: Raw, is_gone: bool) -> None:
        pod = msgspec.convert(raw, wire.ScheduledPod)
        if is_gone or has_ended(pod):
            self.extender.drop_pod(pod.meta.uid or "")
        else:
            self.extender.put_pod(applicant(pod))

    def _complain(self, text: str) -> None:
        if text not in self._faults and len(self._faults) < 1000:
            self._faults.add(text)
            log.warning("%s", text)

    # The verbs

    def routes(self) -> dict[str, Answerer]:
        return {"healthz": self._alive, "readyz": self._ready, "metrics": self._metrics}

    def posts(self) -> Posts:
        verbs = {"filter": self._filter, "prioritize": self._prioritize, BIND: self._bind, "preempt": self._preempt}
        return Posts({name: self._timed(name, verb) for name, verb in verbs.items()}, MOST_BODY)

    def _timed(self, name: str, verb: Answerer) -> Answerer:
        async def answer(query: Query) -> Answer:
            begin = perf_counter()
            try:
                found = await verb(query) if self.is_synced else _not_yet()
            except wire.WireError as error:
                found = Answer(f"{error}\n".encode(), status=400)
            self.metrics.answered(name, found.status, perf_counter() - begin)
            return found

        return answer

    async def _filter(self, query: Query) -> Answer:
        pod, candidates = wire.read_args(query.body)
        found = self.extender.filter(applicant(pod), candidates.names, self.now())
        return Answer(candidates.filtered(found.passing, found.refused), JSON)

    async def _prioritize(self, query: Query) -> Answer:
        pod, candidates = wire.read_args(query.body)
        return Answer(
            wire.priorities(candidates.names, self.extender.prioritize(applicant(pod), candidates.names)), JSON
        )

    async def _preempt(self, query: Query) -> Answer:
        pod, candidates = wire.read_preemption(query.body)
        left = self.extender.preempt(
            applicant(pod), {node: wire.uids_of(victims) for node, victims in candidates.items()}
        )
        return Answer(wire.preemption_result(candidates, left), JSON)

    async def _bind(self, query: Query) -> Answer:
        return Answer(wire.binding_result(await self._bound(wire.read_binding(query.body))), JSON)

    async def _bound(self, asked: wire.ExtenderBinding) -> str:
        """Post the Binding; returns why the pod could not be bound."""
        known = self.extender.applicant(asked.pod_uid)
        if known is None:
            return f"pod {asked.pod_namespace}/{asked.pod_name} with uid {asked.pod_uid} does not wait to be bound"
        refusal = self.extender.bind(known, asked.node, self.now())
        if refusal:
            return f"node {asked.node}: {refusal}"
        assert self.client is not None  # everything was listed through it
        try:
            await self.client.carry_out(Bind(asked.pod_namespace, asked.pod_name, asked.node, asked.pod_uid))
        except Refused as error:
            self.extender.unbound(asked.pod_uid)
            return str(error)
        except Unreachable as error:  # it may have been bound: the reservation expires unless that is seen
            return str(error)
        self.extender.bound(asked.pod_uid)
        return ""

    # What is read

    async def _alive(self, _: Query) -> Answer:
        return Answer(b"ok\n")

    async def _ready(self, _: Query) -> Answer:
        return Answer(b"ok\n") if self.is_synced else _not_yet()

    async def _metrics(self, _: Query) -> Answer:
        return self.metrics.answer()


class _Whole(Trimmer):
    """Objects as they are: when a report was written is in its managed fields. Informers do not keep them."""

    def __call__(self, kind: Any, data: bytes | msgspec.Raw | Raw) -> Raw:
        found: Raw = data if isinstance(data, dict) else msgspec.json.decode(data)
        return found


def _not_yet() -> Answer:
    return Answer(b"nodes, pods and reports are not listed yet\n", status=503)


def _written_at(raw: Raw) -> float:
    """When the report was last changed, in seconds since 1970; 0 if that is not known."""
    meta = raw["metadata"]
    times = [one.get("time") for one in meta.get("managedFields") or ()] or [meta.get("creationTimestamp")]
    try:
        return max((parse(one) for one in times if isinstance(one, str)), default=0.0)
    except ValueError:
        return 0.0
