"""What nodes and tolerations say about time, which placement does not ask for and reconcilers do."""

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
def test_a_node_says_since_when_it_is_ready_or_not(status: str, ready: bool) -> None:
    other = {"type": "DiskPressure", "status": "False", "lastTransitionTime": "1970-01-01T00:00:01Z"}
    one = read(other, {"type": "Ready", "status": status, "lastTransitionTime": "1970-01-01T00:01:00Z"})
    assert (one.ready, one.ready_since) == (ready, 60.0)


@pytest.mark.parametrize("text", [None, "", "yesterday", "1970-01-01T00:00:00"])
def test_a_time_that_cannot_be_read_is_long_ago(text: str | None) -> None:
    assert read({"type": "Ready", "status": "True", "lastTransitionTime": text}).ready_since == LONG_AGO


def test_a_node_that_has_never_said_whether_it_is_ready() -> None:
    one = read()
    assert (one.ready, one.ready_since) == (False, None)


def test_when_a_node_turned_ready_makes_no_other_node_of_it() -> None:
    assert Node("n", {}, {}, ready_since=1.0) == Node("n", {}, {}, ready_since=2.0)


def test_how_long_a_taint_is_tolerated_makes_no_other_shape() -> None:
    (short,) = tolerations([WireToleration("gpu", "Exists", effect="NoExecute", toleration_seconds=3)])
    (endless,) = tolerations([WireToleration("gpu", "Exists", effect="NoExecute")])
    assert (short.seconds, endless.seconds) == (3, None)
    assert endless == Toleration("gpu", "Exists", "", "NoExecute")
    first, second = (Shape.of({"cpu": 1}, tolerations=(one,)) for one in (short, endless))
    assert first == second
    assert hash(first) == hash(second)
