"""Topology spread with DoNotSchedule: how many more pods each row may take, and how many a set of rows at most.

A pod may go to a domain while its pods, with this one, exceed the emptiest domain by no more than `max_skew`. The
emptiest domain fills up too, so a limit moves while pods are placed; a distribution is valid in any order of binding
if it is valid at its end, because a pod that comes too early waits for the others.

Pods that were placed here select their node. With nodeAffinityPolicy Honor kube-scheduler then sees that node alone,
which makes one domain: with minDomains above 1 it lets at most `max_skew` pods onto each node.
"""

from __future__ import annotations

import numpy as np

from ...model.pod_rules import PodKind, PodRules, SpreadRule
from ...state.snapshot import Snapshot
from ...state.table import MISSING, BoolArray, IntArray
from ..match import NodeMatch

SPREAD = "topologySpread"
UNLIMITED = 2**53


class SpreadLimits:
    """The spread rules of one shape as they stand. `own` limits its own pods, the others only where they may go."""

    def __init__(self, snapshot: Snapshot, rules: PodRules, match: NodeMatch, empty: bool) -> None:
        self.snapshot, self.rules, self.match, self.empty = snapshot, rules, match, empty
        namespace = rules.kind.namespace
        self.own = [rule for rule in rules.spread if rules.kind.is_spread_by(rule, namespace)]

    def room(self, rows: IntArray, present: bool = False, coming: int = 0) -> IntArray:
        """How many pods each of these rows may take now; with `present`, one of them is there already.

        `coming` pods are placed before the limits have to hold.
        """
        room = np.full(len(rows), UNLIMITED, dtype=np.int64)
        for rule in self.rules.spread:
            np.minimum(room, self._room(rule, rows, present, coming), out=room)
        return room

    def counts(self, kind: PodKind | None) -> bool:
        """Whether a rule that limits its own pods counts pods of this kind."""
        namespace = self.rules.kind.namespace
        return kind is not None and any(kind.is_spread_by(rule, namespace) for rule in self.own)

    def crowd(self, rows: IntArray) -> IntArray:
        """The pods in the domains of each of these rows, over the rules that limit its own pods."""
        found = np.zeros(len(rows), dtype=np.int64)
        for rule in self.own:
            found += np.append(self._counts(rule)[0], 0)[self._codes(rule.key)[rows]]
        return found

    def is_even(self, rows: IntArray, coming: int = 0) -> bool:
        """Whether the domains of these rows are within the limits of its own pods, or can be with `coming` more."""
        for rule in self.own:
            pods, least = self._counts(rule)
            least = self._reachable(rule, pods, least, coming) if coming else least
            codes = self._codes(rule.key)[rows]
            if (pods[codes] > (least or 0) + rule.max_skew).any():
                return False
        return True

    def most(self, rows: IntArray, holds: IntArray, coming: int = 0) -> int:
        """No more pods than this fit on rows that hold so many each, however they are ordered.

        Racks with 2 and 0 pods, room for 8 and 1, max_skew 2: the emptiest reaches 1, so the first may reach 3: 1 + 1.
        """
        most = int(holds.sum())
        for rule in self.own:
            if not rule.by_affinity and not rule.by_taints:
                continue  # domains elsewhere count too
            pods, least = self._counts(rule)
            codes = self._codes(rule.key)[rows]
            keyed = codes != MISSING
            fits = np.zeros(len(pods), dtype=np.int64)
            np.add.at(fits, codes[keyed], holds[keyed])
            domains = self._domains(rule)
            reached = least
            if least is not None and len(domains) >= rule.min_domains and len(domains):
                reached = int((pods[domains] + fits[domains]).min())
            if coming:
                reached = max(reached or 0, self._reachable(rule, pods, least, coming) or 0)
            limit = np.maximum((reached or 0) + rule.max_skew - pods, 0)
            most = min(most, int(np.minimum(fits, limit).sum()))
        return most

    def _room(self, rule: SpreadRule, rows: IntArray, present: bool, coming: int) -> IntArray:
        pods, least = self._counts(rule)
        codes = self._codes(rule.key)[rows]
        own = rule in self.own
        if own and coming:
            least = self._reachable(rule, pods, least, coming)
        limit: IntArray = np.append((least or 0) + rule.max_skew - pods, 0)[codes]
        limit = np.where(codes == MISSING, 0, limit)
        if own and rule.by_affinity and rule.min_domains > 1:
            np.minimum(limit, rule.max_skew - self._on_rows(rule)[rows], out=limit)
        if own:
            limit += present
            return np.maximum(limit, 0)
        return np.where((limit >= 0) & (codes != MISSING), UNLIMITED, 0)

    def _reachable(self, rule: SpreadRule, pods: IntArray, least: int | None, coming: int) -> int | None:
        """How many pods the emptiest domain may have after this many more, wherever there is room for them.

        Domains with 0, 1 and 4 pods and 3 more to come: 2.
        """
        domains = self._domains(rule)
        if not len(domains) or least != int(pods[domains].min()):
            return least  # too few domains, or one elsewhere
        counts = np.sort(pods[domains])
        below = np.arange(1, len(counts) + 1)
        levels = (np.cumsum(counts) + coming) // below
        return int(levels.min())

    def _counts(self, rule: SpreadRule) -> tuple[IntArray, int | None]:
        """The pods by value of the key, and those of the emptiest domain; None if there is no domain."""
        near = self.snapshot.neighbours
        kinds = self._kinds(rule)
        everywhere = not rule.by_affinity and not rule.by_taints
        counts = near.by_value(kinds, rule.key, self.empty, among=None if everywhere else self._eligible(rule))
        domains = self._domains(rule)
        least = int(counts.pods[domains].min()) if len(domains) else None
        number = len(domains)
        if everywhere:
            outside = self._outside(rule)
            number += len(outside)
            least = min([*outside, *(() if least is None else (least,))], default=None)
        return counts.pods, 0 if number < rule.min_domains and least is not None else least

    def _outside(self, rule: SpreadRule) -> list[int]:
        """The pods of domains that are on no row: nodes of other flavors count where all nodes do."""
        near, column = self.snapshot.neighbours, self.snapshot.table.labels.get(rule.key)
        known = {} if column is None else column.index
        keys = [one.key for one in self.rules.spread]
        labels = (node.labels for node in near.nodes.values())
        values = {one[rule.key] for one in labels if all(key in one for key in keys)} - known.keys()
        return near.at_other_values(self._kinds(rule), rule.key, sorted(values), self.empty)

    def _kinds(self, rule: SpreadRule) -> list[PodKind]:
        namespace = self.rules.kind.namespace
        near = self.snapshot.neighbours
        return near.choose((rule, namespace), lambda kind: kind.is_spread_by(rule, namespace))

    def _on_rows(self, rule: SpreadRule) -> IntArray:
        return self.snapshot.neighbours.on_rows(self._kinds(rule), self.empty)

    def _domains(self, rule: SpreadRule) -> IntArray:
        """The codes of the domains that count."""
        codes = self._codes(rule.key)[self._eligible(rule)]
        return np.unique(codes[codes != MISSING]).astype(np.int64)

    def _eligible(self, rule: SpreadRule) -> BoolArray:
        """The rows that count: with all keys of the spread rules, and by the rule's policies those of the flavor."""
        rows = np.arange(len(self.snapshot.table))
        eligible = self.match.chosen(rows, rule.by_affinity, rule.by_taints)
        if rule.by_affinity or rule.by_taints:
            eligible &= self.snapshot.leaf_of_row >= 0
        for one in self.rules.spread:
            eligible &= self._codes(one.key) != MISSING
        eligible[list(self.snapshot.columns.gone)] = False
        return eligible

    def _codes(self, key: str) -> IntArray:
        column = self.snapshot.table.labels.get(key)
        if column is None:
            return np.full(len(self.snapshot.table), MISSING, dtype=np.int64)
        return column.codes.astype(np.int64)
