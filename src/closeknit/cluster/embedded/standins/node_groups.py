"""Groups of nodes that the autoscaler can create: the node of each group, and its maximum size.

They are configured in the ConfigMap `closeknit-node-groups` of kube-system, one key per group:

    gpu: |
      max: 64
      allocatable: {cpu: "96", memory: 1Ti, example.com/gpu: "8", pods: "110"}
      labels: {pool: gpu}
      taints: [{key: example.com/gpu, effect: NoSchedule}]
      topology:
      - {label: example.com/block, nodes: 16}
      - {label: example.com/rack, nodes: 4}

Nodes are numbered from 1 and fill the domains in that order: in this example gpu-0005 is in block gpu-1, rack gpu-2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import yaml

from ....dialects import core
from ....dialects.own_marks import PREFIX
from ....model.node import Node
from ....model.resources import PODS, amounts
from ....model.shape import Shape
from ...port import Raw
from .node_affinity import attracts
from .room import HOSTNAME, repels

CONFIG_MAP, NAMESPACE = "closeknit-node-groups", "kube-system"
GROUP, REQUEST = PREFIX + "node-group", PREFIX + "provisioning-request"
LONGEST_LABEL = 63


class GroupLevel(NamedTuple):
    """A level of the topology, and the number of nodes per domain."""

    label: str
    nodes: int


class NodeGroup(NamedTuple):
    name: str
    most: int
    allocatable: dict[str, Any]
    labels: dict[str, str]
    taints: list[Raw]
    levels: tuple[GroupLevel, ...]

    def body(self, number: int, request: str = "") -> Raw:
        """The node with this number, created for this request."""
        name = self.node_name(number)
        labels = {
            **self.labels,
            **{one.label: f"{self.name}-{(number - 1) // one.nodes + 1}" for one in self.levels},
            HOSTNAME: name,
            GROUP: self.name,
        }
        if request:
            labels[REQUEST] = request
        spec = {"taints": self.taints} if self.taints else {}
        status = {"allocatable": self.allocatable, "capacity": self.allocatable}
        return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}

    def node_name(self, number: int) -> str:
        return f"{self.name}-{number:04d}"

    def takes(self, shape: Shape) -> bool:
        """Whether the labels and taints of the group's nodes allow such a pod."""
        node: Node = core.node(msgspec.convert(self.body(1), core.WireNode))
        return attracts(node, shape) and not repels(node, shape)


def read(config: Raw | None) -> list[NodeGroup]:
    """The groups by name; ValueError if one is invalid."""
    data = (config or {}).get("data") or {}
    return [_group(name, data[name]) for name in sorted(data)]


def _group(name: str, text: str) -> NodeGroup:
    try:
        raw = yaml.safe_load(text)
        allocatable = {key: str(value) for key, value in raw["allocatable"].items()}
        amounts(allocatable)
        return NodeGroup(
            name,
            int(raw["max"]),
            {PODS: "110", **allocatable},
            {str(key): str(value) for key, value in (raw.get("labels") or {}).items()},
            [dict(one) for one in raw.get("taints") or ()],
            tuple(GroupLevel(str(one["label"]), max(1, int(one["nodes"]))) for one in raw.get("topology") or ()),
        )
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        where = f"ConfigMap {NAMESPACE}/{CONFIG_MAP}: {name}"
        raise ValueError(f"{where} is not a node group: set max and allocatable ({_line(error)})") from error


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def nodes_needed(group: NodeGroup, pods: Iterable[tuple[Shape, int]]) -> int | None:
    """How many empty nodes of a group these pods need; None if a pod does not fit on an empty node.

    Pods fill the nodes in use before another one is added.
    """
    whole = amounts(group.allocatable)
    bins: list[dict[str, int]] = []
    for shape, count in pods:
        if not group.takes(shape) or _fits(whole, shape) == 0:
            return None
        for free in bins:
            count -= _put(free, shape, count)
        while count > 0:
            bins.append(dict(whole))
            count -= _put(bins[-1], shape, count)
    return len(bins)


def _fits(free: dict[str, int], shape: Shape) -> int:
    return min(max(0, free.get(resource, 0)) // need for resource, need in shape.charge if need > 0)


def _put(free: dict[str, int], shape: Shape, count: int) -> int:
    """Put up to `count` pods on a node; how many fit."""
    number = min(count, _fits(free, shape))
    for resource, need in shape.charge:
        free[resource] = free.get(resource, 0) - need * number
    return number
