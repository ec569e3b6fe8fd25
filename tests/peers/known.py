"""Differences that docs/differences.md explains, by the name of their row there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from .marks import EVICTED, RESERVES, Mark
from .views import reason, without_eviction, without_reason
from .worlds import Object

Order = dict[str, list[str]]

LEFT_BEHIND = "a condition that stays behind"
"""Kueue decides again before it has seen its own write, and the second write is refused: the event shows its reason."""


WALK = "another turn of the same walk"
"""Every attempt at a workload continues with the next flavor, and Kueue has tried it more or less often."""


SEVERAL = "several evictions at once"
"""Which victim's pods end first is chance, and so is which workload is requeued in time for the next cycle. A preemptor
that is tried while one victim is gone and another is not may evict one more, which returns to its place; and a victim
that is requeued early may be evicted again, by another victim or by the preemptor, which then spares another."""


TIE = "admitted in the same second"
"""Of workloads of one priority the last admitted is evicted first, by seconds; within a second random UIDs decide."""


AT_ONCE = "written at the same time"
"""Two consecutive admissions of one queue are in flight at the same time: which is first is chance."""


def is_tie(sides: Sequence[tuple[Sequence[Mark], int]]) -> bool:
    """Whether each side evicted another of two workloads that were admitted in the same second on one side.

    A side is all its marks, and where those of this step begin.
    """
    gone = [{one.job for one in marks[since:] if one.what == EVICTED} for marks, since in sides]
    held = [{one.job: one for one in marks[:since] if one.what == RESERVES} for marks, since in sides]
    ours, theirs = gone[1] - gone[0], gone[0] - gone[1]
    return bool(ours and theirs) and all(
        any(_together(side.get(one), side.get(other)) for side in held for other in theirs) for one in ours
    )


def _together(one: Mark | None, other: Mark | None) -> bool:
    return one is not None and other is not None and one.at != "" and (one.queue, one.at) == (other.queue, other.at)


def is_at_once(sides: Sequence[Sequence[Mark]]) -> bool:
    """Whether the same happened on both sides, in an order that differs only within one second."""
    if len({tuple(sorted((one.queue, one.job, one.what) for one in side)) for side in sides}) > 1:
        return False
    first, second = ([one for one in side if one.what == RESERVES] for side in sides)
    at = {one.job: number for number, one in enumerate(second)}
    turned = [(a, b) for number, a in enumerate(first) for b in first[number + 1 :] if _is_turned(a, b, at)]
    there = {one.job: one for one in second}
    return bool(turned) and all(_together(a, b) or _together(there[a.job], there[b.job]) for a, b in turned)


def _is_turned(earlier: Mark, later: Mark, there: Mapping[str, int]) -> bool:
    return earlier.queue == later.queue and there[earlier.job] > there[later.job]


def explanation(theirs: Object | None, ours: Object | None, told: Collection[str], walks: bool = False) -> str | None:
    """Why a workload differs between the sides.

    `told` are the reasons in Kueue's last warnings about it; `walks`: Kueue wrote our message too, word for word, at
    some time, and other messages at other times.
    """
    if theirs is None or ours is None or reason(theirs) is None or reason(ours) is None:
        return None
    if without_reason(theirs) != without_reason(ours):
        return None
    return LEFT_BEHIND if reason(ours) in told else WALK if walks else None


def explanation_of_order(theirs: Order, ours: Order, back: Collection[str] = ()) -> str | None:
    """Why the order differs, ignoring workloads that are `back` in their place on both sides."""
    is_same = _without(theirs, back) == _without(ours, back)
    return SEVERAL if is_same and min(evicted(theirs), evicted(ours)) > 1 else None


def driven_out_again(theirs: Order, ours: Order) -> set[str]:
    """The workloads evicted on both sides, and more often on one."""
    first, second = (
        Counter(job for key, jobs in one.items() if key.endswith(EVICTED) for job in jobs) for one in (theirs, ours)
    )
    return {job for job in first.keys() & second.keys() if first[job] != second[job]}


def _without(order: Order, back: Collection[str]) -> Order:
    left = {key: sorted(job for job in jobs if job not in back) for key, jobs in order.items()}
    return {key: jobs for key, jobs in left.items() if jobs}


def evicted(order: Order) -> int:
    return sum(len(jobs) for key, jobs in order.items() if key.endswith(EVICTED))


def is_back(theirs: Object | None, ours: Object | None) -> bool:
    """Whether it holds the same on both sides, or nothing, after an eviction on one side."""
    if theirs is None or ours is None or bool(theirs.get("admission")) != bool(ours.get("admission")):
        return False
    return theirs != ours and without_eviction(theirs) == without_eviction(ours)


Pair = tuple[Object | None, Object | None]


def is_old(accepted: Pair | None, pair: Pair) -> bool:
    """Whether this was explained before: nothing has changed since, or only an eviction explained then still shows."""
    return accepted == pair or (accepted is not None and is_back(*accepted) and is_back(*pair))
