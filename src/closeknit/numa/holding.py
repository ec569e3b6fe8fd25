"""What an admitted pod holds of its node: CPUs, memory of zones, devices; to be kept and to be put back.

A kubelet keeps its assignments in checkpoint files. Here each pod carries its own, and the state of a node is what its
pods hold together. Their order does not decide anything, because memory of zones that form a group is only ever given
to containers of the whole group; which of its zones has how much left may differ from a kubelet that has seen pods go.
Under best-effort groups may overlap, so callers have to fix an order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..model.container import Kind
from .admission import NodeAdmission, Verdict
from .demand import PodDemand
from .masks import zones_of
from .memory import MemoryBlock, reserve

ALIGNED = ("restricted", "single-numa-node")
"""Policies under which a container gets nothing outside of its hint."""


@dataclass(frozen=True, slots=True)
class PodHolding:
    """`cpus` as bits; `memory` with the kind of the container that it is for; `devices` by name and set of zones."""

    cpus: int = 0
    memory: tuple[tuple[Kind, MemoryBlock], ...] = ()
    devices: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @property
    def started(self) -> PodHolding:
        """What is left once the app containers run: memory of init containers has gone back."""
        return PodHolding(self.cpus, tuple(one for one in self.memory if one[0] != "init"), self.devices)

    def zones(self, kubelet: NodeAdmission) -> int:
        """The zones in which it holds something."""
        found = kubelet.cpus.places.zones_with(self.cpus)
        for _, block in self.memory:
            found |= block.mask
        for counts in self.devices.values():
            for mask, count in counts.items():
                found |= mask if count else 0
        return found


def holding_of(kubelet: NodeAdmission, uid: str) -> PodHolding:
    memory = kubelet.memory.blocks.get(uid, ())
    devices = kubelet.devices.held.get(uid, {})
    return PodHolding(
        kubelet.cpus.held.get(uid, 0),
        tuple((kind, block) for kind, blocks in memory for block in blocks),
        {name: dict(+counts) for name, counts in devices.items() if +counts},
    )


def put_back(kubelet: NodeAdmission, uid: str, holding: PodHolding) -> bool:
    """Give the pod again what it holds; False, and nothing is given, if the machine does not have it."""
    if not _fits(kubelet, holding):
        return False
    kubelet.cpus.free &= ~holding.cpus
    kubelet.cpus.held[uid] |= holding.cpus
    for kind, block in holding.memory:
        reserve(kubelet.memory.zones, block)
        kubelet.memory.blocks[uid].append((kind, [block]))
    for name, counts in holding.devices.items():
        kubelet.devices.free[name] -= Counter(counts)
        kubelet.devices.held[uid][name] = Counter(counts)
    return True


def _fits(kubelet: NodeAdmission, holding: PodHolding) -> bool:
    """Whether all of it is on the machine and free."""
    zones = kubelet.memory.zones
    return (
        holding.cpus & ~kubelet.cpus.free == 0
        and all(block.mask and all(zone in zones for zone in zones_of(block.mask)) for _, block in holding.memory)
        and all(
            name in kubelet.devices.free and kubelet.devices.free[name][mask] >= count
            for name, counts in holding.devices.items()
            for mask, count in counts.items()
        )
    )


def container_zones(
    kubelet: NodeAdmission, demand: PodDemand, verdict: Verdict, holding: PodHolding
) -> Iterator[int | None]:
    """For each container of an admitted pod its one zone; None where it has several, or none of its own."""
    whole = zones_of(holding.zones(kubelet))
    for container, hint in zip(demand.containers, verdict.hints, strict=True):
        wanted = zones_of(hint.mask or 0)
        if len(whole) == 1:
            yield whole[0]
        elif len(wanted) == 1 and hint.preferred and kubelet.settings.policy in ALIGNED and container.requests:
            yield wanted[0]
        else:
            yield None
