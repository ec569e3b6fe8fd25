"""What is asked of the engine: a tree of groups whose leaves are pod sets, each with a topology constraint.

A plain job is one group of one pod set. A leader with its workers is one group of two. Deeper trees, with a
constraint of their own at every depth, have the same form. A workload carries its request from the object that it was
read from to the search for places; what changes on the way, changes pod sets inside the tree and leaves its form alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import is_

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
    def levels(self) -> list[str]:
        """Every level that it names, coarse or fine."""
        named = (self.required, self.preferred, *(layer.level for layer in self.slices))
        return [level for level in named if level]

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
    ranks: Ranks = Ranks()
    previous: Assignment | None = None


Constraints = tuple[Constraint, ...]
"""All constraints that a pod set is under, outermost first: those of the groups around it, then its own."""


@dataclass(frozen=True, slots=True)
class Group:
    """Pod sets and groups that are placed together, within `constraint` if there is one.

    `numbered_through`: the indexes that pods carry run through the pod sets of the group, those of the smallest first.
    """

    members: tuple[PodSet | Group, ...]
    name: str | None = None
    constraint: Constraint | None = None
    numbered_through: bool = True

    @property
    def pod_sets(self) -> Iterator[PodSet]:
        for member in self.members:
            if isinstance(member, PodSet):
                yield member
            else:
                yield from member.pod_sets

    @property
    def depth(self) -> int:
        """Levels of groups: 1 for a group of nothing but pod sets."""
        return 1 + max((member.depth for member in self.members if isinstance(member, Group)), default=0)

    @property
    def numbered(self) -> Iterator[tuple[PodSet, ...]]:
        """The pod sets that each group holds itself, of those groups whose pods are numbered through."""
        if self.numbered_through:
            yield tuple(member for member in self.members if isinstance(member, PodSet))
        for member in self.members:
            if isinstance(member, Group):
                yield from member.numbered

    @property
    def outline(self) -> Hashable:
        """Names and constraints at every depth, without the pods."""
        members = (
            (member.name, member.constraint) if isinstance(member, PodSet) else member.outline
            for member in self.members
        )
        return self.name, self.constraint, tuple(members)

    def walk(self, outside: Constraints = ()) -> Iterator[tuple[PodSet, Constraints]]:
        """Every pod set with the constraints that it is under."""
        around = outside if self.constraint is None else (*outside, self.constraint)
        for member in self.members:
            if isinstance(member, Group):
                yield from member.walk(around)
            else:
                yield member, around if member.constraint is None else (*around, member.constraint)

    def keeping(self, pod_sets: Mapping[str, PodSet]) -> Group | None:
        """The same tree with these pod sets in the places of those with their names, and without all others.

        Groups that are left empty are dropped; None if all of it is.
        """
        kept: list[PodSet | Group] = []
        for member in self.members:
            found = pod_sets.get(member.name) if isinstance(member, PodSet) else member.keeping(pod_sets)
            if found is not None:
                kept.append(found)
        if len(kept) == len(self.members) and all(map(is_, kept, self.members)):
            return self
        return replace(self, members=tuple(kept)) if kept else None


@dataclass(frozen=True, slots=True)
class Request:
    """A whole workload: its groups in the order in which they are placed."""

    groups: tuple[Group, ...]

    @classmethod
    def of(cls, pod_sets: Iterable[PodSet]) -> Request:
        """Pod sets in order, each a group by itself."""
        return cls(tuple(Group((one,)) for one in pod_sets))

    @property
    def pod_sets(self) -> Iterator[PodSet]:
        for group in self.groups:
            yield from group.pod_sets

    @property
    def numbered(self) -> Iterator[tuple[PodSet, ...]]:
        """Pod sets whose pods are numbered through, group by group at every depth."""
        for group in self.groups:
            yield from group.numbered

    @property
    def outline(self) -> Hashable:
        """The tree without the pods: what is placed together, and how close, at every depth."""
        return tuple(group.outline for group in self.groups)

    def walk(self) -> Iterator[tuple[PodSet, Constraints]]:
        """Every pod set with the constraints that it is under."""
        for group in self.groups:
            yield from group.walk()

    def constraints(self, name: str) -> Constraints:
        """The constraints that a pod set is under."""
        return next((found for one, found in self.walk() if one.name == name), ())

    def beside(self, name: str) -> set[str]:
        """The names of the pod sets in the outermost group of this one, itself included: they share a flavor."""
        names = ({one.name for one in group.pod_sets} for group in self.groups)
        return next((found for found in names if name in found), {name})

    def keeping(self, pod_sets: Mapping[str, PodSet]) -> Request:
        """The same tree with these pod sets in the places of those with their names, and without all others."""
        kept = tuple(found for group in self.groups if (found := group.keeping(pod_sets)) is not None)
        return self if len(kept) == len(self.groups) and all(map(is_, kept, self.groups)) else Request(kept)

    def changed(self, pod_sets: Iterable[PodSet]) -> Request:
        """The same tree with these pod sets in the places of those with their names."""
        return self.keeping({one.name: one for one in (*self.pod_sets, *pod_sets)})


NOTHING = Request(())
