from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs.injection import Info, StartConflict, info_of, injected, plus, restored
from closeknit.model.assignment import Assignment
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.request import Constraint, Layer, PodSet, Request
from closeknit.model.shape import Shape, Toleration
from closeknit.model.workload import Admission, Check, PodSetAssignment, PodSetUpdate, Status, Workload, WorkloadPodSet

Raw = dict[str, Any]
KUEUE = Gates.profile("kueue")
NO_TAS = Gates.profile("kueue", {"TopologyAwareScheduling": False})
GPU = Toleration("gpu", "Exists", "", "NoSchedule")
FLAVORS = {
    "cpu": Flavor("cpu", {"pool": "big"}, tolerations=(GPU, Toleration("a", "Equal", "b"))),
    "gpu": Flavor("gpu", {"gpu": "h100"}, tolerations=(GPU,), topology="t"),
    "plain": Flavor("plain"),
}
HOSTS = Assignment.of(["kubernetes.io/hostname"], [(("n1",), 2)])
QUEUES = {"kueue.x-k8s.io/local-queue-name": "lq", "kueue.x-k8s.io/cluster-queue-name": "cq"}


def a_workload(
    *given: PodSetAssignment,
    constraint: Constraint | None = None,
    checks: tuple[Check, ...] = (),
    queue: str = "lq",
    cluster_queue: str = "cq",
) -> Workload:
    names = ("main", "extra")[: len(given)]
    request = Request.of(PodSet(name, 2, Shape.of({}), constraint) for name in names)
    parts = tuple(WorkloadPodSet(name, {}) for name in names)
    status = Status(admission=Admission(cluster_queue, given), checks=checks)
    return Workload("team", "job-train", request, parts, queue, status=status)


def given(name: str = "main", topology: Assignment | None = None, **flavors: str) -> PodSetAssignment:
    return PodSetAssignment(name, flavors, {}, 2, topology)


def only(infos: tuple[Info, ...] | StartConflict) -> Info:
    assert isinstance(infos, tuple)
    (info,) = infos
    return info


def test_a_pod_set_gets_the_labels_and_tolerations_of_all_its_flavors() -> None:
    info = only(info_of(a_workload(given(cpu="cpu", memory="cpu", gpu="gpu")), FLAVORS, KUEUE))
    assert info == Info(
        "main",
        2,
        {**QUEUES, "kueue.x-k8s.io/podset": "main"},
        {"kueue.x-k8s.io/workload": "job-train"},
        {"pool": "big", "gpu": "h100"},
        (GPU, Toleration("a", "Equal", "b")),
        (),
    )


def test_without_topology_pods_have_no_workload_annotation() -> None:
    info = only(info_of(a_workload(given(topology=HOSTS, cpu="plain")), FLAVORS, NO_TAS))
    assert (info.annotations, info.gates) == ({}, ())


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        (None, {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}),
        (Constraint(slices=(Layer("rack", 2),)), {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}),
        (Constraint("rack"), {}),
        (Constraint(preferred="rack"), {}),
        (Constraint(unconstrained=True), {}),
    ],
)
def test_placed_pods_are_gated_and_without_a_constraint_marked_unconstrained(
    constraint: Constraint | None, said: Raw
) -> None:
    info = only(info_of(a_workload(given(topology=HOSTS, cpu="plain"), constraint=constraint), FLAVORS, KUEUE))
    assert info.gates == ("kueue.x-k8s.io/topology",)
    assert info.annotations == {"kueue.x-k8s.io/workload": "job-train", **said}


def test_pods_of_an_elastic_workload_carry_the_name_that_its_slices_share() -> None:
    info = only(info_of(a_workload(given(cpu="plain")), FLAVORS, KUEUE, family="job-train-first"))
    assert info.annotations["kueue.x-k8s.io/workload-slice-name"] == "job-train-first"


def test_a_queue_name_that_is_no_label_value_is_left_out() -> None:
    info = only(info_of(a_workload(given(cpu="plain"), cluster_queue="c" * 64), FLAVORS, KUEUE))
    assert info.labels == {"kueue.x-k8s.io/local-queue-name": "lq", "kueue.x-k8s.io/podset": "main"}


def test_infos_come_in_the_order_of_the_pod_sets() -> None:
    infos = info_of(a_workload(given("extra", cpu="plain"), given("main", cpu="plain")), FLAVORS, KUEUE)
    assert isinstance(infos, tuple)
    assert [info.name for info in infos] == ["main", "extra"]


def test_a_missing_flavor_or_assignment_is_a_temporary_conflict() -> None:
    assert info_of(a_workload(given(cpu="new")), FLAVORS, KUEUE) == StartConflict(
        'ResourceFlavor "new" not found', True
    )
    pending = Workload("team", "w")
    assert info_of(pending, FLAVORS, KUEUE) == StartConflict("the workload is not admitted", True)


def test_checks_add_to_the_pods_of_the_pod_sets_that_they_name() -> None:
    update = PodSetUpdate("main", {"l": "1"}, {"a": "1"}, {"node-group": "g1"}, (GPU, Toleration("b", "Exists")))
    checks = (Check("prov", "Ready", updates=(update, PodSetUpdate("extra", {"l": "2"}))),)
    info = only(info_of(a_workload(given(cpu="gpu"), checks=checks), FLAVORS, KUEUE))
    assert info.labels["l"] == "1"
    assert info.annotations == {"kueue.x-k8s.io/workload": "job-train", "a": "1"}
    assert info.selector == {"gpu": "h100", "node-group": "g1"}
    assert info.tolerations == (GPU, Toleration("b", "Exists"))


def test_a_check_that_contradicts_a_flavor_keeps_the_job_from_starting() -> None:
    checks = (Check("prov", "Ready", updates=(PodSetUpdate("main", selector={"gpu": "a100"}),)),)
    assert info_of(a_workload(given(cpu="gpu"), checks=checks), FLAVORS, KUEUE) == StartConflict(
        "invalid admission check PodSetUpdate: conflict for nodeSelector: "
        "conflict for key=gpu, value1=h100, value2=a100"
    )


TEMPLATE: Raw = {
    "metadata": {"labels": {"app": "web"}, "name": "n"},
    "spec": {
        "containers": [{"name": "c"}],
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "a", "value": "b"}],
        "affinity": {"x": {}},
    },
}


def test_everything_is_merged_into_a_template_and_affinity_is_left_alone() -> None:
    info = Info("main", 2, {"l": "1"}, {"w": "x"}, {"pool": "big"}, (GPU,), ("kueue.x-k8s.io/topology",))
    assert injected(TEMPLATE, info) == {
        "metadata": {"labels": {"app": "web", "l": "1"}, "name": "n", "annotations": {"w": "x"}},
        "spec": {
            "containers": [{"name": "c"}],
            "nodeSelector": {"zone": "a", "pool": "big"},
            "tolerations": [
                {"key": "a", "value": "b"},
                {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
            ],
            "affinity": {"x": {}},
            "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
        },
    }


def test_an_existing_toleration_is_not_added_again() -> None:
    got = injected(TEMPLATE, Info("main", 2, tolerations=(Toleration("a", "Equal", "b"),)))
    assert isinstance(got, dict)
    assert got["spec"]["tolerations"] == [{"key": "a", "value": "b"}]
    other = injected(TEMPLATE, Info("main", 2, tolerations=(Toleration("a", "Equal", "b", seconds=5),)))
    assert isinstance(other, dict)
    assert other["spec"]["tolerations"][1] == {"key": "a", "operator": "Equal", "value": "b", "tolerationSeconds": 5}


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (Info("main", 1, selector={"zone": "b"}), "nodeSelector: conflict for key=zone, value1=a, value2=b"),
        (Info("main", 1, labels={"app": "db"}), "labels: conflict for key=app, value1=web, value2=db"),
    ],
)
def test_a_key_with_another_value_is_a_conflict(info: Info, words: str) -> None:
    assert injected(TEMPLATE, info) == StartConflict(f"invalid admission check PodSetUpdate: conflict for {words}")
    assert injected(TEMPLATE, Info("main", 1, selector={"zone": "a"})) == TEMPLATE


def test_annotations_are_compared_too() -> None:
    assert isinstance(plus(Info("m", 1, annotations={"a": "1"}), Info("m", 1, annotations={"a": "2"})), StartConflict)


def test_what_was_changed_since_and_is_not_ours_stays_when_a_template_is_restored() -> None:
    running: Raw = {
        "metadata": {"labels": {"app": "web", "l": "1"}, "name": "new"},
        "spec": {"containers": [{"name": "d"}], "nodeSelector": {"zone": "a", "pool": "big"}},
    }
    assert restored(running, TEMPLATE) == {
        "metadata": {"labels": {"app": "web"}, "name": "new"},
        "spec": {
            "containers": [{"name": "d"}],
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "a", "value": "b"}],
        },
    }
