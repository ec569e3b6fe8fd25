"""The rules for Topologies."""

from __future__ import annotations

from .....model.topology import HOSTNAME
from ....field import Field
from ....node_choice import LABEL_NAME
from .limits import check_limits
from .values import check_given


def check_topology(topology: Field) -> None:
    """Check the levels: 1 to 16 distinct labels, with the hostname only as the last."""
    check_limits(topology, "Topology")
    levels = topology.at("spec", "levels")
    fields = [level.at("nodeLabel") for level in levels.items()]
    check_given(levels)
    seen: set[str] = set()
    for field in fields:
        _check_level(field, is_last=field is fields[-1], seen=seen)
        seen.add(field.text())


def _check_level(field: Field, is_last: bool, seen: set[str]) -> None:
    label = field.text()
    if not field.given:
        field.wrong("is missing", LABEL_NAME)
    elif label in seen:
        field.wrong(f'is "{label}" a second time', "name each level once")
    elif label == HOSTNAME and not is_last:
        field.wrong(f"is {HOSTNAME}, which can only be the last level", "move it to the end")


def check_topology_update(old: Field, new: Field) -> None:
    """Levels may change only if both topologies end at the hostname, since assignments then name only hosts."""
    check_topology(new)
    before, after = _levels(old), _levels(new)
    if before != after and not (before[-1:] == after[-1:] == [HOSTNAME]):
        text = f"cannot be changed unless {HOSTNAME} is the last level before and after"
        new.at("spec", "levels").wrong(text, "create a new Topology")


def _levels(topology: Field) -> list[str]:
    return [level.at("nodeLabel").text() for level in topology.at("spec", "levels").items()]
