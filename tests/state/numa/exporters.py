"""A node with a kubelet and an agent, and what is heard of them: the simple model that accounts are checked against.

The API server knows pods at once, the kubelet admits and ends them some time later or earlier than we hear of it, and
the agent reports what the kubelet has. Zones are given to pods here, so what is free is a sum over pods.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from closeknit.model.container import Container
from closeknit.model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.numa.demand import PodDemand
from closeknit.numa.fingerprint import fingerprint
from closeknit.state.numa.accounts import ZoneAccounts
from closeknit.state.numa.bound_pod import AccountedPod
from closeknit.state.numa.readings import Readings

GI = 1 << 30
CPUS = 64
NODE = "n1"
SINGLE = TopologyManager("single-numa-node")
Free = dict[int, int]


def demand(cpu: float = 1, kind: Any = "app", guaranteed: bool = True) -> PodDemand:
    amounts = {"cpu": round(cpu * 1000), "memory": GI}
    return PodDemand.of([Container.of(amounts, amounts if guaranteed else {}, kind)])


def report(*free: int, **more: Any) -> NodeZones:
    """Zones with so many free CPUs of 64."""
    zones = (Zone(at, {"cpu": ZoneAmounts(CPUS * 1000, CPUS * 1000, one * 1000)}) for at, one in enumerate(free))
    return NodeZones(NODE, tuple(zones), **{"manager": SINGLE, **more})


def pod(name: str, cpu: float = 1, zone: int | None = 0, uid: str = "", **more: Any) -> AccountedPod:
    """A pod that we placed in a zone, or one whose zone is unknown."""
    zones = None if zone is None else {zone: {"cpu": round(cpu * 1000)}}
    made = {"demand": demand(cpu), "names": ("c",), "expected": zones, **more}
    return AccountedPod("default", name, uid or f"uid-{name}", NODE, **made)


def prints(*names: str) -> str:
    return fingerprint(("default", name) for name in names)


def free(found: Readings) -> list[tuple[int, ...]]:
    """The free CPUs of each reading, by zone."""
    return [tuple(zone.resources["cpu"].available // 1000 for zone in one.zones.zones) for one in found.every]


def unplaced(found: Readings) -> list[tuple[str, ...]]:
    return [tuple(one.name for one in each.unplaced) for each in found.every]


@dataclass
class Machine:
    """`method` is how the agent counts pods: all, exclusive, or all with those that have ended."""

    accounts: ZoneAccounts
    method: str = "all"
    now: float = 1000.0
    zone: dict[str, int] = field(default_factory=dict)
    stored: dict[str, AccountedPod] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    freed: set[str] = field(default_factory=set)
    lingering: set[str] = field(default_factory=set)
    heard: dict[str, AccountedPod] = field(default_factory=dict)
    news: list[tuple[str, AccountedPod | None]] = field(default_factory=list)
    reports: list[NodeZones] = field(default_factory=list)
    last: NodeZones | None = None
    count: int = 0

    def bind(self, name: str, cpu: float, zone: int, is_known: bool) -> None:
        if any(one.name == name for one in self.stored.values()):
            return
        self.count += 1
        made = pod(name, cpu, zone if is_known else None, f"{name}-{self.count}")
        self.zone[made.uid] = zone
        self._store(made)

    def admit(self, uid: str) -> None:
        if uid not in self.freed and not self.stored[uid].ended:
            self.held.add(uid)

    def end(self, uid: str) -> None:
        """The kubelet stops the pod and says so."""
        self._free(uid)
        self._store(replace(self.stored[uid], ended=True))

    def delete(self, uid: str) -> None:
        self._free(uid)
        del self.stored[uid]
        self.lingering.discard(uid)
        self.news.append((uid, None))

    def free_early(self, uid: str) -> None:
        """The kubelet stops the pod; the API server hears of it later."""
        self._free(uid)

    def _free(self, uid: str) -> None:
        self.held.discard(uid)
        self.freed.add(uid)
        self.lingering.add(uid)

    def _store(self, one: AccountedPod) -> None:
        self.stored[one.uid] = one
        self.news.append((one.uid, one))

    def hear(self, count: int) -> None:
        for uid, one in self.news[:count]:
            if one is None:
                self.heard.pop(uid, None)
                self.accounts.gone(uid, self.now)
            else:
                self.heard[uid] = one
                self.accounts.pod(one, self.now)
        del self.news[:count]

    def write(self, fingerprint_of: str | None = None) -> None:
        """The agent writes a report; it arrives later."""
        taken = Counter[int]()
        for uid in self.held:
            taken[self.zone[uid]] += self.stored[uid].demand.pod_cpus()
        counted = self.held | self.lingering if self.method == "ended" else self.held
        pods = [self.stored[uid] for uid in counted]
        if self.method == "exclusive":
            pods = [one for one in pods if one.is_exclusive({"cpu"})]
        made = report(
            *(CPUS - taken[at] for at in range(2)),
            fingerprint=prints(*(one.name for one in pods)) if fingerprint_of is None else fingerprint_of,
            exclusive_only=self.method == "exclusive",
        )
        self.reports.append(made)

    def deliver(self, place: int, is_kept: bool = False) -> None:
        if self.reports:
            place %= len(self.reports)
            self.last = self.reports[place]
            self.accounts.report(self.last, self.now)
            if not is_kept:
                del self.reports[place]

    def owed(self) -> Free:
        """What is free if each pod that was heard of and has not ended at the kubelet has its own."""
        left = {0: CPUS, 1: CPUS}
        for uid, one in self.heard.items():
            if not one.ended and uid not in self.freed:
                left[self.zone[uid]] -= one.demand.pod_cpus()
        return left

    def claimed(self, accounts: ZoneAccounts | None = None) -> Free:
        """What every reading says is free, with unplaced pods where they really are."""
        found = (accounts or self.accounts).readings(NODE, self.now)
        least = {0: CPUS, 1: CPUS}
        for one in found.every:
            left = {zone.id: zone.resources["cpu"].available // 1000 for zone in one.zones.zones}
            for each in one.unplaced:
                left[self.zone[each.uid]] -= each.demand.pod_cpus()
            least = {at: min(value, left[at]) for at, value in least.items()}
        return least
