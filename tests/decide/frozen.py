"""Everything that a trial might leave behind in a world, as plain values: to compare before and after, to the byte."""

from __future__ import annotations

from typing import Any

from closeknit.decide.world import World
from closeknit.state.snapshot import Snapshot

COLUMNS = ("allocatable", "other", "pinned", "draining", "admitted", "leaving", "assumed", "free", "room", "remaining")

SHARED = ("allocatable", "other", "pinned", "draining", "admitted", "assumed", "room", "remaining")


def frozen(world: World) -> dict[str, Any]:
    """Usage with its keys, every column of every snapshot, and all holdings."""
    nodes = [*world.tree.queues.values(), *world.tree.cohorts.values()]
    return {
        "usage": {repr(node): dict(node.usage) for node in nodes},
        "quota": {repr(node): (dict(node.subtree), dict(node.local), node.height) for node in nodes},
        "journal": world.tree.checkpoint(),
        "rooms": {name: _columns(view.snapshot) for name, view in world.views.items()},
        "columns": {} if not world.views else {name: getattr(world.mirror.columns, name).tobytes() for name in SHARED},
        "usages": dict(world.mirror.usages),
        "ledger": {
            key: (id(one), id(one.workload), one.queue, dict(one.usage), one.places, one.stage, one.since)
            for key, one in world.ledger.holdings.items()
        },
        "by queue": {queue: list(held) for queue, held in world.ledger.by_queue.items()},
        "generation": dict(world.ledger.generation),
    }


def _columns(snapshot: Snapshot) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(snapshot, name).tobytes() for name in COLUMNS}
    return {**found, "journal": snapshot.checkpoint(), "usable": snapshot.table.usable.tobytes()}
