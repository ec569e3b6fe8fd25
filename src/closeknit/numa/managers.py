"""The Topology Manager configuration that a NodeResourceTopology reports.

Older agents name policy and scope in one word of `topologyPolicies`, newer ones in attributes, which win. A value that
is not known changes nothing: upstream treats such a node as unconstrained, and so does this. Attributes apply in their
order, so the last valid one of a name counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

from ..model.numa import TopologyManager, TopologyPolicy, TopologyScope
from ..model.shape import whole_number

POLICY = "topologyManagerPolicy"
SCOPE = "topologyManagerScope"
MOST_ZONES = "topologyManagerMaxNUMANodes"
OPTION = "topologyManagerOption"

POLICIES: dict[str, TopologyPolicy] = {str(one): one for one in get_args(TopologyPolicy)}
SCOPES: dict[str, TopologyScope] = {str(one): one for one in get_args(TopologyScope)}
LEAST_MAXIMUM = 2
LARGEST_MAXIMUM = 1024

_FAMILIES: dict[str, TopologyPolicy] = {
    "SingleNUMANode": "single-numa-node",
    "Restricted": "restricted",
    "BestEffort": "best-effort",
}
_LEVELS: dict[str, TopologyScope] = {"PodLevel": "pod", "ContainerLevel": "container"}
LEGACY = {
    family + level: TopologyManager(policy, scope)
    for family, policy in _FAMILIES.items()
    for level, scope in _LEVELS.items()
}
"""Words of `topologyPolicies`. One without a level, such as Restricted, says nothing."""

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def effective_manager(policies: Sequence[str], attributes: Iterable[tuple[str, str]]) -> TopologyManager:
    """The configuration by the first legacy policy and the attributes, given as names and values."""
    manager = LEGACY.get(policies[0], TopologyManager()) if policies else TopologyManager()
    options: dict[str, str] = {}
    for name, value in attributes:
        if name.startswith(OPTION) and name != OPTION:
            options[_spelled(name.removeprefix(OPTION))] = value
        manager = _changed(manager, name, value)
    return replace(manager, options=tuple(sorted(options.items())))


def _changed(manager: TopologyManager, name: str, value: str) -> TopologyManager:
    if name == POLICY and value in POLICIES:
        return replace(manager, policy=POLICIES[value])
    if name == SCOPE and value in SCOPES:
        return replace(manager, scope=SCOPES[value])
    if name == MOST_ZONES and (number := whole_number(value)) is not None and number >= LEAST_MAXIMUM:
        return replace(manager, max_zones=min(number, LARGEST_MAXIMUM))
    return manager


def _spelled(camel: str) -> str:
    """As the kubelet names the option: _spelled("PreferClosestNumaNodes") == "prefer-closest-numa-nodes"."""
    return _CAPITAL.sub("-", camel).lower()
