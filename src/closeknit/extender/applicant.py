"""A pod that a scheduler asks about, or that runs: what the plug-in's rules and the kubelet's managers read from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..model.container import QoS
from ..model.shape import Shape
from ..numa.demand import PodDemand
from ..numa.pod_needs import PodNeeds
from ..state.numa.zoned_pod import ZonedPod


@dataclass(frozen=True, slots=True)
class Applicant:
    """`pod.node` is empty while the pod is not bound. `bound_at` is when it was, in seconds since 1970."""

    pod: ZonedPod
    demand: PodDemand
    bound_at: float = 0.0

    @classmethod
    def of(cls, shape: Shape, pod: ZonedPod, reported_qos: QoS | None = None, bound_at: float = 0.0) -> Applicant:
        """From the shape of the pod; the needs of `pod` are replaced."""
        needs = PodNeeds.of(shape, reported_qos)
        demand = PodDemand(shape.containers, shape.pod_level, needs.qos)
        return cls(replace(pod, needs=needs), demand, bound_at)

    @property
    def uid(self) -> str:
        return self.pod.uid

    @property
    def node(self) -> str:
        return self.pod.node

    def on(self, node: str) -> Applicant:
        return replace(self, pod=replace(self.pod, node=node))

    def container_name(self, number: int) -> str:
        """The name of a container, in start order; its number if it has none."""
        names: Sequence[str] = self.pod.names
        return names[number] if number < len(names) and names[number] else str(number + 1)
