"""Warnings about a kubelet's settings in a report: a value that says nothing silently leaves the node unconstrained."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.mistake import Mistake
from ...model.nearest import did_you_mean
from ...model.shape import whole_number
from ...numa.managers import LEAST_MAXIMUM, LEGACY, MOST_ZONES, POLICIES, POLICY, SCOPE, SCOPES
from ..field import Field, shown

_KNOWN = {POLICY: tuple(POLICIES), SCOPE: tuple(SCOPES)}


def check_settings(topology: Field, policies: Sequence[str], attributes: Sequence[tuple[str, str]]) -> None:
    named = {name for name, _ in attributes}
    if policies and policies[0] not in LEGACY and POLICY not in named:
        remedy = f"{did_you_mean(policies[0], LEGACY)}set the attribute {POLICY}"
        _warn(topology, "topologyPolicies[0]", f"is {shown(policies[0])}, which names no policy and level", remedy)
    for place, (name, value) in enumerate(attributes):
        path = f"attributes[{place}].value"
        if name in _KNOWN and value not in _KNOWN[name]:
            _warn(topology, path, f"{name} is {shown(value)}, which is ignored", f"use {', '.join(_KNOWN[name])}")
        elif name == MOST_ZONES and (whole_number(value) or 0) < LEAST_MAXIMUM:
            remedy = f"use a whole number, {LEAST_MAXIMUM} or more"
            _warn(topology, path, f"{name} is {shown(value)}, which is ignored", remedy)


def _warn(topology: Field, path: str, text: str, remedy: str) -> None:
    topology.report.warn(Mistake(text, remedy, field=path))
