"""A builder of an object's conditions, and of the events that a controller records with them."""

from __future__ import annotations

from typing import Any

from ...kinds import Kind
from ...port import Create, Raw
from .children import event, with_condition


class Conditions:
    """The conditions of an object, to be changed and then written. `by` is the component that reports events.

    Setting a condition to the status, reason and message that it has changes nothing.
    """

    def __init__(self, kind: Kind, raw: Raw, now: float, by: str) -> None:
        self.kind, self.raw, self.now, self.by = kind, raw, now, by
        self.list: list[Raw] = list((raw.get("status") or {}).get("conditions") or ())
        self.events: list[Create] = []

    def find(self, kind: str) -> Raw | None:
        return next((one for one in self.list if one["type"] == kind), None)

    def holds(self, kind: str) -> bool:
        found = self.find(kind)
        return found is not None and found["status"] == "True"

    def set(self, kind: str, status: bool, reason: str, message: str, **more: Any) -> bool:
        """Set a condition; whether that changed it."""
        before = self.find(kind)
        if before is not None and (before["status"], before["reason"], before["message"]) == (
            str(status),
            reason,
            message,
        ):
            return False
        self.list = with_condition(self.list, kind, status, reason, message, self.now, **more)
        return True

    def record(self, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an event."""
        self.events.append(event(self.kind, self.raw, reason, message, self.now, by=self.by, warning=warning))

    def clear(self, kind: str, **more: Any) -> bool:
        """Set a condition to False and keep its reason and message; whether that changed it."""
        before = self.find(kind)
        return before is not None and self.set(kind, False, before["reason"], before["message"], **more)

    def into(self, status: Raw) -> Raw:
        """The status with these conditions."""
        return {**status, "conditions": self.list} if self.list else status
