"""Checking an installation's health: a series of checks, each of which reports what it found and the remedy.

    versions ▶ definitions ▶ policies ▶ permissions ▶ topology ▶ zones ▶ queues ▶ controller ▶ kueue ▶ kinds

Nothing is changed. A check that lacks permissions reports that, and the others continue.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from time import time
from types import ModuleType

from ...cluster.errors import Forbidden, Refused
from ...cluster.kube.client import Client
from ...cluster.kube.discovery import served
from .. import kinds as server
from ..objects import InstallOptions
from ..rbac import CLUSTER_WIDE
from . import controller, definitions, kueue, permissions, policies, queues, served_kinds, topology, versions, zones
from .finding import Finding, FindingLevel, Patient, ZonesAsker, warning

__all__ = ["ON_ANY_HOST", "Finding", "FindingLevel", "examine"]

CHECKS = (versions, definitions, policies, permissions, topology, zones, queues, controller, kueue, served_kinds)
ON_ANY_HOST = (topology, zones, queues)
"""Checks that need no installation."""
ASKED = frozenset({*server.POLICIES, *server.OLDER.values(), *(kind for grant in CLUSTER_WIDE for kind in grant.kinds)})


async def examine(
    client: Client,
    wishes: InstallOptions,
    command: Callable[..., str],
    now: Callable[[], float] = time,
    checks: Sequence[ModuleType] = CHECKS,
    zones_of: ZonesAsker | None = None,
) -> AsyncIterator[Finding]:
    patient = Patient(client, await served(client, ASKED), wishes, now, command, zones_of)
    for one in checks:
        try:
            async for finding in one.check(patient):
                yield finding
        except Refused as refused:
            remedy = "run it as a user with that permission" if isinstance(refused, Forbidden) else ""
            yield warning(one.CHECK, f"cannot be checked: {refused.message}", remedy)
