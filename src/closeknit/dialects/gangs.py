"""Gangs of every group dialect in one set of objects.

`check`, `place`, `explain` and `convert` read groups here, so what is refused, and in which words, is the same for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..model.topology import Topology
from .field import Field
from .gang_reading import GangReading, Nodes
from .grove import pod_gangs as grove
from .kueue.jobs.identity import ObjectIdentity
from .upstream import reading as upstream
from .volcano import reading as volcano

KINDS = frozenset((*grove.KINDS, *upstream.KINDS, *volcano.KINDS))
"""API group and kind of the objects that describe gangs and their topologies, besides pods."""


def read_gangs(
    objects: Iterable[tuple[str, dict[str, Any]]],
    nodes: Nodes | None = None,
    topologies: dict[str, Topology] | None = None,
) -> GangReading:
    """The gangs among these objects, each given with its file; other kinds are left out.

    Without nodes nothing is checked that depends on the cluster: the tiers and topologies that gangs name. `topologies`
    are further ones that are known.
    """
    found = [ObjectIdentity.of(where, raw) for where, raw in objects]
    pods = _of(found, [("", "Pod")])
    known = None if nodes is None else topologies or {}
    return (
        upstream.read_gangs(_of(found, upstream.KINDS), pods)
        | volcano.read_gangs(_of(found, volcano.KINDS), pods, nodes)
        | grove.read_gangs(_of(found, grove.KINDS), pods, known)
    )


def _of(found: Iterable[ObjectIdentity], kinds: Iterable[tuple[str, str]]) -> list[Field]:
    wanted = frozenset(kinds)
    return [one.field for one in found if (one.group, one.kind) in wanted]
