"""With another fit in the policy, whatever counts pods agrees with the placement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import closeknit
from closeknit.engine.explain import Explanation, LevelView, explain, level_views
from closeknit.engine.fit import fit_of
from closeknit.engine.match import UNFIT
from closeknit.engine.place import has_room, place
from closeknit.engine.policy import Policy
from closeknit.engine.replace import Broken
from closeknit.engine.several import replace_several
from closeknit.model.assignment import Assignment
from closeknit.model.container import Container
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.report.plan import plan
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

from .clusters import BLOCK, BY_RACK, RACK, TAINT, TOPOLOGY, host, pods_by_node
from .fits import one_per_empty_node, two_zones

ALONE = Policy(Gates.profile(), fit=one_per_empty_node)
ALONE_IN_KUEUE = Policy(Gates.profile("kueue"), fit=one_per_empty_node)
ZONES = Policy(Gates.profile(), fit=two_zones)


def cluster(topology: Topology = TOPOLOGY) -> Snapshot:
    """Rack 1 has four hosts of 8 cpu, one of them with a small pod; rack 2 two, one tainted; and one cordoned."""
    nodes = [host(f"r1-{i}", "x", "1", 8) for i in range(4)]
    nodes += [host("r2-0", "x", "2", 8), host("r2-1", "x", "2", 8, taints=(TAINT,))]
    nodes.append(Node("r2-2", host("r2-2", "x", "2", 8).labels, {"cpu": 8000, "pods": 110}, unschedulable=True))
    snapshot = Snapshot(topology, NodeTable.of(nodes))
    snapshot.use("r1-0", {"cpu": 100})
    return snapshot


def ask(count: int, constraint: Constraint, shape: Shape | None = None) -> Request:
    return Request.of([PodSet("main", count, shape or Shape.of({"cpu": 1000}), constraint)])


def explained(count: int, constraint: Constraint, snapshot: Snapshot, policy: Policy = ALONE) -> Explanation:
    found = explain(snapshot, ask(count, constraint), policy)
    assert isinstance(found, Explanation)
    return found


def views(levels: tuple[LevelView, ...]) -> dict[str, tuple[int, int, int]]:
    return {view.level: (view.pods, view.in_one_piece, view.when_empty) for view in levels}


def test_a_placement_puts_one_pod_on_each_empty_node() -> None:
    result = place(cluster(), ask(3, Constraint(required=RACK)), ALONE)
    assert pods_by_node(result) == {f"r1-{i}": {"main": 1} for i in (1, 2, 3)}
    assert not place(cluster(), ask(4, Constraint(required=RACK)), ALONE).fits
    assert has_room(cluster(), ask(3, Constraint(required=RACK)), ALONE)
    assert not has_room(cluster(), ask(4, Constraint(required=RACK)), ALONE)


def test_a_leader_has_a_node_to_itself_as_well() -> None:
    shape, wanted = Shape.of({"cpu": 1000}), Constraint(required=RACK)
    group = Group((PodSet("leader", 1, Shape.of({"cpu": 500}), wanted), PodSet("workers", 2, shape, wanted)), "g")
    by_node = pods_by_node(place(cluster(), Request((group,)), ALONE))
    assert sorted(map(sorted, by_node.values())) == [["leader"], ["workers"], ["workers"]]


def test_a_replacement_goes_to_an_empty_node() -> None:
    snapshot, shape = cluster(), Shape.of({"cpu": 1000})
    existing = Assignment.of([HOSTNAME], [(("r1-1",), 1), (("r1-2",), 1)])
    snapshot.admit(np.array([snapshot.tree.leaf_of[("r1-1",)]]), np.array([1]), shape.charge)
    broken = [Broken(PodSet("main", 2, shape, Constraint(required=RACK)), existing)]
    (outcome,) = replace_several(snapshot, broken, ["r1-2"], ALONE).outcomes
    assert outcome.assignment is not None
    assert dict(outcome.assignment.domains) == {("r1-1",): 1, ("r1-3",): 1}


class TestExplanations:
    def test_levels_hold_what_a_placement_would_get(self) -> None:
        found = explained(4, Constraint(required=RACK), cluster())
        assert views(found.levels) == {BLOCK: (4, 5, 5), RACK: (3, 4, 4), HOSTNAME: (1, 1, 1)}
        assert "allows to fit only 3 out of 4 pod(s)" in str(found.reason)

    def test_causes_tell_what_nodes_would_hold_otherwise(self) -> None:
        found = explained(9, Constraint(required=BLOCK), cluster())
        assert {(cause.cause, cause.leaves, cause.pods) for cause in found.causes} == {
            ('taint "dedicated=x:NoSchedule"', 1, 1),
            ("cordoned", 1, 1),
            (UNFIT, 1, 0),
        }

    def test_the_reason_names_nodes_that_only_the_fit_refuses(self) -> None:
        result = place(cluster(), ask(9, Constraint(required=BLOCK)), ALONE)
        assert result.reason is not None
        assert result.reason.excluded == {'taint "dedicated=x:NoSchedule"': 1, UNFIT: 1}

    def test_remedies_are_as_large_as_the_fit_makes_them(self) -> None:
        found = explained(4, Constraint(required=RACK), cluster())
        assert [str(remedy) for remedy in found.remedies] == [
            f'relax to required "{BLOCK}"',
            "ask for 3 pods instead of 4",
            "free r1-0 (1 pod would have to move)",
            "add 1 node like r1-0 in x/x-1",
        ]

    def test_nodes_are_uncordoned_and_added_one_for_each_pod_that_is_missing(self) -> None:
        found = explained(7, Constraint(required=BLOCK), cluster())
        assert [str(remedy) for remedy in found.remedies if remedy.kind in ("add", "uncordon")] == [
            "add 3 nodes like r1-0 in x",
        ]
        found = explained(5, Constraint(required=BLOCK), cluster())
        assert "uncordon r2-2" in map(str, found.remedies)


def test_a_plan_counts_room_that_is_left_and_that_would_be_there() -> None:
    snapshot = cluster()
    made = plan(snapshot, "job", place(snapshot, ask(2, Constraint(required=RACK)), ALONE), ALONE)
    (placed,) = made.placed
    names = [name for (name,) in snapshot.tree.names]
    assert dict(zip(names, placed.after.tolist(), strict=True)) == {
        **dict.fromkeys(names, 0),
        **dict.fromkeys([name for name in ("r1-1", "r1-2", "r1-3") if not placed.pods[names.index(name)]], 1),
        "r2-0": 1,
    }
    assert dict(zip(names, placed.empty.tolist(), strict=True)) == {
        **dict.fromkeys(names, 1),
        "r2-1": 0,
        "r2-2": 0,
    }


@pytest.mark.parametrize(("policy", "block"), [(ALONE, 4), (ALONE_IN_KUEUE, 5)], ids=["ours", "kueue"])
class TestLeavesOfSeveralNodes:
    """In Kueue's profile a topology that ends above the host lets no taint keep pods off."""

    def test_a_leaf_holds_what_its_nodes_hold_one_by_one(self, policy: Policy, block: int) -> None:
        snapshot = cluster(BY_RACK)
        assert place(snapshot, ask(3, Constraint(required=RACK)), policy).fits
        assert not place(snapshot, ask(4, Constraint(required=RACK)), policy).fits
        assert place(snapshot, ask(block, Constraint(required=BLOCK)), policy).fits
        assert not place(snapshot, ask(block + 1, Constraint(required=BLOCK)), policy).fits

    def test_explanation_and_plan_agree(self, policy: Policy, block: int) -> None:
        snapshot = cluster(BY_RACK)
        found = explained(5, Constraint(required=RACK), snapshot, policy)
        assert views(found.levels) == {BLOCK: (block, block + 1, block + 1), RACK: (3, 4, 4)}
        assert "ask for 3 pods instead of 5" in map(str, found.remedies)
        result = place(snapshot, ask(1, Constraint(required=RACK)), policy)
        (placed,) = plan(snapshot, "job", result, policy).placed
        assert placed.empty.tolist() == [4, block - 3]


class TestContainers:
    """Hosts have halves of 4 cpu; pods of 6 cpu in all fit if none of their containers is larger than that."""

    WHOLE = Shape.of({"cpu": 6000})
    SPLIT = Shape.of({"cpu": 6000}, containers=(Container.of({"cpu": 2000}), Container.of({"cpu": 4000})))

    def test_pods_of_one_sum_are_placed_by_their_containers(self) -> None:
        snapshot = cluster()
        assert not place(snapshot, ask(1, Constraint(required=RACK), self.WHOLE), ZONES).fits
        assert place(snapshot, ask(3, Constraint(required=RACK), self.SPLIT), ZONES).fits

    def test_views_do_not_mix_them_up(self) -> None:
        snapshot = cluster()
        for shape, pods in ((self.WHOLE, [0, 0, 0]), (self.SPLIT, [4, 3, 1]), (self.WHOLE, [0, 0, 0])):
            (group,) = ask(1, Constraint(required=RACK), shape).groups
            assert [view.pods for view in level_views(snapshot, group, ZONES)] == pods

    def test_only_a_fit_that_looks_at_containers_keeps_columns_apart(self) -> None:
        snapshot, by_sums = cluster(), Policy(Gates.profile())
        assert fit_of(snapshot, self.WHOLE, None, by_sums) is fit_of(snapshot, self.SPLIT, None, by_sums)
        assert fit_of(snapshot, self.WHOLE, None, ZONES) is not fit_of(snapshot, self.SPLIT, None, ZONES)


SOURCE = Path(closeknit.__file__).parent
FIT = ("engine/capacity.py", "engine/count.py", "engine/fit.py", "engine/policy.py")
"""The engine's fit: what counts pods on nodes."""

NO_COUNTS = {
    "numa/demand.py": "whole CPUs of a request",
    "dialects/simulated_zones.py": "what a node has, divided over its zones",
    "observe/pools.py": "what one of the pods takes that a pool states",
    "model/limit_range.py": "the largest limit that a ratio of limit to request permits",
    "host/demos/room.py": "a demo looks at its own store for GPUs, to choose what it asks for next",
}
"""Divisions of amounts that count no pods of a decision."""

STAND_INS = "cluster/"
"""Components of Kubernetes that the embedded cluster plays: they count as Kubernetes counts."""

AMOUNTS = {"allocatable", "remaining", "free", "room", "capacity", "view", "charge", "requests", "gpus"}
ASKED = {"amount", "amounts", "charge", "requests"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(STAND_INS):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def names_in(node: ast.AST) -> set[str]:
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def divisions(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What is divided into whole numbers, and by what."""
    for one in ast.walk(tree):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv):
            yield one.left, one.right
        elif isinstance(one, ast.Call) and names_in(one.func) & {"divmod", "floor_divide"}:
            yield one.args[0], one.args[1]


def counts_pods(tree: ast.Module) -> bool:
    """Whether amounts are divided by what a pod asks for, which is how pods are counted."""
    return any(names_in(left) & AMOUNTS or names_in(right) & ASKED for left, right in divisions(tree))


def test_only_the_fit_of_the_engine_counts_pods_on_nodes() -> None:
    importing = {
        name
        for name, tree in modules()
        for one in ast.walk(tree)
        if isinstance(one, ast.ImportFrom) and (one.module or "").split(".")[-1] == "capacity"
    }
    assert importing == {"engine/count.py", "engine/fit.py", "engine/policy.py", "engine/zones.py"}
    assert {name for name, tree in modules() if counts_pods(tree)} - NO_COUNTS.keys() <= set(FIT)


def test_the_search_for_counts_finds_those_that_were_there() -> None:
    """As the check before admission and a picture once counted."""
    assert counts_pods(ast.parse("(snapshot.remaining[at, leaves] // amount < counts).any()"))
    assert counts_pods(ast.parse("min(max(0, free.get(resource, 0)) // need for resource, need in charge)"))
    assert counts_pods(ast.parse("np.minimum.reduce(columns[rows] // amounts[:, None])"))
    assert counts_pods(ast.parse("np.floor_divide(column, amount)"))
    assert not counts_pods(ast.parse("divmod(seconds, 60)"))
    assert not counts_pods(ast.parse("count // wanted.slicing.size"))
    assert {name for name, tree in modules() if counts_pods(tree)} >= {"engine/capacity.py", *NO_COUNTS}


def test_one_place_builds_a_policy() -> None:
    building = {
        name
        for name, tree in modules()
        for one in ast.walk(tree)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "Policy"
    }
    assert building == set()
