"""Which workloads may preempt which, read off the specification: policies, borrowing, and the advantage of a subtree.

It knows queues and cohorts as they were written, what every queue held when a cycle began, and what was decided.
Nothing of the code that chooses victims is used.
"""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.decide.decision import Preempt
from closeknit.model.quota import FlavorResource

from .clusters import Cluster

Held = dict[str, dict[FlavorResource, int]]
Asked = Mapping[FlavorResource, int]


class Court:
    """`held` is what queues held when the cycle began, `asked` what the preemptor would get."""

    def __init__(self, cluster: Cluster, held: Held, asked: Asked) -> None:
        self.cluster, self.held, self.asked = cluster, held, asked
        self.reference = cluster.reference

    def objection(self, one: Preempt, freed: Held) -> str | None:
        """Why the victim may not be taken; `freed` is what all victims of the preemptor hold, by queue."""
        rule = self.cluster.queue(one.by_queue).preemption
        if one.queue == one.by_queue:
            if one.cause.value != "InClusterQueue":
                return "in the own queue for another cause"
            return _by_policy(rule.within_queue, one)
        if self._root(one.queue) != self._root(one.by_queue):
            return "in another tree"
        return _by_policy(rule.reclaim, one) or self._borrows_not(one) or self._by_cause(one, freed)

    def borrows(self, node: str) -> bool:
        """Whether a queue or cohort uses more than is its own of anything that the preemptor asks for."""
        return any(self.reference.used(node, fr, self.held) > self.reference.subtree(node, fr) for fr in self.asked)

    def _borrows_not(self, one: Preempt) -> str | None:
        """Its queue, and under the classical rules every cohort up to the common one, uses more than is its own."""
        above = set(self.reference.path(f"q:{one.by_queue}"))
        path = [node for node in self.reference.path(f"q:{one.queue}") if node not in above]
        for node in path[:1] if self.cluster.fair else path:
            if not self.borrows(node):
                return f"{node} does not borrow"
        return None

    def _by_cause(self, one: Preempt, freed: Held) -> str | None:
        match one.cause.value:
            case "InCohortFairSharing":
                return None if self.cluster.fair else "by shares, though shares do not count"
            case "InCohortReclaimWhileBorrowing":
                return "while borrowing, though shares count" if self.cluster.fair else self._while_borrowing(one)
            case "InCohortReclamation":
                return self._due(one) if self.cluster.fair else self._reclaimed(one, freed)
        return f"for {one.cause.value} in another queue"

    def _while_borrowing(self, one: Preempt) -> str | None:
        rule = self.cluster.queue(one.by_queue).preemption.borrow
        if rule.policy == "Never":
            return "while borrowing, which is forbidden"
        if one.victim.priority >= one.by.priority:
            return "while borrowing, though it is as important"
        bound = rule.max_priority
        return "above the threshold" if bound is not None and one.victim.priority > bound else None

    def _due(self, one: Preempt) -> str | None:
        """Under fair sharing nominal quota is taken back whatever the shares."""
        own = self.held.get(one.by_queue, {})
        nominal = {fr: self.reference.written(f"q:{one.by_queue}", fr).nominal for fr in self.asked}
        due = any(own.get(fr, 0) + amount <= nominal[fr] for fr, amount in self.asked.items())
        return None if due else "reclaimed beyond nominal quota"

    def _reclaimed(self, one: Preempt, freed: Held) -> str | None:
        """With the advantage of a subtree that has quota for all of it, or without borrowing in the end."""
        if self._has_advantage(one):
            return None
        own = self.held.get(one.by_queue, {})
        for fr, amount in self.asked.items():
            left = own.get(fr, 0) - freed.get(one.by_queue, {}).get(fr, 0)
            if left + amount > self.reference.written(f"q:{one.by_queue}", fr).nominal:
                return "reclaimed without advantage, and still borrows"
        return None

    def _has_advantage(self, one: Preempt) -> bool:
        theirs = set(self.reference.path(f"q:{one.queue}"))
        remaining = dict(self.asked)
        for node in self.reference.path(f"q:{one.by_queue}"):
            if node in theirs:
                return False
            used = {fr: self.reference.used(node, fr, self.held) for fr in remaining}
            if all(self.reference.subtree(node, fr) >= used[fr] + amount for fr, amount in remaining.items()):
                return True
            for fr, amount in remaining.items():
                remaining[fr] = max(0, amount - max(0, self.reference.local(node, fr) - used[fr]))
        return False

    def _root(self, queue: str) -> str:
        return self.reference.path(f"q:{queue}")[-1]


def _by_policy(policy: str, one: Preempt) -> str | None:
    mine, theirs = one.by.priority, one.victim.priority
    match policy:
        case "Any":
            return None
        case "LowerPriority":
            return None if theirs < mine else "not less important"
        case "LowerOrNewerEqualPriority":
            newer = theirs == mine and one.by.created < one.victim.created
            return None if theirs < mine or newer else "neither less important nor newer"
    return f"policy {policy}"
