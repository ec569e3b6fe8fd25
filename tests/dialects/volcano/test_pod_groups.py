"""Volcano's PodGroups with their pods, as gangs."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.model.request import Constraint
from dialects.objects import Raw, gang, named, pod, pods_of, read, said, tree

GROUP = "scheduling.k8s.io/group-name"
RACKS = [
    named(
        "topology.volcano.sh/v1alpha1",
        "HyperNode",
        name,
        {
            "tier": tier,
            "tierName": tier_name,
            "members": [{"type": kind, "selector": {"regexMatch": {"pattern": text}}}],
        },
    )
    for name, tier, tier_name, kind, text in (
        ("r1", 1, "rack", "Node", "^n[12]$"),
        ("r2", 1, "rack", "Node", "^n[34]$"),
        ("spine", 2, "spine", "HyperNode", "^r"),
    )
]
NODES = ("n1", "n2", "n3", "n4")
TASK = "volcano.sh/task-spec"


def group(minimum: int = 2, **spec: Any) -> Raw:
    return named("scheduling.volcano.sh/v1beta1", "PodGroup", "g", {"minMember": minimum, **spec}, namespace="team")


def member(name: str, cpu: str = "1", node: str = "", phase: str = "", part: str = "", task: str = "") -> Raw:
    labels = {key: value for key, value in (("part", part), (TASK, task)) if value}
    return pod(name, cpu, node, None, phase, namespace="team", annotations={GROUP: "g"}, labels=labels)


def workers(count: int) -> list[Raw]:
    return [member(f"w-{number}") for number in range(count)]


def policy(name: str = "part", size: int = 2, least: int = 0, **more: Any) -> Raw:
    return {"name": name, "matchLabelKeys": ["part"], "subGroupSize": size, "minSubGroups": least, **more}


def test_pods_of_one_shape_are_one_pod_set_in_the_order_of_their_indexes() -> None:
    found = tree(group(), *reversed(workers(11)), member("leader", cpu="4"))
    assert pods_of(found) == {"g:0": ("leader",), "g:1": tuple(f"w-{number}" for number in range(11))}
    assert found.min_pods == 2


def test_bound_pods_run_and_ended_pods_are_gone() -> None:
    pods = [member("a", node="n1"), member("b"), member("c", phase="Failed"), member("d", node="n2", phase="Succeeded")]
    found = tree(group(3), *pods)
    [only] = found.pod_sets
    assert (only.running, only.pods, only.count) == (("n1",), ("team/b",), 1)
    assert found.min_pods == 2  # a pod that succeeded counts as one of the three


def test_pods_that_do_not_exist_yet_are_missing() -> None:
    assert gang(group(5), *workers(3)).missing == 2


def test_a_hard_tier_is_required_and_the_lowest_preferred() -> None:
    found = tree(group(networkTopology={"mode": "hard", "highestTierAllowed": 2}), *workers(2), *RACKS, nodes=NODES)
    assert found.constraint == Constraint("tier-2", "tier-1", topology="hypernodes")


def test_the_lowest_hard_tier_prefers_nothing_below_it() -> None:
    found = tree(group(networkTopology={"highestTierAllowed": 1}), *workers(2), *RACKS, nodes=NODES)
    assert found.constraint == Constraint("tier-1", topology="hypernodes")


def test_a_tier_may_be_given_by_its_name() -> None:
    found = tree(group(networkTopology={"highestTierName": "spine"}), *workers(2), *RACKS, nodes=NODES)
    assert found.constraint == Constraint("tier-2", "tier-1", topology="hypernodes")


def test_soft_prefers_the_lowest_tier_whatever_tier_is_given() -> None:
    wanted = {"mode": "soft", "highestTierAllowed": 0}
    found = tree(group(networkTopology=wanted), *workers(2), *RACKS, nodes=NODES)
    assert found.constraint == Constraint(preferred="tier-1", topology="hypernodes")


def test_an_empty_mode_is_no_constraint() -> None:
    assert tree(group(networkTopology={"mode": "", "highestTierAllowed": 1}), *workers(2)).constraint is None


def test_a_tier_above_all_is_the_whole_cluster_and_is_warned_of() -> None:
    found = read(group(networkTopology={"highestTierAllowed": 9}), *workers(2), *RACKS, nodes=NODES)
    [one] = found.gangs
    assert one.request.groups[0].constraint == Constraint("tier-3", "tier-1", topology="hypernodes")
    assert [warning.text for warning in found.warnings] == ["is 9, above all HyperNodes: the pods may be anywhere"]


def test_while_the_hyper_nodes_are_not_known_tiers_are_taken_as_written() -> None:
    found = tree(group(networkTopology={"highestTierAllowed": 7}), *workers(2), nodes=None)
    assert found.constraint == Constraint("tier-7", "tier-1", topology="hypernodes")


def test_a_policy_makes_a_sub_group_for_each_value_of_its_labels() -> None:
    rack = {"mode": "hard", "highestTierAllowed": 1}
    pods = [member(f"w-{number}", part=str(number // 2)) for number in range(6)]
    found = tree(group(5, subGroupPolicy=[policy(least=2, networkTopology=rack)]), *pods, *RACKS, nodes=NODES)
    assert (found.min_groups, found.min_total) == (3, None)  # 5 pods are 3 pairs
    assert [(one.name, one.min_pods, one.constraint) for one in found.groups] == [
        (f"part/{number}", 2, Constraint("tier-1", topology="hypernodes")) for number in range(3)
    ]


def test_a_minimum_that_is_no_number_of_sub_groups_counts_their_pods() -> None:
    pods = [member(f"w-{number}", part=str(number // 3)) for number in range(6)]
    found = tree(group(5, subGroupPolicy=[policy(least=1)]), *pods)
    assert (found.min_groups, found.min_total, [one.min_pods for one in found.groups]) == (1, 5, [2, 2])


def test_a_group_that_needs_all_its_pods_needs_all_of_each_sub_group() -> None:
    pods = [member(f"w-{number}", part=str(number // 3)) for number in range(6)]
    found = tree(group(6, subGroupPolicy=[policy()]), *pods)
    assert (found.min_groups, found.min_total, [one.min_pods for one in found.groups]) == (2, None, [3, 3])


def test_the_first_policy_that_is_for_a_pod_takes_it_and_the_rest_stay_in_the_group() -> None:
    by_task: Raw = {"labelSelector": {"matchLabels": {TASK: "ps"}}}
    pods = [member("a", part="0", task="ps"), member("b", part="1"), member("c")]
    found = tree(group(1, subGroupPolicy=[policy("ps", 1, **by_task), policy("any", 1)]), *pods)
    assert pods_of(found) == {"g": ("c",), "ps/0": ("a",), "any/1": ("b",)}
    assert (found.min_pods, found.min_groups, found.min_total) == (0, None, 1)
    assert [(one.name, one.min_groups) for one in found.groups] == [("ps", 0), ("any", 0)]


def test_an_empty_value_of_a_label_is_a_sub_group_too() -> None:
    note = {GROUP: "g"}
    labelled = [
        pod(name, namespace="team", labels={"part": value}, annotations=note) for name, value in (("a", ""), ("b", "1"))
    ]
    found = tree(group(1, subGroupPolicy=[policy(size=1, matchLabelKeys=["part"])]), *labelled)
    assert [one.name for one in found.groups] == ["part/", "part/1"]


def test_a_waiting_pod_of_a_group_that_is_not_there_is_refused() -> None:
    lost = [
        pod(name, node=node, namespace="team", annotations={GROUP: "gg"}) for name, node in (("a", ""), ("b", "n1"))
    ]
    assert said(read(group(1), *lost)) == [
        "Pod team/a: metadata.annotations[scheduling.k8s.io/group-name]: there is no PodGroup gg; "
        "did you mean g? create it, or correct the name"
    ]


def test_sub_groups_that_do_not_exist_yet_are_missing() -> None:
    pods = [member("a", part="0"), member("b", part="0"), member("c", part="1")]
    assert gang(group(2, subGroupPolicy=[policy(least=2)]), *pods).missing == 1
    assert gang(group(2, subGroupPolicy=[policy(least=3)]), *pods).missing == 2


def test_minimums_of_tasks_are_groups_where_the_minimum_covers_them() -> None:
    pods = [member(f"{task}-{number}", task=task) for task in ("ps", "w") for number in range(3)]
    found = tree(group(4, minTaskMember={"ps": 1, "w": 2}), *pods)
    assert [(one.name, one.min_pods) for one in found.groups] == [("ps", 1), ("w", 2)]
    assert found.min_total == 4
    assert tree(group(2, minTaskMember={"ps": 1, "w": 2}), *pods).groups == ()  # as in Volcano, too few to count


def test_the_running_pods_decide_and_a_contradicting_annotation_is_a_notice() -> None:
    noted = group()
    noted["metadata"]["annotations"] = {"volcano.sh/job-allocated-hypernode": "r2"}
    found = gang(noted, member("a", node="n1"), member("b"), *RACKS, nodes=NODES)
    [notice] = found.notices
    assert notice.startswith("volcano.sh/job-allocated-hypernode is r2, but team/a runs on n1 outside of it")
    noted["metadata"]["annotations"] = {"volcano.sh/job-allocated-hypernode": "spine"}
    assert gang(noted, member("a", node="n1"), member("b"), *RACKS, nodes=NODES).notices == ()


TOPOLOGY = "PodGroup team/g: spec.networkTopology"


@pytest.mark.parametrize(
    ("wanted", "mistake"),
    [
        ({"highestTierName": "rak"}, ".highestTierName: no HyperNode has the tier name rak; "
         "did you mean rack? the tier names are rack, spine"),
        ({"highestTierAllowed": 0}, ".highestTierAllowed: is 0, but no HyperNode has a tier below 1; use 1 or more"),
        ({"highestTierAllowed": 1, "highestTierName": "rack"},
         ".highestTierName: is given beside highestTierAllowed; remove one of the two"),
        ({"mode": "hard"}, ": has mode hard without a tier; "
         "give highestTierAllowed or highestTierName, or use mode soft"),
        ({"mode": "firm"}, '.mode: is "firm"; use one of: hard, soft'),
        ({"highestTier": 1}, ".highestTier: is not a known field; did you mean highestTierName?"),
    ],
)  # fmt: skip
def test_a_topology_that_cannot_be_kept_is_refused(wanted: Raw, mistake: str) -> None:
    found = read(group(networkTopology=wanted), *workers(2), *RACKS, nodes=NODES)
    assert said(found)[0] == TOPOLOGY + mistake
    assert found.gangs == ()


def test_mistakes_in_policies_and_pods_are_found_together() -> None:
    broken = member("b")
    broken["spec"]["containers"] = []
    policies = [policy("p"), {**policy("p"), "matchLabelKeys": []}, {**policy("q"), "subgroupSize": 3}]
    assert said(read(group(subGroupPolicy=policies), broken)) == [
        "PodGroup team/g: spec.subGroupPolicy[2].subgroupSize: is not a known field; did you mean subGroupSize?",
        "PodGroup team/g: spec.subGroupPolicy[1].matchLabelKeys: is missing; "
        "name the labels whose values tell the sub-groups apart",
        "PodGroup team/g: spec.subGroupPolicy[1].name: p is the name of two policies; rename one of them",
        "Pod team/b: spec.containers: is missing; add at least one container",
    ]
