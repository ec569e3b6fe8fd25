"""Validation of KAI's objects, each by itself; names of topologies are checked where some are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..field import Field
from ..kueue.admin import TOPOLOGY as KUEUE_TOPOLOGY
from ..kueue.jobs.identity import ObjectIdentity
from . import keys
from .levels import check_topology, topology_of
from .pod_group import Topologies, read_pod_group
from .queue import check_queue

TOPOLOGY = (keys.TOPOLOGY_GROUP, "Topology")
TOPOLOGIES = (TOPOLOGY, KUEUE_TOPOLOGY)
POD_GROUP = (keys.GROUP, "PodGroup")
QUEUE = (keys.GROUP, "Queue")

Found = tuple[str, dict[str, Any]]
Checks = dict[tuple[str, str], Callable[[Field], None]]


def checks(topologies: Topologies | None = None) -> Checks:
    """By API group and kind."""

    def check_pod_group(group: Field) -> None:
        read_pod_group(group, topologies)

    return {
        TOPOLOGY: check_topology,
        POD_GROUP: check_pod_group,
        QUEUE: check_queue,
    }


def known_topologies(objects: Iterable[Found]) -> Topologies | None:
    """The valid Topologies among these objects, None if there are none. Of one name, KAI's comes before Kueue's."""
    identities = [ObjectIdentity.of(where, raw) for where, raw in objects]
    found = {}
    for kind in (KUEUE_TOPOLOGY, TOPOLOGY):
        for one in identities:
            if (one.group, one.kind) == kind and (topology := topology_of(one.field)) is not None:
                found[topology.name] = topology
    return found or None
