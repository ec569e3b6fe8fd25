"""The order in which holdings of one queue would be preempted, worked out once until one of them changes.

Those on their way out come first, then the least important, then the youngest. A search takes the queues that it may
take from and merges what is in order already, instead of sorting everything that runs in a cohort for each workload.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from ..model.gates import Gates
from ..queue.waiting import effective_priority
from ..state.ledger import Holding

Rank = tuple[bool, int, float, str]
"""Whether it stays, its effective priority, since when it holds its quota (negated), its uid."""


class Ranked(NamedTuple):
    rank: Rank
    holding: Holding

    @property
    def stays(self) -> bool:
        """It is not on its way out."""
        return self.rank[0]

    @property
    def priority(self) -> int:
        return self.rank[1]


by_rank = itemgetter(0)
"""Sorts holdings that are ranked; equals stay in the order that they had."""


def ranked(holdings: Iterable[Holding], gates: Gates) -> list[Ranked]:
    return sorted((Ranked(rank(one, gates), one) for one in holdings), key=by_rank)


def rank(holding: Holding, gates: Gates) -> Rank:
    workload = holding.workload
    reserved = workload.status.conditions.get("QuotaReserved")
    since = reserved.since if reserved is not None and reserved.holds else holding.since
    return not workload.evicted, effective_priority(workload, gates), -since, workload.uid
