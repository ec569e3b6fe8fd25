"""Scores by how full a zone becomes: MostAllocated, LeastAllocated and BalancedAllocation, for all nodes at once.

A zone is scored against what is available now. The kubelet chooses the zone, so a node has the lowest score among its
zones that is not 0: 0 means that the zone cannot take the pod. With scope container, a node has the mean over all
containers, each scored against what is reported.

Arithmetic is in 64-bit floats and yet exact: a quotient of whole numbers below 2^53 is rounded to a whole number only
if it is one. BalancedAllocation is a float upstream too, and has the same steps in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...model.container import Amounts, sorted_amounts
from ...model.numa_arguments import MatchArguments, ScoringStrategy
from ...model.resources import CPU
from ...numa.pod_needs import PodNeeds
from .outcome import LARGEST_SCORE
from .zone_columns import MILLI, FloatArray, IntArray, ResourceColumn, ZoneColumns

Weights = Callable[[str], int]
Requests = Mapping[str, int]


def allocation_scores(columns: ZoneColumns, pod: PodNeeds, arguments: MatchArguments) -> IntArray:
    """The score of each node of these columns, all of which align to a single zone."""
    score = _STRATEGIES[arguments.strategy]
    if columns.key.scope == "pod":
        return _worst(score(columns, pod.effective, arguments.weight)).astype(np.int64)
    known: dict[Amounts, FloatArray] = {}
    total = np.zeros(columns.size)
    for container in pod.containers:
        requests = sorted_amounts(dict(container.requests))
        if requests not in known:
            known[requests] = _worst(score(columns, dict(requests), arguments.weight))
        total += known[requests]
    return (total // max(1, len(pod.containers))).astype(np.int64)


def _worst(zones: FloatArray) -> FloatArray:
    """The lowest score of each node that is not 0; 0 if there is none."""
    lowest: FloatArray = np.where(zones == 0, np.inf, zones).min(axis=0, initial=np.inf)
    lowest[np.isinf(lowest)] = 0
    return lowest


def _whole(name: str, amount: int) -> int:
    """The amount in whole units, rounded up: 1500 milli-units of cpu are 2."""
    return -(-amount // MILLI) if name == CPU else amount


def _most(columns: ZoneColumns, requests: Requests, weight: Weights) -> FloatArray:
    return _weighted(columns, requests, weight, lambda share: np.floor(share, out=share))


def _least(columns: ZoneColumns, requests: Requests, weight: Weights) -> FloatArray:
    def left(share: FloatArray) -> FloatArray:
        """⌊(A − R)·100/A⌋ is 100 less the share, rounded up."""
        np.ceil(share, out=share)
        return np.subtract(LARGEST_SCORE, share, out=share)

    return _weighted(columns, requests, weight, left)


def _weighted(
    columns: ZoneColumns, requests: Requests, weight: Weights, scored: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """The weighted mean over all requested names, rounded down; a name that the zone lacks counts with 0."""
    total = np.zeros((columns.key.zones, columns.size))
    weights = 0
    for name, amount in requests.items():
        weights += weight(name)
        column = columns.resource(name)
        if column is not None:
            scores = scored(_share(column, name, amount))
            scores *= column.available >= max(1, amount)
            total += scores if weight(name) == 1 else scores * weight(name)
    return np.floor(total / weights, out=total) if weights else total


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


def _balanced(columns: ZoneColumns, requests: Requests, _weight: Weights) -> FloatArray:
    """100 less the sample variance of the requested fractions in percent; 0 for a zone that has too little.

    The corrected two-pass formula: the square of the sum of deviations, 0 but for rounding, is taken off.
    A single resource has no variance upstream; here it is balanced.
    """
    count = len(requests)
    fractions = np.empty((count, columns.key.zones, columns.size))
    for one, (name, amount) in zip(fractions, requests.items(), strict=True):
        _fill_fraction(one, columns, name, amount)
    fits = fractions.max(axis=0, initial=0) <= 1
    fractions -= fractions.sum(axis=0) / max(1, count)
    deviations = fractions.sum(axis=0)
    squares = np.square(fractions, out=fractions).sum(axis=0)
    variance = (squares - deviations * deviations / max(1, count)) / max(1, count - 1)
    scores: FloatArray = np.trunc((1 - variance) * LARGEST_SCORE)
    scores *= fits
    return scores


def _fill_fraction(target: FloatArray, columns: ZoneColumns, name: str, amount: int) -> None:
    """The request as a fraction of what is available; 1 where nothing is."""
    column = columns.resource(name)
    if column is None:
        target[:] = 1
    else:
        np.divide(float(_whole(name, amount)), column.divisor, out=target)
        target += column.available <= 0


_STRATEGIES: dict[ScoringStrategy, Callable[[ZoneColumns, Requests, Weights], FloatArray]] = {
    "MostAllocated": _most,
    "LeastAllocated": _least,
    "BalancedAllocation": _balanced,
}
