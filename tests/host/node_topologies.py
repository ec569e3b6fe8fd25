"""NodeResourceTopologies as an agent writes them, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Raw = dict[str, Any]
API = "topology.node.k8s.io/v1alpha2"


def zone(number: int, resources: Mapping[str, tuple[str, str, str]], costs: Mapping[int, int] | None = None) -> Raw:
    """A zone with capacity, allocatable and available of each resource."""
    words = ("capacity", "allocatable", "available")
    return {
        "name": f"node-{number}",
        "type": "Node",
        "costs": [{"name": f"node-{other}", "value": cost} for other, cost in (costs or {}).items()],
        "resources": [{"name": name, **dict(zip(words, amounts, strict=True))} for name, amounts in resources.items()],
    }


def topology(node: str, *zones: Raw, **attributes: str) -> Raw:
    return {
        "apiVersion": API,
        "kind": "NodeResourceTopology",
        "metadata": {"name": node},
        "attributes": [{"name": name, "value": value} for name, value in attributes.items()],
        "zones": list(zones),
    }
