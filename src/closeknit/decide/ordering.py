"""The order in which the entries of a cycle take their turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter

from ..quota.share import Share, share_of
from ..quota.tree import QuotaNode
from .entry import Entry
from .world import World

IsPreemptor = Callable[[Entry], bool]


def in_order(
    world: World, entries: list[Entry], is_preemptor: IsPreemptor, claims: Iterable[str] = ()
) -> Iterator[Entry]:
    """Yield each entry once; with fair sharing the order depends on what earlier entries got.

    `claims` are workloads that others were preempted for, the first first. They go ahead of all that do not hold quota.
    """
    by_key = {entry.workload.key: entry for entry in entries}
    claiming = [by_key[key] for key in claims if key in by_key]
    first = [*(entry for entry in entries if entry.is_second_pass), *claiming] if claiming else []
    yield from first
    served = set(first)
    rest = [entry for entry in entries if entry not in served]
    yield from (_fair if world.settings.fair_sharing else _classical)(world, rest, is_preemptor)


def _classical(world: World, entries: list[Entry], is_preemptor: IsPreemptor) -> Iterator[Entry]:
    """Entries that hold quota first, then by least borrowing, highest priority, earliest time."""
    first = "PrioritizePreemptorWorkloads" in world.gates
    by_priority = "PrioritySortingWithinCohort" in world.gates

    def key(entry: Entry) -> tuple[bool, bool, int, int, float, str]:
        borrowing = 0 if entry.nomination is None else entry.plan.borrowing
        priority = -entry.waiting.priority if by_priority else 0
        behind = first and not is_preemptor(entry)
        _, time, last = entry.waiting.order
        return not entry.is_second_pass, behind, borrowing, priority, time, last

    return iter(sorted(entries, key=key))


def _fair(world: World, entries: list[Entry], is_preemptor: IsPreemptor) -> Iterator[Entry]:
    """Tree by tree, by tournament: at every cohort the entry on the side with the smaller share wins."""
    left = {entry.queue: entry for entry in entries}
    for entry in entries:
        if left[entry.queue] is not entry:
            yield entry
    standing: Standing = {}
    while left:
        first = min(left.values(), key=lambda entry: entry.waiting.order)
        root = world.node_of(first.queue).root
        winner = _winner(world, root, left, is_preemptor, standing)
        del left[winner.queue]
        yield winner
        _forget_below(world.node_of(winner.queue), standing)


Standing = dict[tuple[str, QuotaNode], tuple[bool, bool, Share, int, float, str]]


def _forget_below(queue: QuotaNode, standing: Standing) -> None:
    """Drop the cached standings on the winner's path to the root; all others are unchanged."""
    branch = queue
    while branch.parent is not None and branch.parent.parent is not None:
        branch = branch.parent
    touched = {one.name for one in branch.queues()}
    for key in [key for key in standing if key[0] in touched]:
        del standing[key]


def _winner(
    world: World, root: QuotaNode, left: dict[str, Entry], is_preemptor: IsPreemptor, standing: Standing
) -> Entry:
    for queue in root.queues():
        entry = left.get(queue.name)
        if entry is not None and (entry.queue, queue) not in standing:
            _stand(world, entry, queue, is_preemptor, standing)
    winner = _best(root, left, standing)
    assert winner is not None
    return winner


def _stand(world: World, entry: Entry, queue: QuotaNode, is_preemptor: IsPreemptor, standing: Standing) -> None:
    """Compute the shares of an entry's queue and the cohorts above it as if it were admitted."""
    first = "PrioritizePreemptorWorkloads" in world.gates and is_preemptor(entry)
    lends_first = "FairSharingPrioritizeNonBorrowing" in world.gates
    mark = world.tree.checkpoint()
    world.tree.add(entry.queue, entry.usage)
    node: QuotaNode | None = queue
    while node is not None:
        borrows = lends_first and any(amount and node.is_borrowing(fr) for fr, amount in entry.usage.items())
        share = share_of(node)
        standing[entry.queue, node] = (not first, borrows, share, *entry.waiting.order)
        node = node.parent
    world.tree.rollback(mark)


def _best(root: QuotaNode, left: dict[str, Entry], standing: Standing) -> Entry | None:
    """The winner of the tournament, from the queues up; of equals the first child's."""
    best = {node: left[node.name] for node in root.queues() if node.name in left}
    for node in reversed(list(root.within())):
        rivals = [(standing[best[child].queue, child], best[child]) for child in node.children if child in best]
        if rivals:
            best[node] = min(rivals, key=itemgetter(0))[1]
    return best.get(root)
