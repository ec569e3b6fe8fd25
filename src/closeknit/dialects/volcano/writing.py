"""A gang as Volcano's PodGroup, with its groups as sub-groups by a label on the pods."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.gang import Gang
from ...model.request import Constraint, Group
from ..minimums import least_pods
from ..written_gang import PodMarks, Raw, Topologies, WrittenGang, by_labels, least, leaves, plain_name
from . import keys
from .hyper_nodes import tier_of

TARGET = "Volcano"
LABEL = "closeknit.dev/group"
"""The label by whose values the sub-groups are told apart."""


def write_gang(gang: Gang, topologies: Topologies) -> WrittenGang:
    return _Writer(gang, topologies).write()


class _Writer:
    def __init__(self, gang: Gang, topologies: Topologies) -> None:
        self.gang, self.topologies = gang, topologies
        self.written = WrittenGang(gang)
        self.tier_names: set[str] = set()

    def write(self) -> WrittenGang:
        [root] = self.gang.request.groups
        self.written.lose_beyond_minimums(root, TARGET)
        name = plain_name(self.gang.name)
        spec: Raw = {"minMember": least_pods(root), "queue": self.gang.queue or "default"}
        spec |= {"priorityClassName": self.gang.priority_class} if self.gang.priority_class else {}
        spec |= self._topology(root)
        policies = self._policies(root)
        spec |= {"subGroupPolicy": policies} if policies else {}
        self.written.mark(root, self._marks(""))
        metadata = {"name": name, "namespace": self.gang.namespace}
        version = f"{keys.SCHEDULING_GROUP}/v1beta1"
        self.written.objects = [{"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": spec}]
        for tier in sorted(self.tier_names):
            text = f"HyperNodes with this tierName have to exist: {TARGET} reads no labels"
            self.written.note(f"tier {tier}", text)
        return self.written

    def _policies(self, root: Group) -> list[Raw]:
        """A policy for all groups that are alike, one for each of the others."""
        direct = [child for child in root.groups if not child.groups]
        found = []
        if direct and len({(one.constraint, least(one)) for one in direct}) == 1:
            needed = len(direct) if root.min_groups is None else min(root.min_groups, len(direct))
            found.append(self._policy("groups", direct, needed))
        else:
            if direct and root.min_groups is not None:
                said = f"{root.min_groups} of its groups"
                self.written.lose(root, said, f"{TARGET} counts groups that are alike only")
            found += [self._policy(str(one.name), [one], int(root.min_groups is None)) for one in direct]
        return found + [self._nested(child) for child in root.groups if child.groups]

    def _nested(self, group: Group) -> Raw:
        """A group of groups: a policy of its own, if there is nothing more to say about it."""
        below = list(leaves(group))
        if group.constraint is not None or group.depth > 2:
            self.written.lose(group, "a group of groups", f"{TARGET} has one level of sub-groups: it is left out")
        needed = len(below) if group.min_groups is None or group.depth > 2 else group.min_groups
        if len({(one.constraint, least(one)) for one in below}) > 1:
            text = f"{TARGET} has one size and one tier for all: those of the first are used"
            self.written.lose(group, "groups that differ", text)
        return self._policy(str(group.name), below, needed)

    def _policy(self, name: str, groups: Sequence[Group], needed: int) -> Raw:
        values = [plain_name(one.name) for one in groups]
        for one, value in zip(groups, values, strict=True):
            self.written.mark(one, self._marks(value))
        return {
            "name": plain_name(name),
            "labelSelector": {"matchExpressions": [{"key": LABEL, "operator": "In", "values": values}]},
            "matchLabelKeys": [LABEL],
            "subGroupSize": least(groups[0]),
            "minSubGroups": needed,
            **self._topology(groups[0]),
        }

    def _topology(self, group: Group) -> Raw:
        bounds = group.constraint
        if bounds is None:
            return {}
        if not bounds.required:
            return {"networkTopology": {"mode": "soft"}}
        topology = by_labels(bounds, self.topologies)
        if topology is not None and bounds.preferred and bounds.preferred != topology.levels[-1]:
            text = f"{TARGET} tries the lowest tier first, and each above it up to the required one"
            self.written.lose(group, f"preferred {bounds.preferred}", text)
        return {"networkTopology": {"mode": "hard", **self._tier(bounds, topology is not None)}}

    def _tier(self, bounds: Constraint, is_label: bool) -> Raw:
        required = bounds.required or ""
        if not is_label and required.startswith("tier-"):
            return {"highestTierAllowed": tier_of(required)}
        name = plain_name(required)
        self.tier_names |= {name} if is_label else set()
        return {"highestTierName": name}

    def _marks(self, group: str) -> PodMarks:
        labels = {LABEL: group} if group else {}
        return PodMarks(labels, {keys.GROUP_NAME: plain_name(self.gang.name)}, {"schedulerName": keys.SCHEDULER})
