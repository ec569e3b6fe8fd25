"""Gangs of every group dialect in one set of objects, and the dialects that a gang can be written in.

`check`, `place`, `explain` and `convert` read groups here, so what is refused, and in which words, is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..model.gang import Dialect, Gang
from ..model.topology import Topology
from .field import Field
from .gang_reading import GangReading, Nodes
from .grove import pod_gangs as grove
from .kai import reading as kai
from .kai.admin import POD_GROUP, TOPOLOGIES, known_topologies
from .kai.writing import write_gang as to_kai
from .kueue.jobs.identity import ObjectIdentity
from .kueue.writing import write_gang as to_kueue
from .upstream import reading as upstream
from .upstream.writing import write_gang as to_upstream
from .volcano import reading as volcano
from .volcano.writing import write_gang as to_volcano
from .written_gang import Topologies, WrittenGang

KINDS_BY_DIALECT: Mapping[Dialect, tuple[tuple[str, str], ...]] = {
    "kai": kai.KINDS,
    "kubernetes": upstream.KINDS,
    "volcano": volcano.KINDS,
    "grove": grove.KINDS,
}
"""API group and kind of the objects that describe gangs and their topologies, besides pods."""
KINDS = frozenset(kind for kinds in KINDS_BY_DIALECT.values() for kind in kinds)


Found = tuple[str, dict[str, Any]]
"""An object, with the name of its file."""
Writer = Callable[[Gang, Topologies], WrittenGang]
WRITERS: Mapping[str, Writer] = {"kai": to_kai, "upstream": to_upstream, "volcano": to_volcano, "kueue": to_kueue}
SAME = {"kubernetes": "upstream"}
"""The target in whose dialect a gang is already, where the two have different names."""


def read_gangs(
    objects: Iterable[Found],
    nodes: Nodes | None = None,
    topologies: dict[str, Topology] | None = None,
) -> GangReading:
    """The gangs among these objects, each given with its file; other kinds are left out.

    Without nodes nothing is checked that depends on the cluster: the tiers and topologies that gangs name. `topologies`
    are further ones that are known.
    """
    objects = list(objects)
    found = [ObjectIdentity.of(where, raw) for where, raw in objects]
    pods = _of(found, [("", "Pod")])
    laid = [one for one, identity in zip(objects, found, strict=True) if (identity.group, identity.kind) in TOPOLOGIES]
    known = {**(topologies or {}), **(known_topologies(laid) or {})}
    return (
        _of_kai(objects, found, laid)
        | upstream.read_gangs(_of(found, upstream.KINDS), pods)
        | volcano.read_gangs(_of(found, volcano.KINDS), pods, nodes)
        | grove.read_gangs(_of(found, grove.KINDS), pods, known, nodes is not None)
    )


def _of_kai(objects: Sequence[Found], found: Sequence[ObjectIdentity], laid: Sequence[Found]) -> GangReading:
    """The gangs of KAI, whose reader takes raw objects."""
    given: dict[tuple[str, str], list[Found]] = {POD_GROUP: [], ("", "Pod"): []}
    for one, identity in zip(objects, found, strict=True):
        given.get((identity.group, identity.kind), []).append(one)
    return kai.read_gangs(given[POD_GROUP], laid, given["", "Pod"])


def node_labels(objects: Iterable[Found]) -> dict[str, dict[str, str]]:
    """The labels of the Nodes among these objects, by name."""
    nodes = _of([ObjectIdentity.of(where, raw) for where, raw in objects], [("", "Node")])
    return {one.at("metadata", "name").text(): one.at("metadata", "labels").strings() for one in nodes}


def _of(found: Iterable[ObjectIdentity], kinds: Iterable[tuple[str, str]]) -> list[Field]:
    wanted = frozenset(kinds)
    return [one.field for one in found if (one.group, one.kind) in wanted]
