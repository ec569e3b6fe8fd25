"""What a node's zones have free as one state, from the readings of its report.

    readings ── bound pods whose zones are unknown ──▶ states ── least ──▶ number
                as the kubelet would choose them

Where a report can be read in several ways, only what is free in all of them is free. A reading of an earlier report
counts only while the node is laid out as it was: a kubelet that was reconfigured has other zones or other limits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ...numa.admitting import Admitting
from ...numa.layout import KubeletRules
from ...numa.zone_state import ZonedAmounts
from .readings import Readings, ZoneReading
from .zone_states import NO_ZONES, Zoned


class BoundState(NamedTuple):
    """`placed` are the zones assumed for pods whose zones are unknown, by uid."""

    number: int = NO_ZONES
    placed: Mapping[str, Zoned] = {}


def bound_state(
    admissions: Admitting, readings: Readings, rules: KubeletRules, located: Collection[ZonedAmounts] = ()
) -> BoundState:
    """The state of a node with the pods that are bound to it; `NO_ZONES` if it has no report.

    `located` are pods whose zones are known. A reading has their amounts, but not the groups of zones of their memory.
    """
    numbers, placed = [], dict[str, Zoned]()
    for one in readings.every:
        number, given = _of_reading(admissions, one, rules, located)
        numbers.append(number)
        placed.update(given)
    if not numbers:
        return BoundState()
    return BoundState(admissions.least_of(numbers), placed)


def _of_reading(
    admissions: Admitting, one: ZoneReading, rules: KubeletRules, located: Iterable[ZonedAmounts]
) -> tuple[int, dict[str, Zoned]]:
    number, given = admissions.reported(one.zones, rules), dict[str, Zoned]()
    for pod_has in located:
        if pod_has.groups:
            number = admissions.charge(number, ZonedAmounts(groups=pod_has.groups))
    for pod in one.unplaced:
        number, given[pod.uid] = admissions.fill(number, pod.demand, 1)
    return number, given
