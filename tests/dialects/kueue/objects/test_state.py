from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.objects.state import state_of


def active(status: str, reason: str = "Ready") -> dict[str, Any]:
    return {"conditions": [{"type": "Active", "status": status, "reason": reason}]}


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        ({"metadata": {}}, "-"),
        ({"metadata": {}, "status": active("True")}, "active"),
        ({"metadata": {}, "status": active("False", "FlavorNotFound")}, "FlavorNotFound"),
        ({"metadata": {}, "spec": {"stopPolicy": "Hold"}, "status": active("False")}, "stopped (Hold)"),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": active("True")}, "Terminating"),
    ],
)
def test_terminating_takes_precedence_over_stopped_and_stopped_over_active(raw: dict[str, Any], state: str) -> None:
    assert state_of(raw, "-") == state
