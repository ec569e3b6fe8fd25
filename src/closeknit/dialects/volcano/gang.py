"""The gang of a PodGroup or of a Job, once its tree of groups is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...model.gang import Gang
from ...model.request import Group, Request
from ..field import Field
from ..gang_reading import check_groups, created
from ..group_pods import key_of
from ..minimums import missing_pods
from . import keys


def succeeded(pods: Iterable[Field]) -> Counter[str]:
    """How many pods of each task have succeeded: they count for the minimums."""
    ended = (pod for pod in pods if pod.at("status", "phase").text() == "Succeeded")
    return Counter(pod.at("metadata", "labels", keys.TASK).text() for pod in ended)


def left(least: int, done: int) -> int:
    """What is left of a minimum."""
    return max(0, least - done)


def gang_of(one: Field, pods: Sequence[Field], tree: Group, notices: Iterable[str] = ()) -> Gang | None:
    """The gang; None if the object or one of its pods has mistakes."""
    stamp, spec = created(one), one.at("spec")
    check_groups(one, sum(1 + len(group.groups) for group in tree.groups))
    if one.report or any(pod.report for pod in pods):
        return None
    namespace, _, name = key_of(one).partition("/")
    return Gang(
        "volcano",
        namespace,
        name,
        Request((tree,)),
        queue=spec.at("queue").text("default"),
        priority_class=spec.at("priorityClassName").text(),
        created=stamp,
        missing=missing_pods(tree),
        notices=tuple(notices),
        kind=one.at("kind").text(),
        where=one.report.where,
    )
