"""The simulated faults of the machine behind a node, from its annotations: it is down, cut off, or slow."""

from __future__ import annotations

from typing import NamedTuple

from ....dialects.own_marks import CUT_OFF, FAILED, SLOW, slowness
from ...port import Raw


class MachineFaults(NamedTuple):
    """`slow` is the factor by which everything takes longer; `wrong` reports an annotation that cannot be parsed."""

    failed: bool = False
    cut_off: bool = False
    slow: float = 1.0
    address: str = ""
    wrong: str = ""

    @property
    def is_silent(self) -> bool:
        return self.failed or self.cut_off


def machine(node: Raw) -> MachineFaults:
    notes = node["metadata"].get("annotations") or {}
    slow, wrong = 1.0, ""
    if SLOW in notes:
        try:
            slow = slowness(notes[SLOW])
        except ValueError as error:
            wrong = f"annotation {SLOW}: {error}"
    return MachineFaults(notes.get(FAILED) == "true", notes.get(CUT_OFF) == "true", slow, _address(node), wrong)


def _address(node: Raw) -> str:
    for one in (node.get("status") or {}).get("addresses") or ():
        if one["type"] == "InternalIP":
            return str(one["address"])
    return ""
