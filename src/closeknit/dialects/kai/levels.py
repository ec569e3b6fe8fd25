"""Topology of `kai.scheduler/v1alpha1`, and the constraints that name its levels.

The object has the same model and rules as Kueue's. Of a constraint, `required` is the bound and `preferred` the goal
inside it, so `required` is the same level or a wider one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model.nearest import did_you_mean
from ...model.request import Constraint
from ...model.topology import Topology
from ..field import Field
from ..kueue.admin import check_topology, topology_of

__all__ = ["check_level", "check_topology", "read_constraint", "topology_of"]


def read_constraint(
    field: Field, above: str, topologies: Mapping[str, Topology] | None
) -> tuple[Constraint | None, str]:
    """The constraint, and the topology for entries below that name none; `above` is that of the entries around it."""
    required, preferred = (field.at(f"{word}TopologyLevel") for word in ("required", "preferred"))
    name = field.at("topology").text() or above
    if not required.text() and not preferred.text():
        if topologies is not None and field.at("topology").text():
            _known(field.at("topology"), name, topologies)
        return None, name
    if not name:
        field.wrong("names a level without a topology", "add topology: NAME, a Topology of kai.scheduler")
        return None, name
    topology = None if topologies is None else _known(field.at("topology"), name, topologies)
    if topology is not None:
        _check_levels(required, preferred, topology)
    return Constraint(required.text() or None, preferred.text() or None, topology=name), name


def _known(field: Field, name: str, topologies: Mapping[str, Topology]) -> Topology | None:
    if name not in topologies:
        text = f'is "{name}", which is not a Topology among the objects'
        field.wrong(text, did_you_mean(name, topologies).strip() or _all("Topologies", topologies))
    return topologies.get(name)


def check_level(field: Field, level: str, topology: Topology) -> bool:
    """Whether the topology has this level; reports a mistake if it has not."""
    if level in topology.levels:
        return True
    meant = did_you_mean(level, topology.levels).strip() or _all("levels", topology.levels)
    field.wrong(f'is "{level}", which is not a level of Topology "{topology.name}"', meant)
    return False


def _check_levels(required: Field, preferred: Field, topology: Topology) -> None:
    given = [field for field in (required, preferred) if field.text()]
    known = [check_level(field, field.text(), topology) for field in given]
    if not all(known) or len(given) < 2:
        return
    if topology.levels.index(required.text()) > topology.levels.index(preferred.text()):
        required.wrong(
            f"is {required.text()}, which is below the preferred level {preferred.text()}",
            "swap the two, or remove the preferred level",
        )


def _all(what: str, names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f"the {what} are {listed}" if listed else f"there are no {what}: add one"
