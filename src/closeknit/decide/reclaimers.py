"""Which queues an admission may help: those that may reclaim from a queue that borrows.

An admission frees nothing, but where its queue borrows, or borrows more, workloads of that queue may be preempted that
were safe before. Workloads of other queues that are parked for lack of victims have to be evaluated again. The test is
by queue and cheap, and leaves out queues that cannot gain; it does not look at the parked workloads.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.quota import FlavorResource
from ..quota.share import share_of
from ..quota.tree import QuotaNode
from .world import World


def reclaimers(world: World, lender: str) -> list[str]:
    """The queues that may reclaim from this one now; none if it does not borrow."""
    node = world.node_of(lender)
    borrowed = [fr for fr in node.usage if node.is_borrowing(fr)]
    if not borrowed:
        return []
    others = (one for one in node.root.queues() if one is not node)
    return [one.name for one in others if _may_reclaim(world, one, node, borrowed)]


def _may_reclaim(world: World, mine: QuotaNode, theirs: QuotaNode, borrowed: Sequence[FlavorResource]) -> bool:
    rule = world.cluster_queues[mine.name].preemption
    if rule.reclaim in ("Never", ""):
        return False
    my_side, their_side = mine.below_common(theirs)
    if world.settings.fair_sharing:
        return share_of(my_side) <= share_of(their_side)
    return rule.borrow.allowed or any(_has_quota_left(mine, my_side, fr) for fr in borrowed)


def _has_quota_left(queue: QuotaNode, top: QuotaNode, fr: FlavorResource) -> bool:
    """Whether the queue, or a cohort above it up to `top`, uses less than it has."""
    path = [queue, *queue.ancestors]
    return any(node.subtree.get(fr, 0) > node.usage.get(fr, 0) for node in path[: path.index(top) + 1])
