"""What holds for every placement, on random clusters."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from closeknit.engine.place import place
from closeknit.engine.policy import Policy
from closeknit.model.gates import Gates
from closeknit.model.request import Request
from closeknit.state.snapshot import Snapshot

from .clusters import Cluster, clusters, columns, host, pods_by_node, requests, shown

KUEUE = Policy(Gates.profile("kueue"))
OURS = Policy(Gates.profile())
BALANCED = Policy(Gates.profile("kueue", {"TASBalancedPlacement": True}))
POLICIES = [KUEUE, OURS, BALANCED]
IDS = ["kueue", "ours", "balanced"]

EXAMPLES = settings(max_examples=100)
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=IDS)


def cpu_left(snapshot: Snapshot) -> dict[str, tuple[int, int]]:
    left = columns(snapshot)
    return {name.split("/")[-1]: (int(values["cpu"]), int(values["pods"])) for name, values in left.items()}  # type: ignore[call-overload]


@each_policy
@EXAMPLES
@given(cluster=clusters(), request=requests())
def test_no_node_gets_more_pods_than_it_holds(policy: Policy, cluster: Cluster, request: Request) -> None:
    snapshot = cluster.snapshot()
    result = place(snapshot, request, policy)
    left = cpu_left(snapshot)
    asks = {one.name: dict(one.shape.requests)["cpu"] for one in request.pod_sets}
    for node, by_set in pods_by_node(result).items():
        cpu, places = left[node]
        assert sum(asks[name] * count for name, count in by_set.items()) <= cpu
        assert sum(by_set.values()) <= places


@each_policy
@EXAMPLES
@given(cluster=clusters(), request=requests())
def test_pods_go_only_to_nodes_that_are_ready_and_tolerated(policy: Policy, cluster: Cluster, request: Request) -> None:
    result = place(cluster.snapshot(), request, policy)
    nodes = {node.name: node for node in cluster.nodes}
    workers = max(request.pod_sets, key=lambda one: one.count)
    for name in pods_by_node(result):
        assert nodes[name].usable
        assert all(any(t.tolerates(taint) for t in workers.shape.tolerations) for taint in nodes[name].taints)


@each_policy
@EXAMPLES
@given(cluster=clusters(), request=requests())
def test_required_means_one_domain_and_a_slice_is_never_torn(
    policy: Policy, cluster: Cluster, request: Request
) -> None:
    result = place(cluster.snapshot(), request, policy)
    assume(result.fits)
    labels = {node.name: node.labels for node in cluster.nodes}
    workers = max(request.pod_sets, key=lambda one: one.count)
    wanted = workers.constraint
    assert wanted is not None
    if wanted.required:
        assert len({labels[name][wanted.required] for name in pods_by_node(result)}) <= 1
    for layer in wanted.slices:
        held: dict[str, int] = {}
        for name, by_set in pods_by_node(result).items():
            domain = labels[name][layer.level]
            held[domain] = held.get(domain, 0) + by_set.get(workers.name, 0)
        assert all(count % (layer.size or 1) == 0 for count in held.values())


@each_policy
@EXAMPLES
@given(cluster=clusters(), request=requests())
def test_counts_add_up_to_whole_slices(policy: Policy, cluster: Cluster, request: Request) -> None:
    result = place(cluster.snapshot(), request, policy)
    assume(result.fits)
    for outcome in result.outcomes:
        slices = outcome.pod_set.constraint.slices if outcome.pod_set.constraint else ()
        size = slices[0].size or 1 if slices and outcome.pod_set.name != "leader" else 1
        assert outcome.assignment is not None
        assert outcome.assignment.pods == outcome.pod_set.count // size * size
        if policy is OURS:
            assert outcome.assignment.pods == outcome.pod_set.count


@each_policy
@EXAMPLES
@given(cluster=clusters(), request=requests(), seed=st.integers())
def test_the_order_of_nodes_does_not_matter(policy: Policy, cluster: Cluster, request: Request, seed: int) -> None:
    pairs = list(zip(cluster.nodes, cluster.used, strict=True))
    random.Random(seed).shuffle(pairs)
    shuffled = Cluster(tuple(node for node, _ in pairs), tuple(used for _, used in pairs))
    assert shown(place(shuffled.snapshot(), request, policy)) == shown(place(cluster.snapshot(), request, policy))


@pytest.mark.parametrize("policy", [KUEUE, OURS], ids=["kueue", "ours"])
@EXAMPLES
@given(
    cluster=clusters(),
    request=requests(kinds=("required",), most=8),
    block=st.sampled_from("abcd"),
    rack=st.sampled_from("1234"),
    cpu=st.integers(0, 20),
)
def test_one_more_node_never_turns_a_required_fit_into_none(
    policy: Policy, cluster: Cluster, request: Request, block: str, rack: str, cpu: int
) -> None:
    assume(place(cluster.snapshot(), request, policy).fits)
    more = Cluster((*cluster.nodes, host("new", block, rack, cpu)), (*cluster.used, 0))
    assert place(more.snapshot(), request, policy).fits


@each_policy
@EXAMPLES
@given(cluster=clusters(), request=requests())
def test_asking_changes_nothing_and_asking_again_answers_the_same(
    policy: Policy, cluster: Cluster, request: Request
) -> None:
    snapshot = cluster.snapshot()
    before = columns(snapshot)
    first = place(snapshot, request, policy)
    assert columns(snapshot) == before
    assert shown(place(snapshot, request, policy)) == shown(first)


@EXAMPLES
@given(cluster=clusters(), request=requests())
def test_a_cache_of_one_shape_gives_the_same_answers(cluster: Cluster, request: Request) -> None:
    small = cluster.snapshot()
    small.shapes = 1
    both = Request(request.groups * 2)
    assert shown(place(small, both, KUEUE)) == shown(place(cluster.snapshot(), both, KUEUE))
    assert len(small.memo) <= 1
