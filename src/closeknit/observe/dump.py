"""The cache as one document: which workloads hold quota, which are pending, what is in use and what is free.

For debugging decisions, and for tests: a control plane that lists all objects again must produce the same document. So
it contains nothing that depends on the order of events.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..model.quota import Usage
from ..state.snapshot import Snapshot
from .known import Known

Document = dict[str, Any]


def dump(known: Known) -> Document:
    """CPU is in thousandths of a core, everything else in whole units."""
    world = known.world
    return {
        "holdings": {
            key: {"queue": one.queue, "usage": _usage(one.usage)} for key, one in _sorted(world.ledger.holdings)
        },
        "waiting": _waiting(known),
        "quota": {name: _usage(node.usage) for name, node in _sorted(world.tree.queues)},
        "free": {flavor: _free(mirror.snapshot, known) for flavor, mirror in _sorted(world.mirrors)},
    }


def _sorted(given: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(given.items())


def _usage(usage: Usage) -> Document:
    """By flavor, then by resource."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for (flavor, resource), amount in sorted(usage.items()):
        if amount:
            found[flavor][resource] = amount
    return dict(found)


def _waiting(known: Known) -> Document:
    """Pending workloads by ClusterQueue; those without one are under an empty name."""
    lines = known.scheduler.lines
    found: dict[str, list[str]] = defaultdict(list)
    for key, queue in sorted([*lines.line_of.items(), *dict.fromkeys(lines.homeless, "").items()]):
        found[queue].append(key)
    return dict(sorted(found.items()))


def _free(snapshot: Snapshot, known: Known) -> Document:
    """Free capacity by lowest domain, named as in assignments; rows of deleted nodes may still exist."""
    rows = enumerate(snapshot.table.names)
    there = {int(snapshot.leaf_of_row[row]) for row, name in rows if name in known.world.nodes}
    columns = snapshot.remaining.T.tolist()
    found = {"/".join(snapshot.tree.names[leaf]): columns[leaf] for leaf in there}
    return {name: dict(zip(snapshot.resources, amounts, strict=True)) for name, amounts in sorted(found.items())}
