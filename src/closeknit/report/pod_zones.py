"""The NUMA zones of pods in words and as data, and what is not known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..engine.zones import ZoneNotes
from ..model.numa import AmountsByZone
from ..model.number import number_of
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


def zone_lines(notes: ZoneNotes) -> Iterator[str]:
    """What is not known of NUMA zones; nothing if everything is."""
    if notes.without_report:
        are = "is" if notes.without_report == 1 else "are"
        count = f"{notes.without_report} of {number_of(notes.nodes, 'node')}"
        yield f"{count} {are} without a report of NUMA zones: pods are placed there by node totals"
    for what in notes.unknown:
        yield f"unknown on nodes with NUMA zones: {what}"


def zone_notes_json(notes: ZoneNotes | None) -> dict[str, Any]:
    if notes is None:
        return {}
    return {"zones": {"nodes": notes.nodes, "withoutReport": notes.without_report, "unknown": list(notes.unknown)}}
