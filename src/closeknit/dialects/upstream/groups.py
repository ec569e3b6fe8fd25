"""PodGroups and CompositePodGroups of `scheduling.k8s.io` as trees, each tree one gang.

    CompositePodGroup root, minGroupCount 2, zone       Group root, min_groups 2, required zone
      PodGroup a, minCount 4, rack                        ├ Group a, min_pods 4, required rack
      PodGroup b, basic                                   └ Group b, min_pods 1

A constraint bounds everything below its group, so racks of equal name in two zones differ only where a group above
asks for the zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...model.gang import Gang
from ...model.request import Group, Request
from ..field import INT32_MAX, Field
from ..gang_reading import by, check_groups, created, refuse_lost
from ..group_pods import key_of, pod_sets, read_pods
from ..minimums import missing_pods
from ..strictness import READ, Tree, check_fields
from .family import COMPOSITE, PARENT, GroupFamily, parent_of
from .policies import CONSTRAINT_FIELDS, GROUP, policy_fields, read_constraint, read_minimum

COUNTS = {"PodGroup": "minCount", COMPOSITE: "minGroupCount"}
_PLAIN = (
    *(PARENT, "priority", "priorityClassName", "preemptionPolicy", "disruptionMode", "resourceClaims", "workloadRef"),
    *("podGroupTemplateRef", "compositePodGroupTemplateRef"),
)
FIELDS: Mapping[str, Tree] = {
    kind: {
        **dict.fromkeys(_PLAIN, READ),
        "schedulingPolicy": policy_fields(count),
        "schedulingConstraints": CONSTRAINT_FIELDS,
    }
    for kind, count in COUNTS.items()
}


FIRST = f"{GROUP}/v1alpha2"
"""The first version of PodGroups, in which there are no CompositePodGroups."""


def group_of(pod: Field) -> str:
    """namespace/name of the PodGroup that a pod names; empty if it names none."""
    name = pod.at("spec", "schedulingGroup", "podGroupName").text()
    return f"{pod.at('metadata', 'namespace').text() or 'default'}/{name}" if name else ""


def read_trees(groups: Sequence[Field], pods: Sequence[Field]) -> Iterator[Gang | None]:
    """One gang for each group without a parent; None if it, or anything below it, has a mistake."""
    known = GroupFamily(groups)
    known.check()
    by_group = by(pods, group_of)
    leaves = known.names("PodGroup")
    refuse_lost(by_group, leaves, "PodGroup", "spec", "schedulingGroup", "podGroupName")
    parts = {id(one): _part(one, by_group) for one in groups}
    for root in groups:
        if not parent_of(root):
            yield _gang(root, known, parts, by_group)


def _part(one: Field, pods: Mapping[str, Sequence[Field]]) -> Group:
    """The group alone: with its pods, and without the groups below it."""
    spec, kind, name = one.at("spec"), one.at("kind").text(), one.at("metadata", "name").text()
    check_fields(spec, FIELDS[kind])
    if spec.at(PARENT).given and one.at("apiVersion").text() == FIRST:
        spec.at(PARENT).wrong(f"is not a field of {FIRST}", f"use {GROUP}/v1beta1")
    least = read_minimum(spec.at("schedulingPolicy"), COUNTS[kind])
    constraint = read_constraint(spec.at("schedulingConstraints"))
    if kind == COMPOSITE:
        return Group((), name, constraint, min_groups=least)
    return Group(pod_sets(name, read_pods(pods.get(key_of(one), ()))), name, constraint, min_pods=least)


def _gang(
    root: Field, known: GroupFamily, parts: Mapping[int, Group], by_group: Mapping[str, Sequence[Field]]
) -> Gang | None:
    members = known.tree(root)
    check_groups(root, len(members) - 1)
    spec, stamp = root.at("spec"), created(root)
    priority = spec.at("priority").count(0, least=-INT32_MAX)
    pods = (pod for one in members for pod in by_group.get(key_of(one), ()))
    if any(one.report for one in (*members, *pods)):
        return None
    tree = _joined(root, known, parts)
    namespace, _, name = key_of(root).partition("/")
    return Gang(
        "kubernetes",
        namespace,
        name,
        Request((tree,)),
        priority=priority,
        priority_class=spec.at("priorityClassName").text(),
        created=stamp,
        missing=missing_pods(tree),
        kind=root.at("kind").text(),
        where=root.report.where,
    )


def _joined(one: Field, known: GroupFamily, parts: Mapping[int, Group]) -> Group:
    """The group with those below it."""
    children = tuple(_joined(child, known, parts) for child in known.children(one))
    return replace(parts[id(one)], members=parts[id(one)].members + children)
