"""What the NUMA zones of a node have free, from its report, the pods that are bound to it, and the plans for it.

    report ─▶ matched with pods ─▶ readings ── bound pods without zones ──▶ bound ── pods planned, in order ──▶ now
              `accounts`                       as the kubelet would choose           of their admission

A planned pod gets the zones that its kubelet will choose if the pods of the node start in the planned order, which the
ungater keeps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ...model.node import Node
from ...model.numa import AmountsByZone, NodeZones, Zone
from ...model.numa_settings import NumaSettings
from ...model.resources import CPU
from ...model.shape import Shape
from ...model.topology import HOSTNAME, NODE
from ...numa.admissions import Admissions
from ...numa.admitting import Admitting
from ...numa.demand import MILLI, PodDemand
from ...numa.layout import STATIC, KubeletRules, Layout, layout_of
from ...numa.memory_groups import groups_of
from ...numa.reported import unknown
from ...numa.zone_state import ZonedAmounts
from .accounts import ZoneAccounts
from .bound_pod import AccountedPod
from .bound_state import bound_state
from .pauses import RefusalPauses
from .zone_states import RowZones, Zoned

if TYPE_CHECKING:
    from ..mirror import Usage

Place = tuple[str, str]
"""A node by hostname or by name: the last level of an assignment, and its value."""


def holder_of(workload: str, pod_set: str) -> str:
    """The pods of a workload's pod set, by name; empty for pods of no workload."""
    return f"{workload}/{pod_set}" if workload else ""


class KubeletPod(NamedTuple):
    """What a kubelet sees of a pod, the names of its containers, and its zones as observed and as expected by us.

    `since` is when its kubelet accepted it, if that is known.
    """

    demand: PodDemand
    names: tuple[str, ...] = ()
    observed: AmountsByZone | None = None
    expected: AmountsByZone | None = None
    since: float | None = None


class Planned(NamedTuple):
    """Pods that a holder may have on a node, and since when."""

    holder: str
    demand: PodDemand
    pods: int
    since: float


class PodSeat(NamedTuple):
    """The zones of a bound pod, by its `key`, or of the pods that a holder does not have on the node yet.

    `told` is by whom: reported by the node's agent, observed by KAI's, expected by us, assumed because the kubelet
    would choose so, or unknown.
    """

    key: str
    holder: str
    told: str
    zones: Zoned = ()


class ZonePlans:
    """`now` is the time of the last event: a reading of a report may change by time alone."""

    def __init__(self, settings: NumaSettings, admissions: Admitting | None = None) -> None:
        """`admissions` tells what nodes admit: by default what their kubelets do."""
        self.settings, self.now = settings, 0.0
        self.accounts, self.admissions = ZoneAccounts(), Admissions() if admissions is None else admissions
        self._rules: dict[str, KubeletRules] = {}
        self._pods: dict[str, tuple[AccountedPod, str]] = {}
        """Bound pods by key, each with its holder."""
        self._on: dict[str, dict[str, str]] = {}
        """The uid and the key of each pod on a node."""
        self._births = 0
        self._held: dict[Place, dict[str, tuple[Usage, int]]] = {}
        self._expected: dict[str, dict[str, Zoned]] = {}
        self._assumed: dict[str, Mapping[str, Zoned]] = {}
        """The zones that were assumed for bound pods whose zones are unknown, by uid."""
        self._demands: dict[Shape, PodDemand] = {}
        self._now: dict[str, int] = {}
        self.pauses = RefusalPauses()

    @property
    def nodes(self) -> Iterable[str]:
        """The nodes whose zones are known."""
        return self._rules.keys()

    def node_of(self, key: str) -> str:
        """The node of a bound pod; empty if it is not known."""
        known = self._pods.get(key)
        return "" if known is None else known[0].node

    def demand_of_pod(self, key: str) -> PodDemand | None:
        """What its kubelet sees of a bound pod, or of one that has ended and is still there."""
        known = self._pods.get(key)
        return None if known is None else known[0].demand

    def free_on(self, node: str) -> AmountsByZone:
        """What the zones of a node have free, planned pods counted."""
        number = self._now.get(node)
        return {} if number is None else self.admissions.free(number)

    def rules_of(self, node: str) -> KubeletRules:
        """What our configuration says about the kubelet of a node."""
        return self._rules.get(node, STATIC)

    def unknown_on(self, node: str) -> list[str]:
        """What may decide about admissions on a node and is neither in its report nor in our configuration."""
        report = self.accounts.report_of(node)
        return [] if report is None else unknown(report.zones, self.rules_of(node))

    def demand_of(self, shape: Shape) -> PodDemand:
        """What a kubelet sees of a pod of a shape."""
        known = self._demands.get(shape)
        if known is None:
            if len(self._demands) > 4096:
                self._demands.clear()
            known = self._demands[shape] = PodDemand.of_shape(shape, self.settings.mode == "compat")
        return known

    # What is observed

    def put_report(self, zones: NodeZones, node: Node | None) -> None:
        configured = self.settings.of({} if node is None else node.labels)
        self._rules[zones.node] = KubeletRules.of(configured)
        self.accounts.report(zones, self.now)

    def drop_report(self, node: str) -> None:
        self._rules.pop(node, None)
        self._expected.pop(node, None)
        self._assumed.pop(node, None)
        self._now.pop(node, None)
        self.accounts.drop_report(node)

    def put_pod(self, key: str, node: str, needs: KubeletPod, holder: str, ended: bool = False) -> None:
        """A pod that is bound to a node; one that has ended, and is still there, may be in reports."""
        namespace, _, name = key.partition("/")
        known = self._pods.get(key)
        if known is not None and known[0].node == node:
            uid = known[0].uid
        else:
            self.drop_pod(key)
            self._births += 1
            uid = f"{key}#{self._births}"
        pod = AccountedPod(
            namespace, name, uid, node, needs.demand, needs.names, ended, needs.since, needs.observed, needs.expected
        )
        self._pods[key] = pod, holder
        if ended:
            self._on.get(node, {}).pop(uid, None)
        else:
            self._on.setdefault(node, {})[uid] = key
        self.accounts.pod(pod, self.now)

    def end_pod(self, key: str) -> None:
        """The containers of a pod have ended."""
        known = self._pods.get(key)
        if known is not None:
            pod, holder = known
            needs = KubeletPod(pod.demand, pod.names, pod.observed, pod.expected, pod.since)
            self.put_pod(key, pod.node, needs, holder, True)

    def drop_pod(self, key: str) -> None:
        known = self._pods.pop(key, None)
        if known is not None:
            pod = known[0]
            self._on.get(pod.node, {}).pop(pod.uid, None)
            self.accounts.gone(pod.uid, self.now)

    # What is planned

    def hold(self, key: str, usage: Usage) -> None:
        for place, count in _places(usage).items():
            self._held.setdefault(place, {})[key] = usage, count

    def release(self, key: str, usage: Usage) -> None:
        for place in _places(usage):
            held = self._held[place]
            held.pop(key, None)
            if not held:
                del self._held[place]

    def planned(self, *places: Place) -> list[Planned]:
        """What is held at a node, in the order of admission."""
        found = [one for place in places for one in self._held.get(place, {}).values()]
        found.sort(key=lambda one: (one[0].since, one[0].workload, one[0].turn, one[0].pod_set))
        return [Planned(usage.holder, self.demand_of(usage.shape), count, usage.since) for usage, count in found]

    def expected(self, node: str, holder: str) -> Zoned:
        """The zones of the pods of a holder that are not bound to the node yet."""
        return self._expected.get(node, {}).get(holder, ())

    def seats(self, node: str) -> list[PodSeat]:
        """Who is where on a node: bound pods that have something of their own there, then those that are planned."""
        report = self.accounts.report_of(node)
        if report is None:
            return []
        found = [
            PodSeat(key, holder, *self._seat(uid, pod))
            for uid, key in self._on.get(node, {}).items()
            for pod, holder in (self._pods[key],)
            if pod.pins(report.zones.names)
        ]
        planned = (PodSeat("", holder, "expected", given) for holder, given in self._expected.get(node, {}).items())
        return sorted(found) + sorted(one for one in planned if one.zones)

    def _seat(self, uid: str, pod: AccountedPod) -> tuple[str, Zoned]:
        told = self.accounts.told_zones(uid, self.now)
        if told is not None:
            return told[0], (ZonedAmounts.of(told[1]),)
        assumed = self._assumed.get(pod.node, {}).get(uid, ())
        return ("assumed" if assumed else "unknown"), assumed

    # What is free

    def on(self, node: str, *places: Place) -> RowZones:
        """What the zones of a node have free, and what its pods have there."""
        rules, readings = self._rules.get(node), self.accounts.readings(node, self.now)
        if rules is None or not readings.every:
            return RowZones()
        located = self._located(node, layout_of(readings.every[0].zones, rules))
        number, placed = bound_state(self.admissions, readings, rules, located.values())
        self._assumed[node] = placed
        empty = self._empty(readings.every[0].zones, rules)
        taken = self._taken(number, empty)
        held: dict[str, Zoned] = {}
        here = Counter[str]()
        for uid, key in self._on.get(node, {}).items():
            holder = self._pods[key][1]
            here[holder] += 1
            has = (located[uid],) if uid in located else placed.get(uid, ())
            _add(held, holder, tuple(_at_most(one, taken) for one in has))
        room = self._without(number, held)
        expected = self._expected[node] = {}
        for plan in self.planned(*places):
            left = max(0, plan.pods - here[plan.holder])
            here[plan.holder] -= plan.pods - left
            number, given_now = self.admissions.fill(number, plan.demand, left)
            _add(held, plan.holder, given_now)
            _add(expected, plan.holder, given_now)
        self._now[node] = number
        return RowZones(number, room, empty, held, self.pauses.on(node, self.now))

    def _located(self, node: str, layout: Layout) -> dict[str, ZonedAmounts]:
        """What the pods have whose zones are known, with the groups of zones that their memory comes from."""
        every = (
            (self._pods[key][0], self.accounts.zones_of(uid, self.now)) for uid, key in self._on.get(node, {}).items()
        )
        return {
            pod.uid: ZonedAmounts.of(zones, groups_of(pod.demand, zones, layout))
            for pod, zones in every
            if zones is not None
        }

    def _without(self, number: int, held: Mapping[str, Zoned]) -> int:
        """The state without the pods of workloads."""
        for holder, given in held.items():
            for one in given if holder else ():
                number = self.admissions.charge(number, one, -1)
        return number

    def _taken(self, number: int, empty: int) -> dict[int, dict[str, int]]:
        """What is not free in a state, by zone and resource."""
        free, most = map(self.admissions.free, (number, empty))
        return {zone: {name: size - free[zone][name] for name, size in own.items()} for zone, own in most.items()}

    def _empty(self, report: NodeZones, rules: KubeletRules) -> int:
        zones = tuple(map(_emptied, report.zones))
        return self.admissions.reported(replace(report, zones=zones), rules)


def _emptied(zone: Zone) -> Zone:
    return replace(
        zone, resources={name: one._replace(available=one.allocatable) for name, one in zone.resources.items()}
    )


def _at_most(given: ZonedAmounts, taken: dict[int, dict[str, int]]) -> ZonedAmounts:
    """The part of what a pod has that is taken from zones, and from now on not taken by other pods.

    A report may show less taken than its pods have. If they gave back more than that, taking it again would leave less
    free than before.
    """
    found = {
        zone: {
            name: min(-(-size // MILLI) * MILLI if name == CPU else size, taken[zone].get(name, 0))
            for name, size in own.items()
        }
        for zone, own in given.by_zone.items()
        if zone in taken
    }
    for zone, own in found.items():
        for name, size in own.items():
            if size:
                taken[zone][name] -= size
    return ZonedAmounts.of(found, dict(given.groups))


def _add(held: dict[str, Zoned], holder: str, given: Zoned) -> None:
    held[holder] = held.get(holder, ()) + given


def _places(usage: Usage) -> dict[Place, int]:
    """The nodes on which usage is, by name or hostname; none for a domain above the host."""
    levels = usage.assignment.levels
    if not levels or levels[-1] not in (HOSTNAME, NODE):
        return {}
    return {(levels[-1], path[-1]): count for path, count in usage.assignment.pods_by_domain.items()}
