"""Conversion of NodeResourceTopology from v1alpha1 to v1alpha2.

The policy moves from a word in `topologyPolicies` to attributes. The first form of v1alpha1 does not tell what is
available: what is allocatable counts as available, as before any container is pinned. Everything else stays as it is,
mistakes included, so that the rules can report them.
"""

from __future__ import annotations

from typing import Any

from ...numa.managers import LEGACY, POLICY, SCOPE
from . import keys

Raw = dict[str, Any]

_WITHOUT_LEVEL = {
    "none": "none",
    "besteffort": "best-effort",
    "restricted": "restricted",
    "singlenumanode": "single-numa-node",
}
"""The first words for policies, in lower case: None, BestEffort, Restricted, SingleNumaNode."""


def to_v1alpha2(raw: Raw) -> Raw:
    """The same object in v1alpha2, without changing the given one; any other object passes through."""
    if raw.get("apiVersion") != keys.V1ALPHA1 or raw.get("kind") != keys.KIND:
        return raw
    new = {**raw, "apiVersion": keys.V1ALPHA2}
    added = _attributes(raw.get("topologyPolicies"))
    given = raw.get("attributes")
    if added and (given is None or isinstance(given, list)):
        del new["topologyPolicies"]
        new["attributes"] = [*added, *(given or [])]
    if isinstance(raw.get("zones"), list):
        new["zones"] = [_zone(one) for one in raw["zones"]]
    return new


def _attributes(policies: Any) -> list[Raw]:
    """The first policy as attributes; none if it is not known."""
    word = policies[0] if isinstance(policies, list) and policies else None
    if not isinstance(word, str):
        return []
    if word in LEGACY:
        manager = LEGACY[word]
        return [{"name": POLICY, "value": manager.policy}, {"name": SCOPE, "value": manager.scope}]
    policy = _WITHOUT_LEVEL.get(word.lower())
    return [{"name": POLICY, "value": policy}] if policy else []


def _zone(zone: Any) -> Any:
    resources = zone.get("resources") if isinstance(zone, dict) else None
    return {**zone, "resources": [_resource(one) for one in resources]} if isinstance(resources, list) else zone


def _resource(resource: Any) -> Any:
    if not isinstance(resource, dict) or resource.get("available") is not None or "allocatable" not in resource:
        return resource
    return {**resource, "available": resource["allocatable"]}
