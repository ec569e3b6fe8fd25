"""Placement replica by replica: each has the constraint by itself, and its ranks are its own places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine.explain import Explanation, explain
from closeknit.engine.place import has_room, place
from closeknit.engine.policy import Policy
from closeknit.engine.replace import Broken
from closeknit.engine.replace import replace as replace_node
from closeknit.engine.several import replace_several
from closeknit.model.assignment import Assignment
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Layer, PodSet, Replicas, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

TOPOLOGY = Topology("t", ("block", "rack", HOSTNAME))
SHAPE = Shape.of({"gpu": 1})
RACKS = ("b1-r1", "b1-r2", "b2-r3", "b2-r4")
Racks = dict[str, list[int]]
"""The free GPUs of each host, by rack; the name of a rack begins with its block."""


def hall(racks: Racks, topology: Topology = TOPOLOGY) -> Snapshot:
    nodes = [
        Node(
            f"{rack}-{number}",
            {"block": rack[:2], "rack": rack, HOSTNAME: f"{rack}-{number}"},
            {"gpu": free, "pods": 110},
        )
        for rack, hosts in racks.items()
        for number, free in enumerate(hosts, 1)
    ]
    return Snapshot(topology, NodeTable.of(nodes))


def pods(count: int, constraint: Constraint, size: int, apart: str | None = None) -> PodSet:
    wanted = Constraint(
        constraint.required,
        constraint.preferred,
        constraint.unconstrained,
        constraint.slices,
        replicas=Replicas(size, apart),
        order=constraint.order,
    )
    return PodSet("workers", count, SHAPE, wanted)


def placed(snapshot: Snapshot, pod_set: PodSet, gates: Gates | None = None) -> list[dict[str, int]] | str:
    """The pods of each replica by host, or the reason."""
    policy = Policy() if gates is None else Policy(gates)
    result = place(snapshot, Request.of([pod_set]), policy)
    if not result.fits:
        return str(result.reason)
    (outcome,) = result.outcomes
    assert outcome.assignment is not None
    return replicas_of(outcome.assignment, pod_set)


def replicas_of(assignment: Assignment, pod_set: PodSet) -> list[dict[str, int]]:
    assert pod_set.constraint is not None
    assert pod_set.constraint.replicas is not None
    runs = assignment.cut(pod_set.constraint.replicas.size)
    return [{path[-1]: count for path, count in run.domains} for run in runs]


def racks(replicas: list[dict[str, int]] | str) -> list[set[str]]:
    assert not isinstance(replicas, str), replicas
    return [{host.rpartition("-")[0] for host in one} for one in replicas]


RACK = Constraint(required="rack")


def test_three_replicas_of_twelve_that_no_rack_holds_together_take_three_racks() -> None:
    snapshot = hall({rack: [4, 4, 4, 4] for rack in RACKS[:3]})
    found = placed(snapshot, pods(36, RACK, 12))
    assert racks(found) == [{"b1-r1"}, {"b1-r2"}, {"b2-r3"}]
    assert "only 16 out of 36" in str(place(snapshot, Request.of([PodSet("w", 36, SHAPE, RACK)]), Policy()).reason)


def test_without_the_gate_the_pods_are_one_group() -> None:
    gates = Gates.profile("closeknit", {"PlacementPerReplica": False})
    found = placed(hall({rack: [4, 4, 4, 4] for rack in RACKS}), pods(36, RACK, 12), gates)
    assert isinstance(found, str)
    assert "only 16 out of 36 pod(s)" in found


def test_replicas_that_share_a_rack_divide_its_hosts_in_path_order() -> None:
    found = placed(hall({"b1-r1": [5, 3, 4], "b1-r2": [1, 5]}), pods(18, RACK, 6))
    assert found == [{"b1-r1-1": 5, "b1-r1-2": 1}, {"b1-r1-2": 2, "b1-r1-3": 4}, {"b1-r2-1": 1, "b1-r2-2": 5}]


def test_each_replica_takes_few_hosts_as_a_job_of_its_own_would() -> None:
    assert placed(hall({"b1-r1": [1, 1, 8, 8]}), pods(12, RACK, 12)) == [{"b1-r1-3": 8, "b1-r1-4": 4}]


def test_slices_stay_whole_inside_replicas() -> None:
    constraint = Constraint(required="rack", slices=(Layer(HOSTNAME, 2),))
    found = placed(hall({"b1-r1": [3, 3, 3], "b1-r2": [5, 2]}), pods(12, constraint, 6))
    assert racks(found) == [{"b1-r1"}, {"b1-r2"}]
    assert not isinstance(found, str)
    assert all(count % 2 == 0 for one in found for count in one.values())


def test_a_replica_that_prefers_a_rack_spills_only_if_no_rack_holds_it() -> None:
    found = placed(hall({"b1-r1": [3], "b1-r2": [4], "b2-r3": [3]}), pods(8, Constraint(preferred="rack"), 4))
    assert sorted(map(len, racks(found))) == [1, 2]


def test_replicas_of_a_flavor_that_ends_at_the_rack_are_placed_too() -> None:
    snapshot = hall({rack: [4, 4] for rack in RACKS}, Topology("t", ("block", "rack")))
    result = place(snapshot, Request.of([pods(24, Constraint(required="rack"), 8)]), Policy())
    (outcome,) = result.outcomes
    assert outcome.assignment is not None
    assert outcome.assignment.counts == (8, 8, 8)


def test_the_reason_names_replicas_and_what_the_next_one_lacks() -> None:
    found = placed(hall({"b1-r1": [4, 4], "b1-r2": [4, 4], "b2-r3": [4, 1]}), pods(24, RACK, 8))
    assert found == (
        'topology "t" allows to fit only 2 out of 3 replica(s) of 8 pod(s), each in one rack; '
        '5 out of 8 pod(s) of replica 2 fit. Total nodes: 6; excluded: resource "gpu": 4'
    )


def test_an_explanation_counts_domains_for_one_replica() -> None:
    found = explain(hall({"b1-r1": [4, 4], "b1-r2": [8, 1]}), Request.of([pods(24, RACK, 8)]), Policy())
    assert isinstance(found, Explanation)
    assert [(view.level, view.holding, view.need) for view in found.levels] == [
        ("block", 1, 8),
        ("rack", 2, 8),
        (HOSTNAME, 1, 8),
    ]


# Apart


def test_replicas_apart_go_to_different_domains_although_one_holds_two() -> None:
    found = placed(hall({"b1-r1": [8, 8], "b2-r3": [8]}), pods(16, RACK, 8, apart="rack"))
    assert racks(found) == [{"b1-r1"}, {"b2-r3"}]


def test_replicas_apart_in_a_coarser_level_than_the_required_one() -> None:
    found = placed(hall({"b1-r1": [8], "b1-r2": [8], "b2-r3": [8]}), pods(16, RACK, 8, apart="block"))
    assert [{rack[:2] for rack in one} for one in racks(found)] == [{"b1"}, {"b2"}]


def test_too_few_domains_for_replicas_apart_is_the_reason() -> None:
    found = placed(hall({"b1-r1": [8, 8]}), pods(16, RACK, 8, apart="rack"))
    assert isinstance(found, str)
    assert "only 1 out of 2 replica(s) of 8 pod(s), each in one rack, no two in the same rack" in found


def test_ranks_of_replicas_that_share_no_rack_are_their_own_places() -> None:
    snapshot = hall({"b1-r1": [5], "b1-r2": [3], "b1-r3": [2], "b1-r4": [4]})
    found = placed(snapshot, pods(14, Constraint(required="block"), 7, apart="rack"))
    first, second = racks(found)
    assert not first & second


def test_a_level_that_the_topology_does_not_have_is_named() -> None:
    assert placed(hall({"b1-r1": [8]}), pods(8, RACK, 4, apart="row")) == "no requested topology level: row"


# Order


def test_order_spread_takes_the_emptiest_rack_and_binpack_the_fullest_that_fits() -> None:
    free = {"b1-r1": [4], "b1-r2": [8], "b2-r3": [5]}
    tight = placed(hall(free), pods(8, Constraint(required="rack", order="binpack"), 4))
    wide = placed(hall(free), pods(8, Constraint(required="rack", order="spread"), 4))
    assert racks(tight) == [{"b1-r1"}, {"b2-r3"}]
    assert racks(wide) == [{"b1-r2"}, {"b2-r3"}]


@pytest.mark.parametrize(("order", "rack"), [("binpack", "b1-r1"), ("spread", "b1-r2"), (None, "b1-r1")])
def test_the_order_holds_for_pods_without_replicas(order: str, rack: str) -> None:
    constraint = Constraint(required="rack", order=order)  # type: ignore[arg-type]
    result = place(hall({"b1-r1": [4], "b1-r2": [6]}), Request.of([PodSet("w", 4, SHAPE, constraint)]), Policy())
    (outcome,) = result.outcomes
    assert outcome.assignment is not None
    assert outcome.assignment.values == ((f"{rack}-1",),)


# Counting


@given(
    free=st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=3), min_size=1, max_size=4),
    size=st.integers(1, 6),
    replicas=st.integers(1, 5),
    mode=st.sampled_from(["required rack", "preferred rack", "required block", "required auto", "unconstrained"]),
    apart=st.sampled_from([None, None, "rack", "block", HOSTNAME]),
    short=st.integers(0, 2),
)
def test_counting_agrees_with_placing(
    free: list[list[int]], size: int, replicas: int, mode: str, apart: str | None, short: int
) -> None:
    snapshot = hall(dict(zip(RACKS, free, strict=False)))
    kind, _, level = mode.partition(" ")
    constraint = Constraint(**{kind: level or True})  # type: ignore[arg-type]
    request = Request.of([pods(max(1, size * replicas - short), constraint, size, apart)])
    result = place(snapshot, request, Policy())
    assert has_room(snapshot, request, Policy()) == result.fits
    if result.fits:
        check(snapshot, request, result.outcomes[0].assignment)


def check(snapshot: Snapshot, request: Request, assignment: Assignment | None) -> None:
    """Every replica keeps the constraint by itself, and no host has more pods than it holds."""
    (pod_set,) = request.pod_sets
    assert assignment is not None
    assert assignment.pods == pod_set.count
    for path, count in assignment.pods_by_domain.items():
        assert count <= snapshot.free[snapshot.index["gpu"], snapshot.tree.leaf_of[path]]
    constraint = pod_set.constraint
    assert constraint is not None
    assert constraint.replicas is not None
    homes = [_domains(snapshot, run, constraint.required) for run in assignment.cut(constraint.replicas.size)]
    assert constraint.required is None or all(len(one) == 1 for one in homes)
    used = [_domains(snapshot, run, constraint.replicas.apart) for run in assignment.cut(constraint.replicas.size)]
    assert constraint.replicas.apart is None or sum(map(len, used)) == len(set().union(*used))


def _domains(snapshot: Snapshot, run: Assignment, key: str | None) -> set[int]:
    level = snapshot.topology.level("block" if key == "auto" else key or HOSTNAME)
    assert level is not None
    return set(snapshot.tree.ancestors(snapshot.leaves(run.values), level).tolist())


# Failed nodes


def lose(snapshot: Snapshot, pod_set: PodSet, existing: Assignment, *hosts: str) -> list[dict[str, int]] | str:
    """The replicas after these hosts failed; what they use is taken first."""
    for path, count in existing.domains:
        snapshot.admit(np.array([snapshot.tree.leaf_of[path]]), np.array([count]), SHAPE.charge)
    snapshot.commit()
    snapshot.set_usable(np.array([snapshot.row_of[host] for host in hosts]), False)
    (outcome,) = replace_several(snapshot, [Broken(pod_set, existing)], hosts, Policy()).outcomes
    if len(hosts) == 1:
        (other,) = replace_node(snapshot, [Broken(pod_set, existing)], hosts[0], Policy()).outcomes
        assert (other.assignment is None) == (outcome.assignment is None)
    return str(outcome.reason) if outcome.assignment is None else replicas_of(outcome.assignment, pod_set)


def held(*domains: tuple[str, int]) -> Assignment:
    return Assignment.of((HOSTNAME,), (((host,), count) for host, count in domains))


def test_a_failed_host_is_replaced_in_the_rack_of_its_replica() -> None:
    snapshot = hall({"b1-r1": [4, 4, 4], "b1-r2": [4, 4, 4]})
    existing = held(("b1-r1-1", 4), ("b1-r1-2", 4), ("b1-r2-1", 4), ("b1-r2-2", 4))
    found = lose(snapshot, pods(16, RACK, 8), existing, "b1-r2-1")
    assert found == [{"b1-r1-1": 4, "b1-r1-2": 4}, {"b1-r2-2": 4, "b1-r2-3": 4}]


def test_hosts_of_two_replicas_are_replaced_each_in_its_own_rack() -> None:
    snapshot = hall({"b1-r1": [4, 4, 4], "b1-r2": [4, 4, 4]})
    existing = held(("b1-r1-1", 4), ("b1-r1-2", 4), ("b1-r2-1", 4), ("b1-r2-2", 4))
    found = lose(snapshot, pods(16, RACK, 8), existing, "b1-r2-1", "b1-r1-2")
    assert found == [{"b1-r1-1": 4, "b1-r1-3": 4}, {"b1-r2-2": 4, "b1-r2-3": 4}]


def test_replicas_keep_their_ranks_where_a_host_is_then_listed_twice() -> None:
    snapshot = hall({"b1-r1": [4, 4, 4, 4]})
    existing = held(("b1-r1-1", 4), ("b1-r1-2", 4), ("b1-r1-3", 4))
    found = lose(snapshot, pods(12, RACK, 6), existing, "b1-r1-1")
    assert found == [{"b1-r1-2": 2, "b1-r1-4": 4}, {"b1-r1-2": 2, "b1-r1-3": 4}]


def test_a_required_replica_without_room_in_its_rack_is_the_reason() -> None:
    snapshot = hall({"b1-r1": [4, 4], "b1-r2": [4, 4, 4]})
    existing = held(("b1-r1-1", 4), ("b1-r1-2", 4), ("b1-r2-1", 4), ("b1-r2-2", 4))
    found = lose(snapshot, pods(16, RACK, 8), existing, "b1-r1-1")
    assert isinstance(found, str)
    assert found.startswith("replica 0: ")


def test_a_replacement_stays_apart_from_other_replicas() -> None:
    snapshot = hall({"b1-r1": [4], "b1-r2": [4, 4], "b1-r3": [4]})
    existing = held(("b1-r1-1", 4), ("b1-r2-1", 4))
    found = lose(snapshot, pods(8, Constraint(required="block"), 4, apart="rack"), existing, "b1-r1-1")
    assert found == [{"b1-r3-1": 4}, {"b1-r2-1": 4}]
