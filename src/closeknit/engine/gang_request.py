"""What one search for a gang is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.request import Constraint, PodSet
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .policy import Policy


@dataclass(frozen=True, slots=True)
class GangRequest:
    """`count` pods of the workers' shape and one of the leader's; `inside`, by leaf, restricts the tree."""

    snapshot: Snapshot
    workers: PodSet
    leader: PodSet | None
    policy: Policy
    count: int
    constraint: Constraint | None
    inside: IntArray | None = None

    @property
    def has_rules(self) -> bool:
        """Whether pods of the gang have rules about other pods."""
        sets = (self.workers, self.leader)
        return any(one is not None and self.policy.seen(one.shape).rules is not None for one in sets)
