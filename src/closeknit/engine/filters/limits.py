"""Upper bounds of what rows hold when pods of one shape limit one another: they end a hopeless search at once.

`reaches` tells a search which pods it need not move, because no rule connects them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...model.pod_rules import PodKind, PodRules
from ...state.table import MISSING, IntArray
from ..fit import Fit


def most_by_rules(fit: Fit, leaves: IntArray, coming: int = 0, spread: bool = True) -> int:
    """No more pods of the shape than this fit on leaves of one node, in any order of them and of `coming` others.

    Without `spread`, topology spread does not count.
    """
    holds, rows = fit.pods[leaves], fit.snapshot.first_rows(leaves)
    most = int(holds.sum())
    if fit.rules is None:
        return most
    if fit.rules.rules.alone:
        most = min(most, 1)
    for term in fit.rules.own_anti:
        codes = fit.rules.codes(term.key, rows)
        keyed = (codes != MISSING) & (holds > 0)
        most = min(most, len(np.unique(codes[keyed])) + int(holds[codes == MISSING].sum()))
    return most if fit.spread is None or not spread else min(most, fit.spread.most(rows, holds, coming))


def reaches(kind: PodKind | None, rules: PodRules, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether pods of a kind may decide where a pod with these rules goes, beyond the nodes that they take."""
    if kind is None:
        return False
    if rules.affinity or rules.alone or rules.kind.volumes:
        return True
    collides = any(port.collides(one) for port in kind.ports for one in rules.kind.ports)
    away = collides or any(kind.is_in(term, namespaces) for term in rules.kind.anti)
    kept_away = any(rules.kind.is_in(term, namespaces) for term in kind.anti)
    return away or kept_away or any(kind.is_spread_by(rule, rules.kind.namespace) for rule in rules.spread)
