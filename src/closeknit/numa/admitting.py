"""The questions about the zones of nodes, which kubelets or the filter of NodeResourceTopologyMatch answer.

What is free in the zones of a node is one state, and a state is a number: a node is one number in a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..model.numa import AmountsByZone, NodeZones, TopologyPolicy
from .admission import Verdict
from .counting import Costs
from .demand import PodDemand
from .layout import KubeletRules
from .zone_columns import IntArray
from .zone_state import ZonedAmounts


@dataclass(frozen=True)
class RefusedPod:
    """Why a pod was refused, and how many were admitted before it."""

    verdict: Verdict
    admitted: int


class Admitting(Protocol):
    @property
    def policies(self) -> frozenset[TopologyPolicy]:
        """The policies of all kubelets that were asked about."""

    def state(self, number: int) -> object:
        """What is free, as a value that can be compared."""

    def reported(self, node: NodeZones, rules: KubeletRules) -> int:
        """The state that a report gives."""

    def least_of(self, numbers: Sequence[int]) -> int:
        """What is free in all of these states of one node."""

    def free(self, number: int) -> AmountsByZone:
        """What is free in each zone."""

    def charge(self, number: int, amounts: ZonedAmounts, sign: int = 1) -> int:
        """The state with amounts charged to its zones, or with sign -1 given back."""

    def admit(self, number: int, demand: PodDemand, pods: int = 1) -> tuple[int, tuple[ZonedAmounts, ...]] | RefusedPod:
        """Admit equal pods one after another: the state after them and what each got, or why one was refused."""

    def fill(self, number: int, demand: PodDemand, pods: int) -> tuple[int, tuple[ZonedAmounts, ...]]:
        """The state after pods that were placed, and what each got."""

    def counts(self, numbers: IntArray, demand: PodDemand, at_most: IntArray | None = None) -> IntArray:
        """How many pods of the demand are admitted one after another in each state."""

    def cost(self, numbers: IntArray, demand: PodDemand) -> Costs:
        """What the first pod of the demand costs in each state."""
