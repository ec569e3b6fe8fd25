"""Several pod sets of one workload: searched for together where they do not fit in order."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine.place import has_room, place
from closeknit.engine.policy import Policy
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Group, Layer, PodSet, Replicas, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

TOPOLOGY = Topology("t", ("rack", HOSTNAME))
ANY = Shape.of({"gpu": 1})
SPECIAL = replace(ANY, selector=(("kind", "special"),))
OFF = Policy(Gates.profile("closeknit", {"BacktrackPodSets": False}))
Hosts = dict[str, tuple[str, int, str]]
"""By host: its rack, its GPUs and its kind."""


def hall(hosts: Hosts, topology: Topology = TOPOLOGY) -> Snapshot:
    nodes = [
        Node(name, {"rack": rack, HOSTNAME: name, "kind": kind}, {"gpu": gpus, "pods": 110})
        for name, (rack, gpus, kind) in hosts.items()
    ]
    return Snapshot(topology, NodeTable.of(nodes))


def places(snapshot: Snapshot, request: Request, policy: Policy | None = None) -> dict[str, dict[str, int]] | str:
    """The pods of each pod set by host, or the reason."""
    result = place(snapshot, request, policy or Policy())
    if not result.fits:
        return str(result.reason)
    found = {}
    for one in result.outcomes:
        assert one.assignment is not None
        found[one.pod_set.name] = {path[-1]: count for path, count in one.assignment.domains}
    return found


HOST = Constraint(required=HOSTNAME)
TWO = Request.of([PodSet("any", 8, ANY, HOST), PodSet("special", 8, SPECIAL, HOST)])


def test_an_earlier_pod_set_gives_way_to_one_that_has_no_other_host() -> None:
    snapshot = hall({"s": ("r1", 8, "special"), "h": ("r1", 9, "plain")})
    assert places(snapshot, TWO) == {"any": {"h": 8}, "special": {"s": 8}}
    assert "allow to fit any of 8" in str(places(snapshot, TWO, OFF))
    assert "allow to fit any of 8" in str(places(snapshot, TWO, Policy(Gates.profile("kueue"))))


def test_the_outcomes_are_in_the_order_of_the_request() -> None:
    snapshot = hall({"s": ("r1", 8, "special"), "h": ("r1", 9, "plain")})
    assert [one.pod_set.name for one in place(snapshot, TWO, Policy()).outcomes] == ["any", "special"]


def test_it_is_tested_as_if_nothing_ran_too() -> None:
    snapshot = hall({"s": ("r1", 8, "special"), "h": ("r1", 9, "plain")})
    snapshot.admit(snapshot.leaves([("s",), ("h",)]), snapshot.leaves([("s",), ("h",)]) + 8, ANY.charge)
    assert isinstance(places(snapshot, TWO), str)
    assert places(snapshot, TWO, Policy().on_empty()) == {"any": {"h": 8}, "special": {"s": 8}}


RACKED = Constraint(required="rack")


def sizes(*counts: int) -> Request:
    """Pod sets with names of their own, each in one rack."""
    return Request.of([PodSet(f"p{number}", count, ANY, RACKED) for number, count in enumerate(counts)])


def test_six_pod_sets_fit_into_two_racks_exactly() -> None:
    snapshot = hall({"a": ("r1", 10, ""), "b": ("r2", 10, "")})
    for policy in (Policy(), Policy().on_empty()):
        found = places(snapshot, sizes(4, 2, 5, 2, 4, 3), policy)
        assert not isinstance(found, str), found
        used = [sum(one.get(host, 0) for one in found.values()) for host in "ab"]
        assert used == [10, 10]


def test_where_a_leaf_is_a_rack_only_the_order_is_changed() -> None:
    snapshot = hall({"s": ("r1", 8, "special"), "h": ("r2", 9, "plain")}, Topology("t", ("rack",)))
    request = Request.of([PodSet("any", 8, ANY, RACKED), PodSet("special", 8, SPECIAL, RACKED)])
    assert not isinstance(places(snapshot, request), str)


def test_replicas_apart_that_no_fixed_order_can_place_are_found() -> None:
    """In order, the first replica of 7 takes the racks of 5 and 2, and 3 and 3 are left for the second."""
    racks = {f"h{number}": (f"r{number}", gpus, "") for number, gpus in enumerate((6, 5, 2, 1))}
    constraint = Constraint(unconstrained=True, replicas=Replicas(7, "rack"))
    request = Request.of([PodSet("w", 14, ANY, constraint)])
    found = place(hall(racks), request, Policy())
    (outcome,) = found.outcomes
    assert outcome.assignment is not None, str(found.reason)
    assert [sorted(run.counts) for run in outcome.assignment.cut(7)] in ([[1, 6], [2, 5]], [[2, 5], [1, 6]])


def test_slices_stay_whole_when_pod_sets_are_searched_for_together() -> None:
    snapshot = hall({"a": ("r1", 5, ""), "b": ("r1", 4, ""), "c": ("r2", 4, ""), "d": ("r2", 3, "")})
    sliced = Constraint(required="rack", slices=(Layer(HOSTNAME, 2),))
    request = Request.of([PodSet("p", 7, ANY, RACKED), PodSet("s", 8, ANY, sliced)])
    found = places(snapshot, request)
    assert found == {"p": {"c": 4, "d": 3}, "s": {"a": 4, "b": 4}}


def test_a_group_inside_a_group_and_a_constraint_inside_a_constraint_are_placed() -> None:
    inner = Group((PodSet("w", 4, ANY),), "inner", Constraint(required=HOSTNAME))
    tree = Request((Group((inner, PodSet("l", 1, ANY)), "outer", RACKED),))
    snapshot = hall({"a": ("r1", 4, ""), "b": ("r2", 4, ""), "c": ("r2", 1, "")})
    assert places(snapshot, tree) == {"w": {"b": 4}, "l": {"c": 1}}
    assert "levels of groups deep" in str(places(snapshot, tree, OFF))
    small = hall({"a": ("r1", 4, "")})
    assert places(small, tree) == "group outer does not fit: no places were found for the 5 pods together"


@given(
    gpus=st.lists(st.integers(0, 6), min_size=2, max_size=4),
    counts=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    required=st.lists(st.sampled_from([None, "rack", HOSTNAME]), min_size=4, max_size=4),
)
def test_what_is_found_holds_and_nothing_that_was_placed_before_moves(
    gpus: list[int], counts: list[int], required: list[str | None]
) -> None:
    snapshot = hall({f"h{number}": (f"r{number // 2}", free, "") for number, free in enumerate(gpus)})
    before = snapshot.remaining.copy()
    constraints = [Constraint(required=level, unconstrained=level is None or None) for level in required]
    request = Request.of([PodSet(f"p{n}", count, ANY, constraints[n]) for n, count in enumerate(counts)])
    found, old = places(snapshot, request), places(snapshot, request, OFF)
    assert (snapshot.remaining == before).all()
    assert has_room(snapshot, request, Policy()) == (not isinstance(found, str))
    if not isinstance(old, str):
        assert found == old
    if isinstance(found, str):
        return
    for number, free in enumerate(gpus):
        assert sum(one.get(f"h{number}", 0) for one in found.values()) <= free
    for number, count in enumerate(counts):
        hosts = found[f"p{number}"]
        assert sum(hosts.values()) == count
        racks = {int(host[1:]) // 2 for host in hosts}
        assert required[number] != "rack" or len(racks) == 1
        assert required[number] != HOSTNAME or len(hosts) == 1
