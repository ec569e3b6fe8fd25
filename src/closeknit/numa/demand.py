"""What the managers of the kubelet read from a pod: exclusive CPUs, pinned memory, devices; by container or in all.

Only Guaranteed pods get CPUs and memory of their own. The amounts of a whole pod are the most that it holds at a time:
sidecars keep what they have while the init containers after them run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from ..model.container import Amounts, Container, Kind, Needs, QoS, qos_class
from ..model.numa import TopologyPolicy
from ..model.resources import CPU, MEMORY
from ..model.shape import Shape
from .resource_kinds import is_native

MILLI = 1000
HUGE_PAGES = "hugepages-"


@dataclass(frozen=True)
class PodDemand:
    """Containers in start order, pod-level resources, and the QoS class that Kubernetes gave the pod.

    `managed` tells whether the kubelet's managers handle pod-level resources; where they do not, a pod that has some
    gets no CPUs or memory of its own. `policy` is one that the pod asks for itself: where the node's kubelet would
    admit it on zones that this policy refuses, it counts as refused. A kubelet with the policy none aligns nothing and
    can promise nothing, so no such pod goes there. `overhead` is nothing to kubelets.
    """

    containers: tuple[Container, ...]
    pod_level: Needs | None = None
    qos: QoS = "BestEffort"
    managed: bool = False
    policy: TopologyPolicy | None = None
    overhead: Amounts = ()

    @classmethod
    def of(
        cls,
        containers: Iterable[Container],
        pod_level: Needs | None = None,
        managed: bool = False,
        policy: TopologyPolicy | None = None,
    ) -> PodDemand:
        every = tuple(containers)
        return cls(every, pod_level, qos_class(every, pod_level), managed, policy)

    @classmethod
    def of_shape(cls, shape: Shape, as_filtered: bool = False) -> PodDemand:
        """What kubelets see of a pod, or with `as_filtered` what NodeResourceTopologyMatch sees."""
        if as_filtered:
            return replace(cls.of(shape.containers, shape.pod_level), overhead=shape.overhead)
        return cls.of(shape.containers, shape.pod_level, policy=shape.numa_policy)

    @property
    def of_kubelet(self) -> PodDemand:
        """What the kubelet sees of it: nothing of the pod's own policy."""
        return self if self.policy is None else replace(self, policy=None)

    def managed_by(self, managers: bool) -> PodDemand:
        """The demand on a kubelet whose managers handle pod-level resources, if they do."""
        return replace(self, managed=True) if managers and self.pod_level is not None and not self.managed else self

    @property
    def is_pinned(self) -> bool:
        """Whether CPUs and memory of this pod are its own."""
        return self.qos == "Guaranteed" and (self.pod_level is None or self.managed)

    @property
    def holds_zones(self) -> bool:
        """Whether the pod may get anything of its own in a zone, be it CPUs, memory or devices."""
        return self.is_pinned or any(not is_native(name) for one in self.containers for name, _ in one.limits)

    def _pins(self, container: Container) -> bool:
        return self.is_pinned and (self.pod_level is None or container.qos == "Guaranteed")

    def cpus(self, container: Container) -> int:
        """The exclusive CPUs of a container: its request, if that is a whole number."""
        return _whole(container.requests) if self._pins(container) else 0

    def pod_cpus(self) -> int:
        if self.pod_level is not None:
            return _whole(self.pod_level.requests) if self.is_pinned else 0
        return peak((one.kind, self.cpus(one)) for one in self.containers)

    def memory(self, container: Container) -> dict[str, int]:
        """Memory and huge pages that a container requests, zero included."""
        return _memory(container.requests) if self._pins(container) else {}

    def pod_memory(self) -> dict[str, int]:
        if not self.is_pinned:
            return {}
        return self.requested_memory()

    def requested_memory(self) -> dict[str, int]:
        """The memory of the whole pod, of every resource that an app container requests, whatever the QoS class."""
        if self.pod_level is not None:
            return _memory(self.pod_level.requests) if self.managed else {}
        names = {name for one in self.containers if one.kind == "app" for name in _memory(one.requests)}
        return {
            name: peak((one.kind, dict(one.requests).get(name, 0)) for one in self.containers) for name in sorted(names)
        }

    def pod_devices(self, registered: Collection[str]) -> dict[str, int]:
        names = {name for one in self.containers for name in device_limits(one, registered)}
        return {
            name: peak((one.kind, dict(one.limits).get(name, 0)) for one in self.containers) for name in sorted(names)
        }


def peak(amounts: Iterable[tuple[Kind, int]]) -> int:
    """The most that a pod holds at a time, given what each of its containers asks for, in start order.

    peak([("init", 4), ("sidecar", 1), ("init", 5), ("app", 2), ("app", 2)]) == 6: the sidecar and the second init.
    """
    sidecars = apps = most = 0
    for kind, amount in amounts:
        if kind == "sidecar":
            sidecars += amount
        elif kind == "init":
            most = max(most, sidecars + amount)
        else:
            apps += amount
    return max(most, sidecars + apps)


def device_limits(container: Container, registered: Collection[str]) -> dict[str, int]:
    """The devices that a container asks for, by its limits."""
    return {name: count for name, count in container.limits if name in registered}


def _whole(requests: Amounts) -> int:
    cpus, rest = divmod(dict(requests).get(CPU, 0), MILLI)
    return 0 if rest else cpus


def _memory(requests: Amounts) -> dict[str, int]:
    return {name: size for name, size in requests if name == MEMORY or name.startswith(HUGE_PAGES)}
