"""Filter and score of one pod on all nodes of a zone table, as the plug-in NodeResourceTopologyMatch decides."""

from __future__ import annotations

import numpy as np

from ...model.numa_arguments import MatchArguments
from ...numa.pod_needs import PodNeeds
from .alignment import left_over, refusals
from .allocation_scores import allocation_scores
from .least_zones import least_zones_scores
from .outcome import LARGEST_SCORE, Alignment, Alignments, ZoneScores
from .zone_columns import IntArray
from .zone_table import ZoneTable

Taken = dict[str, IntArray]
"""What is taken from every zone beyond what its report says, by resource and row of the table."""


def align(table: ZoneTable, pod: PodNeeds, taken: Taken | None = None) -> Alignments:
    """Which nodes could run the pod, as far as zones are concerned; a node without a report could.

    A pod that gets nothing of its own, BestEffort and without devices, runs anywhere.
    """
    answers = np.zeros(len(table), dtype=np.int8)
    if pod.qos != "BestEffort" or pod.asks_devices:
        for columns in table:
            if columns.key.aligns:
                answers[columns.rows] = refusals(columns, pod, left_over(columns, taken or {}))
        answers[table.stale] = Alignment.STALE
    answers[~table.present] = Alignment.NODE_NOT_FOUND
    return Alignments(answers)


def score(table: ZoneTable, pod: PodNeeds, arguments: MatchArguments) -> ZoneScores:
    """How well zones of each node suit the pod, from 0 to 100. Nothing but a Guaranteed pod tells nodes apart."""
    if pod.qos != "Guaranteed":
        return ZoneScores(np.full(len(table), LARGEST_SCORE, dtype=np.int64))
    scores = np.zeros(len(table), dtype=np.int64)
    for columns in table:
        if arguments.strategy == "LeastNUMANodes":
            scores[columns.rows] = least_zones_scores(columns, pod)
        elif columns.key.aligns:
            scores[columns.rows] = allocation_scores(columns, pod, arguments)
    scores[table.stale] = 0
    return ZoneScores(scores)
