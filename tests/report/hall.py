"""A hall small enough to count by hand.

    a ─┬─ a1 ─┬─ n1   8 gpu, 2 of them used
       │      └─ n2   8 gpu
       └─ a2 ─── n3   8 gpu
    b ─── b1 ─── n4   8 gpu, not ready

Every node has 8 cpu and takes 10 pods; the pod on n1 has one cpu.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from closeknit.model.node import Node
from closeknit.model.request import Constraint, PodSet
from closeknit.model.shape import MAINTENANCE, Shape, Taint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

BLOCK, RACK, GPU = "example.com/block", "example.com/rack", "nvidia.com/gpu"
TOPOLOGY = Topology("default", (BLOCK, RACK, HOSTNAME))
PLACES = {"n1": ("a", "a1"), "n2": ("a", "a1"), "n3": ("a", "a2"), "n4": ("b", "b1")}


WINDOW = Taint("m1", "from 1 until 2", MAINTENANCE)


def node(name: str, block: str, rack: str, ready: bool = True) -> Node:
    labels = {BLOCK: block, RACK: rack, HOSTNAME: name}
    return Node(name, labels, {"cpu": 8000, GPU: 8, "pods": 10}, ready=ready)


def hall(all_ready: bool = False, window_in: Collection[str] = ()) -> Snapshot:
    nodes = [node(name, *place, ready=all_ready or name != "n4") for name, place in PLACES.items()]
    nodes = [replace(one, taints=(WINDOW,)) if one.name in window_in else one for one in nodes]
    snapshot = Snapshot(TOPOLOGY, NodeTable.of(nodes))
    snapshot.use("n1", {"cpu": 1000, GPU: 2})
    return snapshot


def row_of(hosts: int) -> Snapshot:
    """One block of one rack of many hosts: h0000, h0001 and so on."""
    return Snapshot(TOPOLOGY, NodeTable.of([node(f"h{number:04d}", "a", "a1") for number in range(hosts)]))


def pods(name: str, count: int, constraint: Constraint | None = None) -> PodSet:
    """Each asks for one cpu and 4 gpu: an empty node holds two."""
    return PodSet(name, count, Shape.of({"cpu": 1000, GPU: 4}), constraint)
