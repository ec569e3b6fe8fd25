"""What the control plane believes, as one document: who holds what, who waits where, what is in use and what is free.

For whoever has to find out why it decides as it does, and for tests: a control plane that is shown all objects anew has
to come to the same. So nothing is in it that depends on the way by which it came to know.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..model.quota import Usage
from ..state.snapshot import Snapshot
from .known import Known

Document = dict[str, Any]


def dump(known: Known) -> Document:
    """CPU is counted in thousandths of a core, everything else in whole units."""
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
    """Workloads by ClusterQueue; those that find no way to one are under an empty name."""
    lines = known.scheduler.lines
    found: dict[str, list[str]] = defaultdict(list)
    for key, queue in sorted([*lines.line_of.items(), *dict.fromkeys(lines.homeless, "").items()]):
        found[queue].append(key)
    return dict(sorted(found.items()))


def _free(snapshot: Snapshot, known: Known) -> Document:
    """By the lowest domain, as assignments name it. Rows of nodes that are gone may still be kept."""
    rows = enumerate(snapshot.table.names)
    there = {int(snapshot.leaf_of_row[row]) for row, name in rows if name in known.world.nodes}
    columns = snapshot.remaining.T.tolist()
    found = {"/".join(snapshot.tree.names[leaf]): columns[leaf] for leaf in there}
    return {name: dict(zip(snapshot.resources, amounts, strict=True)) for name, amounts in sorted(found.items())}
