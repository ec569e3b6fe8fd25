"""A gang as objects of another dialect: the objects, the marks that its pods need, and what could not be said.

Every dialect that can be written has a function `write_gang(gang, topologies)` with this result. What the target cannot
say is left out and listed; nothing is changed into something that merely looks alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..model.gang import Gang
from ..model.mistake import Mistake
from ..model.request import Constraint, Group
from ..model.topology import ListedTopology, Topology
from .volcano.hyper_nodes import TOPOLOGY as HYPER_NODES

Raw = dict[str, Any]
Topologies = Mapping[str, Topology]


class PodMarks(NamedTuple):
    """What makes a pod a member of its group, beside its own metadata and spec."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    spec: Mapping[str, Any] = {}


@dataclass(slots=True)
class WrittenGang:
    """`marks` are by namespace/name of the pod."""

    gang: Gang
    objects: list[Raw] = field(default_factory=list)
    marks: dict[str, PodMarks] = field(default_factory=dict)
    losses: list[Mistake] = field(default_factory=list)
    notes: list[Mistake] = field(default_factory=list)
    """What has to be there besides."""

    def lose(self, part: Group | None, said: str, why: str) -> None:
        """Add what is left out: of a part of the gang, what it said and why the target cannot say it."""
        names = f"group {part.name}: {said}" if part is not None and part.name != self.gang.name else said
        self.losses.append(Mistake(why, what=f"gang {self.gang.key}", field=names))

    def note(self, said: str, why: str) -> None:
        self.notes.append(Mistake(why, what=f"gang {self.gang.key}", field=said))

    def mark(self, part: Group, marks: PodMarks) -> None:
        for one in part.own_pod_sets:
            self.marks |= dict.fromkeys(one.pods, marks)

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
    """
    groups = tuple(split(child) for child in group.groups)
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
    return "".join(char if char.isalnum() or char in "-." else "-" for char in text).strip("-.")


def by_labels(constraint: Constraint | None, topologies: Topologies) -> Topology | None:
    """The topology of a constraint whose levels are node labels; None if there is no such constraint."""
    if constraint is None or constraint.topology == HYPER_NODES:
        return None
    named = topologies.get(constraint.topology, Topology(constraint.topology, tuple(constraint.levels)))
    return None if isinstance(named, ListedTopology) else named
