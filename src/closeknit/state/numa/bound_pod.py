"""A pod that is bound to a node, as far as the free amounts of the node's zones depend on it.

What it pins, it has for itself until it ends: whole CPUs and memory of a Guaranteed pod, devices of any. Everything
else it shares across zones, and no report counts that. Where it runs is known from what others wrote about it; an
account that contradicts the pod or the node says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ...model.numa import AmountsByZone, NodeZones
from ...model.resources import CPU
from ...numa.demand import MILLI, PodDemand
from ...numa.fingerprint import pod_hash
from ...numa.placement_vector import ContainerName
from ...numa.pod_needs import PodNeeds
from ...numa.resource_kinds import is_native


@dataclass(frozen=True)
class AccountedPod:
    """`names` are those of its containers, in the order of the demand; without them no report tells its zones.

    `ended`: its containers have ended, the object is still there. `since`: when it was bound, if that is known.
    `observed` are its zones as KAI's agent saw them, `expected` those in which we placed it.
    """

    namespace: str
    name: str
    uid: str
    node: str
    demand: PodDemand
    names: tuple[str, ...] = ()
    ended: bool = False
    since: float | None = None
    observed: AmountsByZone | None = None
    expected: AmountsByZone | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @cached_property
    def hash(self) -> int:
        """What it adds to a fingerprint."""
        return pod_hash(self.namespace, self.name)

    def pins(self, listed: frozenset[str]) -> bool:
        """Whether it has anything for itself on a node whose zones list these resources; asked at every reading."""
        if listed not in self._answers:
            self._answers[listed] = self._pins(listed)
        return self._answers[listed]

    @cached_property
    def _answers(self) -> dict[frozenset[str], bool]:
        return {}

    def _pins(self, listed: frozenset[str]) -> bool:
        demand = self.demand
        return any(
            value > 0 and name in listed
            for name, value in (
                (CPU, demand.pod_cpus()),
                *demand.pod_memory().items(),
                *demand.pod_devices(_devices(listed)).items(),
            )
        )

    def is_exclusive(self, listed: Collection[str]) -> bool:
        """The same as agents tell it: by QoS class and containers, ordinary init containers aside."""
        return PodNeeds(self.demand.containers, self.demand.qos).is_exclusive(listed)

    def pinned_containers(self, listed: Collection[str]) -> Iterator[tuple[ContainerName, dict[str, int]]]:
        """Containers that keep running, each with what it pins."""
        if len(self.names) != len(self.demand.containers) or self.demand.pod_level is not None:
            return
        for name, container in zip(self.names, self.demand.containers, strict=True):
            pinned = {
                CPU: self.demand.cpus(container) * MILLI,
                **self.demand.memory(container),
                **{key: value for key, value in container.limits if key in _devices(listed)},
            }
            held = {key: value for key, value in pinned.items() if value > 0 and key in listed}
            if held and container.kind != "init":
                yield ContainerName(self.namespace, self.name, name), held

    def known_zones(self, report: NodeZones | None) -> AmountsByZone | None:
        """Where it runs as observed, else as expected; None if neither is there and possible."""
        return next((one for one in (self.observed, self.expected) if self._is_possible(one, report)), None)

    def _is_possible(self, zones: AmountsByZone | None, report: NodeZones | None) -> bool:
        """No zones say nothing of a pod that pins something; nor do zones of another node, or more than it asks for."""
        if not zones or report is None:
            return bool(zones)
        held = Counter[str]()
        for amounts in zones.values():
            held.update(amounts)
        return zones.keys() <= {zone.id for zone in report.zones} and all(
            value <= self._most.get(name, 0) for name, value in held.items()
        )

    @cached_property
    def _most(self) -> Mapping[str, int]:
        """The most that it holds of each resource: what all of its containers ask for."""
        most = Counter[str]()
        for one in self.demand.containers:
            most.update({**dict(one.limits), **dict(one.requests)})
        if self.demand.pod_level is not None:
            for name, value in self.demand.pod_level.requests:
                most[name] = max(most[name], value)
        return most


def _devices(listed: Collection[str]) -> frozenset[str]:
    return frozenset(name for name in listed if not is_native(name))
