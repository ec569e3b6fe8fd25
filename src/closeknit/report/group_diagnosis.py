"""Why a tree of groups does not fit, as text and as data: the group that stops it, its domains, and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..engine.groups.obstacle import CandidateDomain, GroupObstacle
from ..engine.groups.place import GroupResult
from ..engine.remedy import Remedy
from ..model.gang import Gang
from ..model.number import number_of
from .diagnosis import remedies_json, remedy_lines
from .group_plan import asks

SHOWN = 10


def refusal(gang: Gang, refused: GroupResult) -> str:
    """What is known in one line: that it does not fit, or only that it waits or that the search found no placement."""
    is_known = refused.is_proof and not gang.missing
    return f"{gang.title} does not fit: {refused.reason}" if is_known else f"{gang.title}: {refused.reason}"


def group_diagnosis(gang: Gang, refused: GroupResult, remedies: Sequence[Remedy], wide: bool = False) -> Iterator[str]:
    yield refusal(gang, refused)
    obstacle = refused.obstacle
    if obstacle is not None:
        yield from _stopped(obstacle, None if wide else SHOWN)
    if gang.missing:
        yield "  create them, or lower the minimum"
    elif not refused.is_proof:
        yield "  this is no proof that there is no placement: the search ended at its bound; raise it with --steps"
    yield from remedy_lines(remedies)
    if obstacle is not None and not remedies:
        yield "  no change helped (tried tolerations, cordoned nodes, levels, fewer groups and pods, more nodes)"


def _stopped(obstacle: GroupObstacle, most: int | None) -> Iterator[str]:
    part = obstacle.part
    needs = asks(part.group)
    of_set = f" of pod set {obstacle.pod_set}" if obstacle.pod_set else ""
    yield f"  stopped by: group {obstacle.group}, {number_of(obstacle.pods, 'pod')}{of_set}" + (
        f", {needs}" if needs else ""
    )
    if not obstacle.candidates:
        return
    where = f"each {obstacle.level}" if obstacle.level else "all nodes"
    yield f"  what {where} can hold of it, beside the groups that were placed before it:"
    width = max(len(_name(one)) for one in obstacle.candidates[:most])
    for one in obstacle.candidates[:most]:
        yield f"    {_name(one):<{width}}  {_held(one, obstacle.pods)}"
    if most is not None and len(obstacle.candidates) > most:
        yield f"    … and {len(obstacle.candidates) - most} more; -o wide shows them all"


def _name(one: CandidateDomain) -> str:
    return "/".join(one.path) or "the cluster"


def _held(one: CandidateDomain, need: int) -> str:
    text = f"{one.pods} of {number_of(need, 'pod')}"
    if one.alone > one.pods:
        text += f" ({one.alone} without those groups)"
    limits = ", ".join(f"{cause} on {number_of(count, 'node')}" for cause, count in one.limits.items())
    return f"{text}; limited by {limits}" if limits else text


def group_diagnosis_json(gang: Gang, refused: GroupResult, remedies: Sequence[Remedy]) -> dict[str, Any]:
    obstacle = refused.obstacle
    return {
        "obstacle": None if obstacle is None else _obstacle_json(obstacle),
        "missing": gang.missing,
        "remedies": remedies_json(remedies),
    }


def _obstacle_json(obstacle: GroupObstacle) -> dict[str, Any]:
    return {
        "group": obstacle.group,
        "podSet": obstacle.pod_set or None,
        "pods": obstacle.pods,
        "level": obstacle.level or None,
        "topology": obstacle.topology or None,
        "candidates": [
            {"domain": list(one.path), "pods": one.pods, "alone": one.alone, "limits": dict(one.limits)}
            for one in obstacle.candidates
        ],
    }
