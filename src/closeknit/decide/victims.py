"""Victims: which workloads to preempt so that another fits, as in Kueue's classical preemption.

Candidates are ordered: workloads that are already being evicted first, then other queues before the own one, lowest
priority and newest first. They are removed one by one until the preemptor fits; then, in reverse order, each one that
turns out not to be needed is put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum

from ..model.cluster_queue import ClusterQueue
from ..model.quota import FlavorResource, Usage, minus
from ..queue.pending_workload import PendingWorkload, queue_time
from ..quota.tree import QuotaNode
from ..state.ledger import Holding
from .rank import Rank, Ranked, by_rank
from .topology import RoomTest
from .world import World


class PreemptionCause(Enum):
    """Why a victim was chosen: the reason of the condition Preempted, and its text."""

    IN_QUEUE = "InClusterQueue"
    RECLAIM = "InCohortReclamation"
    FAIR = "InCohortFairSharing"
    WHILE_BORROWING = "InCohortReclaimWhileBorrowing"

    @property
    def words(self) -> str:
        return {
            PreemptionCause.IN_QUEUE: "prioritization in the ClusterQueue",
            PreemptionCause.RECLAIM: "reclamation within the cohort",
            PreemptionCause.FAIR: "Fair Sharing within the cohort",
            PreemptionCause.WHILE_BORROWING: "reclamation within the cohort while borrowing",
        }[self]


@dataclass(frozen=True, slots=True)
class Victim:
    holding: Holding
    cause: PreemptionCause


Borrowers = Mapping[str, AbstractSet[FlavorResource]]
"""By queue: the flavors and resources that it borrows."""


def nothing() -> None:
    """The default callback: do nothing."""


@dataclass(slots=True)
class VictimSearch:
    """A search for victims: the preemptor and its requests; `contested` is what victims would have to give up.

    `room` returns whether the pods could be placed now; it is called only if quota suffices. During a search workloads
    are only removed or put back, so what fits at the start always fits, and only the rest is checked.
    """

    world: World
    preemptor: PendingWorkload
    queue: ClusterQueue
    node: QuotaNode
    requests: Usage
    contested: frozenset[FlavorResource]
    room: RoomTest
    gone: frozenset[str] = frozenset()
    borrowers: Borrowers | None = None
    """If given, only these queues count as borrowing; others may seem to because of promises of this cycle."""
    when_found: Callable[[], None] = nothing
    """Called once, while the victims are removed."""
    short: list[tuple[FlavorResource, int]] = field(init=False)
    """What lacks quota at the start."""
    borrowed: list[tuple[FlavorResource, int]] = field(init=False)
    """What would be borrowed at the start."""
    counts_quota: bool = True
    """False while only room is short: then quota is not counted."""

    def __post_init__(self) -> None:
        asked = self.requests.items()
        self.short = [(fr, amount) for fr, amount in asked if amount > max(0, self.node.available(fr))]
        self.borrowed = [(fr, amount) for fr, amount in asked if self.node.borrows_with(fr, amount)]

    def may_lose(self, queue: str) -> bool:
        """Whether a queue that seems to borrow what is contested really does."""
        return self.borrowers is None or not self.contested.isdisjoint(self.borrowers.get(queue, ()))

    def fits(self, borrow: bool = True) -> bool:
        if not borrow and any(self.node.borrows_with(fr, amount) for fr, amount in self.borrowed):
            return False
        return all(amount <= max(0, self.node.available(fr)) for fr, amount in self.short) and self.room()

    def take_away(self, holding: Holding) -> None:
        """Remove a workload within this search."""
        if self.counts_quota:
            self.world.tree.remove(holding.queue, holding.usage)
        if self.room.wanted and self.can_tell(holding):
            self.world.charge_places(holding, -1)

    def put_back(self, holding: Holding) -> None:
        if self.counts_quota:
            self.world.tree.add(holding.queue, holding.usage)
        if self.room.wanted and self.can_tell(holding):
            self.world.charge_places(holding, 1)

    def can_tell(self, holding: Holding) -> bool:
        """Whether removing the workload can change the result of this search."""
        return self.counts_quota or self.room.concerns(holding)

    def candidates(self, queue: str, policy: str) -> Iterator[Ranked]:
        """Workloads of a queue that hold something contested and that the policy allows to preempt, in order."""
        for one in self.world.ranked(queue):
            holding = one.holding
            if (
                not self.contested.isdisjoint(holding.usage)
                and self._allows(policy, one)
                and not (self.gone and holding.key in self.gone)
            ):
                yield one

    def _allows(self, policy: str, one: Ranked) -> bool:
        mine = self.preemptor
        if policy == "Any" or one.priority < mine.priority:
            return True
        if policy != "LowerOrNewerEqualPriority" or one.priority > mine.priority:
            return False
        return mine.time < queue_time(one.holding.workload, self.world.settings, self.world.gates)


@dataclass(frozen=True, slots=True)
class Candidate:
    """`top` is the highest node up to which its queue must be borrowing; None for the preemptor's own queue."""

    holding: Holding
    cause: PreemptionCause
    top: QuotaNode | None = None
    only_without_borrowing: bool = False


def classical(search: VictimSearch) -> list[Victim]:
    """The victims that make the workload fit, or none."""
    candidates = candidates_of(search)
    if not candidates:
        return []
    for borrow in attempts(search, candidates):
        found = run(search, candidates, borrow, search.when_found)
        if found:
            return found
    return []


def attempts(search: VictimSearch, candidates: list[Candidate]) -> tuple[bool, ...]:
    """Whether to try with borrowing, without, or both, and in which order."""
    foreign = any(one.top is not None for one in candidates)
    may_borrow = search.queue.preemption.borrow.allowed
    if not foreign or (not may_borrow and not _under_nominal(search)):
        return (True,)
    has_advantage = any(one.cause is PreemptionCause.RECLAIM and not one.only_without_borrowing for one in candidates)
    return (False, True) if not may_borrow and not has_advantage else (True, False)


def _under_nominal(search: VictimSearch) -> bool:
    return all(search.node.usage.get(fr, 0) < search.node.nominal(fr) for fr in search.contested)


def run(
    search: VictimSearch, candidates: list[Candidate], borrow: bool, when_found: Callable[[], None] = nothing
) -> list[Victim]:
    """Take candidates in order until it fits, then put back those that are not needed."""
    search.counts_quota = bool(search.short) or not borrow or any(one.top is not None for one in candidates)
    mark = search.world.checkpoint()
    taken: list[Candidate] = []
    fits = search.fits(borrow)
    for one in candidates:
        if one.top is not None and ((borrow and one.only_without_borrowing) or spared(search, one)):
            continue
        search.take_away(one.holding)
        taken.append(one)
        if search.can_tell(one.holding):
            fits = search.fits(borrow)
        if fits:
            kept = needed(search, [each.holding for each in taken], borrow)
            when_found()
            for each in taken:
                if each.holding.key in kept:
                    search.put_back(each.holding)
            search.world.settled(mark)
            return [Victim(each.holding, each.cause) for each in taken if each.holding.key in kept]
    search.world.rollback(mark)
    return []


def needed(search: VictimSearch, taken: list[Holding], borrow: bool = True) -> set[str]:
    """The victims that are really needed: from the last but one backwards, each that can stay is put back."""
    keys = {holding.key for holding in taken}
    for holding in reversed(taken[:-1]):
        search.put_back(holding)
        if not search.can_tell(holding) or search.fits(borrow):
            keys.discard(holding.key)
        else:
            search.take_away(holding)
    return keys


def spared(search: VictimSearch, one: Candidate) -> bool:
    """Whether its queue, or a cohort above it, no longer borrows, so that it may not be preempted."""
    node: QuotaNode | None = search.world.node_of(one.holding.queue)
    while node is not None and node is not one.top:
        if node.within_nominal(search.contested):
            return True
        node = node.parent
    return False


# Candidates


def candidates_of(search: VictimSearch) -> list[Candidate]:
    """Candidates in order: already being evicted, then hierarchical advantage, then by priority, then the own queue."""
    buckets: dict[tuple[bool, int], list[tuple[Rank, Candidate]]] = {}
    for ranked, one in [*_foreign(search), *_own(search)]:
        kind = 2 if one.top is None else 1
        if one.cause is PreemptionCause.RECLAIM and not one.only_without_borrowing:
            kind = 0
        buckets.setdefault((ranked.stays, kind), []).append((ranked.rank, one))
    listed = (one for at in sorted(buckets) for _, one in sorted(buckets[at], key=by_rank))
    return [*draining(search), *listed]


def draining(search: VictimSearch) -> list[Candidate]:
    """Draining pods as the first candidate, if room is short.

    The workload that preempted them waits for them instead of preempting others.
    """
    world, room = search.world, search.room
    if not world.placed.draining or world.leaving.key in search.gone or not room.concerns(world.leaving) or room():
        return []
    return [Candidate(world.leaving, PreemptionCause.IN_QUEUE)]


Found = Iterator[tuple[Ranked, Candidate]]


def _own(search: VictimSearch) -> Found:
    policy = search.queue.preemption.within_queue
    if policy != "Never":
        for one in search.candidates(search.queue.name, policy):
            yield one, Candidate(one.holding, PreemptionCause.IN_QUEUE)


def _foreign(search: VictimSearch) -> Found:
    """Candidates in other queues of the tree that borrow, nearest first, with or without hierarchical advantage."""
    if search.queue.preemption.reclaim == "Never":
        return
    advantage, remaining = _fits_in(search.node, search.requests)
    visited = search.node
    for ancestor in search.node.ancestors:
        for queue in _borrowers(ancestor, visited, search.contested):
            if search.world.is_active(queue.name) and search.may_lose(queue.name):
                yield from _reclaimable(search, queue, ancestor, advantage)
        fits, remaining = _fits_in(ancestor, remaining)
        advantage = advantage or fits
        visited = ancestor


def _fits_in(node: QuotaNode, requests: Usage) -> tuple[bool, dict[FlavorResource, int]]:
    """Whether a subtree has quota for all of this, and what remains to be covered by the tree above it."""
    fits = all(node.subtree.get(fr, 0) >= node.usage.get(fr, 0) + amount for fr, amount in requests.items())
    return fits, {fr: max(0, minus(amount, node.local_available(fr))) for fr, amount in requests.items()}


def _borrowers(node: QuotaNode, but: QuotaNode, frs: Iterable[FlavorResource]) -> Iterator[QuotaNode]:
    """The borrowing queues below a node, in cohorts that borrow; the subtree `but` is skipped."""
    left = [*reversed(node.children)]
    while left:
        child = left.pop()
        if child is but or child.within_nominal(frs):
            continue
        if child.is_queue:
            yield child
        else:
            left += reversed(child.children)


def _reclaimable(search: VictimSearch, queue: QuotaNode, top: QuotaNode, advantage: bool) -> Found:
    rule = search.queue.preemption
    for one in search.candidates(queue.name, rule.reclaim):
        if advantage:
            yield one, Candidate(one.holding, PreemptionCause.RECLAIM, top)
            continue
        above = rule.borrow.max_priority is not None and one.priority > rule.borrow.max_priority
        if not rule.borrow.allowed or one.priority >= search.preemptor.priority or above:
            yield one, Candidate(one.holding, PreemptionCause.RECLAIM, top, only_without_borrowing=True)
        else:
            yield one, Candidate(one.holding, PreemptionCause.WHILE_BORROWING, top)
