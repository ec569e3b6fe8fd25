"""The order in which the holdings of a queue would be preempted, cached until one of them changes.

Holdings that are being evicted come first, then the lowest priority, then the newest. A search merges the sorted lists
of the queues that it may preempt from, instead of sorting everything in a cohort for each workload.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from ..model.gates import Gates
from ..queue.pending_workload import effective_priority
from ..state.ledger import Holding

Rank = tuple[bool, int, float, str]
"""Whether it stays, its effective priority, when it got its quota (negated), its uid."""


class Ranked(NamedTuple):
    rank: Rank
    holding: Holding

    @property
    def stays(self) -> bool:
        """Whether it is not being evicted."""
        return self.rank[0]

    @property
    def priority(self) -> int:
        return self.rank[1]


by_rank = itemgetter(0)
"""The sort key of ranked holdings; the sort is stable."""


def ranked(holdings: Iterable[Holding], gates: Gates) -> list[Ranked]:
    return sorted((Ranked(rank(one, gates), one) for one in holdings), key=by_rank)


def rank(holding: Holding, gates: Gates) -> Rank:
    workload = holding.workload
    reserved = workload.status.conditions.get("QuotaReserved")
    since = reserved.since if reserved is not None and reserved.holds else holding.since
    return not workload.evicted, effective_priority(workload, gates), -since, workload.uid
