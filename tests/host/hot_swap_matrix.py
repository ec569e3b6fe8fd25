"""The matrix of gates for failed nodes in the documentation of Kueue 0.14, all eight rows, as both hosts test it."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """The gates of a row, and what they promise.

    `by_time`: a node that has not been ready for 30 s is lost. `by_pods`: an unready node whose pods are terminating is
    lost before that. `retries`: a job without a spare node waits for one; otherwise it is evicted.
    """

    replacement: bool
    on_termination: bool
    fail_fast: bool
    by_time: bool
    by_pods: bool
    retries: bool

    @property
    def gates(self) -> dict[str, bool]:
        return {
            "TASFailedNodeReplacement": self.replacement,
            "TASReplaceNodeOnPodTermination": self.on_termination,
            "TASFailedNodeReplacementFailFast": self.fail_fast,
        }

    @property
    def title(self) -> str:
        return " ".join(
            f"{name}={'on' if on else 'off'}" for name, on in zip(("FNR", "RNO", "FNFF"), self[:3], strict=True)
        )


PROFILE = "kueue-0.14"
ROWS = (
    Row(False, False, False, by_time=False, by_pods=False, retries=False),
    Row(False, False, True, by_time=False, by_pods=False, retries=False),
    Row(False, True, False, by_time=False, by_pods=False, retries=False),
    Row(False, True, True, by_time=False, by_pods=False, retries=False),
    Row(True, False, False, by_time=True, by_pods=False, retries=True),
    Row(True, True, False, by_time=True, by_pods=True, retries=True),
    Row(True, False, True, by_time=True, by_pods=False, retries=False),
    Row(True, True, True, by_time=False, by_pods=True, retries=False),
)
