"""Pods that were placed here, and which of them are no longer covered by a holding.

The workload holds a pod's room, not the pod; that is why Kueue does not count such pods at all. But a workload may lose
its assignment, or get another, while its pods still run out their grace period. So each pod is compared with what its
workload holds: as many pods of a pod set as are assigned to a leaf are covered there, and the others drain. A change
touches only the pods of its workload or on its node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..model.node import Node
from ..model.pod_rules import PodKind
from ..model.resources import Resources
from ..model.topology import Path
from .mirror import OtherPod, Usage
from .numa.zone_plans import KubeletPod

Slot = tuple[str, Path]
"""A pod set and a leaf as its assignment names it; None if the assignment names no leaves."""


class PlacedPod(NamedTuple):
    """A pod that is bound, has not ended, and was placed by topology. `workload` is its workload's key.

    A `terminating` pod has a deletion timestamp. Only a workload that is itself being evicted still covers such a pod;
    any other will fill the place again.
    """

    workload: str
    pod_set: str
    node: str
    requests: Resources
    terminating: bool = False
    kind: PodKind | None = None
    needs: KubeletPod | None = None

    @property
    def alone(self) -> OtherPod:
        """The pod once no holding covers it."""
        return OtherPod(self.node, self.requests, kind=self.kind)


@dataclass(slots=True)
class _Crew:
    """The pods of one workload by slot, and how many places the workload holds in each slot."""

    places: tuple[Usage, ...] = ()
    evicted: bool = False
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    held: dict[Slot, int] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    pods: dict[Slot, set[str]] = field(default_factory=dict)


class PlacedPods:
    """`draining` are the pods that no holding covers. Every change returns the pods that joined or left that set."""

    def __init__(self, node_of: Callable[[str], Node | None]) -> None:
        self.draining: dict[str, OtherPod] = {}
        self._node_of = node_of
        self._pods: dict[str, PlacedPod] = {}
        self._crews: dict[str, _Crew] = {}
        self._on_node: dict[str, set[str]] = {}

    @property
    def pods(self) -> Mapping[str, PlacedPod]:
        return self._pods

    def put(self, key: str, pod: PlacedPod) -> set[str]:
        """Add or update a pod. After the first pod of a workload, call `cover` with what the workload holds."""
        changed = self.drop(key)
        crew = self._crews.setdefault(pod.workload, _Crew())
        self._pods[key] = pod
        self._on_node.setdefault(pod.node, set()).add(key)
        slot = self._seat(crew, key)
        if crew.held.get(slot):
            return changed | self._count(crew, [slot])
        self.draining[key] = pod.alone
        return changed | {key}

    def drop(self, key: str) -> set[str]:
        pod = self._pods.get(key)
        if pod is None:
            return set()
        crew = self._crews[pod.workload]
        slot = self._unseat(crew, key)
        del self._pods[key]
        self._on_node[pod.node].discard(key)
        if not self._on_node[pod.node]:
            del self._on_node[pod.node]
        if not crew.slots:
            del self._crews[pod.workload]
        if self.draining.pop(key, None) is not None:
            return {key}
        return self._count(crew, [slot])

    def cover(self, workload: str, places: tuple[Usage, ...], evicted: bool) -> set[str]:
        """Set the places that a workload holds from now on; none if it holds nothing."""
        crew = self._crews.get(workload)
        if crew is None or (crew.places == places and crew.evicted == evicted):
            return set()
        crew.places, crew.evicted = places, evicted
        crew.levels = {one.pod_set: one.assignment.levels for one in places}
        crew.held = _held(places)
        for key in list(crew.slots):
            self._unseat(crew, key)
            self._seat(crew, key)
        return self._count(crew, crew.pods)

    def refresh(self, node: str) -> set[str]:
        """Recompute a node that was added, removed or relabelled: its pods may be on other leaves than before."""
        changed: set[str] = set()
        for key in sorted(self._on_node.get(node, ())):
            crew = self._crews[self._pods[key].workload]
            before = self._unseat(crew, key)
            changed |= self._count(crew, [before, self._seat(crew, key)])
        return changed

    def _seat(self, crew: _Crew, key: str) -> Slot:
        pod = self._pods[key]
        node, levels = self._node_of(pod.node), crew.levels.get(pod.pod_set, ())
        known = node is not None and all(level in node.labels for level in levels)
        slot = pod.pod_set, tuple(node.labels[level] for level in levels) if node is not None and known else ()
        crew.slots[key] = slot
        crew.pods.setdefault(slot, set()).add(key)
        return slot

    def _unseat(self, crew: _Crew, key: str) -> Slot:
        slot = crew.slots.pop(key)
        crew.pods[slot].discard(key)
        if not crew.pods[slot]:
            del crew.pods[slot]
        return slot

    def _count(self, crew: _Crew, slots: Iterable[Slot]) -> set[str]:
        """Recompute which pods of these slots drain. The first by name are covered, to be deterministic."""
        changed: set[str] = set()
        for slot in slots:
            left = crew.held.get(slot, 0)
            for key in sorted(crew.pods.get(slot, ())):
                pod = self._pods[key]
                covered = left > 0 and (crew.evicted or not pod.terminating)
                left -= covered
                if covered and self.draining.pop(key, None) is not None:
                    changed.add(key)
                elif not covered and key not in self.draining:
                    self.draining[key] = pod.alone
                    changed.add(key)
        return changed


def _held(places: Iterable[Usage]) -> dict[Slot, int]:
    """How many places each slot has; a pod set held in two flavors counts once."""
    by_flavor: dict[str, Counter[Slot]] = {}
    for one in places:
        counts = by_flavor.setdefault(one.flavor, Counter())
        for path, count in one.assignment.domains:
            counts[one.pod_set, path] += count
    held: dict[Slot, int] = {}
    for counts in by_flavor.values():
        held.update(counts)
    return held
