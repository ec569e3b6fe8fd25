"""The node filter: taints, then node selector, then required affinity; the first that fails is the cause.

Every test is a small table over the distinct values of one label, indexed by the nodes' codes, so a new shape costs a
few array look-ups and never a loop over nodes. The same tables serve when only a few rows have changed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model.shape import HARD_EFFECTS, MAINTENANCE, Requirement, Shape, Taint, Term
from ..state.snapshot import Snapshot
from ..state.table import BoolArray, IntArray, LabelColumn

CauseArray = NDArray[np.int16]

PASSES = 0
ABSENT = -1
SELECTOR = "nodeSelector"
AFFINITY = "affinity"
OUTSIDE = "topologyDomain"
SCATTERED = "fragmentation"
UNFIT = "nodeFit"
"""Every single resource suffices, but the policy's fit admits no pod."""


class NodeMatch:
    """The node filter of one shape. `causes[k]` names what code k stands for; code 0 passes.

    Without `maintained`, maintenance windows are ignored: they do not concern pods that are not placed here.
    """

    def __init__(self, snapshot: Snapshot, shape: Shape, maintained: bool = True) -> None:
        self.causes = ["", SELECTOR, AFFINITY]
        self._maintained = maintained
        self._snapshot = snapshot
        self._shape = shape
        self._taint_codes: list[int] = []

    def codes(self, rows: IntArray, usable: BoolArray | None = None) -> CauseArray:
        """For each of these node rows: PASSES, ABSENT, or the code of the cause that excludes it.

        `usable`, over all rows, replaces the nodes' own readiness.
        """
        table = self._snapshot.table
        codes = self._taint_table()[table.taint_codes[rows]]
        if self._shape.selector:
            self._exclude(codes, self._selected(rows), SELECTOR)
        if self._shape.required is not None:
            self._exclude(codes, self._any_term(self._shape.required, rows), AFFINITY)
        if self._shape.rules is not None:
            for cause, terms in self._shape.rules.where:
                codes[(codes == PASSES) & ~self._any_term(terms, rows)] = self.code_of(cause)
        codes[~(table.usable if usable is None else usable)[rows]] = ABSENT
        return codes

    def scores(self, rows: IntArray) -> IntArray:
        """The weights of the preferred terms that each row meets, summed."""
        scores = np.zeros(len(rows), dtype=np.int64)
        for weight, term in self._shape.preferred:
            scores += weight * self._term(term, rows)
        return scores

    def _exclude(self, codes: CauseArray, passes: BoolArray, cause: str) -> None:
        codes[(codes == PASSES) & ~passes] = self.causes.index(cause)

    def _taint_table(self) -> CauseArray:
        """A code for each distinct list of taints; lists that appeared since are added."""
        for taints in self._snapshot.table.taints[len(self._taint_codes) :]:
            stops = next((taint for taint in taints if not self._tolerated(taint)), None)
            self._taint_codes.append(PASSES if stops is None else self.code_of(stops.cause))
        return np.array(self._taint_codes, dtype=np.int16)

    def _tolerated(self, taint: Taint) -> bool:
        if taint.effect == MAINTENANCE:
            return not self._maintained or taint in self._shape.clear_of
        return taint.effect not in HARD_EFFECTS or any(t.tolerates(taint) for t in self._shape.tolerations)

    def code_of(self, cause: str) -> int:
        if cause not in self.causes:
            self.causes.append(cause)
        return self.causes.index(cause)

    def chosen(self, rows: IntArray, by_affinity: bool, by_taints: bool) -> BoolArray:
        """Whether the pod's own node selector and affinity, and its tolerations, admit each of these rows."""
        passes = np.ones(len(rows), dtype=np.bool_)
        if by_affinity and self._shape.selector:
            passes &= self._selected(rows)
        if by_affinity and self._shape.required is not None:
            passes &= self._any_term(self._shape.required, rows)
        if by_taints:
            passes &= self._taint_table()[self._snapshot.table.taint_codes[rows]] == PASSES
        return passes

    def _selected(self, rows: IntArray) -> BoolArray:
        passes = np.ones(len(rows), dtype=np.bool_)
        for key, value in self._shape.selector:
            column = self._snapshot.table.labels.get(key)
            if column is None:
                return np.zeros(len(rows), dtype=np.bool_)
            passes &= column.codes[rows] == column.code(value)
        return passes

    def _any_term(self, terms: tuple[Term, ...], rows: IntArray) -> BoolArray:
        passes = np.zeros(len(rows), dtype=np.bool_)
        for term in terms:
            passes |= self._term(term, rows)
        return passes

    def _term(self, term: Term, rows: IntArray) -> BoolArray:
        if not term.labels and not term.fields:
            return np.zeros(len(rows), dtype=np.bool_)
        passes = np.ones(len(rows), dtype=np.bool_)
        for requirement in term.labels:
            passes &= self._label(requirement, rows)
        for requirement in term.fields:
            passes &= self._field(requirement, rows)
        return passes

    def _label(self, requirement: Requirement, rows: IntArray) -> BoolArray:
        column = self._snapshot.table.labels.get(requirement.key)
        if column is None:
            return np.full(len(rows), requirement.admits(None))
        # A node without the label has code -1, which indexes the last entry.
        return _answers(column, requirement)[column.codes[rows]]

    def _field(self, requirement: Requirement, rows: IntArray) -> BoolArray:
        """The only supported field is metadata.name, with In or NotIn."""
        if requirement.key != "metadata.name" or requirement.operator not in ("In", "NotIn"):
            return np.zeros(len(rows), dtype=np.bool_)
        named = {self._snapshot.row_of.get(value, -1) for value in requirement.values}
        found = np.isin(rows, list(named))
        return ~found if requirement.operator == "NotIn" else found


def _answers(column: LabelColumn, requirement: Requirement) -> BoolArray:
    """For each distinct value whether it meets the requirement, and at the end the answer for no value."""
    if requirement.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        return np.array([requirement.admits(value) for value in column.values] + [False])
    listed = requirement.operator in ("In", "DoesNotExist")
    answers = np.full(len(column.values) + 1, not listed)
    if requirement.operator in ("In", "NotIn"):
        for value in requirement.values:
            code = column.index.get(value)
            if code is not None:
                answers[code] = listed
    answers[-1] = requirement.admits(None)
    return answers
