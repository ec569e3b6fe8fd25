"""LeaderWorkerSets: replicas, segments and exclusive topologies."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kai import keys
from dialects.kai.jobs import (
    NETWORK,
    RACK,
    SPEC,
    Raw,
    a_leader_worker_set,
    an_object,
    constraints,
    group,
    groups,
    mistakes,
    template,
    tree,
)

SIZE_2 = {"subGroupSize": 2}
EXCLUDED = {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}


def a_pod(worker: int, replica: int = 0, node: str = "") -> Raw:
    prefix = "leaderworkerset.sigs.k8s.io/"
    labels = {f"{prefix}worker-index": str(worker), f"{prefix}group-index": str(replica)}
    owner = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "j"}
    spec = {**SPEC, "nodeName": node} if node else SPEC
    return an_object("v1", "Pod", spec, f"j-{replica}-{worker}", labels=labels, ownerReferences=[owner])


def test_every_replica_is_a_group_with_its_leader_and_workers() -> None:
    found = groups(a_leader_worker_set(3, replicas=2))
    assert [one.pod_group["metadata"]["name"] for one in found] == ["pg-j-group-0", "pg-j-group-1"]
    assert [one.pod_group["spec"]["minMember"] for one in found] == [3, 3]
    assert tree(found[1]) == {"leader": ("", 1, 1), "workers": ("", 2, 2)}


def test_a_leader_alone_has_no_workers() -> None:
    assert tree(group(a_leader_worker_set(1))) == {"leader": ("", 1, 1)}


@pytest.mark.parametrize(
    ("size", "policy", "expected"),
    [
        (
            5,
            SIZE_2,
            {
                "segment-0": ("", "2 groups", 0),
                "segment-1": ("", 2, 2),
                "leader": ("segment-0", 1, 1),
                "workers": ("segment-0", 2, 2),
            },
        ),
        (
            6,
            SIZE_2,
            {
                "segment-0": ("", "2 groups", 0),
                "segment-1": ("", 2, 2),
                "segment-2": ("", 2, 2),
                "leader": ("segment-0", 1, 1),
                "workers": ("segment-0", 1, 1),
            },
        ),
        (5, EXCLUDED, {"leader": ("", 1, 1), "segment-0": ("", 2, 2), "segment-1": ("", 2, 2)}),
    ],
)
def test_segments_hold_the_leader_where_the_policy_and_the_size_put_it(
    size: int, policy: Raw, expected: dict[str, Any]
) -> None:
    assert tree(group(a_leader_worker_set(size, subGroupPolicy=policy))) == expected


def test_the_size_is_that_of_the_policy_then_of_the_set_then_of_the_template() -> None:
    inside = template(**{keys.SEGMENT_SIZE: "3"})

    def segments(notes: Raw, **fields: Any) -> int:
        found = tree(group(a_leader_worker_set(13, notes=notes, workerTemplate=inside, **fields)))
        return sum(name.startswith("segment") for name in found)

    assert segments({}) == 4
    assert segments({keys.SEGMENT_SIZE: "4"}) == 3
    assert segments({keys.SEGMENT_SIZE: "4"}, subGroupPolicy=SIZE_2) == 6


def test_segments_have_the_constraint_of_the_worker_template() -> None:
    inside = template(**{keys.SEGMENT_SIZE: "2", keys.SEGMENT_REQUIRED: "rack", keys.TOPOLOGY: "network"})
    one = group(a_leader_worker_set(5, workerTemplate=inside), NETWORK)
    assert constraints(one) == {"segment-0": RACK, "segment-1": RACK}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"subGroupPolicy": {"subGroupSize": 1}}, "subGroupPolicy.subGroupSize: is 1; use a whole number from 2 to"),
        (
            {"subGroupPolicy": {"subGroupSize": 7}},
            "subGroupPolicy.subGroupSize: is 7, more than the 6 pods",
        ),
        (
            {"subGroupPolicy": EXCLUDED},
            "subGroupPolicy.subGroupPolicyType: needs workers that divide into segments, and 5 do not; change the size",
        ),
        (
            {"subGroupPolicy": {**SIZE_2, "subGroupPolicyType": "Both"}},
            'subGroupPolicy.subGroupPolicyType: is "Both"; use one of: LeaderWorker, LeaderExcluded',
        ),
    ],
)
def test_segments_that_cannot_be_are_refused(fields: Raw, message: str) -> None:
    [mistake] = mistakes(a_leader_worker_set(6, **fields))
    assert mistake.startswith(f"f: LeaderWorkerSet j: spec.leaderWorkerTemplate.{message}")


def test_a_leader_that_has_to_be_ready_first_is_not_kept_waiting_for_workers() -> None:
    lws = a_leader_worker_set(3)
    lws["spec"]["startupPolicy"] = "LeaderReady"
    alone = group(lws, a_pod(0))
    assert (alone.pod_group["spec"]["minMember"], tree(alone)) == (1, {"leader": ("", 1, 1)})
    for pods in ([a_pod(0, node="n")], [a_pod(0), a_pod(1)], [a_pod(1)]):
        assert group(lws, *pods).pod_group["spec"]["minMember"] == 3


def test_with_an_exclusive_topology_replicas_are_one_group_and_apart() -> None:
    lws = a_leader_worker_set(3, 2, {keys.LWS_EXCLUSIVE: "rack"})
    one = group(lws, NETWORK)
    assert one.pod_group["metadata"]["name"] == "pg-j"
    assert one.pod_group["metadata"]["annotations"][keys.APART] == "rack"
    assert one.pod_group["spec"]["minSubGroup"] == 1
    assert tree(one) == {
        "group-0": ("", "2 groups", 0),
        "group-0-leader": ("group-0", 1, 1),
        "group-0-workers": ("group-0", 2, 2),
        "group-1": ("", "2 groups", 0),
        "group-1-leader": ("group-1", 1, 1),
        "group-1-workers": ("group-1", 2, 2),
    }
    assert constraints(one) == {"group-0": RACK, "group-1": RACK}
    assert len(groups(lws, like_kai=True)) == 2


def test_a_single_replica_with_an_exclusive_topology_has_nothing_to_be_apart_from() -> None:
    one = group(a_leader_worker_set(2, 1, {keys.LWS_EXCLUSIVE: "rack"}), NETWORK)
    assert keys.APART not in one.pod_group["metadata"]["annotations"]
    assert constraints(one) == {"group-0": RACK}
