"""What the filter and the score say about nodes: closed sets, with the words that upstream's users know.

The words carry no container, resource or zone, because schedulers count nodes by them; explanations are made elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Code = Literal["Success", "Unschedulable", "Error"]

LARGEST_SCORE = 100


class Alignment(IntEnum):
    """The answer of the filter for one node."""

    FITS = 0
    CONTAINER = 1
    INIT_CONTAINER = 2
    SIDECAR = 3
    POD = 4
    STALE = 5
    NODE_NOT_FOUND = 6

    @property
    def reason(self) -> str | None:
        return _WORDS[self]

    @property
    def code(self) -> Code:
        if self is Alignment.FITS:
            return "Success"
        return "Error" if self is Alignment.NODE_NOT_FOUND else "Unschedulable"


_WORDS = {
    Alignment.FITS: None,
    Alignment.CONTAINER: "cannot align container",
    Alignment.INIT_CONTAINER: "cannot align init container",
    Alignment.SIDECAR: "cannot align sidecar container",
    Alignment.POD: "cannot align pod",
    Alignment.STALE: "invalid node topology data",
    Alignment.NODE_NOT_FOUND: "node not found",
}


@dataclass(frozen=True, slots=True, eq=False)
class Alignments:
    """The answer for each row of a zone table."""

    values: NDArray[np.int8]

    def at(self, row: int) -> Alignment:
        return Alignment(int(self.values[row]))


@dataclass(frozen=True, slots=True, eq=False)
class ZoneScores:
    """The score of each row of a zone table. One outside of 0 to 100 makes the scheduler fail the pod's cycle."""

    values: NDArray[np.int64]

    def at(self, row: int) -> int:
        return int(self.values[row])

    def error(self, row: int) -> str | None:
        """The scheduler's words for a score that is out of range."""
        score = self.at(row)
        if 0 <= score <= LARGEST_SCORE:
            return None
        return (
            f'plugin "NodeResourceTopologyMatch" returns an invalid score {score}, '
            f"it should in the range of [0, {LARGEST_SCORE}] after normalizing"
        )
