"""What a group dialect makes of objects: gangs, the topologies that they name, and the mistakes in the rest.

Every dialect has a function `read_gangs` with this result, and every command reads groups through `gangs.read_gangs`,
which joins them: so the same mistake has the same words everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from ..model.gang import Gang
from ..model.mistake import Mistake
from ..model.nearest import did_you_mean
from ..model.request import MOST_GROUPS
from ..model.topology import Topology
from ..model.workload import LONG_AGO
from .field import Field
from .group_pods import key_of
from .kueue.jobs.identity import check_name
from .strictness import check_version
from .timestamps import parse

Nodes = Mapping[str, Mapping[str, str]]
"""The labels of each node, by its name."""

T = TypeVar("T")
SOME = 5
"""How many names are listed."""
MOST_COMPARED = 500
"""Among how many names the nearest to a misspelt one is looked for: there may be as many misspelt ones."""


@dataclass(frozen=True, slots=True)
class GangReading:
    """`warnings` are of objects that were read all the same."""

    gangs: tuple[Gang, ...] = ()
    topologies: Mapping[str, Topology] = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[Mistake, ...] = ()

    def __or__(self, other: GangReading) -> GangReading:
        return GangReading(
            self.gangs + other.gangs,
            {**self.topologies, **other.topologies},
            self.mistakes + other.mistakes,
            self.warnings + other.warnings,
        )


def reading(
    gangs: Iterable[Gang | None], fields: Iterable[Field], topologies: Mapping[str, Topology] | None = None
) -> GangReading:
    """The reading of these objects, with what their reports say; None stands for a gang with mistakes."""
    read = tuple(one for one in gangs if one is not None)
    reports = [one.report for one in fields]
    mistakes = tuple(mistake for report in reports for mistake in report.mistakes)
    warnings = tuple(warning for report in reports for warning in report.warnings)
    return GangReading(read, topologies or {}, mistakes, warnings)


def check_objects(objects: Iterable[Field], versions: Mapping[str, Collection[str]]) -> None:
    """Check what all objects have: a version of their kind, and a name that no other object of the kind has."""
    every = list(objects)
    for one in every:
        check_version(one, *versions[one.at("kind").text()])
        check_name(one.at("metadata"))
    check_names(every)


def check_names(objects: Iterable[Field]) -> None:
    """Report every object that has the kind and the name of one before it."""
    seen: set[tuple[str, str]] = set()
    for one in objects:
        kind, name = one.at("kind").text(), one.at("metadata", "name")
        key = kind, key_of(one)
        if key in seen and name.given:
            name.wrong(*same_name(kind))
        seen.add(key)


def same_name(kind: str) -> tuple[str, str]:
    """The mistake, and the remedy, of two objects of one kind that have one name."""
    return f"is the name of another {kind} too", "rename or remove one of the two"


def check_groups(one: Field, below: int) -> None:
    """Report a gang with more groups than are supported."""
    if below >= MOST_GROUPS:
        one.at("metadata", "name").wrong(f"has {below} groups below it", f"at most {MOST_GROUPS} are supported")


def near(given: str, known: Collection[str]) -> str:
    """A question to prepend to a remedy; empty if nothing comes close, or there are too many names to compare."""
    return did_you_mean(given, known) if len(known) <= MOST_COMPARED else ""


def some(names: Iterable[str]) -> str:
    """some("abcdefg") == "a, b, c, d, e, …" """
    first = list(islice(names, SOME + 1))
    return ", ".join(first[:SOME]) + (", …" if len(first) > SOME else "")


def by_namespace(known: Iterable[str]) -> dict[str, list[str]]:
    """The names of objects, given as namespace/name, by namespace."""
    found: dict[str, list[str]] = {}
    for space, _, name in (one.partition("/") for one in known):
        found.setdefault(space, []).append(name)
    return found


def refuse_lost(pods: Mapping[str, Sequence[Field]], known: Collection[str], kind: str, *path: str) -> None:
    """Report pods that wait for a group that is not there; a bound pod may outlive its group.

    `pods` are by namespace/name of their group, which the field at `path` names.
    """
    names = by_namespace(known)
    for key, members in pods.items():
        waiting = [pod for pod in members if not pod.at("spec", "nodeName").text()]
        if key in known or not waiting:
            continue
        namespace, _, name = key.partition("/")
        remedy = near(name, names.get(namespace, ())) + "create it, or correct the name"
        for pod in waiting:
            pod.at(*path).wrong(f"there is no {kind} {name}", remedy)


def created(group: Field) -> float:
    """When the object was created; long ago if it does not say so."""
    stamp = group.at("metadata", "creationTimestamp")
    try:
        return parse(stamp.text()) if stamp.given else LONG_AGO
    except ValueError:
        stamp.wrong("is not a time", "use one such as 2026-01-31T12:00:00Z")
        return LONG_AGO


def by(fields: Iterable[Field], key: Any) -> dict[str, list[Field]]:
    """The objects by a key; those for which it is empty are left out."""
    found: dict[str, list[Field]] = {}
    for one in fields:
        name = key(one)
        if name:
            found.setdefault(name, []).append(one)
    return found
