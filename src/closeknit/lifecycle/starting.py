"""Pods of an admitted workload that do not start, and what holds them back in the scheduler's own words.

Quota and places are no proof that pods run: another scheduler binds them, and it may see what is not modelled here,
such as volumes, host ports or pod affinity. Whatever reports such a workload asks here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..model.number import number_of
from ..model.pod import Pod

PATIENCE = 60.0
"""Seconds that pods may take to start before a report names them."""


class Unstarted(NamedTuple):
    """`pods` of `of` have not started, the oldest since `since`; `why` is what holds back `first`."""

    pods: int
    of: int
    first: str
    why: str
    since: float

    def __str__(self) -> str:
        have = "has" if self.of == 1 else "have"
        return f"{self.pods} of {number_of(self.of, 'pod')} {have} not started: Pod {self.first}: {self.why}"


def unstarted(pods: Iterable[Pod]) -> Unstarted | None:
    """The pods that are pending or gated; None if there are none. One that the scheduler rejected is named first."""
    there = [one for one in pods if not one.deleting]
    waiting = [one for one in there if one.phase in ("", "Pending")]
    if not waiting:
        return None
    first = min(waiting, key=lambda one: (one.node != "", bool(one.gates), not one.unschedulable, one.key))
    since = min(one.created for one in waiting)
    return Unstarted(len(waiting), len(there), first.name, _why(first), since)


def unstarted_for_long(pods: Iterable[Pod], admitted: float, now: float) -> Unstarted | None:
    """The same, if that has lasted longer than PATIENCE since the admission."""
    found = unstarted(pods)
    if found is None:
        return None
    found = found._replace(since=max(found.since, admitted))
    return found if now - found.since > PATIENCE else None


def _why(pod: Pod) -> str:
    if pod.unschedulable:
        return pod.unschedulable
    if pod.gates:
        return f"it has the scheduling gates {', '.join(pod.gates)}"
    if pod.node:
        return f"it is bound to node {pod.node}, and its containers have not started"
    return "no scheduler has bound it"
