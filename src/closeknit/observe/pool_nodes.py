"""Pools of the compact form as individual nodes and pods, for callers that need objects instead of columns."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.node import Node
from ..model.numa import NodeZones
from ..model.resources import PODS
from ..state.mirror import OtherPod
from .pool_form import Pool
from .pools import pool_table, pool_usage

NAMESPACE = "closeknit-pool"
"""The namespace of the pods that stand for a pool's usage."""


def nodes_of_pool(pool: Pool) -> Iterator[Node]:
    table = pool_table(pool)
    columns = {key: [column.values[code] for code in column.codes.tolist()] for key, column in table.labels.items()}
    for row, name in enumerate(table.names):
        labels = {key: values[row] for key, values in columns.items()}
        yield Node(name, labels, pool.allocatable, pool.taints)


def zones_of_pool(pool: Pool) -> Iterator[NodeZones]:
    """What the agents of these nodes would report while no pod runs there; nothing for nodes without zones."""
    if pool.numa is not None:
        yield from (pool.numa.reported(name) for name in pool_table(pool).names)


def pods_of_pool(pool: Pool) -> Iterator[tuple[str, OtherPod]]:
    """Pods that use what the pool says is in use, each with its key."""
    used = pool_usage(pool)
    if not used:
        return
    counts = used[PODS].tolist()
    for row, name in enumerate(pool_table(pool).names):
        for number in range(counts[row]):
            share = {resource: int(column[row]) // counts[row] for resource, column in used.items() if resource != PODS}
            yield f"{NAMESPACE}/{name}-{number}", OtherPod(name, share)
