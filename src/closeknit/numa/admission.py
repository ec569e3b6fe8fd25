"""A kubelet's admission of pods on a machine with NUMA zones: topology manager, CPU, memory and device manager.

Pods are admitted one after another; what one got decides what the next one finds. The same code plays the kubelets of
simulated machines and tells, before a pod is placed, whether a node would admit it. A pod that is refused leaves
nothing behind.

    admit()                       init_ended()                         remove()
  ∅ ───────▶ init and app hold ───────────────▶ memory of init is free ────────▶ ∅
  │ refused: ∅
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..model.container import Container
from ..model.numa import TopologyPolicy, TopologyScope
from ..model.resources import CPU
from .cpu_manager import CpuManager
from .cpus import CpuOptions, CpuPlaces
from .demand import PodDemand, device_limits
from .device_manager import DeviceManager
from .hints import Hint, groups_of
from .masks import Distances, zones_of
from .memory_manager import MemoryManager
from .merge import Merger
from .refusal import AFFINITY, LOCALITY, AdmissionRefusal, against_own_policy


@dataclass(frozen=True)
class KubeletSettings:
    """The part of a kubelet's configuration that decides about admission."""

    policy: TopologyPolicy = "none"
    scope: TopologyScope = "container"
    closest: bool = False
    pins_cpus: bool = True
    pins_memory: bool = True
    manages_pods: bool = False
    """Whether its managers handle pod-level resources."""
    cpu_options: CpuOptions = field(default_factory=CpuOptions)


@dataclass(frozen=True)
class Machine:
    """What the kubelet found: CPUs by zone, allocatable memory by zone, devices by the zones they are in."""

    cpus: CpuPlaces
    memory: Mapping[int, Mapping[str, int]]
    devices: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    reserved_cpus: int = 0
    distances: Distances = field(default_factory=dict)
    zones: tuple[int, ...] = ()
    """All zones, where some of them have no memory."""


@dataclass(frozen=True)
class Shortage:
    """What a refused container, or the whole pod, asks for of one resource, and what each zone had for it.

    `bound` are the zones that it must have because init containers of its pod left something there.
    """

    resource: str
    asked: int
    free: tuple[tuple[int, int], ...]
    bound: tuple[int, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """`hints` are those of the containers that were admitted, in start order; `reason` is empty if all of them were.

    `container` is the number of the one that was refused, None if the pod was refused as a whole, and `asked` what it
    asked for.
    """

    hints: tuple[Hint, ...] = ()
    reason: str = ""
    message: str = ""
    container: int | None = None
    asked: tuple[Shortage, ...] = ()

    @property
    def admitted(self) -> bool:
        return not self.reason


class AskedAmounts(NamedTuple):
    """CPUs, memory and devices that the managers give to one container, or to the whole pod."""

    cpus: int
    memory: dict[str, int]
    devices: dict[str, int]


def asked(
    settings: KubeletSettings, registered: Collection[str], pod: PodDemand, container: Container | None
) -> AskedAmounts:
    """What a container, or with None the whole pod, asks of a kubelet with these devices."""
    if container is None:
        cpus, memory, devices = pod.pod_cpus(), pod.pod_memory(), pod.pod_devices(registered)
    else:
        cpus, memory, devices = pod.cpus(container), pod.memory(container), device_limits(container, registered)
    return AskedAmounts(cpus if settings.pins_cpus else 0, memory if settings.pins_memory else {}, devices)


class NodeAdmission:
    def __init__(self, machine: Machine, settings: KubeletSettings) -> None:
        self.settings = settings
        self.merger = Merger(
            settings.policy, sorted(machine.zones or machine.memory), machine.distances, settings.closest
        )
        self.cpus = CpuManager(machine.cpus, machine.reserved_cpus, settings.cpu_options)
        self.memory = MemoryManager(machine.memory)
        self.devices = DeviceManager(machine.devices)

    def admit(self, uid: str, pod: PodDemand) -> Verdict:
        """Admit the pod and give it what it asks for, or refuse it."""
        pod = pod.managed_by(self.settings.manages_pods)
        self.cpus.reusable, self.memory.reusable, self.devices.reusable = 0, {}, {}
        hints: list[Hint] = []
        whole = self._aligned(pod, None) if self.settings.scope == "pod" else None
        for number, container in enumerate(pod.containers):
            hint = whole or self._aligned(pod, container)
            refusal = hint if isinstance(hint, AdmissionRefusal) else self._allocate(uid, pod, container, hint)
            if isinstance(hint, Hint):
                hints.append(hint)
            if refusal is not None:
                at = None if isinstance(whole, AdmissionRefusal) else number
                asked = tuple(self._shortages(pod, None if at is None else container))
                self.remove(uid)
                return Verdict(tuple(hints), *refusal, at, asked)
        return Verdict(tuple(hints))

    def _aligned(self, pod: PodDemand, container: Container | None) -> Hint | AdmissionRefusal:
        """The hint for a container, or for the whole pod."""
        policy = self.settings.policy
        if policy == "none":
            return against_own_policy(pod.policy, policy) if pod.policy else self.merger.merge(())
        cpus, memory, devices = self._asked(pod, container)
        groups = groups_of((self.devices.hints(devices), self.cpus.hints(cpus), self.memory.hints(memory)))
        hint = self.merger.merge(groups)
        if not self.merger.admits(hint):
            return AdmissionRefusal(AFFINITY, LOCALITY)
        if pod.policy and not replace(self.merger, policy=pod.policy).merge(groups).preferred:
            return against_own_policy(pod.policy, policy)
        return hint

    def _asked(self, pod: PodDemand, container: Container | None) -> AskedAmounts:
        return asked(self.settings, self.devices.total, pod, container)

    def _allocate(self, uid: str, pod: PodDemand, container: Container, hint: Hint) -> AdmissionRefusal | None:
        cpus, memory, devices = self._asked(pod, container)
        return (
            self.devices.allocate(uid, container.kind, devices, hint.mask)
            or self.cpus.allocate(uid, container.kind, cpus, hint.mask)
            or self.memory.allocate(uid, container.kind, memory, hint)
        )

    def _shortages(self, pod: PodDemand, container: Container | None) -> Iterator[Shortage]:
        cpus, memory, devices = self._asked(pod, container)
        if cpus:
            places, left = self.cpus.places, self.cpus.reusable
            free = tuple((zone, (own & (self.cpus.free | left)).bit_count()) for zone, own in places.zones.items())
            yield Shortage(CPU, cpus, free, tuple(zones_of(places.zones_with(left))))
        for name, size in memory.items():
            yield Shortage(name, size, tuple((zone, one.free.get(name, 0)) for zone, one in self.memory.zones.items()))
        for name, count in devices.items():
            homes = {zone: own for own in self.devices.total[name] for zone in zones_of(own)}
            yield Shortage(name, count, tuple((zone, self.devices.free[name][own]) for zone, own in homes.items()))

    def occupy(
        self, cpus: int, memory: Mapping[int, Mapping[str, int]], devices: Mapping[str, Mapping[int, int]]
    ) -> None:
        """Take what pods have that we know nothing else about."""
        self.cpus.free &= ~cpus
        for zone, sizes in memory.items():
            for name, size in sizes.items():
                self.memory.zones[zone].free[name] -= size
        for name, counts in devices.items():
            self.devices.free[name].subtract(counts)

    def remove(self, uid: str) -> None:
        """Take back everything that the pod holds."""
        self.cpus.remove(uid)
        self.memory.remove(uid)
        self.devices.remove(uid)
