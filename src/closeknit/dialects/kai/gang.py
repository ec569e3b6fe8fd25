"""A PodGroup and its pods, read into a gang: the request that the engine places.

Pods join by the annotation `pod-group-name` and the label `kai.scheduler/subgroup-name`. The pods of one sub-group
that have one shape are a pod set, in natural order of their names, which is the order of their indexes. Bound pods
are `running`; pods that have ended or are being deleted are no members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...model.gang import Gang
from ...model.mistake import Mistake
from ...model.natural import natural
from ...model.nearest import did_you_mean
from ...model.request import Group, PodSet, Request
from ...model.shape import Shape
from ..field import Field
from ..kueue.jobs.identity import ObjectIdentity
from ..pod_template import read_shape
from ..timestamps import parse
from . import keys
from .pod_group import KaiPodGroup, SubGroup, Topologies, read_pod_group

Raw = dict[str, Any]
Found = tuple[str, Raw]
"""An object, with the name of its file."""

MAIN = "main"
"""The name of the pod set of a group without sub-groups."""


@dataclass(slots=True)
class _Members:
    """The pods of one shape in one sub-group."""

    shape: Shape
    waiting: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)


_ByGroup = Mapping[str, Sequence[_Members]]


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
    return _gang(read, joined, priorities, _created(identity.field))


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
    """The members of every leaf by shape; a pod that joins no leaf is a mistake."""
    leaves = set(_leaves(group.root))
    joined: dict[str, dict[Shape, _Members]] = {}
    for pod in sorted(pods, key=lambda one: natural(one.name)):
        label = pod.field.at("metadata", "labels", keys.SUB_GROUP)
        shape, name = read_shape(pod.field.at("spec")), label.text() if group.root.children else ""
        if name not in leaves:
            _refuse(label, name, leaves, group)
        elif shape is not None:
            members = joined.setdefault(name, {}).setdefault(shape, _Members(shape))
            node = pod.field.at("spec", "nodeName").text()
            if node:
                members.running.append(node)
            else:
                members.waiting.append(f"{pod.namespace}/{pod.name}")
    return {name: tuple(shapes.values()) for name, shapes in joined.items()}


def _refuse(label: Field, name: str, leaves: Iterable[str], group: KaiPodGroup) -> None:
    known = sorted(leaves, key=natural)
    if not name:
        label.wrong(f'is missing, but PodGroup "{group.name}" has sub-groups', f"use one of: {', '.join(known)}")
        return
    text = f'is "{name}", which is not a sub-group with pods of PodGroup "{group.name}"'
    label.wrong(text, did_you_mean(name, known).strip() or f"use one of: {', '.join(known)}")


def _leaves(entry: SubGroup) -> Iterable[str]:
    if not entry.children:
        yield entry.name
    for child in entry.children:
        yield from _leaves(child)


def _gang(group: KaiPodGroup, joined: _ByGroup, priorities: Mapping[str, int], created: float) -> Gang:
    missing, notices = _missing(group.root, joined), []
    total = sum(_count(members) for members in joined.values())
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
        members = tuple(_pod_sets(entry.name or MAIN, joined.get(entry.name, ())))
    return Group(
        members,
        name,
        entry.constraint,
        min_pods=entry.min_member,
        min_groups=entry.min_sub_group,
        apart=entry.apart,
    )


def _pod_sets(name: str, shapes: Sequence[_Members]) -> Iterable[PodSet]:
    """One pod set per shape: workers, or workers/1 and workers/2. No sub-group has a slash in its name."""
    for number, one in enumerate(shapes, 1):
        yield PodSet(
            name if len(shapes) == 1 else f"{name}/{number}",
            len(one.waiting),
            one.shape,
            running=tuple(one.running),
            pods=tuple(one.waiting),
        )


def _count(members: Sequence[_Members]) -> int:
    return sum(len(one.waiting) + len(one.running) for one in members)


def _missing(entry: SubGroup, joined: _ByGroup) -> int:
    """How many pods have to be created before the minimums can be met."""
    if not entry.children:
        return max(0, (entry.min_member or 0) - _count(joined.get(entry.name, ())))
    each = sorted(_missing(child, joined) for child in entry.children)
    return sum(each[: entry.min_sub_group])


def _created(group: Field) -> float:
    stamp = group.at("metadata", "creationTimestamp").text()
    try:
        return parse(stamp) if stamp else 0.0
    except ValueError:
        return 0.0
