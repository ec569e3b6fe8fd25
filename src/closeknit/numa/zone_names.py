"""Zone names: `node-3` is the NUMA node with id 3.

The number is read as Go's Atoi reads it, which is what every other reader of these objects does: `node-+3` and
`node-03` are valid, `node- 3` is not. Whether an id is within the range that a scheduler supports is up to the caller.
"""

from __future__ import annotations

from ..model.numa import AmountsByZone
from ..model.resources import show
from ..model.shape import whole_number

PREFIX = "node-"


def zone_id(name: str) -> int | None:
    """zone_id("node-3") == 3; None if the name is not that of a NUMA node."""
    number = whole_number(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    return number if number is not None and number >= 0 else None


def zone_name(number: int) -> str | None:
    """zone_name(3) == "node-3"; None for a negative id."""
    return f"{PREFIX}{number}" if number >= 0 else None


def zones_text(zones: AmountsByZone) -> str:
    """Amounts by zone in words: "node-0 cpu 4, memory 8Gi; node-1 cpu 6"."""
    parts = (
        f"{zone_name(zone)} " + ", ".join(f"{name} {show(name, value)}" for name, value in sorted(amounts.items()))
        for zone, amounts in sorted(zones.items())
    )
    return "; ".join(parts) or "nothing"
