"""The request of a workload on its way to `place`: the tree arrives there as it was made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.decide import topology
from closeknit.decide.decision import Admit, Decision, Wait
from closeknit.decide.scheduler import Scheduler
from closeknit.engine.place import PodSetOutcome, Result
from closeknit.engine.policy import Policy
from closeknit.model.assignment import Assignment
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint, Group, Request
from closeknit.model.settings import Settings
from closeknit.model.shape import Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload
from closeknit.queue.pending_workload import pending_workload
from closeknit.state.snapshot import Snapshot

from .objects import GPU, Given, part, queue, running, scheduler, workload

RACK, BLOCK = "example.com/rack", "example.com/block"
TOPOLOGY = Topology("t", (BLOCK, RACK, HOSTNAME))
PLACED = Flavor("placed", topology="t")
IN_A_BLOCK, IN_A_RACK = Constraint(required=BLOCK), Constraint(required=RACK)

SETS = (part("leader", 1), part("workers", 4), part("store", 1))
LEADER, WORKERS, STORE = (one.pod_set for one in SETS)
TREE = Request((Group((Group((Group((LEADER, WORKERS), "pair", IN_A_RACK),), "replica"), STORE), "all", IN_A_BLOCK),))


def built(flavor: Flavor = PLACED, quota: int = 99, gpus: int = 4) -> Scheduler:
    made = scheduler([queue("a", {"placed": quota})], flavors=[flavor], topologies=[TOPOLOGY])
    for name in ("r0h0", "r0h1", "r1h0", "r1h1"):
        labels = {HOSTNAME: name, RACK: name[:2], BLOCK: "b"}
        made.world.put_node(Node(name, labels, {GPU: gpus, "pods": 9}))
    return made


def of(request: Request, *sets: Given) -> Workload:
    return replace(workload("w", "a", 1, 1, *sets), request=request)


def decide(made: Scheduler, one: Workload) -> Decision:
    made.put(one, 0.0)
    (decision,) = made.cycle(0.0)
    return decision


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests that `place` was called with; it puts all pods on one host."""
    seen: list[Request] = []

    def recording(snapshot: Snapshot, request: Request, policy: Policy) -> Result:
        seen.append(request)
        here = Assignment.of((HOSTNAME,), [((next(iter(snapshot.table.names)),), 1)])
        return Result(tuple(PodSetOutcome(one, here) for one in request.pod_sets))

    monkeypatch.setattr(topology, "place", recording)
    return seen


class TestWhatArrives:
    def test_a_tree_three_deep_is_handed_over_as_it_is(self, handed: list[Request]) -> None:
        decision = decide(built(), of(TREE, *SETS))
        assert isinstance(decision, Admit)
        assert handed[0] is TREE
        assert [one.name for one in decision.admission.pod_sets] == ["leader", "workers", "store"]
        assert all(one.topology is not None for one in decision.admission.pod_sets)

    def test_so_is_a_request_of_kueue_s_dialect(self, handed: list[Request]) -> None:
        one = workload("w", "a", 1, 1, part("l", 1, 1, IN_A_RACK, "g"), part("w", 3, 1, IN_A_RACK, "g"))
        decide(built(), one)
        assert handed[0] is one.request

    def test_fewer_pods_change_nothing_but_their_count(self, handed: list[Request]) -> None:
        few = replace(SETS[1].part, min_count=1)
        one = replace(of(TREE, *SETS), parts=(SETS[0].part, few, SETS[2].part))
        decision = decide(built(quota=4), one)
        assert isinstance(decision, Admit)
        assert handed[-1] == TREE.changed([replace(WORKERS, count=2)])

    def test_pods_that_are_done_change_nothing_but_the_count(self, handed: list[Request]) -> None:
        one = of(TREE, *SETS)
        decide(built(), replace(one, status=replace(one.status, reclaimable={"workers": 3})))
        assert handed[0] == TREE.changed([replace(WORKERS, count=1)])

    def test_tolerations_of_the_flavor_change_nothing_but_shapes(self, handed: list[Request]) -> None:
        tolerations = (Toleration("x", "Exists"),)
        decide(built(replace(PLACED, tolerations=tolerations)), of(TREE, *SETS))
        assert handed[0].outline == TREE.outline
        assert {one.shape.tolerations for one in handed[0].pod_sets} == {tolerations}

    def test_a_pod_set_without_pods_is_left_out_of_its_group(self, handed: list[Request]) -> None:
        decide(built(), of(TREE.changed([replace(LEADER, count=0)]), *SETS))
        assert handed[0] == TREE.keeping({"workers": WORKERS, "store": STORE})


class TestWhatIsSaid:
    def test_a_tree_that_may_not_be_searched_waits_with_the_reason_of_the_engine(self) -> None:
        made = built()
        made.world.gates = made.world.gates.changed({"BacktrackPodSets": False})
        decision = decide(made, of(TREE, *SETS))
        assert isinstance(decision, Wait)
        assert "group all is 3 levels of groups deep, and only 1 level can be placed" in decision.message

    def test_a_tree_three_deep_is_admitted_to_the_racks_that_its_groups_require(self) -> None:
        decision = decide(built(), of(TREE, *SETS))
        assert isinstance(decision, Admit)
        leader, workers, _ = (one.topology for one in decision.admission.pod_sets)
        assert leader is not None
        assert workers is not None
        assert len({host[:2] for (host,) in (*leader.values, *workers.values)}) == 1

    def test_the_constraint_of_a_group_is_searched_for(self) -> None:
        main = part("main", 8)
        decision = decide(built(), of(Request((Group((main.pod_set,), "g", IN_A_RACK),)), main))
        assert isinstance(decision, Admit)
        (given,) = decision.admission.pod_sets
        assert given.topology is not None
        assert given.topology.values == (("r0h0",), ("r0h1",))

    def test_a_flavor_without_the_level_of_a_group_does_not_suit(self) -> None:
        main = part("main", 1)
        request = Request((Group((main.pod_set,), "g", Constraint(required="example.com/row")),))
        decision = decide(built(), of(request, main))
        assert isinstance(decision, Wait)
        assert 'Flavor "placed" does not contain the requested level' in decision.message

    def test_pod_sets_of_the_outermost_group_share_a_flavor(self, handed: list[Request]) -> None:
        """The first flavor has quota for each of them, and not for all."""
        flavors = [replace(PLACED, name=name) for name in ("few", "many")]
        made = scheduler([queue("a", {"few": 4, "many": 6})], flavors=flavors, topologies=[TOPOLOGY])
        made.world.put_node(Node("h", {HOSTNAME: "h", RACK: "r", BLOCK: "b"}, {GPU: 9, "pods": 9}))
        decision = decide(made, of(TREE, *SETS))
        assert isinstance(decision, Admit)
        assert [dict(one.flavors) for one in decision.admission.pod_sets] == [{GPU: "many"}] * 3
        assert handed == [TREE]


def test_a_failed_node_is_replaced_within_the_constraint_of_the_group() -> None:
    """The survivor is in rack 1, so the other pod stays there although rack 0 comes first and is empty."""
    made = built()
    made.world.put_node(Node("r1h2", {HOSTNAME: "r1h2", RACK: "r1", BLOCK: "b"}, {GPU: 4, "pods": 9}))
    main = part("main", 2, 4)
    one = of(Request((Group((main.pod_set,), "g", IN_A_RACK),)), main)
    one = running(one, "placed", hosts={"r1h0": 1, "r1h1": 1})
    made.put(replace(one, status=replace(one.status, unhealthy=("r1h0",))), 0.0)
    (decision,) = made.cycle(10.0)
    assert isinstance(decision, Admit)
    (given,) = decision.admission.pod_sets
    assert given.topology is not None
    assert given.topology.values == (("r1h1",), ("r1h2",))


def test_constraints_at_any_depth_tell_workloads_apart() -> None:
    other = Request((replace(TREE.groups[0], constraint=IN_A_RACK),))
    entries = [
        pending_workload(of(request, *SETS), "a", Settings(), Gates.profile()) for request in (TREE, other, TREE)
    ]
    assert entries[0].equivalence_key == entries[2].equivalence_key
    assert entries[0].equivalence_key != entries[1].equivalence_key
