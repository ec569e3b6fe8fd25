"""Volcano's PodGroup, `scheduling.volcano.sh/v1beta1`, with its pods, as a gang."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.cluster_queue import Selector
from ...model.gang import Gang
from ...model.topology import ListedTopology
from ..field import Field
from ..group_pods import GroupPod, key_of, read_pods
from ..label_selectors import read_selector
from ..strictness import READ, UNUSED, Tree, check_fields
from . import keys, network_topology
from .gang import gang_of, left, succeeded
from .network_topology import read_constraint
from .sub_groups import Division, SubGroupPolicy, divided

FIELDS: Tree = {
    "minMember": READ,
    "minTaskMember": READ,
    "queue": READ,
    "priorityClassName": READ,
    "minResources": UNUSED,
    "networkTopology": network_topology.FIELDS,
    "subGroupPolicy": [
        {
            "name": READ,
            "labelSelector": READ,
            "matchLabelKeys": READ,
            "subGroupSize": READ,
            "minSubGroups": READ,
            "networkTopology": network_topology.FIELDS,
        }
    ],
}


def group_of(pod: Field) -> str:
    """namespace/name of the PodGroup that a pod names; empty if it names none."""
    notes = pod.at("metadata", "annotations")
    name = notes.at(keys.GROUP_NAME).text() or notes.at(keys.OWN_GROUP_NAME).text()
    return f"{pod.at('metadata', 'namespace').text() or 'default'}/{name}" if name else ""


def read_gang(group: Field, pods: Sequence[Field], tiers: ListedTopology | None) -> Gang | None:
    """The gang of a PodGroup and its pods; None, with mistakes in their reports, if one of them is invalid.

    `tiers` is None while the HyperNodes are not known.
    """
    spec = group.at("spec")
    check_fields(spec, FIELDS)
    done = succeeded(pods)
    least = {task: left(one.count(0), done[task]) for task, one in spec.at("minTaskMember").fields().items()}
    division = Division(left(spec.at("minMember").count(0), done.total()), _policies(spec, tiers), least)
    members = read_pods(pods)
    name = key_of(group).partition("/")[2]
    tree = divided(name, members, division, read_constraint(spec.at("networkTopology"), tiers))
    return gang_of(group, pods, tree, (*_task_notice(division, members), *_allocated_notice(group, members, tiers)))


def _policies(spec: Field, tiers: ListedTopology | None) -> tuple[SubGroupPolicy, ...]:
    found: dict[str, SubGroupPolicy] = {}
    for one in spec.at("subGroupPolicy").items():
        policy = _policy(one, tiers)
        if policy.name in found:
            one.at("name").wrong(f"{policy.name} is the name of two policies", "rename one of them")
        found[policy.name] = policy
    return tuple(found.values())


def _policy(one: Field, tiers: ListedTopology | None) -> SubGroupPolicy:
    name, label_keys = one.at("name"), one.at("matchLabelKeys")
    if not name.text():
        name.wrong("is missing", "give the policy a name")
    if not label_keys.items():
        label_keys.wrong("is missing", "name the labels whose values tell the sub-groups apart")
    selector = one.at("labelSelector")
    return SubGroupPolicy(
        name.text(),
        read_selector(selector) if selector.given else Selector(),
        tuple(key.text() for key in label_keys.items()),
        one.at("subGroupSize").count(1),
        one.at("minSubGroups").count(0),
        read_constraint(one.at("networkTopology"), tiers),
    )


def _task_notice(division: Division, members: Sequence[GroupPod]) -> Iterator[str]:
    if division.policies and division.binds_tasks and division.minimum < len(members):
        yield "spec.minTaskMember is not kept beside subGroupPolicy; put the minimums into subGroupSize"


def _allocated_notice(group: Field, members: Sequence[GroupPod], tiers: ListedTopology | None) -> Iterator[str]:
    """The running pods decide where a group is; the annotation is checked against them."""
    said = group.at("metadata", "annotations", keys.ALLOCATED).text()
    if not said or tiers is None:
        return
    outside = next((pod for pod in members if pod.node and said not in tiers.paths.get(pod.node, ())), None)
    if outside is not None:
        yield (
            f"{keys.ALLOCATED} is {said}, but {outside.key} runs on {outside.node} outside of it; "
            "the nodes of the running pods are used"
        )
