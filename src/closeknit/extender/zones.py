"""The port to what is known of zones: which nodes admit a pod, at what cost, and what is charged to them.

A decision goes through columns: names become rows once, and every answer is an array over these rows. Nodes without a
report admit every pod. There are two implementations: `strict` asks the kubelets' own rules, `compat` those of
NodeResourceTopologyMatch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..model.numa import NodeZones
from .applicant import Applicant

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

HIGHEST = 10
"""The best score; kube-scheduler multiplies it by ten and by the extender's weight."""
NODE_NOT_FOUND = "node not found"


class Pending(NamedTuple):
    """A pod whose node was not chosen yet, and the rows that were offered for it."""

    applicant: Applicant
    rows: BoolArray

    def among(self, rows: IntArray) -> BoolArray:
        """Which of these rows were offered."""
        inside = rows < len(self.rows)
        return inside & self.rows[np.where(inside, rows, 0)] if len(self.rows) else np.zeros(len(rows), dtype=bool)


class Answers(NamedTuple):
    """For each row a code; `reasons[code]` is why the node is refused, and empty for code 0."""

    codes: IntArray
    reasons: Sequence[str]


class Zones(Protocol):
    @property
    def rows(self) -> Mapping[str, int]:
        """The row of every node and report."""

    def __len__(self) -> int:
        """The number of rows, free ones included."""

    @property
    def unreported(self) -> int:
        """Nodes without a report."""

    @property
    def charged(self) -> int:
        """Pods that no report accounts for yet."""

    def pass_time(self, now: float) -> None:
        """It is this late."""

    def refresh(self) -> None:
        """Do now what the next question would have to do first."""

    def put_node(self, name: str, offered: Iterable[str], labels: Mapping[str, str]) -> None: ...

    def drop_node(self, name: str) -> None: ...

    def put_report(self, report: NodeZones, written_at: float = 0.0) -> None:
        """Take a report. Pods that it does not account for are charged on top of it."""

    def drop_report(self, name: str) -> None: ...

    def refusal(self, name: str, applicant: Applicant) -> str:
        """Why the node would refuse the pod; empty if it would not."""

    def charge(self, name: str, applicant: Applicant) -> None:
        """A pod is bound to the node."""

    def release(self, name: str, uid: str) -> None:
        """The pod is not there any more."""

    def answers(self, rows: IntArray, applicant: Applicant, pending: Sequence[Pending] = ()) -> Answers:
        """Which nodes admit the pod, if they get those that are pending as well."""

    def scores(self, rows: IntArray, applicant: Applicant) -> IntArray:
        """How well the zones of nodes suit the pod, from 0 to 10."""

    def admits_without(self, name: str, applicant: Applicant, victims: Collection[Applicant]) -> bool:
        """Whether the node admits the pod once the victims are gone."""
