"""The cluster that the benchmarks place on: racks of 16 nodes, blocks of 16 racks, fed as columns."""

from __future__ import annotations

import numpy as np

from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import IntArray, LabelColumn, NodeTable

BLOCK = "cloud.provider.com/topology-block"
RACK = "cloud.provider.com/topology-rack"
TOPOLOGY = Topology("default", (BLOCK, RACK, HOSTNAME))

RACK_SIZE = 16
BLOCK_SIZE = 256
GIB = 1024**3

POD = {"cpu": 8000, "memory": 16 * GIB, "nvidia.com/gpu": 1}
NODE = {"cpu": 96_000, "memory": 384 * GIB, "nvidia.com/gpu": 8, "pods": 110}


def table(size: int, node: dict[str, int] | None = None) -> NodeTable:
    rows = np.arange(size, dtype=np.int32)
    names = [f"n{row:06d}" for row in range(size)]
    racks, blocks = rows // RACK_SIZE, rows // BLOCK_SIZE
    return NodeTable(
        names=names,
        labels={
            HOSTNAME: LabelColumn(rows, list(names)),
            RACK: LabelColumn(racks, [f"r{rack:05d}" for rack in range(int(racks[-1]) + 1)]),
            BLOCK: LabelColumn(blocks, [f"b{block:04d}" for block in range(int(blocks[-1]) + 1)]),
        },
        allocatable={name: np.full(size, value, dtype=np.int64) for name, value in (node or NODE).items()},
        taint_codes=np.zeros(size, dtype=np.int32),
        taints=[()],
        usable=np.ones(size, dtype=np.bool_),
        cordoned=np.zeros(size, dtype=np.bool_),
    )


def running(size: int, seed: int = 1) -> IntArray:
    """Pods on each node: none on 40 %, and 2, 4 or 8 on 20 % each."""
    return np.random.default_rng(seed).choice([0, 2, 4, 8], size=size, p=[0.4, 0.2, 0.2, 0.2]).astype(np.int64)


def busy(size: int, shapes: int = 64) -> Snapshot:
    snapshot = Snapshot(TOPOLOGY, table(size), shapes=shapes)
    pods = running(size)
    charge = Shape.of(POD).charge
    snapshot.admit(np.flatnonzero(pods), pods[pods > 0], charge)
    snapshot.commit()
    return snapshot
