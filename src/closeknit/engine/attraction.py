"""Pods that want others near them: the order in which pod sets are placed, and whether any order of binding will do.

kube-scheduler lets the first pod of a kind that attracts itself go anywhere, and the next ones only near it. Which pod
comes first is not known: all pods of a workload are released at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.assignment import Assignment
from ..model.request import Group, PodSet
from ..state.snapshot import Snapshot
from ..state.table import MISSING
from .filters.pod_filter import PodFilter
from .gang import leaves_of
from .policy import Policy

PodSetPlaces = tuple[PodSet, Assignment]


def attracting_first(snapshot: Snapshot, groups: tuple[Group, ...], policy: Policy) -> list[Group]:
    """The groups in order, but pods that others need near them before those others."""
    if len(groups) < 2 or all(one.shape.rules is None for group in groups for one in group.pod_sets):
        return list(groups)
    waiting, ordered = list(groups), list[Group]()
    while waiting:
        free = (
            one for one in waiting if not any(_needs(snapshot, one, two, policy) for two in waiting if two is not one)
        )
        ordered.append(next(free, waiting[0]))
        waiting.remove(ordered[-1])
    return ordered


def _needs(snapshot: Snapshot, group: Group, other: Group, policy: Policy) -> bool:
    """Whether pods of a group have to be near pods of another one, and not near their own kind."""
    for pod_set in group.pod_sets:
        rules = _rules(snapshot, pod_set, policy)
        if rules is None or not rules.rules.affinity or rules.attracts_itself:
            continue
        if any(rules.attracted_by(one.shape.kind) for one in other.pod_sets):
            return True
    return False


def is_stranded(snapshot: Snapshot, pod_set: PodSet, placed: Sequence[PodSetPlaces], policy: Policy) -> bool:
    """Whether pods that attract their own kind could not start if such a pod of another pod set, elsewhere, came first.

    Not if all pods that attract them are in one domain, nor if those that want nothing near themselves are in every
    domain that they use.
    """
    rules = _rules(snapshot, pod_set, policy)
    if rules is None or not rules.is_first or not rules.attracts_itself:
        return False
    near = [one for one in placed if rules.attracted_by(one[0].shape.kind)]
    for key in {term.key for term in rules.rules.affinity}:
        values = [(one, _values(snapshot, rules, key, places)) for one, places in near]
        own = set().union(*(found for one, found in values if one is pod_set))
        loose = set().union(*(found for one, found in values if not _is_affine(one, policy)))
        if len(set().union(*(found for _, found in values))) > 1 and not own <= loose:
            return True
    return False


def _rules(snapshot: Snapshot, pod_set: PodSet, policy: Policy) -> PodFilter | None:
    rules = policy.seen(pod_set.shape).rules
    return None if rules is None else PodFilter(snapshot, rules, policy.empty)


def _values(snapshot: Snapshot, rules: PodFilter, key: str, places: Assignment) -> set[int]:
    """The values, as codes, that a label has where pods were placed."""
    rows, _ = snapshot.rows_in(leaves_of(snapshot, places)[0])
    return set(rules.codes(key, rows).tolist()) - {MISSING}


def _is_affine(pod_set: PodSet, policy: Policy) -> bool:
    rules = policy.seen(pod_set.shape).rules
    return rules is not None and bool(rules.affinity)
