"""The NUMA zones of pods in words and as data."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..model.numa import AmountsByZone
from ..model.resources import show
from ..numa.zone_names import zone_name
from ..state.numa.zone_states import Zoned


def zones_of_pods(pods: Zoned) -> str:
    """In which zones pods are, equal ones counted: "node-0 ×2, node-1", or "node-0+node-1" for one that spans two."""
    counts = Counter("+".join(str(zone_name(zone)) for zone in sorted(one.by_zone)) or "any zone" for one in pods)
    return ", ".join(f"{zones} ×{count}" if count > 1 else zones for zones, count in counts.items())


def zones_json(zones: AmountsByZone) -> list[dict[str, Any]]:
    """The amounts of one pod by zone, in the form of the pod's annotation."""
    return [
        {"zone": zone_name(zone), "amount": {name: show(name, value) for name, value in sorted(amounts.items())}}
        for zone, amounts in sorted(zones.items())
    ]
