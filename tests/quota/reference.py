"""Quota as the specification states it: every number recomputed from what administrators wrote.

Nothing is kept and nothing is clever. Usage is given for ClusterQueues only; what spills over to their cohorts
follows from it. Amounts are bounded here: unlimited quota has examples of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from closeknit.model.cluster_queue import ClusterQueue
from closeknit.model.quota import Cohort, FlavorResource, Quota

Used = Mapping[str, Mapping[FlavorResource, int]]
"""By ClusterQueue: what its workloads hold."""


class Reference:
    """Queues and cohorts by name, distinguished by a prefix: `q:a` and `c:a` may both exist."""

    def __init__(self, queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort]) -> None:
        self.quotas: dict[str, dict[FlavorResource, Quota]] = {}
        self.parent: dict[str, str] = {}
        for cohort in cohorts:
            self.quotas[f"c:{cohort.name}"] = _written(cohort)
            if cohort.parent:
                self.parent[f"c:{cohort.name}"] = f"c:{cohort.parent}"
        for queue in queues:
            self.quotas[f"q:{queue.name}"] = _written(queue)
            if queue.cohort:
                self.parent[f"q:{queue.name}"] = f"c:{queue.cohort}"
        for name in list(self.parent.values()):
            self.quotas.setdefault(name, {})
        self.frs = sorted({fr for quotas in self.quotas.values() for fr in quotas})

    def children(self, node: str) -> list[str]:
        return [child for child, parent in self.parent.items() if parent == node]

    def path(self, node: str) -> list[str]:
        """The node, its parent, and so on to the root."""
        return [node, *self.path(self.parent[node])] if node in self.parent else [node]

    def below(self, node: str) -> list[str]:
        """The ClusterQueues of a subtree, by name."""
        if node.startswith("q:"):
            return [node[2:]]
        return [queue for child in self.children(node) for queue in self.below(child)]

    def written(self, node: str, fr: FlavorResource) -> Quota:
        return self.quotas[node].get(fr, Quota(0))

    # What is there

    def subtree(self, node: str, fr: FlavorResource) -> int:
        lent = (self.subtree(child, fr) - self.local(child, fr) for child in self.children(node))
        return self.written(node, fr).nominal + sum(lent)

    def local(self, node: str, fr: FlavorResource) -> int:
        lending = self.written(node, fr).lending
        return 0 if lending is None else max(0, self.subtree(node, fr) - lending)

    def potential(self, node: str, fr: FlavorResource) -> int:
        if node not in self.parent:
            return self.subtree(node, fr)
        reach = self.local(node, fr) + self.potential(self.parent[node], fr)
        limit = self.written(node, fr).borrowing
        return reach if limit is None else min(reach, self.subtree(node, fr) + limit)

    # What is used, and what is left

    def used(self, node: str, fr: FlavorResource, used: Used) -> int:
        if node.startswith("q:"):
            return used.get(node[2:], {}).get(fr, 0)
        return sum(self.spilled(child, fr, used) for child in self.children(node))

    def spilled(self, node: str, fr: FlavorResource, used: Used) -> int:
        return max(0, self.used(node, fr, used) - self.local(node, fr))

    def available(self, node: str, fr: FlavorResource, used: Used) -> int:
        own = self.used(node, fr, used)
        subtree, local = self.subtree(node, fr), self.local(node, fr)
        if node not in self.parent:
            return subtree - own
        above = self.available(self.parent[node], fr, used)
        limit = self.written(node, fr).borrowing
        if limit is not None:
            above = min(above, (subtree - local) - max(0, own - local) + limit)
        return max(0, local - own) + above

    # What must hold

    def total(self, queues: Iterable[str], fr: FlavorResource, used: Used) -> int:
        return sum(used.get(queue, {}).get(fr, 0) for queue in queues)

    def nominal_below(self, node: str, fr: FlavorResource) -> int:
        """All quota that was written down for a node and what is below it."""
        return self.written(node, fr).nominal + sum(self.nominal_below(child, fr) for child in self.children(node))

    def broken(self, used: Used) -> list[str]:
        """Every limit that this usage breaks, as a sentence; by sums alone, and by what spills over."""
        return [text for node in self.quotas for fr in self.frs for text in self._broken(node, fr, used)]

    def _broken(self, node: str, fr: FlavorResource, used: Used) -> list[str]:
        found = []
        quota, root = self.written(node, fr), self.path(node)[-1]
        holds, nominal = self.total(self.below(node), fr, used), self.nominal_below(node, fr)
        if node == root and holds > nominal:
            found.append(f"{node} holds {holds} of {nominal} {fr}")
        if node == root and self.used(node, fr, used) > self.subtree(node, fr):
            found.append(f"{node} uses {self.used(node, fr, used)} of {self.subtree(node, fr)} {fr}")
        if node != root and quota.borrowing is not None:
            if holds > nominal + quota.borrowing:
                found.append(f"{node} holds {holds} of {nominal} and {quota.borrowing} borrowed {fr}")
            if self.used(node, fr, used) > self.subtree(node, fr) + quota.borrowing:
                found.append(f"{node} uses more than its borrowing limit lets it {fr}")
        if node != root and quota.lending is not None:
            others = set(self.below(root)) - set(self.below(node))
            most = self.nominal_below(root, fr) - nominal + quota.lending
            if self.total(others, fr, used) > most:
                found.append(f"others than {node} hold {self.total(others, fr, used)} of {most} {fr}")
        return found


def _written(one: ClusterQueue | Cohort) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavor.flavor, resource): quota
        for group in one.groups
        for flavor in group.flavors
        for resource, quota in flavor.resources.items()
    }
