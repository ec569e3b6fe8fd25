"""The quota tree: ClusterQueues are its leaves, cohorts its inner nodes; each node tracks quota and usage.

A node lends its quota up to its lending limit. What it keeps (`local`: quota above the limit) is used first and is
invisible to its parent; usage beyond it spills upwards. So a change at a queue touches only the path to its root, and a
checkpoint is a position in the journal.

    root    quota 10 + what the children lend       usage: what spilled over from below
      ├─ a  quota 5, lending limit 2 → local 3      its first 3 count only here
      └─ b  quota 0, borrowing limit 4

Users choose the depth of the tree, so no walk calls itself per level. Cohorts below `MOST_LEVELS` levels are cut off,
because every decision walks from a queue to its root.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..model.cluster_queue import ClusterQueue
from ..model.quota import UNLIMITED, Cohort, FlavorResource, Quota, Usage, minus, plus, quotas

NO_QUOTA = Quota(0)
MOST_LEVELS = 64
"""The deepest level of a cohort; a root is at level 1."""


class QuotaNode:
    """One queue or cohort. `subtree` is its quota and what its children lend it, `local` what it does not lend."""

    __slots__ = (
        "children",
        "generation",
        "height",
        "is_queue",
        "lendable",
        "local",
        "name",
        "parent",
        "potential",
        "quotas",
        "subtree",
        "usage",
        "weight",
    )

    def __init__(self, name: str, is_queue: bool, given: Mapping[FlavorResource, Quota], weight: float) -> None:
        self.name, self.is_queue, self.weight = name, is_queue, weight
        self.quotas = dict(given)
        self.parent: QuotaNode | None = None
        self.children: list[QuotaNode] = []
        self.height = 0
        self.generation = 0
        """On a root: moves whenever a holding under it is added, released or changed."""
        self.subtree: dict[FlavorResource, int] = {}
        self.local: dict[FlavorResource, int] = {}
        self.usage: dict[FlavorResource, int] = {}
        self.potential: dict[FlavorResource, int] = {}
        self.lendable: dict[str, int] | None = None

    def __repr__(self) -> str:
        return f"{'ClusterQueue' if self.is_queue else 'Cohort'} {self.name}"

    @property
    def root(self) -> QuotaNode:
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    @property
    def ancestors(self) -> Iterator[QuotaNode]:
        """Parent first, root last."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def below_common(self, other: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
        """The ancestors of the two nodes right below their lowest common cohort; their roots if there is none."""
        above = {ancestor: child for child, ancestor in self._steps()}
        for child, ancestor in other._steps():
            if ancestor in above:
                return above[ancestor], child
        return self.root, other.root

    def _steps(self) -> Iterator[tuple[QuotaNode, QuotaNode]]:
        """Each node on the way to the root with its parent."""
        node = self
        while node.parent is not None:
            yield node, node.parent
            node = node.parent

    @property
    def path(self) -> str:
        """From the root, as messages show it: /root/team/queue."""
        return "".join(f"/{node.name}" for node in [*reversed(list(self.ancestors)), self])

    def within(self) -> Iterator[QuotaNode]:
        """The node and all nodes below it, each before its children, which come in their order."""
        left = [self]
        while left:
            node = left.pop()
            yield node
            left += reversed(node.children)

    def queues(self) -> Iterator[QuotaNode]:
        """The ClusterQueues below, or the node itself if it is one."""
        return (node for node in self.within() if node.is_queue)

    def nominal(self, fr: FlavorResource) -> int:
        return self.quotas.get(fr, NO_QUOTA).nominal

    def borrowing_limit(self, fr: FlavorResource) -> int | None:
        return self.quotas.get(fr, NO_QUOTA).borrowing

    # What is left

    def local_available(self, fr: FlavorResource) -> int:
        """The unused part of what it does not lend."""
        return max(0, minus(self.local.get(fr, 0), self.usage.get(fr, 0)))

    def available(self, fr: FlavorResource) -> int:
        """What it could still use, borrowing included; negative while it or its tree is overcommitted."""
        *below, root = self, *self.ancestors
        quota = root.subtree.get(fr, 0)
        left = UNLIMITED if quota == UNLIMITED else quota - root.usage.get(fr, 0)
        for node in reversed(below):
            left = node._available_with(fr, left)
        return left

    def _available_with(self, fr: FlavorResource, above: int) -> int:
        """What it could still use if its parent could use `above`."""
        usage, subtree, local = self.usage.get(fr, 0), self.subtree.get(fr, 0), self.local.get(fr, 0)
        limit = self.borrowing_limit(fr)
        if limit is not None:
            lent = minus(subtree, local)
            above = min(above, plus(minus(lent, max(0, minus(usage, local))), limit))
        return plus(minus(local, usage), above) if local > usage else above

    def potentially_available(self, fr: FlavorResource) -> int:
        """What it could use if nothing in the tree were in use."""
        known = self.potential.get(fr)
        if known is not None:
            return known
        *below, root = self, *self.ancestors
        found = root.potential[fr] = root.subtree.get(fr, 0)
        for node in reversed(below):
            found = node.potential[fr] = node._potentially_with(fr, found)
        return found

    def _potentially_with(self, fr: FlavorResource, above: int) -> int:
        subtree, reach = self.subtree.get(fr, 0), plus(self.local.get(fr, 0), above)
        limit = self.borrowing_limit(fr)
        return reach if limit is None else min(reach, plus(subtree, limit))

    # Borrowing

    def borrows_with(self, fr: FlavorResource, more: int) -> bool:
        return self.subtree.get(fr, 0) < plus(self.usage.get(fr, 0), more)

    def is_borrowing(self, fr: FlavorResource) -> bool:
        return self.subtree.get(fr, 0) < self.usage.get(fr, 0)

    def within_nominal(self, frs: Iterable[FlavorResource]) -> bool:
        return not any(self.subtree.get(fr, 0) < self.usage.get(fr, 0) for fr in frs)

    def borrowing_height(self, fr: FlavorResource, more: int) -> tuple[int, bool]:
        """How many levels up a request would borrow, 0 if not at all, and whether that is below the root."""
        if self.parent is None or not self.borrows_with(fr, more):
            return 0, self.parent is not None
        remaining = minus(more, self.local_available(fr))
        top = self.parent
        for node in self.ancestors:
            top = node
            if not node.borrows_with(fr, remaining):
                return node.height, node.parent is not None
            remaining = minus(remaining, node.local_available(fr))
        return top.height, False


Undo = tuple[dict[FlavorResource, int], FlavorResource, int | None]


class QuotaTree:
    """All queues and cohorts, also cohorts without an object.

    `rootless` are the cohorts of a cycle and below one, and `cyclic` the queues in them; `too_deep` are the cohorts
    below the deepest level allowed, and `cut_off` the queues in them.
    """

    def __init__(self, cluster_queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort] = ()) -> None:
        self.queues: dict[str, QuotaNode] = {}
        self.cohorts: dict[str, QuotaNode] = {}
        self.rootless: set[str] = set()
        self.cyclic: set[str] = set()
        self.too_deep: set[str] = set()
        self.cut_off: set[str] = set()
        self._journal: list[Undo] = []
        parents = self._make_nodes(list(cluster_queues), list(cohorts))
        self._connect(parents)
        for root in self.roots():
            _count(root)

    def _make_nodes(self, cluster_queues: list[ClusterQueue], cohorts: list[Cohort]) -> dict[str, str]:
        parents = {cohort.name: cohort.parent for cohort in cohorts}
        for cohort in cohorts:
            self.cohorts[cohort.name] = QuotaNode(cohort.name, False, dict(quotas(cohort.groups)), cohort.weight)
        for queue in cluster_queues:
            self.queues[queue.name] = QuotaNode(queue.name, True, dict(quotas(queue.groups)), queue.weight)
            if queue.cohort:
                self._cohort(queue.cohort)
                self.queues[queue.name].parent = self.cohorts[queue.cohort]
        for parent in parents.values():
            if parent:
                self._cohort(parent)
        return parents

    def _cohort(self, name: str) -> None:
        """Add a cohort that has no object: a root without quota."""
        if name not in self.cohorts:
            self.cohorts[name] = QuotaNode(name, False, {}, 0.0)

    def _connect(self, parents: Mapping[str, str]) -> None:
        """Link cohorts and queues; a cohort that reaches no root, or is too deep, gets no parent and no children."""
        levels = _levels(self.cohorts, parents)
        self.too_deep = {name for name, level in levels.items() if level > MOST_LEVELS}
        self.rootless = {name for name in self.cohorts if name not in levels}
        unusable = self.rootless | self.too_deep
        for name, parent in parents.items():
            if parent and name not in unusable:
                self.cohorts[name].parent = self.cohorts[parent]
        for queue in self.queues.values():
            if queue.parent is None or queue.parent.name not in unusable:
                continue
            (self.cyclic if queue.parent.name in self.rootless else self.cut_off).add(queue.name)
            queue.parent = None
        for node in sorted(
            [*self.queues.values(), *self.cohorts.values()], key=lambda one: (not one.is_queue, one.name)
        ):
            if node.parent is not None:
                node.parent.children.append(node)

    def roots(self) -> list[QuotaNode]:
        return [node for node in [*self.cohorts.values(), *self.queues.values()] if node.parent is None]

    # Usage

    def add(self, queue: str, usage: Usage) -> None:
        node = self.queues.get(queue)
        if node is not None:
            for fr, amount in usage.items():
                self._add(node, fr, amount)

    def remove(self, queue: str, usage: Usage) -> None:
        node = self.queues.get(queue)
        if node is not None:
            for fr, amount in usage.items():
                self._remove(node, fr, amount)

    def _add(self, node: QuotaNode | None, fr: FlavorResource, amount: int) -> None:
        while node is not None and amount > 0:
            used = self._note(node, fr)
            node.usage[fr] = used + amount
            kept = node.local.get(fr, 0) - used
            amount -= max(0, kept)
            node = node.parent

    def _remove(self, node: QuotaNode | None, fr: FlavorResource, amount: int) -> None:
        while node is not None and amount > 0:
            used = self._note(node, fr)
            node.usage[fr] = used - amount
            amount = min(amount, used - node.local.get(fr, 0))
            node = node.parent

    def _note(self, node: QuotaNode, fr: FlavorResource) -> int:
        before = node.usage.get(fr)
        self._journal.append((node.usage, fr, before))
        return before or 0

    def checkpoint(self) -> int:
        return len(self._journal)

    def rollback(self, checkpoint: int) -> None:
        """Undo what was added and removed since, newest first."""
        while len(self._journal) > checkpoint:
            column, fr, before = self._journal.pop()
            if before is None:
                del column[fr]
            else:
                column[fr] = before

    def forget(self, checkpoint: int) -> None:
        """Drop the journal since the checkpoint: the caller has undone those changes itself."""
        del self._journal[checkpoint:]

    def commit(self) -> None:
        """Clear the journal and keep what was written."""
        self._journal.clear()


def _levels(names: Iterable[str], parents: Mapping[str, str]) -> dict[str, int]:
    """The level of each cohort, 1 for a root; cohorts of a cycle and below one have none.

    _levels("ab", {"a": "", "b": "a"}) == {"a": 1, "b": 2}
    """
    levels: dict[str, int] = {}
    lost: set[str] = set()
    for name in names:
        path: dict[str, None] = {}
        while name and name not in levels and name not in lost and name not in path:
            path[name] = None
            name = parents.get(name, "")
        if name and name not in levels:
            lost.update(path)
            continue
        above = levels.get(name, 0)
        levels.update((one, above + number) for number, one in enumerate(reversed(path), 1))
    return levels


def _count(root: QuotaNode) -> None:
    """Compute quota, local part and height of all nodes of a tree, children first."""
    for node in reversed(list(root.within())):
        _count_node(node)


def _count_node(node: QuotaNode) -> None:
    node.subtree = {fr: quota.nominal for fr, quota in node.quotas.items()}
    for child in node.children:
        for fr, amount in child.subtree.items():
            lent = minus(amount, child.local.get(fr, 0))
            node.subtree[fr] = plus(node.subtree.get(fr, 0), lent)
    for fr, amount in node.subtree.items():
        limit = node.quotas.get(fr, NO_QUOTA).lending
        if limit is not None:
            node.local[fr] = max(0, minus(amount, limit))
    if node.children:
        node.height = 1 + max((child.height for child in node.children if not child.is_queue), default=0)
