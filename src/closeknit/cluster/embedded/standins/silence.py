"""What annotations of a node say of the machine behind it: that it is down, cut off from us, or slow.

closeknit.dev/failed: "true"     the machine is down: it sends no heartbeat, and what ran on it is lost
closeknit.dev/cut-off: "true"    it runs on, but nobody hears of it until it is back
closeknit.dev/slow: "2.0"        what runs on it takes twice as long
"""

from __future__ import annotations

from typing import NamedTuple

from ...port import Raw
from .pod_plan import PREFIX

FAILED, CUT_OFF, SLOW = PREFIX + "failed", PREFIX + "cut-off", PREFIX + "slow"


class Machine(NamedTuple):
    """`slow` is how much longer things take; `wrong` says what could not be read."""

    failed: bool = False
    cut_off: bool = False
    slow: float = 1.0
    address: str = ""
    wrong: str = ""

    @property
    def is_silent(self) -> bool:
        return self.failed or self.cut_off


def machine(node: Raw) -> Machine:
    notes = node["metadata"].get("annotations") or {}
    slow, wrong = 1.0, ""
    if SLOW in notes:
        try:
            slow = float(notes[SLOW])
        except ValueError:
            slow = 0.0
        if not 0.0 < slow < 1e6:
            slow, wrong = 1.0, f'annotation {SLOW}: "{notes[SLOW]}" is not a factor: write a number such as 2.0'
    return Machine(notes.get(FAILED) == "true", notes.get(CUT_OFF) == "true", slow, _address(node), wrong)


def _address(node: Raw) -> str:
    for one in (node.get("status") or {}).get("addresses") or ():
        if one["type"] == "InternalIP":
            return str(one["address"])
    return ""
