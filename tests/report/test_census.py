from __future__ import annotations

import numpy as np
import pytest

from closeknit.model.node import Node
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.report.census import Census, summed_up
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable
from report.hall import GPU, hall


def by_level(columns: list[np.typing.NDArray[np.int64]], resource: int | None = None) -> list[list[int]]:
    return [(column if resource is None else column[resource]).tolist() for column in columns]


def test_domains_are_summed_up_the_tree() -> None:
    census = Census.of(hall())
    assert census.resources == ["cpu", GPU, "pods"]
    assert by_level(census.nodes) == [[3, 1], [2, 1, 1], [1, 1, 1, 1]]
    assert by_level(census.allocatable, 0) == [[24000, 0], [16000, 8000, 0], [8000, 8000, 8000, 0]]
    assert by_level(census.used, 1) == [[2, 0], [2, 0, 0], [2, 0, 0, 0]]
    assert by_level(census.used, 2) == [[1, 0], [1, 0, 0], [1, 0, 0, 0]]


def test_nodes_that_are_out_are_counted_but_have_nothing() -> None:
    census = Census.of(hall())
    assert by_level(census.usable) == [[3, 0], [2, 1, 0], [1, 1, 1, 0]]
    assert census.total(GPU) == 24
    assert Census.of(hall(all_ready=True)).total(GPU) == 32


def test_what_was_placed_here_counts_as_used() -> None:
    snapshot = hall()
    snapshot.admit(np.array([2]), np.array([3]), ((GPU, 2), ("pods", 1)))
    assert by_level(Census.of(snapshot).used, 1) == [[8, 0], [2, 6, 0], [2, 0, 6, 0]]


def test_the_scarcest_resource_is_the_one_of_which_most_is_used_and_accelerators_if_none_is() -> None:
    snapshot = Snapshot(Topology("t", (HOSTNAME,)), NodeTable.of([Node("n", {HOSTNAME: "n"}, {"cpu": 8000, GPU: 8})]))
    assert Census.of(snapshot).scarcest() == GPU
    snapshot.admit(np.array([0]), np.array([1]), (("cpu", 6000), (GPU, 4)))
    assert Census.of(snapshot).scarcest() == "cpu"


def test_what_is_held_on_a_node_that_is_out_is_not_taken_off_what_others_have() -> None:
    snapshot = hall()
    snapshot.admit(np.array([3]), np.array([2]), ((GPU, 4), ("pods", 1)))
    census = Census.of(snapshot)
    assert by_level(census.used, 1) == [[2, 0], [2, 0, 0], [2, 0, 0, 0]]
    assert by_level(census.allocatable, 1) == [[24, 0], [16, 8, 0], [8, 8, 8, 0]]


def test_leaves_of_several_nodes_are_summed_too() -> None:
    by_rack = Topology("racks", ("rack",))
    nodes = [Node(name, {"rack": "r"}, {"cpu": 1000, "pods": 5}, ready=name != "c") for name in "abc"]
    census = Census.of(Snapshot(by_rack, NodeTable.of(nodes)))
    assert (by_level(census.nodes), by_level(census.usable)) == ([[3]], [[2]])
    assert by_level(census.allocatable, 0) == [[2000]]


def test_a_column_of_leaves_is_summed_top_level_first() -> None:
    sums = summed_up(hall().tree, np.array([1, 2, 4, 8]))
    assert [column.tolist() for column in sums] == [[7, 8], [3, 4, 8], [1, 2, 4, 8]]


def test_a_domain_has_its_path() -> None:
    census = Census.of(hall())
    assert (census.path(0, 1), census.path(2, 1)) == (("b",), ("a", "a1", "n2"))


@pytest.mark.parametrize(
    ("have", "main"),
    [
        ({"cpu": 1, "memory": 1, "example.com/nic": 1, "google.com/tpu": 1}, "google.com/tpu"),
        ({"cpu": 1, "example.com/nic": 1, GPU: 0}, "example.com/nic"),
        ({"cpu": 1, "memory": 1, "ephemeral-storage": 1}, "cpu"),
        ({"memory": 1}, "memory"),
        ({"pods": 5}, "pods"),
    ],
)
def test_people_ask_first_about_accelerators_then_cpu(have: dict[str, int], main: str) -> None:
    snapshot = Snapshot(Topology("hosts", (HOSTNAME,)), NodeTable.of([Node("a", {HOSTNAME: "a"}, have)]))
    assert Census.of(snapshot).main_resource() == main
