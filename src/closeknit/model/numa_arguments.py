"""How the plug-in NodeResourceTopologyMatch is configured: its score, its cache, and preemption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ScoringStrategy = Literal["MostAllocated", "BalancedAllocation", "LeastAllocated", "LeastNUMANodes"]
PodsMode = Literal["None", "All", "OnlyExclusiveResources"]
ResyncMethod = Literal["Autodetect", "All", "OnlyExclusiveResources"]
InformerMode = Literal["Shared", "Dedicated"]
ResyncScope = Literal["All", "OnlyResources"]
CacheKind = Literal["Passthrough", "DiscardReserved", "OverReserve"]

PLUGIN = "NodeResourceTopologyMatch"


@dataclass(frozen=True, slots=True)
class MatchArguments:
    """`weights` are those configured; a resource without one weighs 1. `resync_period` is in seconds."""

    strategy: ScoringStrategy = "LeastAllocated"
    weights: Mapping[str, int] = field(default_factory=dict)
    resync_period: int = 0
    discard_reserved: bool = False
    foreign_pods: PodsMode = "All"
    resync_method: ResyncMethod = "Autodetect"
    informer_mode: InformerMode = "Dedicated"
    resync_scope: ResyncScope = "All"
    preemption: bool = False

    def weight(self, resource: str) -> int:
        return max(1, self.weights.get(resource, 1))

    @property
    def cache(self) -> CacheKind:
        if self.discard_reserved:
            return "DiscardReserved"
        return "OverReserve" if self.resync_period > 0 else "Passthrough"
