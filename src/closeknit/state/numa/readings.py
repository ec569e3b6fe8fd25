"""What is free in the zones of a node, read from a report and what is known to have happened since.

A reading takes the report as accounting for certain pods: what came since is charged, what went is given back. If it is
not known which pods the report accounts for, there are several readings, and whatever is promised must fit in each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...model.numa import AmountsByZone, NodeZones, Zone, ZoneAmounts
from .bound_pod import AccountedPod

MOST_READINGS = 4

Amounts = Counter[tuple[int, str]]
"""By zone id and resource."""


@dataclass(frozen=True, slots=True)
class ZoneReading:
    """The zones with what is available now. `unplaced` are pods to be charged whose zones are unknown, in
    the order in which they were bound, as far as that is known."""

    zones: NodeZones
    unplaced: tuple[AccountedPod, ...] = ()


class Readings(NamedTuple):
    """`every`: whatever is promised must fit in each; none if the node has no report. `why` is a sentence.

    `is_known`: there is one reading, of a report that is known to account for certain pods.
    """

    every: tuple[ZoneReading, ...]
    why: str
    is_known: bool = False


Placed = tuple[AccountedPod, AmountsByZone | None]
"""A pod and its zones, if they are known."""


def reading(report: NodeZones, came: Iterable[Placed], went: Iterable[Placed]) -> ZoneReading:
    """The report less the pods that came, plus those that went. Pods that went from unknown zones free nothing."""
    charged, freed, unplaced = Amounts(), Amounts(), []
    for pod, zones in came:
        if zones is None:
            unplaced.append(pod)
        else:
            charged.update(_flat(zones))
    for _, zones in went:
        freed.update(_flat(zones or {}))
    unplaced.sort(key=lambda pod: (pod.since or 0.0, pod.key, pod.uid))
    return ZoneReading(adjusted(report, charged, freed), tuple(unplaced))


def adjusted(report: NodeZones, charged: Amounts, freed: Amounts) -> NodeZones:
    """The report with more available, up to what is allocatable, and then less, down to 0."""
    if not charged and not freed:
        return report
    return replace(report, zones=tuple(_adjusted(zone, charged, freed) for zone in report.zones))


def _adjusted(zone: Zone, charged: Amounts, freed: Amounts) -> Zone:
    resources = {
        name: one._replace(
            available=max(0, min(one.available + freed[zone.id, name], _most(one)) - charged[zone.id, name])
        )
        for name, one in zone.resources.items()
    }
    return replace(zone, resources=resources)


def _most(one: ZoneAmounts) -> int:
    return max(one.allocatable, one.available)


def _flat(zones: AmountsByZone) -> dict[tuple[int, str], int]:
    return {(zone, name): value for zone, amounts in zones.items() for name, value in amounts.items()}


def distinct(readings: Iterable[ZoneReading]) -> tuple[ZoneReading, ...]:
    """Each reading once; many are replaced by one that has the least of each."""
    found: list[ZoneReading] = []
    for one in readings:
        if one not in found:
            found.append(one)
    return tuple(found) if len(found) <= MOST_READINGS else (_least(found),)


def _least(readings: list[ZoneReading]) -> ZoneReading:
    """What is available in every reading, with every pod that is unplaced in any."""
    first = readings[0].zones
    others = [_available(one.zones) for one in readings]
    charged = Amounts({key: value - min(other.get(key, 0) for other in others) for key, value in others[0].items()})
    unplaced = {pod.uid: pod for other in readings for pod in other.unplaced}
    return ZoneReading(adjusted(first, charged, Amounts()), tuple(unplaced.values()))


def _available(zones: NodeZones) -> dict[tuple[int, str], int]:
    return {(zone.id, name): one.available for zone in zones.zones for name, one in zone.resources.items()}


def have_same_amounts(one: NodeZones, other: NodeZones) -> bool:
    return _available(one) == _available(other)
