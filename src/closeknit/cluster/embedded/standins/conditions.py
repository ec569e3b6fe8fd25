"""Conditions in the making: what a controller says about an object, and the events that go with what is new."""

from __future__ import annotations

from typing import Any

from ...kinds import Kind
from ...port import Create, Raw
from .children import event, with_condition


class Conditions:
    """The conditions of an object, to be changed and then written. `by` is who speaks.

    What is said again in the same words changes nothing and is no event.
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

    def say(self, kind: str, status: bool, reason: str, message: str, **more: Any) -> bool:
        """Whether that was new."""
        before = self.find(kind)
        if before is not None and (before["status"], before["reason"], before["message"]) == (
            str(status),
            reason,
            message,
        ):
            return False
        self.list = with_condition(self.list, kind, status, reason, message, self.now, **more)
        return True

    def tell(self, reason: str, message: str, *, warning: bool = False) -> None:
        """An event."""
        self.events.append(event(self.kind, self.raw, reason, message, self.now, by=self.by, warning=warning))

    def deny(self, kind: str, **more: Any) -> bool:
        """What was said holds no longer; its words stay. Whether that was new."""
        before = self.find(kind)
        return before is not None and self.say(kind, False, before["reason"], before["message"], **more)

    def into(self, status: Raw) -> Raw:
        """The status with these conditions."""
        return {**status, "conditions": self.list} if self.list else status
