"""Which rows a pod's rules exclude, given the pods that run there and in the same domains.

Every rule is answered per value of a node label, then read off for each row by the code of its value. All of these
exclusions only grow while pods of the same job are placed, except affinity, which its first pod decides, and spread,
which is in `spread`. The causes are those that a refusal counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...model.pod_rules import HostPort, PodKind, PodRules, PodTerm
from ...state.neighbours import ByValue, Neighbours
from ...state.snapshot import Snapshot
from ...state.table import MISSING, BoolArray, IntArray

POD_AFFINITY = "podAffinity"
POD_ANTI_AFFINITY = "podAntiAffinity"
KEPT_AWAY = "podAntiAffinity of running pods"
AMONG_ITSELF = "podAntiAffinity among its own pods"

Exclude = Callable[[BoolArray, str], None]
"""Mark the rows that do not pass, by position, with a cause."""
Codes = NDArray[np.int32]


class PodFilter:
    """The rules of one shape. With `empty`, pods of workloads that are admitted do not count."""

    def __init__(self, snapshot: Snapshot, rules: PodRules, empty: bool = False) -> None:
        self.snapshot, self.rules, self.empty = snapshot, rules, empty

    @property
    def neighbours(self) -> Neighbours:
        return self.snapshot.neighbours

    def exclude(self, rows: IntArray, exclude: Exclude, present: bool = False) -> None:
        """Exclude the rows that take no pod. With `present`, the pod in question already counts on each row."""
        own = int(present)
        if self.rules.refused:
            exclude(np.zeros(len(rows), dtype=np.bool_), self.rules.refused)
        for claim in self.rules.alone:
            users = self.neighbours.users_of(self.rules.kind.namespace, claim, self.empty)
            exclude(np.full(len(rows), users <= own), f'volume "{claim}" in use')
        for port in self.rules.kind.ports:
            kinds = self._chosen(("port", port), partial(_collides, port))
            exclude(self.neighbours.on_rows(kinds, self.empty)[rows] <= own, f'hostPort "{port}"')
        self._anti(rows, exclude, own)
        self._kept_away(rows, exclude, own)
        if self.rules.affinity:
            exclude(self._near(rows, own), POD_AFFINITY)

    def caps(self, rows: IntArray) -> IntArray | None:
        """The most pods of the shape that each row may take at once; None if the rules do not limit that."""
        if self.rules.kind.ports or self.rules.alone:
            return np.ones(len(rows), dtype=np.int64)
        keys = {term.key for term in self.own_anti}
        if not keys:
            return None
        apart = np.zeros(len(rows), dtype=np.bool_)
        for key in keys:
            apart |= self.codes(key, rows) != MISSING
        return np.where(apart, 1, np.iinfo(np.int64).max)

    @property
    def cap_cause(self) -> str:
        if self.rules.alone:
            return f'volume "{self.rules.alone[0]}" is for one pod'
        ports = self.rules.kind.ports
        return f'hostPort "{ports[0]}" of its own pods' if ports else AMONG_ITSELF

    @property
    def own_anti(self) -> list[PodTerm]:
        """The anti-affinity terms that keep pods of the shape apart from one another."""
        kind = self.rules.kind
        return [term for term in kind.anti if kind.is_in(term, self.neighbours.namespaces)]

    @property
    def attracts_itself(self) -> bool:
        """Whether a first pod may start a domain: it meets all its own affinity terms."""
        return self.attracted_by(self.rules.kind)

    def attracted_by(self, kind: PodKind | None) -> bool:
        """Whether all affinity terms select pods of a kind."""
        namespaces = self.neighbours.namespaces
        return kind is not None and all(kind.is_in(term, namespaces) for term in self.rules.affinity)

    @property
    def is_first(self) -> bool:
        """Whether no pod that the affinity terms select is in any domain, so that the first one starts it."""
        return bool(self.rules.affinity) and not any(counts.total for counts in self._attractors())

    def codes(self, key: str, rows: IntArray) -> Codes:
        column = self.snapshot.table.labels.get(key)
        return np.full(len(rows), MISSING, dtype=np.int32) if column is None else column.codes[rows]

    @property
    def shared_keys(self) -> list[str]:
        """The node labels that its rules are about, without those that have another value on every row."""
        keys = {term.key for term in (*self.rules.kind.anti, *self.rules.affinity)}
        keys |= {rule.key for rule in self.rules.spread}
        return sorted(key for key in keys if not self.is_unique(key))

    def is_unique(self, key: str) -> bool:
        """Whether every row has a value of its own."""
        column = self.snapshot.table.labels.get(key)
        if column is None:
            return True
        codes = column.codes[self.snapshot.rows]
        known = codes[codes != MISSING]
        return len(np.unique(known)) == len(known)

    def _chosen(self, key: Hashable, is_chosen: Callable[[PodKind], bool]) -> list[PodKind]:
        return self.neighbours.choose(key, is_chosen)

    def _selected(self, term: PodTerm) -> list[PodKind]:
        namespaces = self.neighbours.namespaces
        return self._chosen(term, lambda kind: kind.is_in(term, namespaces))

    def _anti(self, rows: IntArray, exclude: Exclude, own: int) -> None:
        itself = set(self.own_anti) if own else set()
        for term in self.rules.kind.anti:
            counts = self.neighbours.by_value(self._selected(term), term.key, self.empty)
            free = counts.pods <= (term in itself)
            exclude(_answers(free, self.codes(term.key, rows), missing=True), POD_ANTI_AFFINITY)

    def _kept_away(self, rows: IntArray, exclude: Exclude, own: int) -> None:
        """Exclude domains of running pods whose own anti-affinity selects this pod."""
        kind, namespaces = self.rules.kind, self.neighbours.namespaces
        by_term: dict[PodTerm, list[PodKind]] = {}
        for other in self.neighbours.hostile:
            for term in other.anti:
                if kind.is_in(term, namespaces):
                    by_term.setdefault(term, []).append(other)
        for term, kinds in by_term.items():
            mine = own if term in kind.anti else 0
            free = self.neighbours.by_value(kinds, term.key, self.empty).pods <= mine
            exclude(_answers(free, self.codes(term.key, rows), missing=True), KEPT_AWAY)

    def _attractors(self) -> list[ByValue]:
        """For each affinity term the pods, by value of its key, that all terms select."""
        terms = self.rules.affinity
        kinds = self._chosen(terms, self.attracted_by)
        return [self.neighbours.by_value(kinds, term.key, self.empty, sure=True) for term in terms]

    def _near(self, rows: IntArray, own: int) -> BoolArray:
        """Rows in whose domain every affinity term finds a pod; while none is anywhere, the pod itself will do."""
        itself = self.attracts_itself
        found = self._attractors()
        mine = own if itself else 0
        first = itself and not any(counts.total - mine > 0 for counts in found)
        near = np.ones(len(rows), dtype=np.bool_)
        for term, counts in zip(self.rules.affinity, found, strict=True):
            able = np.ones(len(counts.pods), dtype=np.bool_) if first else counts.pods > mine
            near &= _answers(able, self.codes(term.key, rows), missing=False)
        return near


def _collides(port: HostPort, kind: PodKind) -> bool:
    return any(port.collides(one) for one in kind.ports)


def _answers(by_code: BoolArray, codes: Codes, missing: bool) -> BoolArray:
    """The answer for each row by the code of its value; `missing` for rows without the label."""
    table = np.append(by_code, missing)
    return table[codes]
