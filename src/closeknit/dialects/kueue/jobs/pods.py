"""Plain pods: alone, or as a group that is placed whole.

Pods of a group name it in a label and say how many they are in an annotation. Pods of one shape are one pod set,
which is named by a hash of that shape; so the order of pod sets says nothing.
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
from .identity import Identity
from .roles import MAIN, MAX_POD_SETS, Role, Rules, pod_sets

RANKS = Ranks(keys.POD_GROUP_INDEX)


def group_name(pod: Identity) -> str:
    """The group that this pod belongs to; empty if it is alone."""
    meta = pod.field.at("metadata")
    return meta.at("labels", keys.POD_GROUP).text() or meta.at("annotations", keys.POD_GROUP).text()


def is_waiting(pod: Identity) -> bool:
    """Not bound to a node and not ended: there is something to place."""
    ended = pod.field.at("status", "phase").value in ("Succeeded", "Failed")
    return not pod.field.at("spec", "nodeName").value and not ended


def lone_pod(pod: Identity, gates: Gates) -> list[Grouped]:
    total = pod.field.at("metadata", "annotations", keys.POD_GROUP_COUNT)
    if total.given:
        total.wrong("stands without a group", f"add the label {keys.POD_GROUP}")
    return pod_sets([Role(MAIN, 1, pod.field, RANKS)], Rules.NONE, gates, pod.field.report)


def pod_group(pods: Sequence[Identity], gates: Gates) -> list[Grouped]:
    """One pod set a role, sorted by name; the first pod of a role speaks for its topology, as in Kueue."""
    total = _total(pods)
    roles: dict[str, list[Identity]] = {}
    for pod in pods:
        roles.setdefault(_role(pod.field), []).append(pod)
        if len(roles) > MAX_POD_SETS:
            pod.field.wrong(f"is of shape number {len(roles)} in its group", f"a group takes at most {MAX_POD_SETS}")
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
        sets += pod_sets([first], Rules.NONE, gates, first.template.report)
    return sets


def group_templates(pods: Sequence[Identity]) -> dict[str, Field]:
    """The pod that speaks for each role, sorted as pod sets are."""
    first: dict[str, Field] = {}
    for pod in pods:
        first.setdefault(_role(pod.field), pod.field)
    return dict(sorted(first.items()))


def _role(pod: Field) -> str:
    """What makes pods one pod set: a hash that someone wrote down, or one of their shape."""
    shape = read_shape(pod.at("spec"))
    written = pod.at("metadata", "annotations", keys.ROLE_HASH).text()
    return written or role_hash(shape)


def role_hash(shape: Shape | None) -> str:
    """A name for all pods of this shape. Pod sets of running groups have it, so its text must never change."""
    text = "None"
    if shape is not None:
        text = (
            f"Shape(requests={shape.requests!r}, selector={shape.selector!r}, tolerations={shape.tolerations!r}, "
            f"required={shape.required!r}, preferred={shape.preferred!r})"
        )
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _total(pods: Sequence[Identity]) -> int:
    """How many pods the group says it has; all must say the same, and wait in the same queue."""
    totals = [_said(pod) for pod in pods]
    queues = [pod.field.at("metadata", "labels", keys.QUEUE).text() for pod in pods]
    for pod, total, queue in zip(pods, totals, queues, strict=True):
        if total and totals[0] and total != totals[0]:
            field = pod.field.at("metadata", "annotations", keys.POD_GROUP_COUNT)
            field.wrong(f"is {total}, but {pods[0].what} says {totals[0]}", "give all pods of the group one number")
        if queue != queues[0]:
            field = pod.field.at("metadata", "labels", keys.QUEUE)
            field.wrong(f'is "{queue}", but {pods[0].what} has "{queues[0]}"', "put the whole group into one queue")
    return totals[0]


def _said(pod: Identity) -> int:
    field = pod.field.at("metadata", "annotations", keys.POD_GROUP_COUNT)
    if not field.given:
        field.wrong("is missing", "say how many pods the group has")
        return 0
    text = field.text()
    try:
        total = parse_int32(text) if text else 0
    except AnnotationError as error:
        field.wrong(error.text, error.remedy)
        return 0
    if total < 1:
        field.wrong(f'is "{text}"', "give the number of pods in the group")
    return max(total, 0)


def _check_number(pods: Sequence[Identity], total: int) -> None:
    """A group is placed whole, so all of it must be here."""
    if total and len(pods) != total:
        field = pods[0].field.at("metadata", "annotations", keys.POD_GROUP_COUNT)
        number = "1 pod" if len(pods) == 1 else f"{len(pods)} pods"
        field.wrong(f"is {total}, but the group has {number}", "give all of its pods, or the right number")


def _starts_fast(pod: Identity) -> bool:
    """Whether the first pod stands for all that are still to come."""
    return pod.field.at("metadata", "annotations", keys.FAST_ADMISSION).text() == "true"
