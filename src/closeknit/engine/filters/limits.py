"""Upper bounds of what rows hold when pods of one shape limit one another: they end a hopeless search at once."""

from __future__ import annotations

import numpy as np

from ...state.table import MISSING, IntArray
from ..fit import Fit


def most_by_rules(fit: Fit, leaves: IntArray, coming: int = 0) -> int:
    """No more pods of the shape than this fit on leaves of one node, in any order of them and of `coming` others."""
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
    return most if fit.spread is None else min(most, fit.spread.most(rows, holds, coming))
