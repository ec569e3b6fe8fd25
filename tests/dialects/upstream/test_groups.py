"""Kubernetes' PodGroups and CompositePodGroups, as trees."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.model.request import Constraint
from closeknit.model.topology import Topology
from dialects.objects import Raw, gang, named, pod, pods_of, read, said, tree

API = "scheduling.k8s.io/v1beta1"
COMPOSITE_API = "scheduling.k8s.io/v1alpha3"
ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"


def spec(policy: Raw, parent: str = "", key: str = "", **more: Any) -> Raw:
    found = {"schedulingPolicy": policy, **more}
    found |= {"parentCompositePodGroupName": parent} if parent else {}
    return found | ({"schedulingConstraints": {"topology": [{"key": key}]}} if key else {})


def group(name: str, least: int = 0, parent: str = "", key: str = "", api: str = API, **more: Any) -> Raw:
    """A gang of `least` pods; basic without one."""
    policy: Raw = {"gang": {"minCount": least}} if least else {"basic": {}}
    return named(api, "PodGroup", name, spec(policy, parent, key, **more))


def composite(name: str, least: int = 0, parent: str = "", key: str = "") -> Raw:
    policy: Raw = {"gang": {"minGroupCount": least}} if least else {"basic": {}}
    return named(COMPOSITE_API, "CompositePodGroup", name, spec(policy, parent, key))


def members(name: str, count: int) -> list[Raw]:
    return [member(f"{name}-{number}", name) for number in range(count)]


def member(name: str, group_name: str, node: str = "") -> Raw:
    return pod(name, node=node, spec={"schedulingGroup": {"podGroupName": group_name}})


@pytest.mark.parametrize("api", ["scheduling.k8s.io/v1alpha2", API, COMPOSITE_API])
def test_a_gang_needs_its_minimum_in_one_domain_of_its_label(api: str) -> None:
    found = read(group("g", 2, key=RACK, api=api, priority=100), *members("g", 3))
    [one] = found.gangs
    [root] = one.request.groups
    assert (one.dialect, one.key, one.priority, one.missing) == ("kubernetes", "default/g", 100, 0)
    assert (root.min_pods, root.constraint) == (2, Constraint(required=RACK, topology=RACK))
    assert pods_of(root) == {"g": ("g-0", "g-1", "g-2")}
    assert found.topologies == {RACK: Topology(RACK, (RACK,))}


def test_a_basic_group_needs_one_pod_that_decides_the_domain_of_the_rest() -> None:
    assert tree(group("g", key=RACK), *members("g", 3)).min_pods == 1


def test_bound_pods_run() -> None:
    [only] = tree(group("g", 2), member("a", "g", node="n1"), member("b", "g")).pod_sets
    assert (only.running, only.pods) == (("n1",), ("default/b",))


def test_composites_are_trees_with_a_constraint_at_every_depth() -> None:
    objects = [composite("root", 2, key=ZONE), composite("sub", parent="root"), group("a", 2, "sub", RACK)]
    found = read(*objects, group("b", 1, "root"), *members("a", 2), *members("b", 1))
    [one] = found.gangs
    [root] = one.request.groups
    assert (root.name, root.min_groups, root.constraint) == ("root", 2, Constraint(required=ZONE, topology=ZONE))
    sub, b = root.groups
    assert (sub.name, sub.min_groups, b.name, b.min_pods) == ("sub", 1, "b", 1)
    assert [(leaf.name, leaf.constraint) for leaf in sub.groups] == [("a", Constraint(required=RACK, topology=RACK))]
    assert list(found.topologies) == [ZONE, RACK]


def test_what_a_minimum_counts_and_does_not_exist_is_missing() -> None:
    assert gang(group("g", 3), *members("g", 1)).missing == 2
    two_of_three = [composite("root", 2), *(group(name, 2, "root") for name in "abc")]
    assert gang(*two_of_three, *members("a", 2)).missing == 2
    assert gang(composite("root", 3), group("a", 1, "root"), *members("a", 1)).missing == 2


def test_groups_of_another_namespace_are_another_tree() -> None:
    there = {**composite("root", 1), "metadata": {"name": "root", "namespace": "there"}}
    found = read(there, group("a", 1, "root"))
    assert said(found) == [
        "PodGroup a: spec.parentCompositePodGroupName: there is no CompositePodGroup root; "
        "create it, or correct the name"
    ]


PARENT = "spec.parentCompositePodGroupName"


@pytest.mark.parametrize(
    ("objects", "mistakes"),
    [
        pytest.param(
            [composite("root", 1), group("a", 1, "rot")],
            [f"PodGroup a: {PARENT}: there is no CompositePodGroup rot; "
             "did you mean root? create it, or correct the name"],
            id="unknown parent",
        ),
        pytest.param(
            [composite("a", 1, "b"), composite("b", 1, "a"), group("g", 1, "a")],
            [f"CompositePodGroup a: {PARENT}: makes a cycle: a in b in a; remove one of these parents"],
            id="cycle",
        ),
        pytest.param(
            [composite("c0", 1), *(composite(f"c{n}", 1, f"c{n - 1}") for n in range(1, 5))],
            [f"CompositePodGroup c4: {PARENT}: has 5 nested CompositePodGroups; nest at most 4"],
            id="too deep",
        ),
        pytest.param(
            [group("a", 1), group("a", 2)],
            ["PodGroup a: metadata.name: is the name of another PodGroup too; rename or remove one of the two"],
            id="duplicate",
        ),
        pytest.param(
            [group("a", 1, api="scheduling.k8s.io/v1")],
            ['PodGroup a: apiVersion: is "scheduling.k8s.io/v1", which is not read; use scheduling.k8s.io/v1alpha2 or '
             "scheduling.k8s.io/v1alpha3 or scheduling.k8s.io/v1beta1"],
            id="another version",
        ),
        pytest.param(
            [composite("root"), group("a", 1, "root", api="scheduling.k8s.io/v1alpha2")],
            [f"PodGroup a: {PARENT}: is not a field of scheduling.k8s.io/v1alpha2; use scheduling.k8s.io/v1beta1"],
            id="a parent in a version without",
        ),
        pytest.param(
            [named(API, "PodGroup", "a", spec({"basic": {}, "gang": {"minCount": 2}}))],
            ["PodGroup a: spec.schedulingPolicy: has both gang and basic; use gang with minCount, or basic: {}"],
            id="both policies",
        ),
        pytest.param(
            [named(API, "PodGroup", "a", {})],
            ["PodGroup a: spec.schedulingPolicy: is missing; use gang with minCount, or basic: {}"],
            id="no policy",
        ),
        pytest.param(
            [named(API, "PodGroup", "a", spec({"gang": {"minGroupCount": 2}}))],
            ["PodGroup a: spec.schedulingPolicy.gang.minGroupCount: is not a known field; did you mean minCount?",
             "PodGroup a: spec.schedulingPolicy.gang.minCount: is missing; "
             "give the number that has to be scheduled together"],
            id="the other kind's minimum",
        ),
        pytest.param(
            [named(API, "PodGroup", "a", spec({"gang": {"minCount": 0}}))],
            ["PodGroup a: spec.schedulingPolicy.gang.minCount: is 0; use a whole number from 1 to 2147483647"],
            id="no minimum",
        ),
        pytest.param(
            [named(API, "PodGroup", "a", {**spec({"basic": {}}),
                                          "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}})],
            ["PodGroup a: spec.schedulingConstraints.topology: has 2 entries; "
             "give one; put other levels on a group above or below"],
            id="two labels",
        ),
        pytest.param(
            [group("a", 1, key="not a label")],
            ["PodGroup a: spec.schedulingConstraints.topology[0].key: is not a label, not the key of a label; "],
            id="no label",
        ),
        pytest.param(
            [group("workers", 1), member("p", "worker")],
            ["Pod p: spec.schedulingGroup.podGroupName: there is no PodGroup worker; "
             "did you mean workers? create it, or correct the name"],
            id="a pod without its group",
        ),
    ],
)  # fmt: skip
def test_a_tree_that_cannot_be_kept_is_refused(objects: list[Raw], mistakes: list[str]) -> None:
    found = said(read(*objects))
    assert [one[: len(mistake)] for one, mistake in zip(found, mistakes, strict=True)] == mistakes


def test_a_chain_of_any_length_ends_in_a_mistake() -> None:
    deep = [composite("c0", 1), *(composite(f"c{n}", 1, f"c{n - 1}") for n in range(1, 3000))]
    found = read(*deep)
    assert found.gangs == ()
    assert len(found.mistakes) == 3000 - 4


def test_a_bound_pod_may_outlive_its_group() -> None:
    assert said(read(member("p", "gone", node="n1"))) == []
