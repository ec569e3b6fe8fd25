"""Plain pods: single ones, or a group that is placed as a whole.

The pods of a group have its name in a label and its number of pods in an annotation. Pods of one shape are one pod set,
which is named by a hash of that shape; so the order of pod sets has no meaning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ....model.gates import Gates
from ....model.request import Ranks
from ....model.shape import Shape
from ...field import Field
from ...pod_template import read_shape
from .. import keys
from ..topology_request import AnnotationError, Grouped, parse_int32
from ..validation import template_mistakes
from .identity import ObjectIdentity
from .roles import MAIN, MAX_POD_SETS, Role, ValidationRules, pod_sets

RANKS = Ranks(keys.POD_GROUP_INDEX)


def group_name(pod: ObjectIdentity) -> str:
    """The name of the pod's group; empty if it is in none."""
    meta = pod.field.at("metadata")
    return meta.at("labels", keys.POD_GROUP).text() or meta.at("annotations", keys.POD_GROUP).text()


def is_waiting(pod: ObjectIdentity) -> bool:
    """Whether the pod has to be placed: it is neither bound nor ended, nor comes to its node from a DaemonSet."""
    ended = pod.field.at("status", "phase").value in ("Succeeded", "Failed")
    return not pod.field.at("spec", "nodeName").value and not ended and not is_of_daemon_set(pod)


def is_of_daemon_set(pod: ObjectIdentity) -> bool:
    """Whether a DaemonSet controls the pod, which then belongs to its node and never waits in a queue."""
    owners = pod.field.at("metadata", "ownerReferences").items()
    return any(one.at("controller").value is True and one.at("kind").value == "DaemonSet" for one in owners)


def lone_pod(pod: ObjectIdentity, gates: Gates) -> list[Grouped]:
    total = pod.field.at("metadata", "annotations", keys.POD_GROUP_COUNT)
    if total.given:
        total.wrong("requires a group", f"add the label {keys.POD_GROUP}")
    return pod_sets([Role(MAIN, 1, pod.field, RANKS)], ValidationRules.NONE, gates, pod.field.report)


def pod_group(pods: Sequence[ObjectIdentity], gates: Gates) -> list[Grouped]:
    """One pod set per role, sorted by name; the topology request is that of the role's first pod, as in Kueue."""
    total = _total(pods)
    roles: dict[str, list[ObjectIdentity]] = {}
    for pod in pods:
        roles.setdefault(_role(pod.field), []).append(pod)
        if len(roles) > MAX_POD_SETS:
            pod.field.wrong(f"is of shape number {len(roles)} in its group", f"a group allows at most {MAX_POD_SETS}")
            return []
    if len(roles) > 1 or not _starts_fast(pods[0]):
        _check_number(pods, total)
        counts = {role: len(members) for role, members in roles.items()}
    else:
        counts = dict.fromkeys(roles, total)
    sets: list[Grouped] = []
    for role in sorted(roles):
        first, *others = (Role(role, counts[role], pod.field, RANKS) for pod in roles[role])
        for other in others:
            other.template.report.add(template_mistakes(other.annotations(gates), gates, other.at))
        sets += pod_sets([first], ValidationRules.NONE, gates, first.template.report)
    return sets


def group_templates(pods: Sequence[ObjectIdentity]) -> dict[str, Field]:
    """The first pod of each role, sorted like the pod sets."""
    first: dict[str, Field] = {}
    for pod in pods:
        first.setdefault(_role(pod.field), pod.field)
    return dict(sorted(first.items()))


def _role(pod: Field) -> str:
    """The name of the pod's pod set: its role hash annotation, or else a hash of its shape."""
    shape = read_shape(pod.at("spec"))
    written = pod.at("metadata", "annotations", keys.ROLE_HASH).text()
    return written or role_hash(shape)


def role_hash(shape: Shape | None) -> str:
    """A name for all pods of this shape. Running groups have it as a pod set name, so it must never change."""
    text = "None"
    if shape is not None:
        text = (
            f"Shape(requests={shape.requests!r}, selector={shape.selector!r}, tolerations={shape.tolerations!r}, "
            f"required={shape.required!r}, preferred={shape.preferred!r})"
        )
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _total(pods: Sequence[ObjectIdentity]) -> int:
    """The group's number of pods; reports pods that disagree about it, or about the queue."""
    totals = [_total_count(pod) for pod in pods]
    queues = [pod.field.at("metadata", "labels", keys.QUEUE).text() for pod in pods]
    for pod, total, queue in zip(pods, totals, queues, strict=True):
        if total and totals[0] and total != totals[0]:
            field = pod.field.at("metadata", "annotations", keys.POD_GROUP_COUNT)
            field.wrong(
                f"is {total}, but {pods[0].what} has {totals[0]}", "use the same number for all pods of the group"
            )
        if queue != queues[0]:
            field = pod.field.at("metadata", "labels", keys.QUEUE)
            field.wrong(
                f'is "{queue}", but {pods[0].what} has "{queues[0]}"', "use the same queue for all pods of the group"
            )
    return totals[0]


def _total_count(pod: ObjectIdentity) -> int:
    field = pod.field.at("metadata", "annotations", keys.POD_GROUP_COUNT)
    if not field.given:
        field.wrong("is missing", "set the number of pods in the group")
        return 0
    text = field.text()
    try:
        total = parse_int32(text) if text else 0
    except AnnotationError as error:
        field.wrong(error.text, error.remedy)
        return 0
    if total < 1:
        field.wrong(f'is "{text}"', "set the number of pods in the group")
    return max(total, 0)


def _check_number(pods: Sequence[ObjectIdentity], total: int) -> None:
    """Check that all pods of the group are here, since it is placed as a whole."""
    if total and len(pods) != total:
        field = pods[0].field.at("metadata", "annotations", keys.POD_GROUP_COUNT)
        number = "1 pod" if len(pods) == 1 else f"{len(pods)} pods"
        field.wrong(f"is {total}, but the group has {number}", "add the missing pods, or correct the number")


def _starts_fast(pod: ObjectIdentity) -> bool:
    """Whether fast admission is on: the first pod represents all that are still to be created."""
    return pod.field.at("metadata", "annotations", keys.FAST_ADMISSION).text() == "true"
