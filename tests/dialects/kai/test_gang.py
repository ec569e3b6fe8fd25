"""PodGroups and their pods as gangs."""

from __future__ import annotations

from typing import Any

from closeknit.dialects.kai.gang import read_gang
from closeknit.model.gang import Gang
from closeknit.model.topology import Topology

Raw = dict[str, Any]
RACK = Topology("network", ("rack", "kubernetes.io/hostname"))


def a_group(metadata: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", **(metadata or {})},
        "spec": spec,
    }


def a_pod(name: str, sub_group: str = "", node: str = "", cpu: int = 1, group: str = "g", **metadata: Any) -> Raw:
    labels = {"kai.scheduler/subgroup-name": sub_group} if sub_group else {}
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "annotations": {"pod-group-name": group}, **metadata},
        "spec": {"containers": containers, **({"nodeName": node} if node else {})},
    }


def read(group: Raw, *pods: Raw, topologies: dict[str, Topology] | None = None) -> Gang:
    gang = read_gang(("f", group), [("f", pod) for pod in pods], topologies)
    assert isinstance(gang, Gang), list(map(str, gang))
    return gang


def refused(group: Raw, *pods: Raw) -> list[str]:
    gang = read_gang(("f", group), [("f", pod) for pod in pods])
    assert isinstance(gang, tuple)
    return list(map(str, gang))


def test_pods_of_one_shape_are_a_pod_set_in_the_order_of_their_indexes() -> None:
    gang = read(a_group(minMember=2), a_pod("w-10"), a_pod("w-9"), a_pod("w-1", cpu=2), a_pod("other", group="x"))
    [root] = gang.request.groups
    assert [(one.name, one.count, one.pods) for one in root.own_pod_sets] == [
        ("main:0", 1, ("default/w-1",)),
        ("main:1", 2, ("default/w-9", "default/w-10")),
    ]
    assert (gang.dialect, gang.key, root.name, root.min_pods, gang.missing) == ("kai", "default/g", "g", 2, 0)


def test_pods_join_their_sub_groups_by_label() -> None:
    entries = [{"name": "ab", "minSubGroup": 1}, {"name": "a", "parent": "ab", "minMember": 1}]
    entries += [{"name": "b", "parent": "ab", "minMember": 1}, {"name": "c", "minMember": 0}]
    gang = read(a_group(minSubGroup=2, subGroups=entries), a_pod("p", "a"), a_pod("q", "c"))
    [root] = gang.request.groups
    inner, leaf = root.groups
    assert (root.min_groups, inner.min_groups, leaf.min_pods) == (2, 1, 0)
    assert [group.name for group in inner.groups] == ["a", "b"]
    assert [one.pods for one in gang.request.pod_sets] == [("default/p",), ("default/q",)]


def test_bound_pods_run_and_pods_that_ended_or_are_deleted_are_no_members() -> None:
    done = {**a_pod("done", node="n3"), "status": {"phase": "Succeeded"}}
    leaving = a_pod("leaving", node="n4", deletionTimestamp="2026-01-01T00:00:00Z")
    gang = read(a_group(minMember=4), a_pod("w-0", node="n1"), a_pod("w-1", node="n1"), a_pod("w-2"), done, leaving)
    [pods] = gang.request.pod_sets
    assert (pods.count, pods.running, pods.pods, gang.missing) == (1, ("n1", "n1"), ("default/w-2",), 1)


def test_missing_pods_are_those_of_the_sub_groups_that_lack_fewest() -> None:
    entries = [{"name": "a", "minMember": 2}, {"name": "b", "minMember": 5}, {"name": "c", "minMember": 3}]
    pods = [a_pod("a-0", "a"), a_pod("b-0", "b"), a_pod("c-0", "c")]
    assert read(a_group(minSubGroup=2, subGroups=entries), *pods).missing == 1 + 2
    assert read(a_group(subGroups=entries), *pods).missing == 1 + 4 + 2


def test_a_minimum_of_the_whole_group_above_its_sub_groups_counts_missing_pods_or_is_told() -> None:
    group = a_group(minMember=3, subGroups=[{"name": "a", "minMember": 1}])
    assert read(group, a_pod("p", "a")).missing == 2
    gang = read(group, *(a_pod(f"p-{number}", "a") for number in range(3)))
    assert (gang.missing, gang.notices) == (
        0,
        ("minMember 3 of the group is more than its sub-groups need together (1): the sub-groups decide",),
    )


def test_a_pod_without_a_sub_group_or_with_an_unknown_one_is_refused() -> None:
    entries = [{"name": "workers", "minMember": 1}, {"name": "set", "minSubGroup": 1}]
    entries.append({"name": "leader", "parent": "set", "minMember": 1})
    label = "metadata.labels[kai.scheduler/subgroup-name]"
    assert refused(a_group(subGroups=entries), a_pod("p"), a_pod("q", "worker"), a_pod("r", "set")) == [
        f'f: Pod p: {label}: is missing, but PodGroup "g" has sub-groups; use one of: leader, workers',
        f'f: Pod q: {label}: is "worker", which is not a sub-group with pods of PodGroup "g"; did you mean workers?',
        f'f: Pod r: {label}: is "set", which is not a sub-group with pods of PodGroup "g"; use one of: leader, workers',
    ]


def test_a_mistake_in_a_pod_is_told_with_its_object() -> None:
    pod = a_pod("p")
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "-1"
    assert refused(a_group(minMember=1), pod) == [
        "f: Pod p: spec.containers[0].resources.requests.cpu: is -1; use a quantity that is not negative"
    ]


def test_a_value_of_the_wrong_type_is_a_mistake_in_every_field() -> None:
    assert refused(a_group(minMember=1, queue=3)) == [
        'f: PodGroup g: spec.queue: is 3, not a string; put it in quotes: "3"'
    ]


def test_priority_is_that_of_the_class_and_decides_about_preemption_unless_the_group_does() -> None:
    def seen(**spec: Any) -> tuple[int, bool]:
        gang = read(a_group(minMember=1, **spec))
        return gang.priority, gang.preemptible

    assert seen() == (50, True)
    assert seen(priorityClassName="build-preemptible") == (75, True)
    assert seen(priorityClassName="build") == (100, False)
    assert seen(priorityClassName="inference", preemptibility="preemptible") == (125, True)
    assert seen(priorityClassName="train", preemptibility="non-preemptible") == (50, False)
    assert read(a_group(minMember=1, priorityClassName="mine")).notices == (
        'PriorityClass "mine" is not known: priority 50 is assumed',
    )


def test_namespace_queue_and_time_of_creation_are_read() -> None:
    group = a_group({"namespace": "team", "creationTimestamp": "1970-01-01T00:01:00Z"}, minMember=1, queue="q")
    pod = a_pod("p", namespace="team")
    gang = read(group, pod, a_pod("p"))
    assert (gang.key, gang.queue, gang.created) == ("team/g", "q", 60.0)
    assert [one.pods for one in gang.request.pod_sets] == [("team/p",)]


def test_levels_are_checked_against_the_topologies_that_are_given() -> None:
    group = a_group(minMember=1, topologyConstraint={"topology": "network", "requiredTopologyLevel": "rack"})
    [root] = read(group, topologies={"network": RACK}).request.groups
    assert root.constraint is not None
    assert (root.constraint.topology, root.constraint.required) == ("network", "rack")
    mistakes = read_gang(("f", group), [], {"other": RACK})
    assert isinstance(mistakes, tuple)
    assert 'is "network", which is not a Topology among the objects' in str(mistakes[0])
