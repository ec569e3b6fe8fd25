"""What is free in the zones of one node: its last report is the opening balance, pods that come and go are the entries.

             report matches a recent set             the next report matches
    no report ─────────────────────────▶ matched ◀───────────────────────────── unmatched ── after a minute: doubtful
                                             └──────────────────────────────────▶ ▲ │
                                               the next report matches no set     └─┘

Unmatched, the report is read twice: as accounting for all pods that were there when it arrived, and as accounting
only for those that an earlier report is known to account for. In the first minute the last report that matched, brought
up to date, must agree too: most likely the agent saw changes in an order that never was here, and its next report
matches. A report that matches late, because a pod was seen later here than by the agent, counts from then on.

Where a fingerprint fits several sets, because a pod was replaced by one of the same name, all of them count, except
those that earlier reports exclude: a node's reports arrive in the order in which they were written, and equal pods have
equal amounts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...model.numa import SINGLE, AmountsByZone, NodeZones
from ...numa.fingerprint import check_form
from ...numa.placement_vector import PlacementError, decoded
from .bound_pod import AccountedPod
from .inclusion import Fingerprints, Inclusion, Uids, included, is_ambiguous
from .pod_sets import EVER, LONGEST, PodSets
from .readings import Placed, Readings, ZoneReading, distinct, have_same_amounts, reading

MINUTE = 60.0
"""Agents publish at least this often; a pod that is here for longer when a report arrives is in the report."""


class Statement(NamedTuple):
    """A report and the sets of pods that it may account for; no set if none is known."""

    report: NodeZones
    arrived: float
    included: tuple[Uids, ...] = ()


class Settled(NamedTuple):
    """The last report that matched when the next one came, and when the earliest set that it may mean began."""

    report: NodeZones
    earliest: Uids
    floor: float


class NodeAccount:
    def __init__(self, node: str) -> None:
        self.node = node
        self.last: Statement | None = None
        self.unmatched_since: float | None = None
        self._matched: Statement | None = None
        self._settled: Settled | None = None
        self._floor = -EVER
        self._counts_ended: bool | None = None
        self._proven: set[str] = set()
        self._located: dict[str, AmountsByZone] = {}
        self._sets, self._prints = PodSets(), Fingerprints()
        self._is_stale = False

    @property
    def is_empty(self) -> bool:
        return self.last is None and not self._sets.present

    @property
    def has_fingerprint(self) -> bool:
        return self.last is not None and check_form(self.last.report.fingerprint) is None

    def put_report(self, report: NodeZones, now: float) -> None:
        self._resolve(now)
        if self._matched is not None:
            self._settled = Settled(self._matched.report, self._matched.included[-1], self._floor)
        before, self.last = self.last, Statement(report, now)
        self._is_stale = True
        self._resolve(now)
        if not self.last.included:
            self.unmatched_since = now if self.unmatched_since is None else self.unmatched_since
            self._prove(now if before is None else before.arrived, now)

    def drop_report(self) -> None:
        self.last = self._matched = self._settled = self.unmatched_since = None
        self._floor = -EVER
        self._proven.clear()
        self._sets.forget(EVER, ())

    def put(self, pod: AccountedPod, now: float) -> None:
        if self._sets.put(pod, now, self.last is not None):
            self._is_stale = True

    def remove(self, uid: str, now: float) -> None:
        if self._sets.remove(uid, now, self.last is not None):
            self._is_stale = True
            self._forget(now)

    def readings(self, now: float) -> Readings:
        self._resolve(now)
        last = self.last
        if last is None:
            return Readings((), f"Node {self.node} has no report of its zones.")
        if last.included:
            every = distinct(self._reading(last.report, uids) for uids in last.included)
            return Readings(every, self._why_matched(last, len(every)), len(every) == 1)
        return Readings(distinct(self._unmatched(last, now)), self._why_unmatched())

    def zones_of(self, uid: str, now: float) -> AmountsByZone | None:
        self._resolve(now)
        return self._zones(self._sets.present[uid]) if uid in self._sets.present else None

    def unaccounted(self, now: float) -> Uids:
        """Pods that are charged on top of the last report in some reading of it."""
        self._resolve(now)
        last = self.last
        if last is None:
            return frozenset()
        live = self._live(last.report)
        return live - frozenset.intersection(*last.included) if last.included else live & self._doubted(now)

    def told_by(self, uid: str, zones: AmountsByZone) -> str:
        """Who told these zones of a pod."""
        if uid in self._located:
            return "reported"
        return "observed" if zones is self._sets.present[uid].observed else "expected"

    def due(self, now: float) -> float | None:
        """The next time at which the readings or the doubt change without an event."""
        self._resolve(now)
        if self.last is None or self.last.included:
            return None
        since = now if self.unmatched_since is None else self.unmatched_since
        times = [since + MINUTE, *(self._sets.came[uid] + LONGEST for uid in self._doubted(now))]
        return min((time for time in times if time > now), default=None)

    def is_unmatched(self, now: float) -> bool:
        self._resolve(now)
        return self.last is not None and not self.last.included

    def _resolve(self, now: float) -> None:
        """Look for the set that the last report accounts for, if something changed that may help."""
        last = self.last
        if not self._is_stale or last is None:
            return
        self._is_stale = False
        if last.included and not is_ambiguous(last.included, self._sets):
            return
        self._forget(now)
        mixed = self.unmatched_since is None or now < self.unmatched_since + MINUTE
        found = included(last.report, self._sets, last.arrived + MINUTE, mixed, self._prints, self._counts_ended)
        if found:
            self._settle(last, self._plausible(last.report, found))

    def _plausible(self, report: NodeZones, found: tuple[Inclusion, ...]) -> tuple[Inclusion, ...]:
        """Without what the report before excludes, unless that is everything."""
        settled = self._settled
        if settled is None or len(found) == 1:
            return found
        same = have_same_amounts(report, settled.report)
        rest = (one for one in found if one.ceased > settled.floor and (same or one.uids != settled.earliest))
        return tuple(rest) or found

    def _settle(self, last: Statement, found: tuple[Inclusion, ...]) -> None:
        sets = tuple(dict.fromkeys((*(one.uids for one in found), *last.included)))
        self.last = self._matched = last._replace(included=sets)
        self._floor = max(self._settled.floor if self._settled else -EVER, min(one.began for one in found))
        self.unmatched_since = None
        self._proven = set(frozenset.intersection(*sets))
        if len(sets) == 1:
            self._learn(found[0].counts_ended, last.arrived)
            self._located.update(self._read_placement(last.report, sets[0]))

    def _learn(self, counts_ended: bool | None, arrived: float) -> None:
        """Remember whether the agent counts ended pods. One that came lately may be missing for another reason: the
        agent had not seen it yet."""
        ended = (uid for uid, pod in self._sets.present.items() if pod.ended)
        is_late = any(self._sets.came[uid] > arrived - MINUTE for uid in ended)
        if counts_ended is not None and (counts_ended or not is_late):
            self._counts_ended = counts_ended

    def _read_placement(self, report: NodeZones, uids: Uids) -> Iterator[tuple[str, AmountsByZone]]:
        """The zones of pods as reported. Where containers may span several zones, the report cannot tell."""
        if report.placement is None or report.manager.policy != SINGLE:
            return
        pinned = {uid: dict(self._sets.pod(uid).pinned_containers(report.names)) for uid in uids}
        try:
            places = decoded(report.placement, [name for containers in pinned.values() for name in containers])
        except PlacementError:
            return
        for uid, containers in pinned.items():
            zones: dict[int, dict[str, int]] = {}
            for name, amounts in containers.items():
                held = zones.setdefault(places[name], {})
                held.update({key: held.get(key, 0) + value for key, value in amounts.items()})
            if zones and zones.keys() <= {zone.id for zone in report.zones}:
                yield uid, zones

    def _prove(self, before: float, now: float) -> None:
        """Pods that came before the previous report, and a minute before this one, are in this one."""
        latest = min(before, now - MINUTE)
        self._proven.update(uid for uid, came in self._sets.came.items() if came <= latest)

    def _doubted(self, now: float) -> set[str]:
        """Pods of which it is not known whether the last report accounts for them.

        Agents that publish nothing for long have nothing new to say: then it does.
        """
        arrived = self.last.arrived if self.last is not None else now
        return {
            uid
            for uid, came in self._sets.came.items()
            if uid not in self._proven and (came > arrived or now < came + LONGEST)
        }

    def _unmatched(self, last: Statement, now: float) -> Iterator[ZoneReading]:
        doubted = self._doubted(now)
        late = {uid for uid in doubted if self._sets.came[uid] > last.arrived}
        yield self._reading(last.report, self._live(last.report) - late)
        yield self._reading(last.report, self._live(last.report) - doubted)
        since = self.unmatched_since
        if self._matched is not None and self.has_fingerprint and since is not None and now < since + MINUTE:
            for uids in self._matched.included:
                yield self._reading(self._matched.report, uids)

    def _reading(self, report: NodeZones, uids: Uids) -> ZoneReading:
        """The report as accounting for these pods."""
        live = self._live(report)
        return reading(report, self._placed(live - uids), self._placed(uids - live))

    def _live(self, report: NodeZones) -> Uids:
        listed = report.names
        return frozenset(uid for uid, pod in self._sets.present.items() if not pod.ended and pod.pins(listed))

    def _placed(self, uids: Uids) -> list[Placed]:
        return [(pod, self._zones(pod)) for pod in map(self._sets.pod, sorted(uids))]

    def _zones(self, pod: AccountedPod) -> AmountsByZone | None:
        return self._located.get(pod.uid) or pod.known_zones(self.last.report if self.last else None)

    def _forget(self, now: float) -> None:
        kept = set[str]()
        for statement in (self.last, self._matched):
            kept.update(*(statement.included if statement is not None else ()))
        self._sets.forget(now, kept)
        remembered = self._sets.present.keys() | kept
        self._located = {uid: zones for uid, zones in self._located.items() if uid in remembered}

    def _why_matched(self, last: Statement, readings: int) -> str:
        if readings > 1:
            return f"The report of node {self.node} fits several sets of pods: names recur, or pods in it have ended."
        live, uids = self._live(last.report), last.included[0]
        came, went = len(live - uids), len(uids - live)
        if not came and not went:
            return f"The report of node {self.node} accounts for all of its pods."
        return f"Since the report of node {self.node}, {came} pods with resources of their own came and {went} went."

    def _why_unmatched(self) -> str:
        if not self.has_fingerprint:
            return f"The report of node {self.node} does not tell which pods it accounts for."
        return f"The report of node {self.node} accounts for other pods than the node is known to have had."
