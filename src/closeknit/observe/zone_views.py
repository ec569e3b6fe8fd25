"""What is known of the NUMA zones of nodes, as plain values that a host serves and commands show.

What is free comes from the plans: the report of a node, matched with its pods, and the pods that are promised a place
there. What the node itself reported stands beside it, so that a difference can be seen, with the reason for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ..decide.world import World
from ..model.node import Node
from ..model.numa import AmountsByZone, NodeZones
from ..model.numa_settings import SWITCHES, UNCONFIGURED
from ..model.resources import show
from ..numa.demand import PodDemand
from ..numa.layout import KubeletRules
from ..numa.zone_names import zone_name
from ..state.numa.zone_plans import PodSeat, ZonePlans


class ViewStruct(msgspec.Struct, rename="camel"):
    """Named on the wire as Kubernetes names fields."""


class ZoneResourceView(ViewStruct):
    """CPU is in thousandths of a core, everything else in whole units."""

    allocatable: int
    reported: int
    free: int


class ZoneOfNode(ViewStruct):
    name: str
    distances: dict[str, int] = {}
    resources: dict[str, ZoneResourceView] = {}


class SeatOfPods(ViewStruct):
    """`pods` equal pods of a workload that are expected, or one bound pod, each with these amounts by zone.

    `told`: reported, observed, expected, assumed or unknown.
    """

    pod: str = ""
    workload: str = ""
    pods: int = 1
    told: str = "unknown"
    zones: dict[str, dict[str, int]] = {}


class PauseOnNode(ViewStruct):
    seconds: float
    asks: str


class ZonedNodeView(ViewStruct, kw_only=True):
    """`options` without a value are unknown: neither reported nor configured. `at` is when the report came."""

    name: str
    exists: bool = True
    policy: str
    scope: str
    cpu_manager: str = ""
    memory_manager: str = ""
    options: dict[str, str | None] = {}
    at: float | None = None
    why: str = ""
    doubt: str = ""
    unknown: list[str] = []
    zones: list[ZoneOfNode] = []
    pods: list[SeatOfPods] = []
    pauses: list[PauseOnNode] = []


class ZoneViews(ViewStruct, kw_only=True):
    """All nodes with reports, and the names of those without. `now` is the time of the view.

    `expected` are nodes without a report whose kubelets the configuration describes.
    """

    now: float
    mode: str = "strict"
    nodes: list[ZonedNodeView] = []
    without_report: list[str] = []
    expected: list[str] = []


def zones_view(world: World, now: float, only: Iterable[str] = (), is_watching: bool = True) -> ZoneViews:
    """What is known of all nodes, or `only` of these; without `is_watching` it is not known when reports came."""
    plans, reports, chosen = world.zoning.plans, world.zones, set(only)
    view = ZoneViews(now=now, mode=world.settings.numa.mode if world.zoning.settings is not None else "off")
    view.without_report = sorted((world.nodes.keys() & chosen if chosen else world.nodes.keys()) - reports.keys())
    settings = world.settings.numa
    view.expected = [
        name for name in view.without_report if settings.nodes and settings.of(world.nodes[name].labels) != UNCONFIGURED
    ]
    if plans is None:
        return view
    _ = world.mirror.columns  # counts what is free
    doubts = {one.node: one.sentence for one in plans.accounts.doubtful(plans.now)}
    names = sorted(reports.keys() & chosen if chosen else reports)
    view.nodes = [_node(plans, reports[name], world.nodes.get(name), doubts.get(name, "")) for name in names]
    for one in view.nodes if not is_watching else ():
        one.at = None
    return view


def _node(plans: ZonePlans, zones: NodeZones, node: Node | None, doubt: str) -> ZonedNodeView:
    rules, report = plans.rules_of(zones.node), plans.accounts.report_of(zones.node)
    free = plans.free_on(zones.node)
    return ZonedNodeView(
        name=zones.node,
        exists=node is not None,
        policy=zones.manager.policy,
        scope=zones.manager.scope,
        **_managers(plans, node),
        options=_options(zones, rules),
        at=None if report is None else report.at,
        why=plans.accounts.readings(zones.node, plans.now).why,
        doubt=doubt,
        unknown=plans.unknown_on(zones.node),
        zones=list(_zones(zones, free)),
        pods=[one for seat in plans.seats(zones.node) for one in _seats(seat)],
        pauses=[
            PauseOnNode(seconds=left, asks=asks_of(demand))
            for name, demand, left in plans.pauses.every(plans.now)
            if name == zones.node
        ],
    )


def _managers(plans: ZonePlans, node: Node | None) -> dict[str, str]:
    """What our configuration says of the kubelet's managers; what it leaves open is assumed."""
    told = plans.settings.of({} if node is None else node.labels)
    return {
        name: "static (assumed)" if pins is None else "static" if pins else "none"
        for name, pins in (("cpu_manager", told.pins_cpus), ("memory_manager", told.pins_memory))
    }


def _options(zones: NodeZones, rules: KubeletRules) -> dict[str, str | None]:
    told = (name for options in (zones.manager.options, rules.options) for name, _ in options)
    names = dict.fromkeys((*SWITCHES, *told))
    return {name: rules.option(zones, name) for name in names}


def _zones(report: NodeZones, free: AmountsByZone) -> Iterator[ZoneOfNode]:
    """Resources that no kubelet aligns are as free as reported."""
    for zone in report.zones:
        left = free.get(zone.id, {})
        yield ZoneOfNode(
            name=str(zone_name(zone.id)),
            distances={str(zone_name(other)): cost for other, cost in sorted(zone.costs.items())},
            resources={
                name: ZoneResourceView(
                    allocatable=one.allocatable, reported=one.available, free=max(0, left.get(name, one.available))
                )
                for name, one in sorted(zone.resources.items())
            },
        )


def _seats(seat: PodSeat) -> Iterator[SeatOfPods]:
    """Equal pods of a holder together."""
    if not seat.zones:
        yield SeatOfPods(pod=seat.key, workload=seat.holder, told=seat.told)
    for one in dict.fromkeys(seat.zones):
        zones = {str(zone_name(zone)): amounts for zone, amounts in one.by_zone.items()}
        count = seat.zones.count(one)
        yield SeatOfPods(pod=seat.key, workload=seat.holder, pods=count, told=seat.told, zones=zones)


def asks_of(demand: PodDemand) -> str:
    """What the containers of a demand ask for together, in words."""
    totals: dict[str, int] = {}
    for one in demand.containers:
        for name, amount in dict(one.limits or one.requests).items():
            totals[name] = totals.get(name, 0) + amount
    return ", ".join(f"{name} {show(name, amount)}" for name, amount in sorted(totals.items())) or "nothing"


def encode(view: ZoneViews) -> bytes:
    return msgspec.json.encode(view)


def decode(body: bytes) -> ZoneViews:
    return msgspec.json.decode(body, type=ZoneViews)
