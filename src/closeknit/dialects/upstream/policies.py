"""The two parts that every group of `scheduling.k8s.io` has: a scheduling policy and topology constraints."""

from __future__ import annotations

from ...model.label_names import is_qualified_name
from ...model.request import Constraint
from ...model.topology import label_topology
from ..field import Field
from ..node_choice import LABEL_NAME
from ..strictness import READ, Tree

GROUP = "scheduling.k8s.io"
CONSTRAINT_FIELDS: Tree = {"topology": [{"key": READ}]}
BASIC = 1
"""The minimum of a basic group. Its pods are scheduled one by one, and the first decides the domain of the rest."""


def policy_fields(count: str) -> Tree:
    return {"basic": {}, "gang": {count: READ}}


def read_minimum(policy: Field, count: str) -> int:
    """`minCount` or `minGroupCount` of a gang; 1 for a basic group."""
    given = [key for key in ("gang", "basic") if policy.at(key).given]
    if len(given) != 1:
        text = "has both gang and basic" if given else "is missing"
        policy.wrong(text, f"use gang with {count}, or basic: {{}}")
        return BASIC
    if given == ["basic"]:
        return BASIC
    least = policy.at("gang", count)
    if not least.given:
        least.wrong("is missing", "give the number that has to be scheduled together")
    return least.count(BASIC, least=1)


def read_constraint(constraints: Field) -> Constraint | None:
    """All pods in one domain of a node label; each label is a topology of its own with a single level."""
    topology = constraints.at("topology")
    given = topology.items()
    if len(given) > 1:
        topology.wrong(f"has {len(given)} entries", "give one; put other levels on a group above or below")
    if not given:
        return None
    key = given[0].at("key")
    if not is_qualified_name(key.text()):
        key.wrong(f"is {key.value or 'missing'}, not the key of a label", LABEL_NAME)
    return Constraint(required=key.text(), topology=label_topology(key.text()).name)
