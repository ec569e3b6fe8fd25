"""The state of each node's zones as a number, by row: from its report, and the pods that are bound to it.

Reports and pods may come in any order (`state.numa.accounts`). A node is read again when something changed, and when
its reading changes by time alone. A pod that is new while it is known what the report accounts for is expected where
the kubelet would put it now; so it stays there, in our account, when the pods before it go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from ..model.numa import AmountsByZone, NodeZones
from ..model.numa_settings import UNCONFIGURED, NodeNuma, NumaSettings
from ..numa.admissions import Admissions
from ..numa.layout import STATIC, KubeletRules
from ..numa.zone_state import ZonedAmounts
from ..state.numa.accounts import ZoneAccounts
from ..state.numa.bound_pod import AccountedPod
from ..state.numa.bound_state import BoundState, bound_state
from ..state.numa.zone_states import NO_ZONES, Zoned
from .applicant import Applicant
from .zones import IntArray

FIRST = 64
UNKNOWN = BoundState()


@dataclass(slots=True)
class _Node:
    row: int
    exists: bool = False
    has_report: bool = False
    given: NodeNuma = UNCONFIGURED
    rules: KubeletRules = STATIC
    bound: BoundState = UNKNOWN


class NodeStates:
    """`now` is the time of the last event."""

    def __init__(self, settings: NumaSettings | None = None) -> None:
        self.settings, self.now = settings or NumaSettings(), 0.0
        self.accounts, self.admissions = ZoneAccounts(), Admissions()
        self.rows: dict[str, int] = {}
        self.size = 0
        self._nodes: dict[str, _Node] = {}
        self._free: list[int] = []
        self._numbers = np.full(FIRST, NO_ZONES, dtype=np.int64)
        self._changed: set[str] = set()
        self._dues: list[tuple[float, str]] = []
        self._is_listed = False

    def __contains__(self, name: str) -> bool:
        return name in self._nodes and self._nodes[name].exists

    @property
    def unreported(self) -> int:
        return sum(1 for one in self._nodes.values() if one.exists and not one.has_report)

    # What is observed

    def put_node(self, name: str, labels: Mapping[str, str]) -> None:
        node = self._node(name)
        node.exists = True
        given = self.settings.of(labels)
        if given != node.given:
            node.given, node.rules = given, KubeletRules.of(given)
            self._changed.add(name)

    def drop_node(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is not None:
            node.exists = False
            self._forget_if_gone(name, node)

    def put_report(self, report: NodeZones, written_at: float) -> None:
        self._node(report.node).has_report = True
        self.accounts.report(report, max(self.now, written_at))
        self._changed.add(report.node)

    def drop_report(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is not None:
            node.has_report = False
            self.accounts.drop_report(name)
            self._changed.add(name)
            self._forget_if_gone(name, node)

    def put_pod(self, name: str, pod: Applicant) -> None:
        """A pod that is bound to the node, and new."""
        expected = self._expected(name, pod) if self._is_listed else None
        since = pod.bound_at or None
        bound = AccountedPod(*pod.pod.key, pod.uid, name, pod.demand, pod.pod.names, since=since, expected=expected)
        self.accounts.pod(bound, max(self.now, pod.bound_at))
        self._changed.add(name)

    def _expected(self, name: str, pod: Applicant) -> AmountsByZone | None:
        """Where the kubelet would put the pod now; None if that is not known."""
        self.refresh()
        node = self._nodes.get(name)
        if node is None or node.bound.number == NO_ZONES or not pod.demand.holds_zones:
            return None
        if not self.accounts.readings(name, self.now).is_known:
            return None
        _, given = self.admissions.fill(node.bound.number, pod.demand, 1)
        return given[0].by_zone if given else None

    def drop_pod(self, name: str, uid: str) -> None:
        self.accounts.gone(uid, self.now)
        self._changed.add(name)

    def _node(self, name: str) -> _Node:
        node = self._nodes.get(name)
        if node is None:
            row = self._free.pop() if self._free else self.size
            self.size = max(self.size, row + 1)
            if self.size > len(self._numbers):
                self._numbers = np.pad(self._numbers, (0, len(self._numbers)), constant_values=NO_ZONES)
            node = self._nodes[name] = _Node(row)
            self.rows[name] = row
        return node

    def _forget_if_gone(self, name: str, node: _Node) -> None:
        if not node.exists and not node.has_report:
            self._numbers[node.row] = NO_ZONES
            del self._nodes[name], self.rows[name]
            self._free.append(node.row)

    # What is free

    def refresh(self) -> None:
        """Read the nodes again that changed; the first time, everything is listed."""
        self._is_listed = True
        while self._dues and self._dues[0][0] <= self.now:
            self._changed.add(heappop(self._dues)[1])
        if not self._changed:
            return
        for name in self._changed & self._nodes.keys():
            node = self._nodes[name]
            node.bound = bound_state(self.admissions, self.accounts.readings(name, self.now), node.rules)
            self._numbers[node.row] = node.bound.number
            due = self.accounts.due(self.now, (name,))
            if due is not None:
                heappush(self._dues, (due, name))
        self._changed.clear()
        if self.admissions.is_crowded:
            known = np.unique(self._numbers[: self.size])
            self.admissions.keep(known[known != NO_ZONES])

    def numbers(self, rows: IntArray) -> IntArray:
        """The states of nodes; `NO_ZONES` without a report."""
        self.refresh()
        found: IntArray = self._numbers[rows]
        return found

    def zones_of(self, name: str, uid: str) -> Zoned:
        """The zones of a pod that is bound to a node, as far as they are known."""
        known = self.accounts.zones_of(uid, self.now)
        return self._nodes[name].bound.placed.get(uid, ()) if known is None else (ZonedAmounts.of(known),)
