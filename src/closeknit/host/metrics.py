"""The metrics of a host in the Prometheus text format.

Counts of workloads have Kueue's names, so that its dashboards keep working; our own metrics begin with closeknit_.
Almost all values are read from the control plane when Prometheus scrapes, without counters of their own. Every family
is listed in docs/reference/metrics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from .. import __version__
from ..controller.decision_log import Record
from ..queue.pending_queue import PendingQueue
from .runtime import Runtime

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
LAGS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics(Collector):
    """`runtime` is set once there is one; until then its metrics are absent."""

    def __init__(self, runtime: Runtime | None = None) -> None:
        self.runtime = runtime
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)
        ProcessCollector(registry=self.registry)
        self._decided = Counter("closeknit_decisions", "Decisions taken.", ["outcome"], registry=self.registry)
        self._lag = Histogram(
            "closeknit_event_loop_lag_seconds",
            "How late the event loop ran a timer.",
            registry=self.registry,
            buckets=LAGS,
        )
        self._longest_lag = 0.0

    def decided(self, record: Record) -> None:
        self._decided.labels(record.outcome).inc()

    def late(self, seconds: float) -> None:
        self._lag.observe(seconds)
        self._longest_lag = max(self._longest_lag, seconds)

    def text(self) -> bytes:
        return generate_latest(self.registry)

    def collect(self) -> Iterable[Metric]:
        yield _gauge("closeknit_build_info", "The running version.", ["version"], [([__version__], 1)])
        longest = "The longest lag of the event loop since the process started."
        yield _gauge("closeknit_event_loop_longest_lag_seconds", longest, [], [([], self._longest_lag)])
        if self.runtime is not None:
            yield from _of_process(self.runtime)
            yield from _of_queues(self.runtime)
            yield from _of_zones(self.runtime)


def _of_process(runtime: Runtime) -> Iterator[Metric]:
    plane, vitals = runtime.control_plane, runtime.vitals()
    yield _gauge("closeknit_leader", "Whether this process decides.", [], [([], int(vitals.decides))])
    yield _gauge("closeknit_writes_in_flight", "Writes without a response yet.", [], [([], plane.in_flight)])
    writes = CounterMetricFamily("closeknit_writes", "Completed writes.", labels=["verb", "result"])
    for labels, count in plane.answered.items():
        writes.add_metric(list(labels), count)
    yield writes
    errors = "Exceptions raised for an object, which was then tried again."
    faults = CounterMetricFamily("closeknit_internal_errors", errors, labels=["component"])
    for component, count in plane.faults.counts.items():
        faults.add_metric([component], count)
    yield faults
    restarts = CounterMetricFamily("closeknit_watch_restarts", "Watches restarted after a failure.", labels=["kind"])
    for resource, count in vitals.watch_restarts.items():
        restarts.add_metric([resource], count)
    yield restarts


def _of_zones(runtime: Runtime) -> Iterator[Metric]:
    plane = runtime.control_plane
    zoning = plane.cache.world.zoning
    refused = "Pods that a kubelet refused although its node was expected to have room for them."
    refusals = CounterMetricFamily("closeknit_numa_refusals", refused, labels=["reason"])
    for reason, count in plane.zone_refusals.counts.items():
        refusals.add_metric([reason], count)
    yield refusals
    plans = zoning.plans
    doubtful = 0 if plans is None else len(plans.accounts.doubtful(plans.now))
    paused = 0 if plans is None else len({node for node, _, _ in plans.pauses.every(plans.now)})
    yield _gauge("closeknit_numa_reported_nodes", "Nodes with a NodeResourceTopology.", [], [([], len(zoning.reports))])
    doubt = "Nodes whose NodeResourceTopology does not tell which pods it accounts for."
    yield _gauge("closeknit_numa_doubtful_nodes", doubt, [], [([], doubtful)])
    pause = "Nodes to which pods of some shape are not sent for a while after a refusal."
    yield _gauge("closeknit_numa_paused_nodes", pause, [], [([], paused)])


def _of_queues(runtime: Runtime) -> Iterator[Metric]:
    cache, role = runtime.control_plane.cache, runtime.vitals().role
    lines, tally = cache.scheduler.pending.queues, cache.tally.queues
    pending = []
    for name, line in lines.items():
        parked = _parked(line)
        pending += [([name, "active", role], len(line) - parked), ([name, "inadmissible", role], parked)]
    labels = ["cluster_queue", "status", "replica_role"]
    yield _gauge("kueue_pending_workloads", "Pending workloads.", labels, pending)
    names, labels = list(cache.world.cluster_queues), ["cluster_queue", "replica_role"]
    reserving = [([name, role], tally[name].reserving if name in tally else 0) for name in names]
    yield _gauge("kueue_reserving_active_workloads", "Workloads that hold quota.", labels, reserving)
    admitted = [([name, role], tally[name].admitted if name in tally else 0) for name in names]
    yield _gauge("kueue_admitted_active_workloads", "Workloads that are admitted.", labels, admitted)


def _parked(line: PendingQueue) -> int:
    """The number of parked workloads; there are few classes, however many workloads they hold."""
    return len(line.parked) + sum(len(group.members) for group in line.classes.values() if group.parked)


def _gauge(name: str, text: str, labels: list[str], values: Iterable[tuple[list[str], float]]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for of, value in values:
        family.add_metric(of, value)
    return family
