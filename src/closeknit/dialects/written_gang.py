"""A gang as objects of another dialect: the objects, the marks that its pods need, and what could not be said.

Every dialect that can be written has a function `write_gang(gang, topologies)` with this result. What the target cannot
say is left out and listed; nothing is changed into something that merely looks alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count as count_from
from typing import Any, NamedTuple

from ..model.gang import Gang
from ..model.mistake import Mistake
from ..model.request import Constraint, Group
from ..model.topology import ListedTopology, Topology
from .volcano.hyper_nodes import TOPOLOGY as HYPER_NODES

Raw = dict[str, Any]
Topologies = Mapping[str, Topology]
LONGEST = 63
"""The longest value of a label."""


class PlainNames:
    """Names for parts of a gang, each given out once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, *parts: str | None) -> str:
        """The plain name of these parts; "a-2" where another part is "a" already."""
        first = plain_name(*parts)
        names = (short(f"{first}-{number}" if number > 1 else first) for number in count_from(1))
        found = next(name for name in names if name not in self._taken)
        self._taken.add(found)
        return found


class PodMarks(NamedTuple):
    """What makes a pod a member of its group, beside its own metadata and spec."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    spec: Mapping[str, Any] = {}


@dataclass(slots=True)
class WrittenGang:
    """`marks` are by namespace/name of the pod; `names` are those of its parts."""

    gang: Gang
    objects: list[Raw] = field(default_factory=list)
    marks: dict[str, PodMarks] = field(default_factory=dict)
    losses: list[Mistake] = field(default_factory=list)
    notes: list[Mistake] = field(default_factory=list)
    """What has to be there besides."""
    names: PlainNames = field(default_factory=PlainNames)

    def lose(self, part: Group | None, said: str, why: str) -> None:
        """Add what is left out: of a part of the gang, what it said and why the target cannot say it."""
        names = f"group {part.name}: {said}" if part is not None and part.name != self.gang.name else said
        self.losses.append(Mistake(why, what=f"gang {self.gang.key}", field=names))

    def note(self, said: str, why: str) -> None:
        """Add what has to be there besides, once."""
        note = Mistake(why, what=f"gang {self.gang.key}", field=said)
        self.notes += [] if note in self.notes else [note]

    def mark(self, part: Group, marks: PodMarks) -> None:
        for one in part.own_pod_sets:
            self.marks |= dict.fromkeys(one.pods, marks)

    def lose_standing(self, target: str) -> None:
        """Add what the gang says of its priority that only its own dialect knows."""
        if self.gang.dialect == "kubernetes" and self.gang.priority and not self.gang.priority_class:
            said = f"priority {self.gang.priority}"
            self.lose(None, said, f"{target} reads priorities from a PriorityClass, and the group names none")
        if not self.gang.preemptible:
            self.lose(None, "not preemptible", f"{target} decides that by its own rules")

    def lose_beyond_minimums(self, group: Group, target: str) -> None:
        """Add what only our own requests can say, at every depth."""
        if group.order is not None:
            self.lose(group, f"order {group.order}", f"{target} has one order for all groups")
        if group.apart is not None:
            self.lose(group, f"apart by {group.apart.level}", f"{target} cannot keep groups apart")
        for child in group.groups:
            self.lose_beyond_minimums(child, target)


def count(group: Group) -> int:
    """All pods of a group, at any depth."""
    return sum(one.count + len(one.running) for one in group.pod_sets)


def least(group: Group) -> int:
    """How many of the group's own pods are needed."""
    own = sum(one.count + len(one.running) for one in group.own_pod_sets)
    return own if group.min_pods is None else group.min_pods


def split(group: Group) -> Group:
    """The same tree in which a group has either pods or groups: pods beside groups become a group of their own.

    Where only some of the groups are needed, those become one group too: its pods are not one of them to choose from.
    A minimum of all groups is left out.
    """
    groups = tuple(split(child) for child in group.groups)
    if group.min_groups is not None and group.min_groups >= len(groups):
        group = replace(group, min_groups=None)
    if not groups or not group.own_pod_sets:
        return replace(group, members=groups) if groups else group
    if group.min_groups is not None:
        groups = (Group(groups, f"{group.name}-groups", min_groups=group.min_groups),)
    own = Group(group.own_pod_sets, f"{group.name}-pods", min_pods=group.min_pods)
    return replace(group, members=(own, *groups), min_pods=None, min_groups=None)


def leaves(group: Group) -> Iterator[Group]:
    """The groups that have pods, at any depth."""
    if not group.groups:
        yield group
    for child in group.groups:
        yield from leaves(child)


def plain_name(*parts: str | None) -> str:
    """A name for an object or a sub-group: plain_name("job", "part/0") == "job-part-0"."""
    text = "-".join(part for part in parts if part).lower()
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "-.") else "-" for char in text)
    return plain.strip("-.") or "group"


def short(name: str) -> str:
    """The name, cut where it does not fit into a label; what is cut is told apart by a hash of the whole."""
    if len(name) <= LONGEST:
        return name
    end = sha256(name.encode()).hexdigest()[:8]
    return f"{name[: LONGEST - 9].rstrip('-.')}-{end}"


def by_labels(constraint: Constraint | None, topologies: Topologies) -> Topology | None:
    """The topology of a constraint whose levels are node labels; None if there is no such constraint."""
    if constraint is None or constraint.topology == HYPER_NODES:
        return None
    named = topologies.get(constraint.topology, Topology(constraint.topology, tuple(constraint.levels)))
    return None if isinstance(named, ListedTopology) else named
