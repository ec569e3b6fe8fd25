"""A mirror that was changed step by step equals one rebuilt from its objects."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from closeknit.engine.place import place
from closeknit.engine.policy import Policy
from closeknit.model.assignment import Assignment
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.request import Constraint, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.mirror import Mirror, OtherPod, Usage
from engine.clusters import BLOCK, BY_RACK, RACK, TOPOLOGY, columns, hosts, shown

names = st.sampled_from([f"h{number}" for number in range(6)])
keys = st.sampled_from(["p1", "p2", "p3"])
asks = st.builds(lambda cpu: {"cpu": cpu}, st.sampled_from([500, 1000, 3000]))


class Changes(RuleBasedStateMachine):
    topology: Topology = TOPOLOGY

    def __init__(self) -> None:
        super().__init__()
        self.mirror = Mirror()
        self.view = self.mirror.add_flavor("", self.topology)
        self.policy = Policy(Gates.profile())

    @rule(data=st.data(), name=names)
    def put_node(self, data: st.DataObject, name: str) -> None:
        self.mirror.put_node(data.draw(hosts(name)))

    @rule(name=names)
    def drop_node(self, name: str) -> None:
        self.mirror.drop_node(name)

    @rule(name=names)
    def take_a_level_off(self, name: str) -> None:
        self.mirror.put_node(Node(name, {HOSTNAME: name}, {"cpu": 1000, "pods": 5}))

    @rule(name=names, extra=st.integers(1, 4))
    def give_a_node_another_resource(self, name: str, extra: int) -> None:
        node = self.mirror.nodes.get(name)
        if node is not None:
            more = {**node.allocatable, "example.com/gpu": extra}
            self.mirror.put_node(Node(name, node.labels, more, node.taints, node.ready))

    @rule(key=keys, name=names, requests=asks)
    def put_pod(self, key: str, name: str, requests: dict[str, int]) -> None:
        self.mirror.put_pod(key, OtherPod(name, requests))

    @rule(key=keys)
    def drop_pod(self, key: str) -> None:
        self.mirror.drop_pod(key)

    @rule(key=keys, requests=asks, count=st.integers(1, 3), name=names)
    def admit(self, key: str, requests: dict[str, int], count: int, name: str) -> None:
        leaves = self.view.snapshot.tree.names or [("nowhere",) * len(self.topology.levels)]
        path = leaves[int(name[1:]) % len(leaves)]
        self.mirror.admit(key, Usage(Assignment.of(("x",), [(path, count)]), Shape.of(requests)))

    @rule(key=keys)
    def release(self, key: str) -> None:
        self.mirror.release(key)

    @rule(required=st.sampled_from([BLOCK, RACK]), count=st.integers(1, 6))
    def decide_so_that_caches_fill(self, required: str, count: int) -> None:
        request = Request.of([PodSet("main", count, Shape.of({"cpu": 1000}), Constraint(required=required))])
        place(self.view.snapshot, request, self.policy)

    @invariant()
    def equals_a_rebuild(self) -> None:
        rebuilt = Mirror()
        again = rebuilt.add_flavor("", self.topology)
        for node in self.mirror.nodes.values():
            rebuilt.put_node(node)
        for key, pod in self.mirror.pods.items():
            rebuilt.put_pod(key, pod)
        for key, usage in self.mirror.usages.items():
            rebuilt.admit(key, usage)
        kept, built = columns(self.view.snapshot), columns(again.snapshot)
        resources = set(self.view.snapshot.index) & set(again.snapshot.index)
        assert {n: {r: v[r] for r in resources} for n, v in kept.items()} == {
            n: {r: v[r] for r in resources} for n, v in built.items()
        }
        for wanted in (Constraint(required=BLOCK), Constraint(preferred=RACK), Constraint(unconstrained=True)):
            request = Request.of([PodSet("main", 3, Shape.of({"cpu": 1000}), wanted)])
            kept_answer = shown(place(self.view.snapshot, request, self.policy))
            assert kept_answer == shown(place(again.snapshot, request, self.policy))


class ChangesByRack(Changes):
    """The same where a leaf is a rack of several nodes."""

    topology = BY_RACK


TestChanges = Changes.TestCase
TestChangesByRack = ChangesByRack.TestCase
for case in (TestChanges, TestChangesByRack):
    case.settings = settings(max_examples=60, stateful_step_count=25)
