"""Which pods a report accounts for, by its fingerprint.

A fingerprint is 64 bits: one that equals that of a set proves that the agent saw pods of these names, whichever way
the agent counts. So the ways in which agents differ are simply tried: pods that have ended or not, all pods or those
with something of their own. What a match cannot tell apart are pods of one name, such as a StatefulSet's pod and the
one before it. All sets that match are therefore returned, and what is free must hold for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ...model.numa import NodeZones
from ...numa.fingerprint import check_form, fingerprint_of_hashes
from .bound_pod import AccountedPod
from .pod_sets import PastSet, PodPresence, PodSets, States

Uids = frozenset[str]
MOST_PRINTS = 1024


class Fingerprints:
    """Fingerprints of sets of one node's pods; each is computed once."""

    def __init__(self) -> None:
        self._known: dict[Uids, str] = {}

    def of(self, uids: Uids, sets: PodSets) -> str:
        found = self._known.get(uids)
        if found is None:
            if len(self._known) >= MOST_PRINTS:
                self._known.clear()
            found = self._known[uids] = fingerprint_of_hashes(sets.pod(uid).hash for uid in uids)
        return found


class Inclusion(NamedTuple):
    """The pods that a report accounts for and that pin something, and the time during which the node had them.

    `counts_ended`: whether the agent counts pods that have ended; None if the match does not tell.
    """

    uids: Uids
    began: float
    ceased: float
    counts_ended: bool | None

    def merged(self, other: Inclusion) -> Inclusion:
        counts = self.counts_ended if self.counts_ended == other.counts_ended else None
        return Inclusion(self.uids, min(self.began, other.began), max(self.ceased, other.ceased), counts)


def included(
    report: NodeZones, sets: PodSets, until: float, mixed: bool, prints: Fingerprints, counts_ended: bool | None
) -> tuple[Inclusion, ...]:
    """What the report may account for; several if that cannot be told apart, none if it is unknown.

    `until` is the latest time at which the reported set can have begun here; `mixed` allows other orders of changes.
    `counts_ended` is what earlier reports told of the agent; it is tried first.
    """
    if check_form(report.fingerprint):
        return ()
    match = _Match(report, sets, prints, counts_ended)
    found = match.among(sets.recent(until))
    known = [one.uids for one in found]
    if mixed and (not found or is_ambiguous(known, sets)):
        found = (*found, *(one for one in match.among(sets.mixtures(until)) if one.uids not in known))
    return found


def is_ambiguous(found: Iterable[Uids], sets: PodSets) -> bool:
    """Whether other sets may have the same fingerprint: a name recurs, or a pod has ended and may count."""
    return sets.has_namesakes or any(sets.pod(uid).ended for uids in found for uid in uids)


class _Match:
    def __init__(self, report: NodeZones, sets: PodSets, prints: Fingerprints, counts_ended: bool | None) -> None:
        self.report, self.sets, self.prints, self.counts_ended = report, sets, prints, counts_ended
        self.listed = report.names
        self._pins: dict[str, bool] = {}
        self._exclusive: dict[str, bool] = {}

    def among(self, candidates: Iterable[PastSet]) -> tuple[Inclusion, ...]:
        every = list(candidates)
        for counts in self._countings():
            for ended in dict.fromkeys((self.counts_ended, None)):
                found: dict[Uids, Inclusion] = {}
                for one in filter(None, (self._inclusion(each, counts, ended) for each in every)):
                    found[one.uids] = found[one.uids].merged(one) if one.uids in found else one
                if found:
                    return tuple(found.values())
        return ()

    def _countings(self) -> list[Callable[[str], bool]]:
        """Which pods an agent counts: first as the report declares it."""
        ways: list[Callable[[str], bool]] = [self._any, self._is_exclusive, self._is_pinned]
        if self.report.exclusive_only and not self.report.in_annotation:
            ways = [*ways[1:], ways[0]]
        return ways

    def _inclusion(self, one: PastSet, counts: Callable[[str], bool], ended: bool | None) -> Inclusion | None:
        """The pods of a set that has the reported fingerprint."""
        live = frozenset(uid for uid, state in one.states.items() if state is PodPresence.LIVE and counts(uid))
        every = live.union(uid for uid, state in one.states.items() if state is PodPresence.ENDED and counts(uid))
        for uids, with_ended in ((live, False), (every, True)):
            if ended in (None, with_ended) and self.prints.of(uids, self.sets) == self.report.fingerprint:
                told = with_ended if live != every else None
                return Inclusion(self._pinned(one.states), one.began, one.ceased, told)
        return None

    def _pinned(self, states: States) -> Uids:
        return frozenset(uid for uid, state in states.items() if state is PodPresence.LIVE and self._is_pinned(uid))

    def _any(self, uid: str) -> bool:
        return True

    def _is_exclusive(self, uid: str) -> bool:
        return _remembered(self._exclusive, uid, self.sets, lambda pod: pod.is_exclusive(self.listed))

    def _is_pinned(self, uid: str) -> bool:
        return _remembered(self._pins, uid, self.sets, lambda pod: pod.pins(self.listed))


def _remembered(known: dict[str, bool], uid: str, sets: PodSets, ask: Callable[[AccountedPod], bool]) -> bool:
    if uid not in known:
        known[uid] = ask(sets.pod(uid))
    return known[uid]
