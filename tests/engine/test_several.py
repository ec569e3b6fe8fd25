"""Several failed nodes in one decision, near the survivors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine.policy import Policy
from closeknit.engine.replace import Broken
from closeknit.engine.several import replace_several
from closeknit.model.assignment import Assignment
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Layer, PodSet
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

TOPOLOGY = Topology("t", ("block", "rack", HOSTNAME))
SHAPE = Shape.of({"gpu": 1})


def hall(per_rack: int = 4, gpus: int = 4) -> Snapshot:
    """Two blocks of two racks: b1 has r1 and r2, b2 has r3 and r4; hosts r1-1, r1-2, …"""
    nodes = [
        Node(
            f"r{rack}-{number}",
            {"block": f"b{(rack + 1) // 2}", "rack": f"r{rack}", HOSTNAME: f"r{rack}-{number}"},
            {"gpu": gpus, "pods": 110},
        )
        for rack in (1, 2, 3, 4)
        for number in range(1, per_rack + 1)
    ]
    return Snapshot(TOPOLOGY, NodeTable.of(nodes))


def held(**hosts: int) -> Assignment:
    return Assignment.of((HOSTNAME,), (((name.replace("_", "-"),), count) for name, count in hosts.items()))


def repaired(
    snapshot: Snapshot, existing: Assignment, failed: list[str], constraint: Constraint | None = None
) -> dict[str, int] | str:
    """Pods by host after the repair, or the reason."""
    taken = [(snapshot.tree.leaf_of[path], count) for path, count in existing.domains if path in snapshot.tree.leaf_of]
    for leaf, count in taken:
        snapshot.admit(np.array([leaf]), np.array([count]), SHAPE.charge)
    snapshot.commit()
    pod_set = PodSet("main", existing.pods, SHAPE, constraint)
    (outcome,) = replace_several(snapshot, [Broken(pod_set, existing)], failed, Policy()).outcomes
    if outcome.assignment is None:
        return str(outcome.reason)
    return {path[-1]: count for path, count in outcome.assignment.domains}


def test_pods_of_all_failed_nodes_find_new_places_at_once() -> None:
    found = repaired(hall(), held(r1_1=4, r1_2=4, r1_3=4), ["r1-1", "r1-2"], Constraint(preferred="rack"))
    assert found == {"r1-3": 4, "r1-4": 4, "r2-1": 4}


def test_new_places_are_in_the_racks_of_the_survivors_where_there_is_room() -> None:
    found = repaired(hall(), held(r3_1=2, r3_2=2, r1_1=2), ["r3-1", "r1-1"], Constraint(unconstrained=True))
    assert isinstance(found, dict)
    assert {host.split("-")[0] for host in found} == {"r3"}


def test_a_required_level_is_never_left() -> None:
    snapshot = hall(per_rack=2)
    found = repaired(snapshot, held(r1_1=4, r1_2=4), ["r1-1"], Constraint(required="rack"))
    assert isinstance(found, str)
    assert "doesn't allow to fit" in found or "allows to fit only" in found


def test_broken_slices_are_completed_where_they_are() -> None:
    constraint = Constraint(preferred="block", slices=(Layer("rack", 4),))
    found = repaired(hall(), held(r1_1=2, r1_2=2, r3_1=2, r3_2=2), ["r1-1", "r3-1"], constraint)
    assert isinstance(found, dict)
    in_rack = {rack: sum(count for host, count in found.items() if host.startswith(rack)) for rack in ("r1", "r3")}
    assert in_rack == {"r1": 4, "r3": 4}


def test_a_failed_node_that_looks_well_again_is_not_used() -> None:
    found = repaired(hall(per_rack=1), held(r1_1=2, r2_1=2), ["r1-1"], Constraint(preferred="block"))
    assert found == {"r2-1": 4}


def test_a_survivor_that_is_gone_is_named() -> None:
    found = repaired(hall(), held(r1_1=2, r9_9=2), ["r1-1"], Constraint(preferred="rack"))
    assert isinstance(found, str)
    assert "stale domain r9-9" in found


def test_without_survivors_the_whole_set_is_placed_again() -> None:
    found = repaired(hall(), held(r1_1=4, r1_2=4), ["r1-1", "r1-2"], Constraint(required="rack"))
    assert found in ({"r1-3": 4, "r1-4": 4}, {"r2-1": 4, "r2-2": 4})


@pytest.mark.parametrize("constraint", [Constraint(required="block"), Constraint(preferred="rack"), None])
@given(
    data=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)),
        min_size=1,
        max_size=6,
        unique_by=lambda t: t[:2],
    ),
    lost=st.integers(1, 4),
)
def test_survivors_stay_and_nothing_is_lost(
    constraint: Constraint | None, data: list[tuple[int, int, int]], lost: int
) -> None:
    if constraint is not None and constraint.required:
        data = [(1 + rack % 2, number, count) for rack, number, count in data]
        data = list({(rack, number): (rack, number, count) for rack, number, count in data}.values())
    before = Assignment.of((HOSTNAME,), (((f"r{rack}-{number}",), count) for rack, number, count in data))
    failed = [path[-1] for path in before.values][:lost]
    found = repaired(hall(), before, failed, constraint)
    if isinstance(found, str):
        return
    assert sum(found.values()) == before.pods
    assert not set(failed) & set(found)
    for path, count in before.domains:
        if path[-1] not in failed:
            assert found[path[-1]] >= count
    if constraint is not None and constraint.required:
        assert len({int(host[1]) > 2 for host in found}) == 1
