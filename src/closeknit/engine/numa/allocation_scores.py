"""Scores by how full a zone becomes: MostAllocated, LeastAllocated and BalancedAllocation, for all nodes at once.

A zone is scored against what is available now. The kubelet chooses the zone, so a node has the lowest score among its
zones that is not 0: 0 means that the zone cannot take the pod. With scope container, a node has the mean over all
containers, each scored against what is reported.

Arithmetic is in 64-bit floats and yet exact: a quotient of whole numbers below 2^53 is rounded to a whole number only
if it is one. BalancedAllocation is a float upstream too, and has the same steps in the same order. What depends on one
resource and amount only is computed once for all containers of a pod, which often ask for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

from ...model.container import Amounts, sorted_amounts
from ...model.numa_arguments import MatchArguments, ScoringStrategy
from ...model.resources import CPU
from ...numa.pod_needs import PodNeeds
from .outcome import LARGEST_SCORE
from .zone_columns import MILLI, FloatArray, IntArray, ResourceColumn, ZoneColumns

Weights = Callable[[str], int]
Requests = Mapping[str, int]
ZoneScores = Callable[[Requests], FloatArray]
"""The scores from 0 to 100 of all zones for a request, by zone and node; fractions are to be dropped."""


def allocation_scores(columns: ZoneColumns, pod: PodNeeds, arguments: MatchArguments) -> IntArray:
    """The score of each node of these columns, all of which align to a single zone."""
    score = _STRATEGIES[arguments.strategy](columns, arguments.weight)
    if columns.key.scope == "pod":
        return _worst(score(pod.effective))
    known: dict[Amounts, IntArray] = {}
    total = np.zeros(columns.size, dtype=np.int64)
    for container in pod.containers:
        requests = sorted_amounts(dict(container.requests))
        if requests not in known:
            known[requests] = _worst(score(dict(requests)))
        total += known[requests]
    return total // max(1, len(pod.containers))


def _worst(zones: FloatArray) -> IntArray:
    """The lowest score of each node that is not 0; 0 if there is none. As unsigned bytes, 0 - 1 is the largest."""
    below = zones.astype(np.int8).view(np.uint8) - np.uint8(1)
    lowest: IntArray = (below.min(axis=0, initial=np.uint8(255)) + np.uint8(1)).astype(np.int64)
    return lowest


def _whole(name: str, amount: int) -> int:
    """The amount in whole units, rounded up: 1500 milli-units of cpu are 2."""
    return -(-amount // MILLI) if name == CPU else amount


def _most(columns: ZoneColumns, weight: Weights) -> ZoneScores:
    return _weighted(columns, weight, lambda share: np.floor(share, out=share))


def _least(columns: ZoneColumns, weight: Weights) -> ZoneScores:
    def left(share: FloatArray) -> FloatArray:
        """⌊(A − R)·100/A⌋ is 100 less the share, rounded up."""
        np.ceil(share, out=share)
        return np.subtract(LARGEST_SCORE, share, out=share)

    return _weighted(columns, weight, left)


def _weighted(columns: ZoneColumns, weight: Weights, scored: Callable[[FloatArray], FloatArray]) -> ZoneScores:
    """The weighted mean over all requested names; a name that the zone lacks counts with 0."""

    @cache
    def scores_of(name: str, amount: int) -> FloatArray | None:
        column = columns.resource(name)
        if column is None:
            return None
        scores = scored(_share(column, name, amount))
        scores *= column.available >= max(1, amount)
        return scores

    def score(requests: Requests) -> FloatArray:
        total = np.zeros((columns.key.zones, columns.size))
        for name, amount in requests.items():
            scores = scores_of(name, amount)
            if scores is not None:
                total += scores if weight(name) == 1 else scores * weight(name)
        return np.divide(total, max(1, sum(map(weight, requests))), out=total)

    return score


def _share(column: ResourceColumn, name: str, amount: int) -> FloatArray:
    """The request in percent of what is available."""
    percent = _whole(name, amount) * LARGEST_SCORE
    if percent < 2**53:
        return np.divide(float(percent), column.divisor)
    return _large_share(column, percent)


def _large_share(column: ResourceColumn, percent: int) -> FloatArray:
    """The same where floats are not exact: the quotient, and a half if there is a remainder."""
    divisor = np.where(np.isinf(column.divisor), 2**62, column.divisor).astype(np.int64)
    quotient, rest = np.divmod(np.int64(min(percent, 2**62)), divisor)  # more than 2^62 fits no zone
    share: FloatArray = quotient + np.where(rest > 0, 0.5, 0.0)
    return share


def _balanced(columns: ZoneColumns, _weight: Weights) -> ZoneScores:
    """100 less the sample variance of the requested fractions in percent; 0 for a zone that has too little.

    The corrected two-pass formula: the square of the sum of deviations, 0 but for rounding, is taken off.
    A single resource has no variance upstream; here it is balanced.
    """
    fraction_of = cache(partial(_fraction, columns))

    def score(requests: Requests) -> FloatArray:
        fractions = [fraction_of(name, amount) for name, amount in requests.items()]
        mean, deviations, squares = np.zeros((3, columns.key.zones, columns.size))
        fits = np.ones(mean.shape, dtype=bool)
        for one in fractions:
            mean += one
            fits &= one <= 1
        mean /= max(1, len(fractions))
        deviation = np.empty_like(mean)
        for one in fractions:
            np.subtract(one, mean, out=deviation)
            deviations += deviation
            squares += np.square(deviation, out=deviation)
        variance = (squares - deviations * deviations / max(1, len(fractions))) / max(1, len(fractions) - 1)
        scores: FloatArray = (1 - variance) * LARGEST_SCORE
        scores *= fits
        return scores

    return score


def _fraction(columns: ZoneColumns, name: str, amount: int) -> FloatArray:
    """The request as a fraction of what is available; 1 where nothing is."""
    column = columns.resource(name)
    if column is None:
        return np.ones((columns.key.zones, columns.size))
    fraction = np.divide(float(_whole(name, amount)), column.divisor)
    empty = column.available <= 0
    if empty.any():
        fraction += empty
    return fraction


_STRATEGIES: dict[ScoringStrategy, Callable[[ZoneColumns, Weights], ZoneScores]] = {
    "MostAllocated": _most,
    "LeastAllocated": _least,
    "BalancedAllocation": _balanced,
}
