"""`resourceGroups` of ClusterQueues and Cohorts, and the usage that queues report in their status."""

from __future__ import annotations

from collections.abc import Iterable

from ....model.quota import FlavorQuotas, Quota, ResourceGroup
from ....model.resources import amount
from ... import core
from .wire import Wire


class WireQuota(Wire, frozen=True):
    """A quota on the wire. An absent limit means no limit, unlike a limit of 0."""

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
    """Usage of a resource; only ClusterQueues report `borrowed`."""

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
