"""What is asked of the engine: a tree of groups whose leaves are pod sets, each with a topology constraint.

A plain job is one group of one pod set. A leader with its workers is one group of two. Deeper trees, with a
constraint of their own at every depth, have the same form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .assignment import Assignment
from .shape import Shape

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Layer:
    """Pods in chunks of `size`, each chunk inside one domain of `level`; size None was left out by the user."""

    level: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Constraint:
    """How close together. `slices` runs coarse to fine and is empty without slices."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slices: tuple[Layer, ...] = ()

    @property
    def spreads(self) -> bool:
        """Anywhere will do, as far as the pod set itself is concerned: unconstrained, or slices alone."""
        return not self.required and not self.preferred


IMPLIED = Constraint(unconstrained=True)


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where a pod's rank is written: an index label, and for jobs of jobs a second one with their number."""

    index_label: str | None = None
    group_label: str | None = None
    group_count: int | None = None


@dataclass(frozen=True, slots=True)
class PodSet:
    """`count` pods of one shape. No constraint means that topology is implied: anywhere, capacity checked.

    `previous` is where the pods are now, when a running pod set is resized.
    """

    name: str
    count: int
    shape: Shape
    constraint: Constraint | None = None
    group: str | None = None
    ranks: Ranks = Ranks()
    previous: Assignment | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Pod sets and groups that are placed together, within `constraint` if there is one."""

    members: tuple[PodSet | Group, ...]
    name: str | None = None
    constraint: Constraint | None = None

    @property
    def pod_sets(self) -> Iterator[PodSet]:
        for member in self.members:
            if isinstance(member, PodSet):
                yield member
            else:
                yield from member.pod_sets


@dataclass(frozen=True, slots=True)
class Request:
    """A whole workload: its groups in the order in which they are placed."""

    groups: tuple[Group, ...]
    name: str = ""

    @classmethod
    def of(cls, pod_sets: Iterable[PodSet], name: str = "") -> Request:
        """Pod sets in order; those with one group name come together, at the place of the first of them."""
        members: dict[str, list[PodSet]] = {}
        for index, pod_set in enumerate(pod_sets):
            key = f"group {pod_set.group}" if pod_set.group else f"set {index}"
            members.setdefault(key, []).append(pod_set)
        return cls(tuple(Group(tuple(sets), sets[0].group) for sets in members.values()), name)

    @property
    def pod_sets(self) -> Iterator[PodSet]:
        for group in self.groups:
            yield from group.pod_sets
