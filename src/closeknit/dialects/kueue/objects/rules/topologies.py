"""The rules for Topologies."""

from __future__ import annotations

from .....model.label_names import is_qualified_name
from .....model.topology import HOSTNAME
from ....field import Field
from ....node_choice import LABEL_NAME

MAX_LEVELS = 16
MAX_LABEL = 316


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


def check_topology_update(old: Field, new: Field) -> None:
    """Levels may change only between topologies that end at the host: where pods are is then told by hosts alone."""
    check_topology(new)
    before, after = _levels(old), _levels(new)
    if before != after and not (before[-1:] == after[-1:] == [HOSTNAME]):
        text = f"cannot be changed unless {HOSTNAME} is the last level before and after"
        new.at("spec", "levels").wrong(text, "make a new Topology")


def _levels(topology: Field) -> list[str]:
    return [level.at("nodeLabel").text() for level in topology.at("spec", "levels").items()]
