"""Workloads of `scheduling.k8s.io`: groups in v1alpha1, templates since."""

from __future__ import annotations

from typing import Any

import pytest

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
    assert sorted(said(found)) == [
        f"{where}.minCount: is missing; give the number that has to be scheduled together",
        f"{where}.mincount: is not a known field; did you mean minCount?",
    ]
    assert found.gangs == ()


def template(name: str = "a", **more: Any) -> Raw:
    return {"name": name, "schedulingPolicy": {"basic": {}}, **more}


def nested(depth: int) -> Raw:
    below = {"compositePodGroupTemplates": [nested(depth - 1)]} if depth else {"podGroupTemplates": [template("leaf")]}
    return template(f"t{depth}", **below)


@pytest.mark.parametrize(
    ("spec", "mistake"),
    [
        ({"podGroupTemplates": [template(schedulingConstraint={})]},
         "spec.podGroupTemplates[0].schedulingConstraint: is not a known field; did you mean schedulingConstraints?"),
        ({"podGroupTemplates": [template(), template()]},
         "spec.podGroupTemplates[1].name: a is the name of two templates; give each template a name of its own"),
        ({"podGroupTemplates": [template(f"t{number}") for number in range(9)]},
         "spec.podGroupTemplates: has 9 templates; use at most 8"),
        ({"podGroupTemplates": [template()], "compositePodGroupTemplates": []},
         "spec: has both podGroupTemplates and compositePodGroupTemplates; keep one of the two"),
        ({"podGroups": []}, "spec.podGroups: is not a known field; did you mean podGroupTemplates?"),
        ({"compositePodGroupTemplates": [nested(400)]},
         f"spec.{'.'.join(['compositePodGroupTemplates[0]'] * 4)}.compositePodGroupTemplates: "
         "is nested deeper than 4 levels; nest at most 4"),
    ],
)  # fmt: skip
def test_a_workload_that_cannot_be_kept_is_refused(spec: Raw, mistake: str) -> None:
    assert said(read(named("scheduling.k8s.io/v1alpha3", "Workload", "w", spec))) == [f"Workload w: {mistake}"]


def test_a_waiting_pod_of_a_workload_that_is_not_there_is_refused() -> None:
    other = pod("a", spec={"workloadRef": {"name": "trian", "podGroup": "workers"}})
    assert said(read(workload(workers(1)), other)) == [
        "Pod a: spec.workloadRef.name: there is no Workload trian; did you mean train? create it, or correct the name"
    ]
