"""`resourceGroups`, which ClusterQueues and Cohorts have alike, and what queues say of their use."""

from __future__ import annotations

from collections.abc import Iterable

from ....model.quota import FlavorQuotas, Quota, ResourceGroup
from ....model.resources import amount
from ... import core
from .wire import Wire


class WireQuota(Wire, frozen=True):
    """No limit is another thing than a limit of 0."""

    name: str = ""
    nominal_quota: core.Quantity = "0"
    borrowing_limit: core.Quantity | None = None
    lending_limit: core.Quantity | None = None


class WireFlavorQuotas(Wire, frozen=True):
    name: str = ""
    resources: tuple[WireQuota, ...] = ()


class WireGroup(Wire, frozen=True):
    covered_resources: tuple[str, ...] = ()
    flavors: tuple[WireFlavorQuotas, ...] = ()


class ResourceUsage(Wire, frozen=True):
    """Only ClusterQueues say what is borrowed."""

    name: str = ""
    total: core.Quantity = "0"
    borrowed: core.Quantity | None = None


class FlavorUsage(Wire, frozen=True):
    name: str = ""
    resources: tuple[ResourceUsage, ...] = ()


def resource_groups(wire: Iterable[WireGroup]) -> tuple[ResourceGroup, ...]:
    return tuple(
        ResourceGroup(group.covered_resources, tuple(_flavor_quotas(flavor) for flavor in group.flavors))
        for group in wire
    )


def _flavor_quotas(wire: WireFlavorQuotas) -> FlavorQuotas:
    return FlavorQuotas(wire.name, {one.name: _quota(one) for one in wire.resources})


def _quota(wire: WireQuota) -> Quota:
    return Quota(
        amount(wire.name, wire.nominal_quota),
        None if wire.borrowing_limit is None else amount(wire.name, wire.borrowing_limit),
        None if wire.lending_limit is None else amount(wire.name, wire.lending_limit),
    )
