"""The cluster that the benchmarks place on: racks of 16 nodes, blocks of 16 racks, fed as columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

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


SIZES = {RACK: RACK_SIZE, BLOCK: BLOCK_SIZE}


def table(size: int, node: dict[str, int] | None = None, sizes: Mapping[str, int] = SIZES) -> NodeTable:
    """Nodes with a label for each level, whose domains have this many nodes."""
    rows = np.arange(size, dtype=np.int32)
    names = [f"n{row:06d}" for row in range(size)]
    return NodeTable(
        names=names,
        labels={HOSTNAME: LabelColumn(rows, list(names)), **{key: _label(rows // sizes[key]) for key in sizes}},
        allocatable={name: np.full(size, value, dtype=np.int64) for name, value in (node or NODE).items()},
        taint_codes=np.zeros(size, dtype=np.int32),
        taints=[()],
        usable=np.ones(size, dtype=np.bool_),
        cordoned=np.zeros(size, dtype=np.bool_),
    )


def _label(domains: NDArray[np.int32]) -> LabelColumn:
    return LabelColumn(domains, [f"d{domain:05d}" for domain in range(int(domains[-1]) + 1)])


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
