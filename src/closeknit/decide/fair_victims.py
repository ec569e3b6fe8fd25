"""Victims under fair sharing: the queue that has borrowed most gives first, as long as shares become more even.

The tree is walked from the root to the queue with the highest share, again after each victim. A candidate is taken if
the preemptor's side, the new workload included, ends up with no larger share than the victim's side keeps; both are
compared right below their lowest common cohort. A second, weaker rule is applied to the candidates that were skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..model.settings import FINAL_SHARE, INITIAL_SHARE
from ..quota.share import Share, share_of
from ..quota.tree import QuotaNode
from ..state.ledger import Holding
from .rank import rank
from .victims import PreemptionCause, Victim, VictimSearch, draining, needed

Rule = Callable[[Share, Share, Share], bool]

RULES: dict[str, Rule] = {
    FINAL_SHARE: lambda mine, _before, after: mine <= after,
    INITIAL_SHARE: lambda mine, before, _after: mine < before,
}
"""Decides by the preemptor's share and the share of the victim's side before and after."""


def fair(search: VictimSearch) -> list[Victim]:
    """The victims that make the workload fit, or none."""
    strategies = search.world.settings.fair_sharing
    candidates, leaving = _candidates(search), draining(search)
    if not candidates and not leaving:
        return []
    world = search.world
    mark = world.checkpoint()
    try:
        world.add(search.queue.name, search.requests)
        tried = _Trial(search)
        for one in leaving:
            tried.take(one.holding, one.cause)
        passed_over = {} if tried.fits else tried.first_rule(candidates, RULES[strategies[0]])
        if not tried.fits and len(strategies) > 1:
            tried.second_rule(passed_over, RULES[strategies[1]])
        if not tried.fits:
            return []
        world.tree.remove(search.queue.name, search.requests)
        kept = needed(search, [victim.holding for victim in tried.victims])
        search.when_found()
        return [victim for victim in tried.victims if victim.holding.key in kept]
    finally:
        world.rollback(mark)


def _candidates(search: VictimSearch) -> dict[str, list[Holding]]:
    """Candidates by queue, in order: those of the own queue by its policy, then queues of the tree that borrow."""
    found: dict[str, list[Holding]] = {}
    for queue in search.node.root.queues():
        own = queue is search.node
        rule = search.queue.preemption.within_queue if own else search.queue.preemption.reclaim
        if rule == "Never" or not (own or _borrows(search, queue)):
            continue
        chosen = [one.holding for one in search.candidates(queue.name, rule)]
        if chosen:
            found[queue.name] = chosen
    return found


def _borrows(search: VictimSearch, queue: QuotaNode) -> bool:
    borrows = any(queue.is_borrowing(fr) for fr in search.contested)
    return borrows and search.world.is_active(queue.name) and search.may_lose(queue.name)


class _Trial:
    """Victims so far. The new workload's usage is counted throughout, except when testing whether it fits."""

    def __init__(self, search: VictimSearch) -> None:
        self.search = search
        self.victims: list[Victim] = []
        self.fits = False
        self.own_path = set(search.node.ancestors)
        gates = search.world.gates
        self.is_due = "FairSharingPreemptWithinNominal" in gates and search.node.within_nominal(search.contested)
        """Whether the request is within the queue's nominal quota, before any victim is taken."""

    def first_rule(self, candidates: dict[str, list[Holding]], rule: Rule) -> dict[str, list[Holding]]:
        """Take victims until it fits; return the candidates that were skipped, by queue."""
        left = {queue: list(holdings) for queue, holdings in candidates.items()}
        passed_over: dict[str, list[Holding]] = {}
        for queue in self._targets(left):
            if queue is self.search.node:
                self.take(left[queue.name].pop(0), PreemptionCause.IN_QUEUE)
            elif self.is_due:
                self.take(left[queue.name].pop(0), PreemptionCause.RECLAIM)
            else:
                passed_over.setdefault(queue.name, []).extend(self._take_fair(queue, left[queue.name], rule))
            if self.fits:
                break
        return passed_over

    def _take_fair(self, queue: QuotaNode, left: list[Holding], rule: Rule) -> list[Holding]:
        """Take the first candidate that the rule allows; return those skipped before it."""
        mine, theirs = self.search.node.below_common(queue)
        share, before = share_of(mine), share_of(theirs)
        passed_over = []
        while left:
            holding = left.pop(0)
            if rule(share, before, self._share_without(theirs, holding)):
                self.take(holding, PreemptionCause.FAIR)
                break
            passed_over.append(holding)
        return passed_over

    def second_rule(self, passed_over: dict[str, list[Holding]], rule: Rule) -> None:
        """Apply the second rule once per queue."""
        left = {queue: list(holdings) for queue, holdings in passed_over.items() if holdings}
        for queue in self._targets(left):
            mine, theirs = self.search.node.below_common(queue)
            before = share_of(theirs)
            if rule(share_of(mine), before, before):
                self.take(left[queue.name][0], PreemptionCause.FAIR)
                if self.fits:
                    return
            del left[queue.name]

    def take(self, holding: Holding, cause: PreemptionCause) -> None:
        search = self.search
        search.world.take_away(holding)
        self.victims.append(Victim(holding, cause))
        tree = search.world.tree
        mark = tree.checkpoint()
        tree.remove(search.queue.name, search.requests)
        self.fits = search.fits()
        tree.rollback(mark)

    def _share_without(self, theirs: QuotaNode, holding: Holding) -> Share:
        tree = self.search.world.tree
        mark = tree.checkpoint()
        tree.remove(holding.queue, holding.usage)
        share = share_of(theirs)
        tree.rollback(mark)
        return share

    # Which queue gives next

    def _targets(self, left: dict[str, list[Holding]]) -> Iterator[QuotaNode]:
        """The queue that gives next, until no candidate is left."""
        root = self.search.node.root
        pruned: set[QuotaNode] = set()
        while root not in pruned:
            found = self._next(root, left, pruned)
            if found is not None:
                yield found

    def _next(self, node: QuotaNode, left: dict[str, list[Holding]], pruned: set[QuotaNode]) -> QuotaNode | None:
        """The queue with the highest share below; None if there is none, and then the node without one is pruned."""
        while not node.is_queue:
            queue = self._highest_queue(node, left, pruned)
            cohort = self._highest_cohort(node, pruned)
            if cohort is None and queue is None:
                break
            if cohort is None or (queue is not None and share_of(cohort) < share_of(queue)):
                return queue
            node = cohort
        if node.is_queue and left.get(node.name):
            return node
        pruned.add(node)
        return None

    def _highest_queue(
        self, node: QuotaNode, left: dict[str, list[Holding]], pruned: set[QuotaNode]
    ) -> QuotaNode | None:
        best: QuotaNode | None = None
        best_share = Share()
        for child in node.children:
            if not child.is_queue or child in pruned:
                continue
            share = share_of(child)
            if not left.get(child.name) or (not share.borrowing and child is not self.search.node):
                pruned.add(child)
            elif best is None or share > best_share:
                best, best_share = child, share
            elif share == best_share and self._goes_before(left[child.name][0], left[best.name][0]):
                best = child
        return best

    def _goes_before(self, one: Holding, other: Holding) -> bool:
        """Workloads that are being evicted first, then other queues, then by rank."""
        own, gates = self.search.queue.name, self.search.world.gates
        (stays, *mine), (other_stays, *theirs) = rank(one, gates), rank(other, gates)
        return (stays, one.queue == own, *mine) < (other_stays, other.queue == own, *theirs)

    def _highest_cohort(self, node: QuotaNode, pruned: set[QuotaNode]) -> QuotaNode | None:
        best: QuotaNode | None = None
        best_share = Share()
        for child in node.children:
            if child.is_queue or child in pruned:
                continue
            share = share_of(child)
            if not share.borrowing and child not in self.own_path:
                pruned.add(child)
            elif best is None or share >= best_share:
                best, best_share = child, share
        return best
