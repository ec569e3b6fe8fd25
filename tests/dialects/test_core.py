"""Times of nodes and tolerations, which reconcilers use and placement does not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from closeknit.dialects.core import WireNode, WireToleration, node, tolerations
from closeknit.model.node import Node
from closeknit.model.shape import Shape, Toleration
from closeknit.model.workload import LONG_AGO


def read(*conditions: dict[str, Any]) -> Node:
    return node(msgspec.convert({"status": {"conditions": list(conditions)}}, WireNode))


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", False)])
def test_a_node_has_the_time_of_its_last_ready_transition(status: str, ready: bool) -> None:
    other = {"type": "DiskPressure", "status": "False", "lastTransitionTime": "1970-01-01T00:00:01Z"}
    one = read(other, {"type": "Ready", "status": status, "lastTransitionTime": "1970-01-01T00:01:00Z"})
    assert (one.ready, one.ready_since) == (ready, 60.0)


@pytest.mark.parametrize("text", [None, "", "yesterday", "1970-01-01T00:00:00"])
def test_a_time_that_cannot_be_read_is_long_ago(text: str | None) -> None:
    assert read({"type": "Ready", "status": "True", "lastTransitionTime": text}).ready_since == LONG_AGO


def test_a_node_without_a_ready_condition() -> None:
    one = read()
    assert (one.ready, one.ready_since) == (False, None)


def test_nodes_that_differ_only_in_transition_time_are_equal() -> None:
    assert Node("n", {}, {}, ready_since=1.0) == Node("n", {}, {}, ready_since=2.0)


def test_shapes_that_differ_only_in_toleration_seconds_are_equal() -> None:
    (short,) = tolerations([WireToleration("gpu", "Exists", effect="NoExecute", toleration_seconds=3)])
    (endless,) = tolerations([WireToleration("gpu", "Exists", effect="NoExecute")])
    assert (short.seconds, endless.seconds) == (3, None)
    assert endless == Toleration("gpu", "Exists", "", "NoExecute")
    first, second = (Shape.of({"cpu": 1}, tolerations=(one,)) for one in (short, endless))
    assert first == second
    assert hash(first) == hash(second)
