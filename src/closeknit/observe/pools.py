"""Pools of equal nodes as a table, built column by column: a million nodes are a few arrays, not a million objects.

Node 3 of rack 2 of block 1 is `b01-r02-n03`, its rack `b01-r02`, its block `b01`; all of them are prefixed with the
pool's name, so pools never share a domain. Numbers are zero-padded, so names sort numerically.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..model.resources import CPU, PODS
from ..model.topology import HOSTNAME
from ..state.table import IntArray, LabelColumn, NodeTable
from .pool_form import BLOCK, POOL, RACK, Pool

SLOTS = 8
MOST_SLOTS = 16


def pool_table(pool: Pool) -> NodeTable:
    size = pool.size
    lead = f"{pool.name}-" if pool.name else ""
    blocks = [f"{lead}b{number}" for number in _numbers(pool.blocks)]
    racks = [f"{block}-r{number}" for block in blocks for number in _numbers(pool.racks)]
    names = [f"{rack}-n{number}" for rack in racks for number in _numbers(pool.nodes)]
    rows = np.arange(size, dtype=np.int32)
    zeros = np.zeros(size, dtype=np.int32)
    labels = {
        BLOCK: LabelColumn(rows // (pool.racks * pool.nodes), blocks),
        RACK: LabelColumn(rows // pool.nodes, racks),
        HOSTNAME: LabelColumn(rows, list(names)),
    }
    shared = {**pool.labels, **({POOL: pool.name} if pool.name else {})}
    return NodeTable(
        names=names,
        labels={**labels, **{key: LabelColumn(zeros.copy(), [value]) for key, value in shared.items()}},
        allocatable={resource: np.full(size, value, dtype=np.int64) for resource, value in pool.allocatable.items()},
        taint_codes=zeros,
        taints=[pool.taints],
        usable=np.ones(size, dtype=np.bool_),
        cordoned=np.zeros(size, dtype=np.bool_),
    )


def pool_usage(pool: Pool, place: int = 0) -> dict[str, IntArray]:
    """Columns of the usage of each node; `place` is the pool's index among pools with the same seed.

    A node is divided into slots, each one pod with an equal share of every resource. Exactly the wanted fraction of all
    slots is used, unevenly: half of the randomness is per node, so some nodes are nearly full and some nearly empty.
    """
    slots = _slots(pool.allocatable)
    taken = round(pool.used * slots * pool.size)
    if not taken:
        return {}
    luck = np.random.default_rng([pool.seed, place])
    order = luck.random((pool.size, 1)) + luck.random((pool.size, slots))
    chosen = np.argpartition(order.ravel(), taken - 1)[:taken]
    pods = np.bincount(chosen // slots, minlength=pool.size).astype(np.int64)
    share = {resource: value // slots for resource, value in pool.allocatable.items()} | {PODS: 1}
    return {resource: pods * value for resource, value in share.items()}


def _slots(allocatable: Mapping[str, int]) -> int:
    """The slots of a node: one per device if it has devices, else eight, or one per core if it has fewer.

    Of several kinds of device the scarcest counts, unless there is only one of it; there are at most sixteen slots.
    """
    devices = [value for resource, value in allocatable.items() if "/" in resource and value]
    cores = max(1, allocatable.get(CPU, 0) // 1000)
    wanted = min((value for value in devices if value > 1), default=1) if devices else min(SLOTS, cores)
    return min(wanted, MOST_SLOTS, allocatable[PODS])


def _numbers(count: int) -> list[str]:
    """_numbers(3) == ["01", "02", "03"]"""
    width = max(2, len(str(count)))
    return [f"{number:0{width}d}" for number in range(1, count + 1)]
