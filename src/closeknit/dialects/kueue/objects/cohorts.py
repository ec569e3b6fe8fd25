"""Cohort: ClusterQueues that lend quota to each other, and quota that they share."""

from __future__ import annotations

from ....model.quota import Cohort
from .quotas import WireGroup, resource_groups
from .wire import FairShare, FairSharing, Raw, Wire, WireCondition, WireMeta, convert, reader, weight


class CohortSpec(Wire, frozen=True):
    parent_name: str | None = None
    resource_groups: tuple[WireGroup, ...] = ()
    fair_sharing: FairSharing | None = None


class CohortStatus(Wire, frozen=True):
    conditions: tuple[WireCondition, ...] = ()
    fair_sharing: FairShare | None = None


class WireCohort(Wire, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: CohortSpec = CohortSpec()
    status: CohortStatus = CohortStatus()


@reader
def cohort(raw: Raw) -> Cohort:
    wire = convert(raw, WireCohort)
    groups = resource_groups(wire.spec.resource_groups)
    return Cohort(wire.metadata.name, wire.spec.parent_name or "", groups, weight(wire.spec.fair_sharing))
