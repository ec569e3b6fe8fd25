"""A PodGroup and its pods, read into a gang: the request that the engine places.

Pods join by the annotation `pod-group-name` and the label `kai.scheduler/subgroup-name`. Pods that have ended or are
being deleted do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...model.gang import Gang
from ...model.mistake import Mistake
from ...model.natural import natural
from ...model.request import Group, PodSet, Request
from ..field import Field
from ..gang_reading import MOST_COMPARED, near, some
from ..group_pods import GroupPod, pod_sets, read_pods
from ..kueue.jobs.identity import ObjectIdentity
from ..timestamps import parse
from . import keys
from .pod_group import KaiPodGroup, SubGroup, Topologies, read_pod_group

Raw = dict[str, Any]
Found = tuple[str, Raw]
"""An object, with the name of its file."""

MAIN = "main"
"""The name of the pod set of a group without sub-groups."""


_ByGroup = Mapping[str, Sequence[GroupPod]]
"""The members of every leaf that has any."""


def read_gang(
    group: Found,
    pods: Iterable[Found],
    topologies: Topologies | None = None,
    priorities: Mapping[str, int] = keys.PRIORITIES,
) -> Gang | tuple[Mistake, ...]:
    """The gang of a PodGroup, or the mistakes in it and its pods; pods of other groups are left out.

    Without `topologies` the names of topologies and levels are not checked. `priorities` are by PriorityClass.
    """
    identity = ObjectIdentity.of(*group)
    identity.check_name()
    read = read_pod_group(identity.field, topologies)
    members = [pod for pod in (ObjectIdentity.of(*found) for found in pods) if _is_member(pod, identity)]
    joined = {} if read is None else _joined(read, members)
    reports = [identity.field.report, *(pod.field.report for pod in members)]
    mistakes = tuple(mistake for report in reports for mistake in report.mistakes)
    if mistakes or read is None:
        return mistakes
    return replace(_gang(read, joined, priorities, _created(identity.field)), where=group[0])


def group_of(pod: Raw) -> str:
    """The name of the pod's PodGroup; empty if it has none."""
    metadata = pod.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    name = annotations.get(keys.POD_GROUP) if isinstance(annotations, dict) else None
    return name if isinstance(name, str) else ""


def _is_member(pod: ObjectIdentity, group: ObjectIdentity) -> bool:
    if pod.namespace != group.namespace or group_of(pod.field.mapping()) != group.name:
        return False
    ended = pod.field.at("status", "phase").value in ("Succeeded", "Failed")
    return not ended and not pod.field.at("metadata", "deletionTimestamp").given


def _joined(group: KaiPodGroup, pods: Iterable[ObjectIdentity]) -> _ByGroup:
    """The members of every leaf; a pod that joins no leaf is a mistake."""
    leaves = dict.fromkeys(_leaves(group.root))
    joined: dict[str, list[GroupPod]] = {}
    for pod in pods:
        label = pod.field.at("metadata", "labels", keys.SUB_GROUP)
        name = label.text() if group.root.children else ""
        if name not in leaves:
            _refuse(label, name, leaves, group)
        else:
            joined.setdefault(name, []).extend(read_pods([pod.field]))
    return joined


def _refuse(label: Field, name: str, leaves: Collection[str], group: KaiPodGroup) -> None:
    known = sorted(leaves, key=natural) if len(leaves) <= MOST_COMPARED else leaves
    if not name:
        label.wrong(f'is missing, but PodGroup "{group.name}" has sub-groups', f"use one of: {some(known)}")
        return
    text = f'is "{name}", which is not a sub-group with pods of PodGroup "{group.name}"'
    label.wrong(text, near(name, known).strip() or f"use one of: {some(known)}")


def _leaves(entry: SubGroup) -> Iterable[str]:
    if not entry.children:
        yield entry.name
    for child in entry.children:
        yield from _leaves(child)


def _gang(group: KaiPodGroup, joined: _ByGroup, priorities: Mapping[str, int], created: float) -> Gang:
    missing, notices = _missing(group.root, joined), []
    total = sum(map(len, joined.values()))
    if group.min_member is not None and group.root.children:
        missing = max(missing, group.min_member - total)
        if group.root.least < group.min_member <= total:
            notices.append(
                f"minMember {group.min_member} of the group is more than its sub-groups need together "
                f"({group.root.least}): the sub-groups decide"
            )
    name = group.priority_class or keys.TRAIN
    if name not in priorities:
        notices.append(f'PriorityClass "{name}" is not known: priority {keys.PRIORITIES[keys.TRAIN]} is assumed')
    priority = priorities.get(name, keys.PRIORITIES[keys.TRAIN])
    words = keys.PREEMPTIBLE_WORDS
    return Gang(
        "kai",
        group.namespace,
        group.name,
        Request((_group(group.root, joined, group.name),)),
        group.queue,
        priority,
        group.priority_class,
        group.preemptibility == words[0] if group.preemptibility else priority < keys.NOT_PREEMPTIBLE,
        created,
        missing,
        tuple(notices),
    )


def _group(entry: SubGroup, joined: _ByGroup, name: str) -> Group:
    members: tuple[PodSet | Group, ...] = tuple(_group(child, joined, child.name) for child in entry.children)
    if not entry.children:
        members = pod_sets(entry.name or MAIN, joined.get(entry.name, ()))
    return Group(
        members,
        name,
        entry.constraint,
        min_pods=entry.min_member,
        min_groups=entry.min_sub_group,
        apart=entry.apart,
    )


def _missing(entry: SubGroup, joined: _ByGroup) -> int:
    """How many pods have to be created before the minimums can be met."""
    if not entry.children:
        return max(0, (entry.min_member or 0) - len(joined.get(entry.name, ())))
    each = sorted(_missing(child, joined) for child in entry.children)
    return sum(each[: entry.min_sub_group])


def _created(group: Field) -> float:
    stamp = group.at("metadata", "creationTimestamp").text()
    try:
        return parse(stamp) if stamp else 0.0
    except ValueError:
        return 0.0
