"""Validation of administrators' objects: the kinds of Kueue's API by the rules in `objects.rules`, and Nodes."""

from __future__ import annotations

from ...model.resources import amounts
from ...model.topology import Topology
from .. import core
from ..field import Field
from ..own_marks import NUMA, OF_NODES, OF_PODS, check_marks
from ..pod_template import check_quantities
from ..simulated_zones import annotated_zones
from .objects.rules import CREATE_CHECKS, check_flavor, check_topology
from .objects.wire import GROUP

__all__ = ["CHECKS", "TOPOLOGY", "check_flavor", "check_node", "check_topology", "topology_of"]

TOPOLOGY = (GROUP, "Topology")


def topology_of(topology: Field) -> Topology | None:
    """The topology; None if it is invalid."""
    check_topology(topology)
    if topology.report:
        return None
    levels = (level.at("nodeLabel").text() for level in topology.at("spec", "levels").items())
    return Topology(topology.at("metadata", "name").text(), tuple(levels))


def check_node(node: Field) -> None:
    """Check that labels are strings, allocatable amounts are quantities, and that the rest decodes as a Node."""
    before = node.report.noted
    node.at("metadata", "labels").strings()
    check_marks(node.at("metadata", "annotations"), OF_NODES, OF_PODS, "put it on the pods")
    check_quantities(node.at("status", "allocatable"))
    if node.report.noted == before and node.decode(core.WireNode) is not None:
        _check_zones(node)


def _check_zones(node: Field) -> None:
    """Warn of zones that the simulated kubelet ignores."""
    note, status = node.at("metadata", "annotations", NUMA), node.at("status")
    if isinstance(note.value, str):
        try:
            annotated_zones(note.value, *(amounts(status.at(part).mapping()) for part in ("allocatable", "capacity")))
        except (ValueError, TypeError, AttributeError) as error:
            note.warn(str(error))


CHECKS = {("", "Node"): check_node, **{(GROUP, kind): check for kind, check in CREATE_CHECKS.items()}}
"""By API group and kind."""
