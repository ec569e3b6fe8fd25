"""Counts for a few states, without arrays: after a node has changed, one state is new, and arrays of one row are slow.

Only for pods whose every step fits a single zone or is refused, which is most of them.
"""

from __future__ import annotations

from .zone_columns import LayoutFamily
from .zone_plan import DemandPlan

FEW = 4
"""Up to so many states are counted one by one."""


def count_alone(family: LayoutFamily, plan: DemandPlan, row: int, most: int) -> int:
    """How many pods a row admits, at most `most`; -1 where sets of zones have to be looked at."""
    if not plan.adds_up or plan.policy == "best-effort" or not _is_by_zone(family, plan, row):
        return -1
    by_slot = [family.free[slot, row].tolist() for slot in plan.slots]
    zones = [[free[plan.zones[zone]] for free in by_slot] for zone in plan.order.tolist()]
    for pod in range(most):
        for needs, allowed in plan.needs:
            for zone, may in zip(zones, allowed, strict=True):
                if may and all(zone[slot] >= size for slot, size in needs):
                    for slot, size in needs:
                        zone[slot] -= size
                    break
            else:
                return pod
    return most


def _is_by_zone(family: LayoutFamily, plan: DemandPlan, row: int) -> bool:
    """Whether the row uses single zones only: no groups, and nothing that takes several zones on an empty machine."""
    if any(group & (group - 1) for group in family.group[row].tolist()):
        return False
    if plan.policy == "single-numa-node":
        return True
    by_zone = family.size[list(plan.slots), row].T.tolist()
    return all(any(all(zone[slot] >= size for slot, size in needs) for zone in by_zone) for needs, _ in plan.needs)
