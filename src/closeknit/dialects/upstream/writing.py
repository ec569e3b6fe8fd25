"""A gang as PodGroups of `scheduling.k8s.io`, below CompositePodGroups where it is a tree."""

from __future__ import annotations

from ...model.gang import Gang
from ...model.request import Constraint, Group
from ..written_gang import PodMarks, Raw, Topologies, WrittenGang, by_labels, least, plain_name, split
from .family import COMPOSITE, DEEPEST, PARENT
from .policies import BASIC, GROUP

TARGET = "Kubernetes"
VERSIONS = {"PodGroup": f"{GROUP}/v1beta1", COMPOSITE: f"{GROUP}/v1alpha3"}


def write_gang(gang: Gang, topologies: Topologies) -> WrittenGang:
    return _Writer(gang, topologies).write()


class _Writer:
    def __init__(self, gang: Gang, topologies: Topologies) -> None:
        self.gang, self.topologies = gang, topologies
        self.written = WrittenGang(gang)

    def write(self) -> WrittenGang:
        [root] = map(split, self.gang.request.groups)
        self.written.lose_beyond_minimums(root, TARGET)
        self.written.lose_standing(TARGET)
        if self.gang.queue:
            self.written.lose(None, f"queue {self.gang.queue}", f"{TARGET} has no queues")
        if root.depth - 1 > DEEPEST:
            text = f"{TARGET} nests at most {DEEPEST} {COMPOSITE}s: the API server refuses these"
            self.written.lose(None, f"{root.depth} levels of groups", text)
        self._write(root, "")
        return self.written

    def _write(self, group: Group, parent: str) -> None:
        kind = COMPOSITE if group.groups else "PodGroup"
        name = self.written.names.new(self.gang.name, group.name) if parent else plain_name(self.gang.name)
        spec = {"schedulingPolicy": self._policy(group), **self._constraint(group)}
        spec |= {PARENT: parent} if parent else {}
        if self.gang.priority_class:
            spec["priorityClassName"] = self.gang.priority_class
        metadata = {"name": name, "namespace": self.gang.namespace}
        self.written.objects.append({"apiVersion": VERSIONS[kind], "kind": kind, "metadata": metadata, "spec": spec})
        for child in group.groups:
            self._write(child, name)
        self.written.mark(group, PodMarks(spec={"schedulingGroup": {"podGroupName": name}}))

    def _policy(self, group: Group) -> Raw:
        key, minimum = "minCount", least(group)
        if group.groups:
            key, minimum = "minGroupCount", len(group.groups) if group.min_groups is None else group.min_groups
        if group.min_total is not None:
            said = f"{group.min_total} pods in all"
            self.written.lose(group, said, f"{TARGET} has minimums of single groups only")
        if minimum == 0:
            self.written.lose(group, "needs nothing", f"a group of {TARGET} needs one pod or group at least")
        return {"gang": {key: minimum}} if minimum > BASIC else {"basic": {}}

    def _constraint(self, group: Group) -> Raw:
        bounds: Constraint | None = group.constraint
        if bounds is None:
            return {}
        if bounds.preferred:
            self.written.lose(group, f"preferred {bounds.preferred}", f"{TARGET} has required labels only")
        if not bounds.required:
            return {}
        if by_labels(bounds, self.topologies) is None:
            text = f"tiers of HyperNodes are not node labels, which {TARGET} needs"
            self.written.lose(group, f"required {bounds.required}", text)
            return {}
        return {"schedulingConstraints": {"topology": [{"key": bounds.required}]}}
