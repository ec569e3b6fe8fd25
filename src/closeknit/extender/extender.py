"""The verbs of an HTTP extender, as a state machine over values.

    filter()            bind()                 bound()              a report accounts for it, or the pod is gone
  ∅ ───────▶ pending on ──────▶ reserved on ───────────▶ charged to ─────────────────────────────────▶ ∅
             every node         the node that            the node
             that was offered   was chosen
             │ expires, is refused, or is seen bound     │ the binding failed, or expires unconfirmed
             └──▶ ∅                                      └──▶ ∅

The scheduler tells which node it chose only when it asks for the binding, and asks about the next pod before that. So a
pod is pending on every node that was offered for it; the next pod is offered nodes that have room for both, and only if
there are none, those that have room for one of them. Binding decides: it asks again, so no zone is promised twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..model.numa import NodeZones
from .applicant import Applicant
from .zones import NODE_NOT_FOUND, BoolArray, IntArray, Pending, Zones

RESERVED = 30.0
"""Seconds that a pod is pending, and that a binding without a known outcome is charged."""


class Filtered(NamedTuple):
    """`passing` are places in the list of nodes that was given; `refused` the reason by name."""

    passing: list[int]
    refused: dict[str, str]


class _Pending(NamedTuple):
    pending: Pending
    until: float


class Extender:
    """`now` is always seconds since 1970. `refusals` counts refused nodes by reason."""

    def __init__(self, zones: Zones, reserved: float = RESERVED) -> None:
        self.zones, self.reserved = zones, reserved
        self.refusals: Counter[str] = Counter()
        self._waiting: dict[str, Applicant] = {}
        """Pods that are not bound."""
        self._pending: dict[str, _Pending] = {}
        self._unconfirmed: dict[str, float] = {}
        """Until when a reservation is charged whose binding may have failed."""
        self._bound: dict[str, Applicant] = {}
        """Every pod that is bound or reserved, with its node."""

    @property
    def pending(self) -> int:
        return len(self._pending)

    @property
    def charged(self) -> int:
        """Pods that no report accounts for yet."""
        return self.zones.charged

    # The cluster

    def put_node(self, name: str, offered: Iterable[str], labels: Mapping[str, str]) -> None:
        self.zones.put_node(name, offered, labels)

    def drop_node(self, name: str) -> None:
        self.zones.drop_node(name)

    def put_report(self, report: NodeZones, written_at: float) -> None:
        self.zones.put_report(report, written_at)

    def drop_report(self, name: str) -> None:
        self.zones.drop_report(name)

    def put_pod(self, applicant: Applicant) -> None:
        """A pod was added or changed; `drop_pod` if it has ended."""
        uid, node = applicant.uid, applicant.node
        if not node:
            if uid not in self._bound:
                self._waiting[uid] = applicant
            return
        self._unconfirmed.pop(uid, None)
        self._settle(uid)
        if self._node_of(uid) != node:
            self._leave(uid)
            self._enter(applicant)

    def drop_pod(self, uid: str) -> None:
        self._settle(uid)
        self._unconfirmed.pop(uid, None)
        self._leave(uid)

    def _settle(self, uid: str) -> None:
        """The pod is not pending any more."""
        self._pending.pop(uid, None)
        self._waiting.pop(uid, None)

    def _node_of(self, uid: str) -> str:
        """Where a pod is bound or reserved; empty if nowhere."""
        return self._bound[uid].node if uid in self._bound else ""

    def _enter(self, applicant: Applicant) -> None:
        self._bound[applicant.uid] = applicant
        self.zones.charge(applicant.node, applicant)

    def _leave(self, uid: str) -> None:
        applicant = self._bound.pop(uid, None)
        if applicant is not None:
            self.zones.release(applicant.node, uid)

    def expire(self, now: float) -> None:
        self.zones.pass_time(now)
        for uid in [uid for uid, one in self._pending.items() if one.until <= now]:
            del self._pending[uid]
        for uid in [uid for uid, until in self._unconfirmed.items() if until <= now]:
            del self._unconfirmed[uid]
            self._leave(uid)

    # The verbs

    def filter(self, applicant: Applicant, names: Sequence[str], now: float) -> Filtered:
        """Which of these nodes the pod may go to. It is pending there until it is bound."""
        self.expire(now)
        self._pending.pop(applicant.uid, None)
        rows, known = self._rows(names)
        if not known.any():
            return self._none_known(names)
        others = [one.pending for one in self._pending.values()]
        answers = self.zones.answers(rows, applicant, others)
        if others and not bool(((answers.codes == 0) & known).any()):
            answers = self.zones.answers(rows, applicant)
        passes = (answers.codes == 0) & known
        if passes.any() and applicant.uid not in self._bound:
            self._hold(applicant, rows[passes], now)
        refused = {names[at]: answers.reasons[answers.codes[at]] for at in np.flatnonzero(~passes & known).tolist()}
        refused.update({names[at]: NODE_NOT_FOUND for at in np.flatnonzero(~known).tolist()})
        self._count(refused)
        return Filtered(np.flatnonzero(passes).tolist(), refused)

    def _count(self, refused: Mapping[str, str]) -> None:
        """Without containers and resources, of which there are too many to count by."""
        for reason, count in Counter(refused.values()).items():
            self.refusals[reason.partition(":")[0]] += count

    def _none_known(self, names: Sequence[str]) -> Filtered:
        self.refusals[NODE_NOT_FOUND] += len(names)
        return Filtered([], dict.fromkeys(names, NODE_NOT_FOUND))

    def _rows(self, names: Sequence[str]) -> tuple[IntArray, BoolArray]:
        """The row of each node, 0 where it is not known; and whether it is."""
        rows = np.array([self.zones.rows.get(name, -1) for name in names], dtype=np.int64)
        known = rows >= 0
        return np.where(known, rows, 0), known

    def _hold(self, applicant: Applicant, rows: IntArray, now: float) -> None:
        offered = np.zeros(len(self.zones), dtype=bool)
        offered[rows] = True
        self._pending[applicant.uid] = _Pending(Pending(applicant, offered), now + self.reserved)

    def prioritize(self, applicant: Applicant, names: Sequence[str]) -> list[int]:
        """A score from 0 to 10 for each node. From now on the pod is pending on these only."""
        rows, known = self._rows(names)
        held = self._pending.get(applicant.uid)
        if held is not None and known.any():
            self._hold(applicant, rows[known], held.until - self.reserved)
        if not known.any():
            return [0] * len(names)
        scores: list[int] = (self.zones.scores(rows, applicant) * known).tolist()
        return scores

    def applicant(self, uid: str) -> Applicant | None:
        """A pod that the scheduler may bind."""
        if uid in self._bound:
            return self._bound[uid]
        held = self._pending.get(uid)
        return self._waiting.get(uid) if held is None else held.pending.applicant

    def bind(self, applicant: Applicant, node: str, now: float) -> str:
        """Reserve the node for the pod; returns why it cannot be had. `bound` or `unbound` has to follow."""
        self.expire(now)
        if self._node_of(applicant.uid) not in ("", node):
            return f"the pod is on its way to node {self._node_of(applicant.uid)}"
        if applicant.uid not in self._bound:
            refusal = self.zones.refusal(node, applicant)
            if refusal:
                self._pending.pop(applicant.uid, None)
                return refusal
            self._enter(replace(applicant.on(node), bound_at=now))
            self._unconfirmed[applicant.uid] = now + self.reserved
        self._pending.pop(applicant.uid, None)
        return ""

    def bound(self, uid: str) -> None:
        """The binding was accepted."""
        self._unconfirmed.pop(uid, None)
        self._waiting.pop(uid, None)

    def unbound(self, uid: str) -> None:
        """The binding was refused."""
        if self._unconfirmed.pop(uid, None) is not None:
            self._leave(uid)

    def preempt(self, applicant: Applicant, candidates: Mapping[str, Collection[str]]) -> list[str]:
        """The candidates, nodes with the uids of their victims, whose zones would be enough without these."""
        return [node for node, uids in candidates.items() if self._is_enough(applicant, node, uids)]

    def _is_enough(self, applicant: Applicant, node: str, uids: Collection[str]) -> bool:
        victims = [self._bound[uid] for uid in uids if self._node_of(uid) == node]
        return self.zones.admits_without(node, applicant, victims)
