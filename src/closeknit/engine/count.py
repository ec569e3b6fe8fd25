"""How many pods leaves hold for a given free capacity: for questions that no cached column answers.

Explanations, remedies and pictures ask what leaves would hold if they were empty or without the node filter, and a
decision is re-checked before it is written. All of them count as a placement does: with the policy's fit.
"""

from __future__ import annotations

import numpy as np

from ..model.shape import Shape
from ..state.numa.zone_states import View
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from ..state.tree import gather
from .capacity import by_resources, pods_in
from .policy import Policy


def on_nodes(snapshot: Snapshot, policy: Policy, shape: Shape, free: IntArray) -> IntArray:
    """Pods on every node of the tree, in its order; `free` is what each node has free if nothing runs on it."""
    return on_rows(snapshot, policy, shape, snapshot.rows, free)


def on_rows(
    snapshot: Snapshot, policy: Policy, shape: Shape, rows: IntArray, free: IntArray, view: View = "empty"
) -> IntArray:
    """Pods on these rows; `view` tells what is taken in their NUMA zones, as `free` tells it of their totals."""
    return policy.fit(snapshot, shape, rows, free, None if snapshot.zones is None else snapshot.zones.on(rows, view))


def on_leaves(
    snapshot: Snapshot,
    policy: Policy,
    shape: Shape,
    leaves: IntArray,
    capacity: IntArray,
    free: IntArray | None = None,
    view: View = "now",
) -> IntArray:
    """Pods on each of these leaves with `capacity` in total; `free` is what each node of the tree has, by default its
    current room.

    A leaf of several nodes holds what fits into the sum and, where the policy counts nodes, no more than its nodes hold
    individually.
    """
    if snapshot.tree.one_node_a_leaf:
        return on_rows(snapshot, policy, shape, snapshot.first_rows(leaves), capacity, view)
    pods = by_resources(snapshot, shape, leaves, capacity)
    if policy.counts_nodes(snapshot) and len(leaves):
        places, starts = gather(snapshot.tree.nodes, leaves)
        rows = snapshot.rows[places]
        each = snapshot.free_on(rows) if free is None else free[:, places]
        np.minimum(pods, np.add.reduceat(on_rows(snapshot, policy, shape, rows, each, view), starts), out=pods)
    return pods


def on_all_leaves(snapshot: Snapshot, policy: Policy, shape: Shape, free: IntArray) -> IntArray:
    """Pods on every leaf if nothing runs on its nodes; a leaf has what its nodes have."""
    capacity = np.add.reduceat(free, snapshot.tree.nodes[:-1], axis=1)
    return on_leaves(snapshot, policy, shape, np.arange(snapshot.tree.leaves), capacity, free, "empty")


def still_hold(snapshot: Snapshot, policy: Policy, shape: Shape, leaves: IntArray, counts: IntArray) -> bool:
    """Whether each of these leaves has room for its count of pods.

    With a policy by sums this is Kueue's check of a decision: only requests count, not the nodes' limit of pods.
    """
    remaining = snapshot.remaining[:, leaves]
    if policy.by_sums(snapshot):
        asked = tuple(one for one in shape.requests if one[1] > 0)
        return not asked or bool((pods_in(snapshot, remaining, asked) >= counts).all())
    return bool((on_leaves(snapshot, policy, shape, leaves, remaining) >= counts).all())
