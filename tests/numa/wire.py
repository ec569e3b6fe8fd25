"""Pods, nodes and zones as the Kubernetes objects that they are read from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from closeknit.model.container import Amounts, Container
from closeknit.model.numa import NodeZones, Zone
from closeknit.model.resources import canonical
from closeknit.numa.pod_needs import PodNeeds

Raw = dict[str, Any]
Spelling = Callable[[str, int], str | int]
"""A quantity of a resource as an object has it."""


def wire_pod(needs: PodNeeds, spelled: Spelling = canonical) -> Raw:
    spec: Raw = {"containers": [], "initContainers": []}
    for number, one in enumerate(needs.containers):
        spec["containers" if one.kind == "app" else "initContainers"].append(_container(one, number, spelled))
    if needs.overhead:
        spec["overhead"] = _quantities(needs.overhead, spelled)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}


def _container(one: Container, number: int, spelled: Spelling) -> Raw:
    resources = {"requests": _quantities(one.requests, spelled), "limits": _quantities(one.limits, spelled)}
    always = {"restartPolicy": "Always"} if one.kind == "sidecar" else {}
    return {"name": f"c{number}", "image": "none", "resources": resources, **always}


def _quantities(amounts: Amounts, spelled: Spelling) -> Raw:
    return {name: str(spelled(name, value)) for name, value in amounts}


def wire_node(name: str, offered: Iterable[str]) -> Raw:
    allocatable = dict.fromkeys(sorted(offered), "64")
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def wire_topology(zones: NodeZones, spelled: Spelling = canonical) -> Raw:
    manager = zones.manager
    attributes = {
        "topologyManagerPolicy": manager.policy,
        "topologyManagerScope": manager.scope,
        "topologyManagerMaxNUMANodes": str(manager.max_zones),
    }
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": zones.node},
        "attributes": [{"name": name, "value": value} for name, value in attributes.items()],
        "zones": [_zone(one, spelled) for one in zones.zones],
    }


def _zone(zone: Zone, spelled: Spelling) -> Raw:
    costs = [{"name": f"node-{other}", "value": cost} for other, cost in zone.costs.items()]
    resources = []
    for name, amounts in zone.resources.items():
        capacity, allocatable, available = (spelled(name, one) for one in amounts)
        resources.append({"name": name, "capacity": capacity, "allocatable": allocatable, "available": available})
    return {"name": f"node-{zone.id}", "type": "Node", "costs": costs, "resources": resources}
