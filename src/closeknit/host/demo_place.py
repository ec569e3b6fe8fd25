"""The position of a demo, stored in the ConfigMap kube-system/closeknit-demo: demo, round, step, due, says.

Separate from the demos, so that the live view can show a demo's sentence without importing the player.
"""

from __future__ import annotations

from typing import NamedTuple

from ..cluster.kinds import CONFIG_MAP
from ..cluster.port import Key, Raw

NAME, NAMESPACE = "closeknit-demo", "kube-system"
KEY = Key(CONFIG_MAP, NAMESPACE, NAME)


class Place(NamedTuple):
    """The position in a demo; `due` in seconds since 1970, None at its end."""

    demo: str
    round: int = 1
    step: int = 0
    due: float | None = None
    says: str = ""

    def data(self) -> dict[str, str | None]:
        """The patch of the ConfigMap's data; a None removes the key."""
        due = None if self.due is None else f"{self.due:.3f}"
        return {"demo": self.demo, "round": str(self.round), "step": str(self.step), "due": due, "says": self.says}


def place_in(raw: Raw | None) -> Place | None:
    """The position stored in a ConfigMap; None if it is missing or invalid."""
    data = (raw or {}).get("data") or {}
    try:
        due = float(data["due"]) if data.get("due") else None
        return Place(data["demo"], int(data["round"]), int(data["step"]), due, data.get("says") or "")
    except (KeyError, TypeError, ValueError):
        return None
