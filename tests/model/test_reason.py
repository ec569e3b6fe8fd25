"""Reasons of waiting workloads, as they are shown."""

from __future__ import annotations

import pytest

from closeknit.model.reason import waits_for


@pytest.mark.parametrize(
    "message",
    ["ClusterQueue team is inactive", "ClusterQueue team is inactive: it is stopped"],
)
def test_a_suspended_workload_names_what_is_inactive(message: str) -> None:
    assert waits_for("Suspended", message) == "Suspended (ClusterQueue team is inactive)"
