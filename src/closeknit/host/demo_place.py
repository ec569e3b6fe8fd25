"""How far a demo has come, as the ConfigMap kube-system/closeknit-demo keeps it: demo, round, step, due, says.

Apart from the demos themselves, so that a picture can show what a demo says without knowing how it is played.
"""

from __future__ import annotations

from typing import NamedTuple

from ..cluster.kinds import CONFIG_MAP
from ..cluster.port import Key, Raw

NAME, NAMESPACE = "closeknit-demo", "kube-system"
KEY = Key(CONFIG_MAP, NAMESPACE, NAME)


class Place(NamedTuple):
    """Where in a demo we are; `due` in seconds since 1970, None at its end."""

    demo: str
    round: int = 1
    step: int = 0
    due: float | None = None
    says: str = ""

    def data(self) -> dict[str, str | None]:
        """As it is kept; what is None goes."""
        due = None if self.due is None else f"{self.due:.3f}"
        return {"demo": self.demo, "round": str(self.round), "step": str(self.step), "due": due, "says": self.says}


def place_in(raw: Raw | None) -> Place | None:
    """What a ConfigMap says; None if it says nothing that can be used."""
    data = (raw or {}).get("data") or {}
    try:
        due = float(data["due"]) if data.get("due") else None
        return Place(data["demo"], int(data["round"]), int(data["step"]), due, data.get("says") or "")
    except (KeyError, TypeError, ValueError):
        return None
