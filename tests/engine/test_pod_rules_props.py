"""What the engine places, the scheduler binds: pod by pod, in any order, by the filters of the embedded binder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.cluster.embedded.standins.bound_pods import BoundPods
from closeknit.cluster.kinds import POD
from closeknit.cluster.port import Key
from closeknit.dialects.pod_rules import read_kind, read_rules, with_rules
from closeknit.engine.place import place
from closeknit.engine.policy import Policy
from closeknit.model.node import Node
from closeknit.model.pod_rules import PodKind, PodRules
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

RACK, ZONE = "rack", "zone"
TOPOLOGY = Topology("default", (RACK, HOSTNAME))
KEYS = st.sampled_from([HOSTNAME, RACK, ZONE])
APPS = st.sampled_from(["x", "y"])
CONSTRAINTS = st.sampled_from([Constraint(required=RACK), Constraint(preferred=RACK), Constraint(unconstrained=True)])


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """A pod with one or two rules; those of one kind are listed together."""
    found: dict[str, Any] = {}
    for one in draw(st.lists(terms(), min_size=1, max_size=2)):
        found = _merged(found, one)
    return found


def _merged(one: Any, two: Any) -> Any:
    if isinstance(one, dict) and isinstance(two, dict):
        return {
            key: _merged(one[key], two[key]) if key in one and key in two else {**one, **two}[key] for key in one | two
        }
    return [*one, *two]


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    selector = {"matchLabels": {"app": draw(APPS)}}
    one = {"topologyKey": draw(KEYS), "labelSelector": selector}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [one]}
    match draw(st.sampled_from(["anti", "affinity", "spread", "port", "nothing"])):
        case "anti":
            return {"affinity": {"podAntiAffinity": required}}
        case "affinity":
            return {"affinity": {"podAffinity": required}}
        case "spread":
            policy = draw(st.sampled_from(["Honor", "Ignore"]))
            skew, least = draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 3]))
            rule = {**one, "maxSkew": skew, "minDomains": least, "nodeAffinityPolicy": policy}
            return {"topologySpreadConstraints": [{**rule, "whenUnsatisfiable": "DoNotSchedule"}]}
        case "port":
            return {"containers": [{"ports": [{"hostPort": 80}]}]}
    return {}


@st.composite
def clusters(draw: st.DrawFn) -> list[Node]:
    nodes = []
    for rack in range(draw(st.integers(1, 3))):
        for number in range(draw(st.integers(1, 3))):
            name = f"r{rack}-{number}"
            labels = {RACK: f"r{rack}", HOSTNAME: name, ZONE: draw(st.sampled_from(["z1", "z2"]))}
            nodes.append(Node(name, labels, {"cpu": draw(st.integers(1, 3)), "pods": 110}))
    return nodes


def pods(app: str, spec: dict[str, Any]) -> Shape:
    shape = with_rules(Shape.of({"cpu": 1}), "default", {"app": app}, spec)
    assert shape.kind is not None
    return shape.ruled(shape.rules or PodRules(shape.kind), shape.kind)


class Scheduler:
    """Binds pods that select their host, as often as it takes; `bound` are those that it could bind."""

    def __init__(self, nodes: list[Node]) -> None:
        self.pods = BoundPods({node.name: node for node in nodes})
        self.bound = 0

    def run(self, node: str, kind: PodKind) -> None:
        self.pods.put(Key(POD, "default", f"p{self.bound}"), kind, node)
        self.bound += 1

    def bind_all(self, waiting: list[tuple[str, Shape]]) -> list[tuple[str, Shape]]:
        """Those that stay unbound."""
        progress = True
        while progress and waiting:
            progress = False
            for host, shape in list(waiting):
                rules = shape.rules
                assert rules is not None
                pinned = replace(shape, selector=((HOSTNAME, host),))
                if not self.pods.refusal(host, pinned, rules):
                    self.run(host, rules.kind)
                    waiting.remove((host, shape))
                    progress = True
        return waiting


@settings(max_examples=200, deadline=None)
@given(
    clusters(),
    st.lists(st.tuples(APPS, specs()), min_size=1, max_size=2),
    st.lists(st.tuples(APPS, specs()), max_size=3),
    st.lists(st.integers(1, 4), min_size=2, max_size=2),
    CONSTRAINTS,
    st.randoms(use_true_random=False),
)
def test_pods_that_were_placed_are_bound_in_any_order(
    nodes: list[Node],
    sets: list[tuple[str, dict[str, Any]]],
    running: list[tuple[str, dict[str, Any]]],
    counts: list[int],
    constraint: Constraint,
    order: Any,
) -> None:
    snapshot, scheduler = Snapshot(TOPOLOGY, NodeTable.of(nodes)), Scheduler(nodes)
    snapshot.neighbours.nodes = {node.name: node for node in nodes}
    for app, spec in running:
        node, kind = order.choice(nodes).name, read_kind("default", {"app": app}, spec)
        snapshot.use(node, {}, 1)
        snapshot.neighbours.use(node, kind, 1)
        scheduler.run(node, kind)
    given_sets = [PodSet(f"s{at}", counts[at], pods(*one), constraint) for at, one in enumerate(sets)]
    result = place(snapshot, Request(tuple(Group((one,)) for one in given_sets)), Policy())
    if not result.fits:
        return
    shapes = {one.name: one.shape for one in given_sets}
    waiting = [
        (path[-1], shapes[outcome.pod_set.name])
        for outcome in result.outcomes
        if outcome.assignment is not None
        for path, count in outcome.assignment.domains
        for _ in range(count)
    ]
    order.shuffle(waiting)
    assert len(waiting) == sum(one.count for one in given_sets)
    assert not scheduler.bind_all(waiting)


@settings(max_examples=200, deadline=None)
@given(clusters(), APPS, specs(), st.integers(1, 4))
def test_a_refusal_means_that_no_order_of_nodes_would_do(
    nodes: list[Node], app: str, spec: dict[str, Any], count: int
) -> None:
    """Against every way to choose a node for each of the pods, for pods without a constraint."""
    snapshot = Snapshot(TOPOLOGY, NodeTable.of(nodes))
    snapshot.neighbours.nodes = {node.name: node for node in nodes}
    result = place(
        snapshot, Request.of([PodSet("main", count, pods(app, spec), Constraint(unconstrained=True))]), Policy()
    )
    rules = read_rules("default", {"app": app}, spec)
    assert result.fits == _fits(BoundPods({node.name: node for node in nodes}), nodes, rules, count, {})


def _fits(pods_there: BoundPods, nodes: list[Node], rules: PodRules, count: int, used: dict[str, int]) -> bool:
    if not count:
        return True
    for node in nodes:
        loose, pinned = Shape.of({"cpu": 1}), Shape.of({"cpu": 1}, {HOSTNAME: node.name})
        refused = (pods_there.refusal(node.name, shape, rules) for shape in (loose, pinned))
        if used.get(node.name, 0) >= node.allocatable["cpu"] or any(refused):
            continue
        key = Key(POD, "default", f"p{count}")
        pods_there.put(key, rules.kind, node.name)
        used[node.name] = used.get(node.name, 0) + 1
        found = _fits(pods_there, nodes, rules, count - 1, used)
        used[node.name] -= 1
        pods_there.drop(key)
        if found:
            return True
    return False
