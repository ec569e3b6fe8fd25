"""The metrics of the extender in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from .. import __version__
from ..extender.extender import Extender
from .http_server import Answer
from .metrics import MEDIA

TIMES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class ExtenderMetrics(Collector):
    """Values of the extender are read when Prometheus scrapes."""

    def __init__(self, extender: Extender, is_synced: Callable[[], bool]) -> None:
        self.extender, self.is_synced = extender, is_synced
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "closeknit_extender_requests",
            "Requests of the scheduler.",
            ["verb", "code"],
            registry=self.registry,
        )
        self._times = Histogram(
            "closeknit_extender_request_duration_seconds",
            "How long requests of the scheduler took.",
            ["verb"],
            registry=self.registry,
            buckets=TIMES,
        )

    def answered(self, verb: str, code: int, seconds: float) -> None:
        self._requests.labels(verb, str(code)).inc()
        self._times.labels(verb).observe(seconds)

    def answer(self) -> Answer:
        return Answer(generate_latest(self.registry), MEDIA)

    def collect(self) -> Iterable[Metric]:
        build = GaugeMetricFamily("closeknit_build_info", "The running version.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        refused = CounterMetricFamily(
            "closeknit_extender_refused_nodes", "Nodes refused for a pod, by reason.", labels=["reason"]
        )
        for reason, count in self.extender.refusals.items():
            refused.add_metric([reason], count)
        yield refused
        zones = self.extender.zones
        gauges = {
            "closeknit_extender_synced": ("Whether nodes, pods and reports are listed.", int(self.is_synced())),
            "closeknit_extender_pending_pods": ("Pods that the scheduler has not bound yet.", self.extender.pending),
            "closeknit_extender_charged_pods": ("Pods that no report accounts for yet.", self.extender.charged),
            "closeknit_extender_nodes_without_report": (
                "Nodes that have no NodeResourceTopology.",
                zones.unreported,
            ),
        }
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(name, text, value=value)
