"""What a group dialect makes of objects: gangs, the topologies that they name, and the mistakes in the rest.

Every dialect has a function `read_gangs` with this result, and every command reads groups through `gangs.read_gangs`,
which joins them: so the same mistake has the same words everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..model.gang import Gang
from ..model.mistake import Mistake
from ..model.topology import Topology
from ..model.workload import LONG_AGO
from .field import Field
from .timestamps import parse

Nodes = Mapping[str, Mapping[str, str]]
"""The labels of each node, by its name."""

T = TypeVar("T")


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
