"""Pods that are still to come change the rows that they come to, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from closeknit.model.daemon_set import DaemonSet
from closeknit.model.shape import Shape
from closeknit.state.mirror import Mirror, OtherPod
from closeknit.state.snapshot import LIMIT, Snapshot
from closeknit.state.table import BoolArray, IntArray
from engine.clusters import TOPOLOGY, host

LARGE = DaemonSet("u", Shape.of({"cpu": 2000}))


class Filter:
    """Admits hosts that are not named in `closed`; records which rows it was called for."""

    def __init__(self, *closed: str) -> None:
        self.closed = set(closed)
        self.asked: list[list[int]] = []

    def __call__(self, snapshot: Snapshot, _shape: Shape, rows: IntArray) -> BoolArray:
        self.asked.append(rows.tolist())
        return np.array([snapshot.table.names[row] not in self.closed for row in rows.tolist()])


@pytest.fixture
def admits() -> Filter:
    return Filter("b")


@pytest.fixture
def mirror(admits: Filter) -> Mirror:
    made = Mirror(admits=admits)
    made.add_flavor("", TOPOLOGY)
    for name in ("a", "b", "c"):
        made.put_node(host(name, "x", "1", 9))
    assert len(made.columns) == 3
    return made


def cpu(mirror: Mirror) -> list[int]:
    found: list[int] = mirror.columns.remaining[mirror.columns.index["cpu"]].tolist()
    return found


def test_a_daemon_set_touches_the_rows_that_it_comes_to(mirror: Mirror, admits: Filter) -> None:
    version = mirror.columns.version
    mirror.put_daemon_set("d", LARGE)
    changed = mirror.columns.changed_since(version)
    assert changed == {0, 2}
    assert cpu(mirror) == [7000, 9000, 7000]
    assert admits.asked == [[0, 1, 2]]


def test_a_pod_or_a_node_is_a_matter_of_one_row(mirror: Mirror, admits: Filter) -> None:
    mirror.put_daemon_set("d", LARGE)
    mirror.put_pod("p", OtherPod("c", {"cpu": 500}, "u"))
    admits.closed.clear()
    mirror.put_node(host("b", "x", "1", 8))
    assert admits.asked == [[0, 1, 2], [2]]
    relabelled = host("b", "x", "1", 8)
    mirror.put_node(type(relabelled)("b", {**relabelled.labels, "more": "1"}, relabelled.allocatable))
    assert admits.asked == [[0, 1, 2], [2], [1]]
    assert cpu(mirror) == [7000, 6000, 8500]


def test_a_pod_on_an_unknown_node_or_of_an_unknown_owner_is_ignored(mirror: Mirror, admits: Filter) -> None:
    mirror.put_daemon_set("d", LARGE)
    mirror.put_pod("p", OtherPod("elsewhere", {}, "u"))
    mirror.put_pod("q", OtherPod("a", {}, "somebody"))
    assert admits.asked == [[0, 1, 2]]


def test_a_rebuild_gives_the_same(mirror: Mirror) -> None:
    mirror.put_daemon_set("d", LARGE)
    mirror.put_pod("p", OtherPod("c", {"cpu": 500}, "u"))
    before = cpu(mirror)
    mirror.put_node(host("d", "x", "2", 9))
    assert cpu(mirror) == [*before, 7000]


def test_amounts_beyond_all_bounds_stay_within_them(mirror: Mirror) -> None:
    mirror.put_daemon_set("d", DaemonSet("u", Shape.of({"cpu": LIMIT * 4})))
    mirror.put_daemon_set("e", DaemonSet("v", Shape.of({"cpu": LIMIT * 4})))
    assert cpu(mirror) == [9000 - LIMIT, 9000, 9000 - LIMIT]
