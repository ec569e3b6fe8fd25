"""`topologyConstraint` of a PodGang and its parts: levels as label keys, of the topology that the PodGang names.

The annotation `grove.io/topology-name` names a ClusterTopology, or a Topology that stands for it. Without it the keys
of a constraint are a topology of their own: the required label over the preferred one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...model.label_names import is_qualified_name
from ...model.nearest import did_you_mean
from ...model.request import Constraint
from ...model.topology import Topology, label_topology
from ..field import Field
from ..node_choice import LABEL_NAME
from ..strictness import READ, Tree

TOPOLOGY_NAME = "grove.io/topology-name"
FIELDS: Tree = {"packConstraint": {"required": READ, "preferred": READ}}

Topologies = Mapping[str, Topology]


def read_cluster_topology(raw: Field, known: Topologies) -> Topology:
    """A ClusterTopology as a topology of its label keys; another one of its name has to have the same levels."""
    levels = [level.at("key") for level in raw.at("spec", "levels").items()]
    if not levels:
        raw.at("spec", "levels").wrong("is missing", "list the levels, coarse to fine, each with domain and key")
    for number, key in enumerate(levels):
        if not is_qualified_name(key.text()):
            key.wrong(f"is {key.value or 'missing'}, not the key of a label", LABEL_NAME)
        if key.text() in [other.text() for other in levels[:number]]:
            key.wrong(f"{key.text()} is the key of two levels", "remove one of them")
    topology = Topology(raw.at("metadata", "name").text(), tuple(key.text() for key in levels))
    if known.get(topology.name, topology) != topology:
        raw.at("metadata", "name").wrong("is the name of a Topology with other levels", "rename one of the two")
    return topology


class Constraints:
    """Reads the constraints of one PodGang; `made` are the topologies of keys that no topology lists.

    `is_complete`: whether the known topologies are all there are, so that another name is a mistake.
    """

    def __init__(self, gang: Field, known: Topologies, is_complete: bool) -> None:
        self.made: dict[str, Topology] = {}
        self._name = gang.at("metadata", "annotations", TOPOLOGY_NAME)
        self._topology = known.get(self._name.text())
        self._is_checked = is_complete or self._topology is not None
        if self._name.text() and self._topology is None and is_complete:
            text = f"there is no topology {self._name.text()}"
            near = did_you_mean(self._name.text(), known)
            self._name.wrong(text, f"{near}give its ClusterTopology or Topology with the other files")

    def read(self, part: Field) -> Constraint | None:
        """The constraint of the gang, a group of its pod groups, or a pod group."""
        pack = part.at("topologyConstraint", "packConstraint")
        keys = pack.at("required"), pack.at("preferred")
        levels = tuple(key.text() for key in keys if key.text())
        if not levels:
            return None
        topology = self._topology_of(levels)
        unknown = [key for key in keys if key.text() and topology.level(key.text()) is None]
        if self._is_checked and unknown:
            _refuse(unknown, topology)
            return None
        required, preferred = (key.text() or None for key in keys)
        if self._is_checked and required and preferred and not _is_above(topology, required, preferred):
            text = f"{preferred} is above the required level {required}"
            keys[1].wrong(text, "prefer a level below the required one")
        return Constraint(required, preferred, topology=topology.name)

    def _topology_of(self, levels: tuple[str, ...]) -> Topology:
        if self._topology is not None:
            return self._topology
        if self._name.text():
            return Topology(self._name.text(), levels)
        own = label_topology(*dict.fromkeys(levels))
        return self.made.setdefault(own.name, own)


def _refuse(unknown: Sequence[Field], topology: Topology) -> None:
    for key in unknown:
        near = did_you_mean(key.text(), topology.levels)
        text = f"{topology.name} has no level {key.text()}"
        key.wrong(text, f"{near}its levels are {', '.join(topology.levels)}")


def _is_above(topology: Topology, required: str, preferred: str) -> bool:
    return topology.levels.index(required) <= topology.levels.index(preferred)
