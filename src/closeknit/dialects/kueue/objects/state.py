"""A one-word state of a queue, a flavor or a topology."""

from __future__ import annotations

from .wire import Raw

GOING = "Terminating"
STANDING = "active"


def state_of(raw: Raw, unjudged: str = "") -> str:
    """Terminating, stopped, active, or the reason why not; `unjudged` if there is no Active condition."""
    if raw["metadata"].get("deletionTimestamp"):
        return GOING
    stop = (raw.get("spec") or {}).get("stopPolicy") or "None"
    if stop != "None":
        return f"stopped ({stop})"
    conditions = (raw.get("status") or {}).get("conditions") or ()
    active = next((one for one in conditions if one.get("type") == "Active"), None)
    if active is None:
        return unjudged
    return STANDING if active.get("status") == "True" else str(active.get("reason", "inactive"))
