"""An explanation as text: what was requested, what each level can hold, the obstacles, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ..engine.explain import ExclusionCause, Explanation, LevelView
from ..engine.remedy import Remedy
from ..model.number import number_of
from ..model.reason import Why
from .plan import wording
from .pod_zones import zone_lines, zone_notes_json


def diagnosis(name: str, found: Explanation) -> Iterator[str]:
    """The lines of an explanation."""
    yield f"{name} does not fit: {found.reason}"
    yield from details(found)
    if found.never is not None and found.levels:
        yield f"  it can never fit on this cluster, even if all usable nodes were empty: {found.never}"
    yield from remedy_lines(found.remedies)
    if not found.remedies and found.reason.why in (Why.NO_ROOM, Why.NO_ROOM_FOR_LAYERS, Why.NO_ROOM_FOR_REPLICAS):
        yield "  no change helped (tried tolerations, selectors, levels, fewer pods, other nodes)"


def details(found: Explanation) -> Iterator[str]:
    """The lines about the request, the levels and the obstacles."""
    asked = found.workers
    leader = "" if found.leader is None else f" and its leader {found.leader.name}"
    yield f"  requested: {number_of(asked.count, 'pod')} of {asked.name}{leader}, {wording(found.constraint)}"
    if found.levels:
        yield "  what each level can hold now:"
        yield from (f"    {line}" for line in level_lines(found.levels))
    if found.causes:
        are = "is" if found.leaves == 1 else "are"
        yield f"  obstacles ({number_of(found.leaves, 'node')} {are} ready and not cordoned):"
        width = max(len(cause.cause) for cause in found.causes)
        yield from (f"    {_cause(cause, width)}" for cause in found.causes)
    if found.zones is not None:
        yield from (f"  {line}" for line in zone_lines(found.zones))


def remedy_lines(remedies: Sequence[Remedy], command: Callable[..., str] = lambda *_: "") -> Iterator[str]:
    """`command` turns the words of a command into a line to type; empty if it cannot be typed here."""
    if remedies:
        yield "  any one of these would help (each was tried):"
    for remedy in remedies:
        line = _line(remedy, command)
        yield f"    * {remedy}" + (f": `{line}`" if line else "")


def _line(remedy: Remedy, command: Callable[..., str]) -> str:
    """The command that does what the remedy says, if there is one."""
    match remedy.kind:
        case "uncordon":
            return command("node", "uncordon", *remedy.nodes)
        case "maintenance":
            cancel = (word for name in remedy.windows for word in ("--cancel", name))
            return command("node", "maintain", *cancel)
    return ""


def level_lines(views: Sequence[LevelView]) -> Iterator[str]:
    """One line per level: how many of its domains hold the pods that have to be together."""
    width = max((len(view.level) for view in views), default=0)
    return (_level(view, width) for view in views)


def _level(view: LevelView, width: int) -> str:
    best = "/".join(view.best)
    hold = "holds" if view.holding == 1 else "hold"
    most = f"{best} holds the most: {view.pods}" if view.pods else "none has room for a single pod"
    text = f"{view.level:<{width}}  {view.holding} of {view.domains} {hold} {view.need}; {most}"
    if view.in_one_piece > view.pods:
        text += f" (fragmented: if contiguous, its free room would hold {view.in_one_piece})"
    if view.when_empty > view.pods:
        text += f"; on empty nodes at most {view.when_empty}"
    return text


def _cause(cause: ExclusionCause, width: int) -> str:
    cost = f", which would hold {number_of(cause.pods, 'pod')}" if cause.pods else ""
    return f"{cause.cause:<{width}}  {number_of(cause.leaves, 'node')}{cost}" + (
        f": {cause.detail}" if cause.detail else ""
    )


def diagnosis_json(found: Explanation) -> dict[str, Any]:
    return {
        "podSet": found.workers.name,
        "count": found.workers.count,
        "reason": str(found.reason),
        "usableNodes": found.leaves,
        "levels": levels_json(found.levels),
        "causes": [
            {"cause": cause.cause, "nodes": cause.leaves, "pods": cause.pods, "detail": cause.detail}
            for cause in found.causes
        ],
        "never": None if found.never is None else str(found.never),
        "remedies": remedies_json(found.remedies),
        **zone_notes_json(found.zones),
    }


def remedies_json(remedies: Sequence[Remedy]) -> list[dict[str, Any]]:
    return [
        {**{key: value for key, value in asdict(remedy).items() if value}, "text": str(remedy)} for remedy in remedies
    ]


def levels_json(views: Sequence[LevelView]) -> list[dict[str, Any]]:
    return [
        {
            "level": view.level,
            "domains": view.domains,
            "holding": view.holding,
            "best": {"path": list(view.best), "pods": view.pods, "inOnePiece": view.in_one_piece},
            **({"whenEmpty": view.when_empty} if view.when_empty >= 0 else {}),
        }
        for view in views
    ]
