"""Workloads of `scheduling.k8s.io`: groups in v1alpha1, templates since."""

from __future__ import annotations

from dialects.objects import Raw, named, pod, pods_of, read, said

FIRST = "scheduling.k8s.io/v1alpha1"


def workload(*groups: Raw) -> Raw:
    return named(FIRST, "Workload", "train", {"podGroups": list(groups)})


def workers(least: int) -> Raw:
    return {"name": "workers", "policy": {"gang": {"minCount": least}}}


def member(name: str, key: str = "", group: str = "workers") -> Raw:
    replica = {"podGroupReplicaKey": key} if key else {}
    return pod(name, spec={"workloadRef": {"name": "train", "podGroup": group, **replica}})


def test_a_pod_group_of_a_workload_is_a_gang() -> None:
    found = read(workload(workers(2)), member("a"), member("b"), member("c"))
    assert said(found) == []
    [one] = found.gangs
    [root] = one.request.groups
    assert (one.name, root.min_pods, pods_of(root)) == ("train-workers", 2, {"train-workers": ("a", "b", "c")})


def test_each_replica_key_is_a_gang_of_its_own() -> None:
    found = read(workload(workers(2)), *(member(f"p-{number}", str(number // 2)) for number in range(4)))
    assert [(one.name, one.missing) for one in found.gangs] == [("train-workers-0", 0), ("train-workers-1", 0)]


def test_a_pod_of_an_unknown_group_is_refused() -> None:
    assert said(read(workload(workers(2)), member("a", group="worker"))) == [
        "Pod a: spec.workloadRef.podGroup: Workload default/train has no pod group worker; "
        "did you mean workers? its groups are workers"
    ]


def test_two_groups_of_one_name_are_refused() -> None:
    assert said(read(workload(workers(1), workers(2)))) == [
        "Workload train: spec.podGroups[1].name: workers is the name of two pod groups; rename one of them"
    ]


def test_templates_of_later_versions_are_checked_and_place_nothing() -> None:
    leaf = {"name": "leaf", "schedulingPolicy": {"gang": {"mincount": 2}}}
    root = {"name": "root", "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": [leaf]}
    later = named("scheduling.k8s.io/v1alpha3", "Workload", "train", {"compositePodGroupTemplates": [root]})
    found = read(later)
    where = "Workload train: spec.compositePodGroupTemplates[0].podGroupTemplates[0].schedulingPolicy.gang"
    assert said(found) == [
        f"{where}.minCount: is missing; give the number that has to be scheduled together",
        f"{where}.mincount: is not a known field; did you mean minCount?",
    ]
    assert found.gangs == ()
