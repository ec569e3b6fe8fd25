"""The cache as one document: which workloads hold quota, which are pending, what is in use and what is free.

For debugging decisions, and for tests: a control plane that lists all objects again must produce the same document. So
it contains nothing that depends on the order of events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ..model.quota import Usage
from ..state.snapshot import Snapshot
from .cluster_cache import ClusterCache

Document = dict[str, Any]


def dump(cache: ClusterCache) -> Document:
    """CPU is in thousandths of a core, everything else in whole units."""
    world = cache.world
    return {
        "holdings": {
            key: {"queue": one.queue, "usage": _usage(one.usage)} for key, one in _sorted(world.ledger.holdings)
        },
        "waiting": _waiting(cache),
        "quota": {name: _usage(node.usage) for name, node in _sorted(world.tree.queues)},
        "free": {flavor: _free(view.snapshot, cache) for flavor, view in _sorted(world.views)},
    }


def _sorted(given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(given.items())


def _usage(usage: Usage) -> Document:
    """By flavor, then by resource."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for (flavor, resource), amount in sorted(usage.items()):
        if amount:
            found[flavor][resource] = amount
    return dict(found)


def _waiting(cache: ClusterCache) -> Document:
    """Pending workloads by ClusterQueue; those without one are under an empty name."""
    lines = cache.scheduler.pending
    found: dict[str, list[str]] = defaultdict(list)
    for key, queue in sorted([*lines.queue_name_of.items(), *dict.fromkeys(lines.without_queue, "").items()]):
        found[queue].append(key)
    return dict(sorted(found.items()))


def _free(snapshot: Snapshot, cache: ClusterCache) -> Document:
    """Free capacity by lowest domain, named as in assignments; rows of deleted nodes may still exist."""
    names = snapshot.table.names
    there = {int(snapshot.leaf_of_row[row]) for row in snapshot.rows.tolist() if names[row] in cache.world.nodes}
    columns = snapshot.remaining.T.tolist()
    found = {"/".join(snapshot.tree.names[leaf]): columns[leaf] for leaf in there}
    return {name: dict(zip(snapshot.resources, amounts, strict=True)) for name, amounts in sorted(found.items())}
