"""A gang as Volcano's PodGroup, with its groups as sub-groups by a label on the pods."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.gang import Gang
from ...model.request import Constraint, Group
from ..minimums import least_pods
from ..written_gang import (
    PlainNames,
    PodMarks,
    Raw,
    Topologies,
    WrittenGang,
    by_labels,
    least,
    leaves,
    plain_name,
    split,
)
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
        self.policies = PlainNames()

    def write(self) -> WrittenGang:
        [root] = map(split, self.gang.request.groups)
        self.written.lose_beyond_minimums(root, TARGET)
        self.written.lose_standing(TARGET)
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
        """Policies for the groups directly in it, then for those in groups of groups."""
        direct = [child for child in root.groups if not child.groups]
        nested = [child for child in root.groups if child.groups]
        if nested and root.min_groups is not None:
            self._lose_count(root, len(root.groups))
        every = root.min_groups is None
        needed = len(direct) if every else 0 if nested else root.min_groups or 0
        found = self._several(root, "groups", direct, needed)
        return found + [policy for child in nested for policy in self._nested(child, every)]

    def _nested(self, group: Group, is_needed: bool) -> list[Raw]:
        """A group of groups: policies of its own, if there is nothing more to say about it."""
        below = list(leaves(group))
        if group.constraint is not None or group.depth > 2:
            self.written.lose(group, "a group of groups", f"{TARGET} has one level of sub-groups: it is left out")
        count = len(below) if group.min_groups is None or group.depth > 2 else group.min_groups
        return self._several(group, str(group.name), below, count if is_needed else 0)

    def _several(self, around: Group, name: str, groups: Sequence[Group], needed: int) -> list[Raw]:
        """One policy for groups that are alike, else one for each of them."""
        if len({(one.constraint, least(one)) for one in groups}) == 1:
            return [self._policy(name, groups, needed)]
        if 0 < needed < len(groups):
            self._lose_count(around, len(groups))
        return [self._policy(str(one.name), [one], int(needed == len(groups))) for one in groups]

    def _lose_count(self, group: Group, groups: int) -> None:
        said = f"{group.min_groups} of its {groups} groups"
        self.written.lose(group, said, f"{TARGET} counts groups that are alike only")

    def _policy(self, name: str, groups: Sequence[Group], needed: int) -> Raw:
        values = [self.written.names.new(one.name) for one in groups]
        for one, value in zip(groups, values, strict=True):
            self.written.mark(one, self._marks(value))
        return {
            "name": self.policies.new(name),
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
        topology = by_labels(bounds, self.topologies)
        if topology is not None and bounds.preferred and bounds.preferred != topology.levels[-1]:
            text = f"{TARGET} tries the lowest tier first, then each above it"
            self.written.lose(group, f"preferred {bounds.preferred}", text)
        if not bounds.required:
            return {"networkTopology": {"mode": "soft"}}
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
