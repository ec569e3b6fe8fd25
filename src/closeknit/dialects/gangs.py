"""Gangs of every group dialect in one set of objects, and the dialects that a gang can be written in.

`check`, `place`, `explain` and `convert` read groups here, so what is refused, and in which words, is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from ..model.gang import Dialect, Gang
from ..model.topology import Topology
from .field import Field
from .gang_reading import GangReading, Nodes
from .grove import pod_gangs as grove
from .kai.admin import POD_GROUP
from .kai.claims import claimed
from .kai.grouper import group_objects
from .kai.writing import write_gang as to_kai
from .kueue.admin import TOPOLOGY as KUEUE_TOPOLOGY
from .kueue.jobs.identity import ObjectIdentity
from .kueue.jobs.train_job import RUNTIMES
from .kueue.writing import write_gang as to_kueue
from .upstream import reading as upstream
from .upstream.writing import write_gang as to_upstream
from .volcano import reading as volcano
from .volcano.writing import write_gang as to_volcano
from .written_gang import Topologies, WrittenGang

KINDS_BY_DIALECT: Mapping[Dialect, tuple[tuple[str, str], ...]] = {
    "kai": (POD_GROUP,),
    "kubernetes": upstream.KINDS,
    "volcano": volcano.KINDS,
    "grove": grove.KINDS,
}
"""API group and kind of the objects that describe gangs and their topologies, besides pods."""
KINDS = frozenset(kind for kinds in KINDS_BY_DIALECT.values() for kind in kinds)


NOT_PLACED = ("Topology", "Queue", *RUNTIMES)
"""Kinds of KAI's share that have no pods."""

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
    like_kai: bool = False,
) -> GangReading:
    """The gangs among these objects, each given with its file; jobs and pods that KAI places are grouped first.

    Without nodes nothing is checked that depends on the cluster: the tiers and topologies that gangs name. `topologies`
    are further ones that are known. `like_kai` groups as KAI does.
    """
    shares = Shares(objects)
    grouped = group_objects(shares.kai, like_kai, nodes is not None)
    known = {**(topologies or {}), **grouped.topologies}
    return (
        GangReading(tuple(grouped.gangs), grouped.topologies, tuple(grouped.mistakes), tuple(grouped.warnings))
        | upstream.read_gangs(shares.of(upstream.KINDS), shares.pods)
        | volcano.read_gangs(shares.of(volcano.KINDS), shares.pods, nodes)
        | grove.read_gangs(shares.of(grove.KINDS), shares.pods, known, nodes is not None)
    )


class Shares:
    """Objects by the dialect that reads them: `kai` are those of KAI, `others` those that no group dialect reads.

    `pods` are those that KAI does not group: the other dialects pick theirs.
    """

    def __init__(self, objects: Iterable[Found]) -> None:
        every = [(one, ObjectIdentity.of(*one)) for one in objects]
        listed = {key for one, identity in every if identity.kind == "PodGang" for key in grove.listed_pods(one[1])}
        joined = {id(one[1]) for one, identity in every if _joins(identity, listed)}
        self.kai = claimed([one for one, _ in every if id(one[1]) not in joined])
        taken = {id(raw) for _, raw in self.kai} - {
            id(one[1]) for one, identity in every if (identity.group, identity.kind) == KUEUE_TOPOLOGY
        }
        self._found = [identity for one, identity in every if id(one[1]) not in taken]
        self.pods = self.of([("", "Pod")])
        taken |= joined
        self.others = [
            one for one, identity in every if id(one[1]) not in taken and (identity.group, identity.kind) not in KINDS
        ]

    @property
    def has_groups(self) -> bool:
        """Whether there is something that a group dialect places: not only topologies and queues."""
        made = (ObjectIdentity.of(*one) for one in self.kai)
        return any((one.group, one.kind) in KINDS for one in self._found) or any(
            one.kind not in NOT_PLACED for one in made
        )

    def of(self, kinds: Iterable[tuple[str, str]]) -> list[Field]:
        wanted = frozenset(kinds)
        return [one.field for one in self._found if (one.group, one.kind) in wanted]


def _joins(identity: ObjectIdentity, listed: Container[str]) -> bool:
    """Whether it is a pod that names a group of Kubernetes or Volcano, or that a PodGang lists."""
    if (identity.group, identity.kind) != ("", "Pod"):
        return False
    pod = Field.root(identity.field.value)  # mistakes in it are found where it is read
    return bool(upstream.joins(pod) or volcano.joins(pod)) or f"{identity.namespace}/{identity.name}" in listed


def node_labels(objects: Iterable[Found]) -> dict[str, dict[str, str]]:
    """The labels of the Nodes among these objects, by name."""
    found = (ObjectIdentity.of(where, raw) for where, raw in objects)
    nodes = [one.field for one in found if (one.group, one.kind) == ("", "Node")]
    return {one.at("metadata", "name").text(): one.at("metadata", "labels").strings() for one in nodes}
