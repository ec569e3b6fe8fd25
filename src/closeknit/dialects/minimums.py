"""Minimums of groups, added up over a tree: the fewest pods that meet them, and the pods that are not there yet."""

from __future__ import annotations

from ..model.request import Group


def least_pods(group: Group) -> int:
    """The fewest pods with which all minimums of the group can be met."""
    needed = _own_pods(group) if group.min_pods is None else group.min_pods
    below = sorted(map(least_pods, group.groups))
    return max(group.min_total or 0, needed + sum(below[: group.min_groups]))


def missing_pods(group: Group) -> int:
    """How many pods the minimums count that do not exist; a group that does not exist counts as one pod."""
    short = max(0, (group.min_pods or 0) - _own_pods(group))
    below = sorted(map(missing_pods, group.groups))[: group.min_groups]
    groups = max(0, (group.min_groups or 0) - len(group.groups))
    everything = sum(one.count + len(one.running) for one in group.pod_sets)
    return max((group.min_total or 0) - everything, short + sum(below) + groups)


def _own_pods(group: Group) -> int:
    return sum(one.count + len(one.running) for one in group.own_pod_sets)
