"""What a pod asks of zones: its containers in start order, its QoS class, and the request of the whole pod.

The pod's request differs from the one that the scheduler charges to a node: upstream's NUMA plug-in counts a sidecar as
an ordinary init container and ignores pod-level resources. Exclusive resources are those that the kubelet takes from
the shared pool for one container.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce

from ..model.container import Amounts, Container, QoS
from ..model.resources import CPU, largest, total
from ..model.shape import Shape
from .resource_kinds import is_affine, is_native

MILLI = 1000


@dataclass(frozen=True, slots=True)
class PodNeeds:
    """`containers` are in start order: init containers and sidecars as listed, then the others."""

    containers: tuple[Container, ...]
    qos: QoS
    overhead: Amounts = ()

    @classmethod
    def of(cls, shape: Shape, reported_qos: QoS | None = None) -> PodNeeds:
        """The needs of a shape; the QoS class in a pod's status wins over the one that its containers have."""
        return cls(shape.containers, reported_qos or shape.qos, shape.overhead)

    @property
    def first(self) -> tuple[Container, ...]:
        """Init containers and sidecars."""
        return tuple(one for one in self.containers if one.kind != "app")

    @property
    def apps(self) -> tuple[Container, ...]:
        return tuple(one for one in self.containers if one.kind == "app")

    @property
    def asks_devices(self) -> bool:
        """Whether a container names a device or extended resource, be it with quantity 0."""
        return any(not is_native(name) for one in self.containers for name, _ in one.requests)

    @property
    def effective(self) -> dict[str, int]:
        """The request of the whole pod: all app containers, or the largest init container, and the overhead."""
        apps = total(dict(one.requests) for one in self.apps)
        return total((reduce(largest, (dict(one.requests) for one in self.first), apps), dict(self.overhead)))

    def is_exclusive(self, listed: Collection[str]) -> bool:
        """Whether the kubelet gives a container that keeps running something of its own. `listed`: names in zones."""
        return any(self.exclusive(one, listed) for one in self.containers if one.kind != "init")

    def exclusive(self, container: Container, listed: Collection[str]) -> dict[str, int]:
        """What the container requests exclusively on a node whose zones list these names."""
        return {name: value for name, value in container.requests if self._is_pinned(name, value, listed)}

    def _is_pinned(self, name: str, value: int, listed: Collection[str]) -> bool:
        if not is_native(name):
            return name in listed
        if self.qos != "Guaranteed" or not is_affine(name) or value <= 0:
            return False
        return name != CPU or value % MILLI == 0
