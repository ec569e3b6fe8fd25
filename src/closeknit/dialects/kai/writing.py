"""A gang as KAI's PodGroup, with the Topologies that its constraints name."""

from __future__ import annotations

from ...model.gang import Gang
from ...model.request import Constraint, Group
from ...model.topology import Topology
from ..written_gang import (
    PodMarks,
    Raw,
    Topologies,
    WrittenGang,
    by_labels,
    least,
    plain_name,
    split,
)
from . import keys

SCHEDULER = "kai-scheduler"
TARGET = "KAI"


def write_gang(gang: Gang, topologies: Topologies) -> WrittenGang:
    return _Writer(gang, topologies).write()


class _Writer:
    def __init__(self, gang: Gang, topologies: Topologies) -> None:
        self.gang, self.topologies = gang, topologies
        self.written = WrittenGang(gang)
        self.root: Group | None = None
        self.laid: dict[str, Topology] = {}
        self.entries: list[Raw] = []

    def write(self) -> WrittenGang:
        [root] = map(split, self.gang.request.groups)
        self.root = root
        self.written.lose_beyond_minimums(root, TARGET)
        self.written.lose_standing(TARGET)
        name = plain_name(self.gang.name)
        spec = {"queue": self.gang.queue or keys.DEFAULT_QUEUE, **self._part(root)}
        if self.gang.priority_class:
            spec["priorityClassName"] = self.gang.priority_class
        self._children(root, "")
        spec |= {"subGroups": self.entries} if self.entries else {}
        if not root.groups:
            self._mark(root, "")
        metadata = {"name": name, "namespace": self.gang.namespace}
        group = {"apiVersion": keys.POD_GROUP_VERSION, "kind": "PodGroup", "metadata": metadata, "spec": spec}
        self.written.objects = [*map(_topology, self.laid.values()), group]
        return self.written

    def _children(self, group: Group, parent: str) -> None:
        for child in group.groups:
            name = self.written.names.new(child.name)
            entry = {"name": name, **({"parent": parent} if parent else {}), **self._part(child)}
            self.entries.append(entry)
            if child.groups:
                self._children(child, name)
            else:
                self._mark(child, name)

    def _part(self, group: Group) -> Raw:
        """The minimums and the constraint of the group or of an entry."""
        part: Raw = {}
        if group.min_total is not None:
            self.written.lose(group, f"{group.min_total} pods in all", f"{TARGET} has minimums of single groups only")
        if not group.groups:
            part["minMember"] = self._pods(group)
        elif group.min_groups == 0:
            self.written.lose(group, "needs none of its groups", f"{TARGET} needs at least one of them")
            part["minSubGroup"] = 1
        elif group.min_groups is not None and group.min_groups < len(group.groups):
            part["minSubGroup"] = group.min_groups
        bounds = self._constraint(group)
        return part | ({"topologyConstraint": bounds} if bounds else {})

    def _pods(self, group: Group) -> int:
        """The pods that the group needs; KAI allows none only for a sub-group."""
        needed = least(group)
        if needed == 0 and group is self.root:
            self.written.lose(group, "needs none of its pods", f"{TARGET} needs at least one of them")
            return 1
        return needed

    def _constraint(self, group: Group) -> Raw | None:
        bounds = group.constraint
        if bounds is None:
            return None
        topology = by_labels(bounds, self.topologies)
        if topology is None:
            self.written.lose(group, shown(bounds), f"tiers of HyperNodes are not node labels, which {TARGET} needs")
            return None
        if topology.name in self.topologies:
            self.laid[topology.name] = topology
        else:
            self.written.note(f"Topology {plain_name(topology.name)}", "is not in the files; it has to exist")
        found = {"topology": plain_name(topology.name)}
        found |= {"requiredTopologyLevel": bounds.required} if bounds.required else {}
        return found | ({"preferredTopologyLevel": bounds.preferred} if bounds.preferred else {})

    def _mark(self, group: Group, name: str) -> None:
        labels = {keys.QUEUE: self.gang.queue or keys.DEFAULT_QUEUE, **({keys.SUB_GROUP: name} if name else {})}
        annotations = {keys.POD_GROUP: plain_name(self.gang.name)}
        self.written.mark(group, PodMarks(labels, annotations, {"schedulerName": SCHEDULER}))


def shown(constraint: Constraint) -> str:
    """required zone, preferred rack"""
    named = (("required", constraint.required), ("preferred", constraint.preferred))
    return ", ".join(f"{word} {level}" for word, level in named if level)


def _topology(topology: Topology) -> Raw:
    return {
        "apiVersion": f"{keys.TOPOLOGY_GROUP}/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": plain_name(topology.name)},
        "spec": {"levels": [{"nodeLabel": level} for level in topology.levels]},
    }
