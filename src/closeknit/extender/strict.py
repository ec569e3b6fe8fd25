"""Zones as the kubelets themselves decide: every node is in a state, and a decision asks each distinct state once.

A column holds the state of each node. Pods that were bound since the report are part of the state, in the order in
which they were bound; pods that are pending are added for one decision. The cost of a decision is that of the distinct
states whose answer is not known yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..model.numa import NodeZones
from ..model.numa_settings import UNCONFIGURED, NodeNuma, NumaSettings
from ..numa.layout import KubeletRules
from ..numa.placement_vector import ContainerName
from ..numa.refusal import AFFINITY, LOCALITY
from ..numa.reported import reported_admission
from ..state.numa.eviction import EvictionRefusal, evicted
from .applicant import Applicant
from .kubelets import FIRST_LIMIT, Kubelets, Outcome
from .zones import HIGHEST, NODE_NOT_FOUND, Answers, IntArray, Pending

NO_REPORT = -1
FIRST = 64
MOST_PENDING = 16
"""Pods that are pending and still looked at; older ones do not count."""


@dataclass(slots=True)
class _Node:
    """`held` are the pods charged to the node, with their step in its state."""

    row: int
    exists: bool = False
    given: NodeNuma = UNCONFIGURED
    report: NodeZones | None = None
    held: dict[str, tuple[int, Applicant]] = field(default_factory=dict)


class StrictZones:
    def __init__(self, settings: NumaSettings | None = None) -> None:
        self.settings = settings or NumaSettings()
        self.kubelets = Kubelets()
        self.rows: dict[str, int] = {}
        self._nodes: dict[str, _Node] = {}
        self._free: list[int] = []
        self._states = np.full(FIRST, NO_REPORT, dtype=np.int64)
        self._size = 0
        self._limit = FIRST_LIMIT

    def __len__(self) -> int:
        return self._size

    @property
    def unreported(self) -> int:
        return sum(1 for one in self._nodes.values() if one.exists and one.report is None)

    # Nodes and reports

    def put_node(self, name: str, offered: Iterable[str], labels: Mapping[str, str]) -> None:
        node = self._node(name)
        node.exists = True
        given = self.settings.of(labels)
        if given != node.given:
            node.given = given
            self._rebase(node)

    def drop_node(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is not None:
            node.exists = False
            self._forget_if_gone(name, node)

    def put_report(self, report: NodeZones) -> None:
        node = self._node(report.node)
        node.report, node.held = report, {}
        self._rebase(node)
        self._tidy()

    def drop_report(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is not None:
            node.report, node.held = None, {}
            self._states[node.row] = NO_REPORT
            self._forget_if_gone(name, node)

    def _node(self, name: str) -> _Node:
        node = self._nodes.get(name)
        if node is None:
            row = self._free.pop() if self._free else self._size
            self._size = max(self._size, row + 1)
            if self._size > len(self._states):
                self._states = np.pad(self._states, (0, len(self._states)), constant_values=NO_REPORT)
            node = self._nodes[name] = _Node(row)
            self.rows[name] = row
        return node

    def _forget_if_gone(self, name: str, node: _Node) -> None:
        if not node.exists and node.report is None:
            del self._nodes[name], self.rows[name]
            self._free.append(node.row)

    def _rebase(self, node: _Node) -> None:
        """Begin with the report, and charge what was charged before."""
        if node.report is None:
            return
        held, node.held = node.held, {}
        self._states[node.row] = self.kubelets.base(node.report, node.given)
        for _, applicant in held.values():
            self._charge(node, applicant)

    # Pods

    def refusal(self, name: str, applicant: Applicant) -> str:
        node = self._nodes.get(name)
        if node is None or not node.exists:
            return NODE_NOT_FOUND
        state = int(self._states[node.row])
        return "" if state == NO_REPORT else _words(self.kubelets.outcome(state, applicant.demand), applicant)

    def charge(self, name: str, applicant: Applicant) -> None:
        node = self._nodes.get(name)
        if node is not None and node.report is not None and applicant.uid not in node.held:
            self._charge(node, applicant)
            self._tidy()

    def _charge(self, node: _Node, applicant: Applicant) -> None:
        state = int(self._states[node.row])
        node.held[applicant.uid] = self.kubelets.steps(state), applicant
        self._states[node.row] = self.kubelets.admitted(state, applicant.demand)

    def release(self, name: str, uid: str) -> None:
        node = self._nodes.get(name)
        held = None if node is None else node.held.pop(uid, None)
        if node is not None and held is not None:
            self._states[node.row] = self.kubelets.removed(int(self._states[node.row]), held[0])
            if not node.held:
                self._rebase(node)
            self._tidy()

    def _tidy(self) -> None:
        if len(self.kubelets) > self._limit:
            self.kubelets.keep(np.unique(self._states[: self._size]).tolist())
            self._limit = max(FIRST_LIMIT, 2 * len(self.kubelets))

    # Decisions

    def answers(self, rows: IntArray, applicant: Applicant, pending: Sequence[Pending] = ()) -> Answers:
        some = pending[-MOST_PENDING:]
        shifted = self._states[rows] << len(some)
        for bit, one in enumerate(some):
            shifted |= one.among(rows).astype(np.int64) << bit
        shifted[self._states[rows] == NO_REPORT] = NO_REPORT
        kinds, inverse = np.unique(shifted, return_inverse=True)
        words: dict[str, int] = {"": 0}
        codes = []
        for kind in kinds.tolist():
            said = "" if kind == NO_REPORT else _words(self._outcome(kind, applicant, some), applicant)
            codes.append(words.setdefault(said, len(words)))
        return Answers(np.array(codes, dtype=np.int64)[inverse], list(words))

    def _outcome(self, kind: int, applicant: Applicant, pending: Sequence[Pending]) -> Outcome:
        before = tuple(one.applicant.demand for bit, one in enumerate(pending) if kind >> bit & 1)
        return self.kubelets.outcome(kind >> len(pending), applicant.demand, before)

    def scores(self, rows: IntArray, applicant: Applicant) -> IntArray:
        kinds, inverse = np.unique(self._states[rows], return_inverse=True)
        unknown = 0 if applicant.demand.is_pinned else HIGHEST
        scores = [
            unknown if kind == NO_REPORT else self.kubelets.outcome(kind, applicant.demand).score
            for kind in kinds.tolist()
        ]
        return np.array(scores, dtype=np.int64)[inverse]

    def admits_without(
        self, name: str, applicant: Applicant, victims: Collection[Applicant], placement: Mapping[ContainerName, int]
    ) -> bool:
        node = self._nodes.get(name)
        if node is None or not node.exists or node.report is None:
            return node is not None and node.exists
        gone = {one.uid for one in victims}
        left = evicted(node.report, [one.pod for one in victims if one.uid not in node.held], placement)
        kubelet = reported_admission(
            node.report if isinstance(left, EvictionRefusal) else left, KubeletRules.of(node.given)
        )
        for uid, (_, one) in node.held.items():
            kubelet.admit(uid, one.demand)
        for uid in gone & node.held.keys():
            kubelet.remove(uid)
        return kubelet.admit(applicant.uid, applicant.demand).admitted


def _words(outcome: Outcome, applicant: Applicant) -> str:
    """The kubelet's words, with the container and the resources. Amounts are left out: schedulers count by these."""
    if not outcome.reason:
        return ""
    where = "pod" if outcome.container is None else f"container {applicant.container_name(outcome.container)}"
    said = LOCALITY if outcome.reason == AFFINITY else outcome.reason
    return f"{said}: {where}: {', '.join(outcome.resources)}" if outcome.resources else f"{said}: {where}"
