"""NodeResourceTopologies as YAML has them."""

from __future__ import annotations

from typing import Any

Raw = dict[str, Any]


def resource(name: str, available: Any, allocatable: Any = None, capacity: Any = None) -> Raw:
    most = available if allocatable is None else allocatable
    return {
        "name": name,
        "capacity": most if capacity is None else capacity,
        "allocatable": most,
        "available": available,
    }


def zone(name: str, *resources: Raw, costs: Raw | None = None, **more: Any) -> Raw:
    made = {"name": name, "type": "Node", "resources": list(resources), **more}
    if costs is not None:
        made["costs"] = [{"name": key, "value": value} for key, value in costs.items()]
    return made


def topology(*zones: Any, attributes: Raw | None = None, **more: Any) -> Raw:
    pairs = [{"name": key, "value": value} for key, value in (attributes or {}).items()]
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n1"},
        "attributes": pairs,
        "zones": list(zones),
        **more,
    }
