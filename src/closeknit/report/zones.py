"""NUMA zones of nodes as text and as data: what `closeknit numa` prints.

n1   single-numa-node, scope container; report 12 s old
  node-0   cpu             ▒▒▒▒▒▒▒▒░░░░░░░░   4 of 8 free
           nvidia.com/gpu  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒   0 of 2 free   1 reported
    default/train-0   cpu 4, nvidia.com/gpu 2   expected
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ..model.number import number_of
from ..model.resources import show
from ..observe.zone_views import SeatOfPods, ZonedNodeView, ZoneOfNode, ZoneResourceView, ZoneViews
from .bars import FREE, USED, bar
from .lines import span

MOST_NODES = 20


def zones_lines(view: ZoneViews, wide: bool = False) -> Iterator[str]:
    """Every node with a report, and how many have none; `wide` shows all nodes, options and distances."""
    if view.mode == "off":
        yield "NUMA zones do not count: numa.mode is off in the configuration, or the gate NumaZones is"
    shown = view.nodes if wide else view.nodes[:MOST_NODES]
    for one in shown:
        yield from node_lines(one, view.now, wide)
    if len(shown) < len(view.nodes):
        yield f"… and {number_of(len(view.nodes) - len(shown), 'more node')}; name one, or use -o wide"
    if view.without_report:
        names = ", ".join(view.without_report[:3]) + (", …" if len(view.without_report) > 3 else "")
        count = number_of(len(view.without_report), "node")
        yield f"{count} without a report, where pods are placed by node totals: {names}"


def node_lines(one: ZonedNodeView, now: float, wide: bool) -> Iterator[str]:
    policy = "policy none" if one.policy == "none" else f"{one.policy}, scope {one.scope}"
    age = "" if one.at is None else f"; report {span(max(0.0, now - one.at))} old"
    gone = "" if one.exists else "; there is no such Node"
    yield f"{one.name}   {policy}{age}{gone}"
    if wide:
        yield f"  managers: cpu {one.cpu_manager}, memory {one.memory_manager}"
        options = (f"{name} {value or 'unknown'}" for name, value in one.options.items())
        yield f"  options: {', '.join(options)}"
    yield from _zone_lines(one, wide)
    yield from _strangers(one)
    if one.why and (wide or _differs(one)):
        yield f"  {one.why}"
    if one.doubt:
        yield f"  in doubt: {one.doubt}"
    for what in one.unknown:
        yield f"  unknown: {what}"
    for pause in one.pauses:
        yield f"  paused for {span(pause.seconds)}, because the kubelet refused such a pod: {pause.asks}"


def _zone_lines(one: ZonedNodeView, wide: bool) -> Iterator[str]:
    names = [len(name) for zone in one.zones for name in zone.resources]
    width, zone_width = max(names, default=0), max((len(zone.name) for zone in one.zones), default=0)
    distances = wide or len({value for zone in one.zones for value in zone.distances.values()}) > 2
    for zone in one.zones:
        head = zone.name
        for name, amounts in zone.resources.items():
            yield f"  {head:<{zone_width}}   {_resource(name, amounts, width)}"
            head = ""
        if distances and zone.distances:
            text = ", ".join(f"{name} {value}" for name, value in zone.distances.items())
            yield f"  {'':<{zone_width}}   distance to {text}"
        for seat in one.pods:
            if zone.name in seat.zones:
                yield f"  {'':<{zone_width}}   {_seat(seat, zone)}"


def _resource(name: str, amounts: ZoneResourceView, width: int) -> str:
    used = max(0, amounts.allocatable - amounts.free)
    drawn = bar([(USED, used), (FREE, amounts.free)])
    text = f"{name:<{width}}  {drawn}  {show(name, amounts.free)} of {show(name, amounts.allocatable)} free"
    return text if amounts.reported == amounts.free else f"{text}, {show(name, amounts.reported)} reported"


def _seat(seat: SeatOfPods, zone: ZoneOfNode) -> str:
    amounts = ", ".join(f"{name} {show(name, value)}" for name, value in sorted(seat.zones[zone.name].items()))
    each = " each" if seat.pods > 1 else ""
    return f"{_who(seat)}: {amounts}{each} ({seat.told})"


def _who(seat: SeatOfPods) -> str:
    if seat.pod:
        return f"pod {seat.pod}"
    return f"{number_of(seat.pods, 'pod')} to come of {seat.workload}"


def _strangers(one: ZonedNodeView) -> Iterator[str]:
    """Pods that pin something in zones that are unknown."""
    names = [seat.pod for seat in one.pods if not seat.zones]
    if names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield f"  zones unknown, accounted for by the report: {', '.join(names[:5])}{more}"


def _differs(one: ZonedNodeView) -> bool:
    return any(amounts.free != amounts.reported for zone in one.zones for amounts in zone.resources.values())


def zones_data(view: ZoneViews) -> dict[str, Any]:
    """The same as data: amounts as Kubernetes writes them."""
    found: dict[str, Any] = msgspec.to_builtins(view)
    for node in found["nodes"]:
        for zone in node["zones"]:
            for name, amounts in zone["resources"].items():
                zone["resources"][name] = {key: show(name, value) for key, value in amounts.items()}
        for seat in node["pods"]:
            seat["zones"] = {
                zone: {name: show(name, value) for name, value in amounts.items()}
                for zone, amounts in seat["zones"].items()
            }
    return found
