"""How a decision is to be made: which gates are on, and what is taken to be free."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.gates import Gates
from ..model.topology import Topology


@dataclass(frozen=True, slots=True)
class Policy:
    """`empty` asks what would fit if no workload were admitted; other pods and assumed ones still count."""

    gates: Gates = field(default_factory=Gates.profile)
    empty: bool = False

    def filters(self, topology: Topology) -> bool:
        """Whether taints, selectors and affinity are looked at."""
        return topology.ends_at_host or "FilterAtEveryLevel" in self.gates

    @property
    def by_affinity(self) -> bool:
        return "TASRespectNodeAffinityPreferred" in self.gates
