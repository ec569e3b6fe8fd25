"""A placement request: a tree of groups whose leaves are pod sets, each with a topology constraint.

A plain job is one group of one pod set. A leader with its workers is one group of two. Deeper trees, with a constraint
at every depth, have the same form. A group may need only some of its pods (`min_pods`) or of its groups
(`min_groups`); the rest is surplus. A workload carries its request from the object it was read from to the engine;
steps on the way change pod sets inside the tree and keep its form.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import is_
from typing import Literal

from .assignment import Assignment
from .shape import Shape

AUTO = "auto"
MOST_GROUPS = 10_000
"""The most groups in one request."""

Order = Literal["binpack", "spread"]
"""Which of the domains that fit is tried first: the fullest (binpack) or the emptiest (spread)."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Pods in chunks of `size`, each chunk inside one domain of `level`; `size` is None if the user left it out."""

    level: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Replicas:
    """A pod set that is made of replicas of `size` pods; the last may be smaller.

    With `apart`, no two replicas share a domain of that level.
    """

    size: int
    apart: str | None = None

    def sizes(self, count: int) -> list[int]:
        """The pods of each replica: 30 pods in replicas of 12 are 12, 12 and 6."""
        whole, rest = divmod(count, self.size)
        return [self.size] * whole + ([rest] if rest else [])


@dataclass(frozen=True, slots=True)
class Constraint:
    """How close together pods must be. `slices` runs coarse to fine and is empty without slices.

    `topology` names the topology that has the levels; it is empty where the flavor decides which one that is.
    With `replicas`, everything else applies to each replica by itself. `order` is which domains are tried first.
    """

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slices: tuple[Layer, ...] = ()
    topology: str = ""
    replicas: Replicas | None = None
    order: Order | None = None

    @property
    def levels(self) -> list[str]:
        """Every level that the constraint names."""
        apart = None if self.replicas is None else self.replicas.apart
        named = (self.required, self.preferred, *(layer.level for layer in self.slices), apart)
        return [level for level in named if level]

    @property
    def spreads(self) -> bool:
        """Whether the pod set as a whole may go anywhere: unconstrained, or constrained by slices only."""
        return not self.required and not self.preferred

    @property
    def of_each(self) -> Constraint:
        """The constraint of one replica."""
        return self if self.replicas is None else replace(self, replicas=None)


IMPLIED = Constraint(unconstrained=True)


@dataclass(frozen=True, slots=True)
class Apart:
    """Members that go to different domains of `level`: each to one of its own, or as far as possible."""

    level: str
    required: bool = True
    topology: str = ""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Which labels hold a pod's rank: an index, and for jobs made of jobs a second label with the job's index."""

    index_label: str | None = None
    group_label: str | None = None
    group_count: int | None = None


@dataclass(frozen=True, slots=True)
class PodSet:
    """`count` pods of one shape. Without a constraint, topology is implied: anywhere, with capacity checked.

    `previous` is where the pods are now, when a running pod set is resized. `running` are the nodes of further pods
    that run already, one entry for each pod: they are not in `count`, need no room, and pin the domains of the groups
    around them. `pods` are the names of the pods to place, in order, where each has a name already.
    """

    name: str
    count: int
    shape: Shape
    constraint: Constraint | None = None
    ranks: Ranks = Ranks()
    previous: Assignment | None = None
    running: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()


Constraints = tuple[Constraint, ...]
"""All constraints on a pod set, outermost first: those of the groups around it, then its own."""


@dataclass(frozen=True, slots=True)
class Group:
    """Pod sets and groups that are placed together, within `constraint` if there is one.

    With `numbered_through`, pod indexes continue across the pod sets of the group, the smallest pod set first.

    `min_pods` is how many pods of its own pod sets have to be placed or run, `min_groups` how many of its own groups;
    None means all. `min_total`, where it is given, is how many pods at any depth below it have to be placed or run,
    beside the other minimums. What is beyond them is surplus, placed after every minimum of the request. `order` and
    `apart` are for the groups directly in it.
    """

    members: tuple[PodSet | Group, ...]
    name: str | None = None
    constraint: Constraint | None = None
    numbered_through: bool = True
    min_pods: int | None = None
    min_groups: int | None = None
    min_total: int | None = None
    order: Order | None = None
    apart: Apart | None = None

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups that are its direct members."""
        return tuple(member for member in self.members if isinstance(member, Group))

    @property
    def own_pod_sets(self) -> tuple[PodSet, ...]:
        """The pod sets that are its direct members."""
        return tuple(member for member in self.members if isinstance(member, PodSet))

    @property
    def pod_sets(self) -> Iterator[PodSet]:
        for member in self.members:
            if isinstance(member, PodSet):
                yield member
            else:
                yield from member.pod_sets

    @property
    def every_constraint(self) -> Iterator[Constraint]:
        """The constraints of the group and of all groups below it."""
        if self.constraint is not None:
            yield self.constraint
        for member in self.groups:
            yield from member.every_constraint

    @property
    def depth(self) -> int:
        """How deep groups are nested: 1 for a group that has only pod sets."""
        return 1 + max((member.depth for member in self.members if isinstance(member, Group)), default=0)

    @property
    def numbered(self) -> Iterator[tuple[PodSet, ...]]:
        """For each group with `numbered_through`, the pod sets that are its direct members."""
        if self.numbered_through:
            yield tuple(member for member in self.members if isinstance(member, PodSet))
        for member in self.members:
            if isinstance(member, Group):
                yield from member.numbered

    @property
    def outline(self) -> Hashable:
        """Names and constraints at every depth, without counts and shapes."""
        members = (
            (member.name, member.constraint) if isinstance(member, PodSet) else member.outline
            for member in self.members
        )
        minimums = self.min_pods, self.min_groups, self.min_total
        return self.name, self.constraint, minimums, self.order, self.apart, tuple(members)

    def walk(self, outside: Constraints = ()) -> Iterator[tuple[PodSet, Constraints]]:
        """Every pod set with the constraints on it."""
        around = outside if self.constraint is None else (*outside, self.constraint)
        for member in self.members:
            if isinstance(member, Group):
                yield from member.walk(around)
            else:
                yield member, around if member.constraint is None else (*around, member.constraint)

    def constraints(self, name: str, outside: Constraints = ()) -> Constraints | None:
        """The constraints on a pod set, outermost first; None if it is not in this group."""
        around = outside if self.constraint is None else (*outside, self.constraint)
        for member in self.members:
            if isinstance(member, Group):
                found = member.constraints(name, around)
                if found is not None:
                    return found
            elif member.name == name:
                return around if member.constraint is None else (*around, member.constraint)
        return None

    def keeping(self, pod_sets: Mapping[str, PodSet]) -> Group | None:
        """The same tree with only these pod sets, each in place of the one with its name.

        Groups left empty are dropped; None if the whole tree is empty.
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
        """A request of pod sets in order, each in a group of its own."""
        return cls(tuple(Group((one,)) for one in pod_sets))

    @property
    def pod_sets(self) -> Iterator[PodSet]:
        for group in self.groups:
            yield from group.pod_sets

    @property
    def in_start_order(self) -> Iterator[PodSet]:
        """The pod sets as their pods start where they share a host: a leader, the smaller one, before its workers."""
        for group in self.groups:
            numbered = sorted(enumerate(group.pod_sets), key=lambda pair: (pair[1].count, -pair[0]))
            yield from (one for _, one in numbered)

    @property
    def numbered(self) -> Iterator[tuple[PodSet, ...]]:
        """For each group with `numbered_through`, at every depth, the pod sets that are its direct members."""
        for group in self.groups:
            yield from group.numbered

    @property
    def outline(self) -> Hashable:
        """The tree without counts and shapes: what is placed together, and how close, at every depth."""
        return tuple(group.outline for group in self.groups)

    def walk(self) -> Iterator[tuple[PodSet, Constraints]]:
        """Every pod set with the constraints on it."""
        for group in self.groups:
            yield from group.walk()

    def constraints(self, name: str) -> Constraints:
        """The constraints on a pod set, outermost first."""
        for group in self.groups:
            found = group.constraints(name)
            if found is not None:
                return found
        return ()

    def beside(self, name: str) -> set[str]:
        """The names of all pod sets in the outermost group of this one, itself included: they share a flavor."""
        names = ({one.name for one in group.pod_sets} for group in self.groups)
        return next((found for found in names if name in found), {name})

    def keeping(self, pod_sets: Mapping[str, PodSet]) -> Request:
        """The same tree with only these pod sets, each in place of the one with its name."""
        kept = tuple(found for group in self.groups if (found := group.keeping(pod_sets)) is not None)
        return self if len(kept) == len(self.groups) and all(map(is_, kept, self.groups)) else Request(kept)

    def changed(self, pod_sets: Iterable[PodSet]) -> Request:
        """The same tree with these pod sets in place of those with their names."""
        return self.keeping({one.name: one for one in (*self.pod_sets, *pod_sets)})


NOTHING = Request(())
