"""What administrators write: the rules of Kueue's API for Topology and ResourceFlavor, and some for Nodes."""

from __future__ import annotations

from ...model.label_names import is_qualified_name
from ...model.topology import HOSTNAME, Topology
from .. import core
from ..field import Field
from ..node_choice import EFFECTS, LABEL_NAME, check_label, check_toleration, one_of
from ..pod_template import check_quantities

MAX_LEVELS = 16
MAX_LABEL = 316
MAX_ENTRIES = 8
OPERATORS = ("Equal", "Exists")
TOPOLOGY = ("kueue.x-k8s.io", "Topology")


def check_topology(topology: Field) -> None:
    """1 to 16 levels, each a label, none twice; the host can only be the last."""
    levels = topology.at("spec", "levels")
    fields = [level.at("nodeLabel") for level in levels.items()]
    if levels.value in (None, []):
        levels.wrong("is missing", "give at least one level")
    if len(fields) > MAX_LEVELS:
        levels.wrong(f"has {len(fields)} entries", f"a topology has at most {MAX_LEVELS} levels")
    seen: set[str] = set()
    for field in fields:
        _check_level(field, is_last=field is fields[-1], seen=seen)
        seen.add(field.text())


def topology_of(topology: Field) -> Topology | None:
    """What it says, if nothing is wrong with it."""
    check_topology(topology)
    if topology.report:
        return None
    levels = (level.at("nodeLabel").text() for level in topology.at("spec", "levels").items())
    return Topology(topology.at("metadata", "name").text(), tuple(levels))


def _check_level(field: Field, is_last: bool, seen: set[str]) -> None:
    label = field.text()
    if not field.given:
        field.wrong("is missing", LABEL_NAME)
    elif not is_qualified_name(label):
        field.wrong(f'is "{label}", not a label name', LABEL_NAME)
    elif len(label) > MAX_LABEL:
        field.wrong(f"has {len(label)} characters", f"use at most {MAX_LABEL}")
    elif label in seen:
        field.wrong(f'is "{label}" a second time', "name each level once")
    elif label == HOSTNAME and not is_last:
        field.wrong(f"is {HOSTNAME}, but levels follow it", "put the host last")


def check_flavor(flavor: Field) -> None:
    """Labels, taints and tolerations in form, at most 8 of each; a topology needs labels that say which nodes."""
    spec = flavor.at("spec")
    labels = spec.at("nodeLabels")
    if spec.at("topologyName").text() and not labels.mapping():
        labels.wrong("is missing, but the flavor has a topology", "give the label of the nodes that belong to it")
    for field in (labels, spec.at("nodeTaints"), spec.at("tolerations")):
        if isinstance(field.value, (dict, list)) and len(field.value) > MAX_ENTRIES:
            field.wrong(f"has {len(field.value)} entries", f"use at most {MAX_ENTRIES}")
    for key, field in labels.fields().items():
        check_label(key, field)
    _check_taints(spec.at("nodeTaints"))
    for toleration in spec.at("tolerations").items():
        check_toleration(toleration, OPERATORS)


def check_node(node: Field) -> None:
    """Labels are text, what a node offers is a quantity, and the rest has the form in which nodes are read."""
    before = node.report.noted
    node.at("metadata", "labels").strings()
    check_quantities(node.at("status", "allocatable"))
    if node.report.noted == before:
        node.decode(core.WireNode)


def _check_taints(taints: Field) -> None:
    seen: set[tuple[str, str]] = set()
    for taint in taints.items():
        key, effect = taint.at("key").text(), taint.at("effect").text()
        if not is_qualified_name(key):
            taint.at("key").wrong(f'is "{key}", not a label name', LABEL_NAME)
        one_of(taint.at("effect"), EFFECTS)
        if (key, effect) in seen:
            taint.wrong(f"is a second taint {key}:{effect}", "give each key and effect once")
        seen.add((key, effect))


CHECKS = {
    TOPOLOGY: check_topology,
    ("kueue.x-k8s.io", "ResourceFlavor"): check_flavor,
    ("", "Node"): check_node,
}
"""By API group and kind."""
