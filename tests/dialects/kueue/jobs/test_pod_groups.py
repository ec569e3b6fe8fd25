from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.jobs.injection import Info, StartConflict
from closeknit.dialects.kueue.jobs.kinds import Finished
from closeknit.dialects.kueue.jobs.kinds import pod_groups as groups
from closeknit.dialects.kueue.objects import Unreadable
from closeknit.model.gates import Gates

Raw = dict[str, Any]
KUEUE = Gates.profile("kueue")
PREFIX = "kueue.x-k8s.io/"
FAST, SERVING = {"pod-group-fast-admission": "true"}, {"pod-group-serving": "true"}


def a_pod(
    name: str,
    phase: str = "Pending",
    role: str = "main",
    total: str | None = "3",
    queue: str = "q",
    gated: bool = False,
    minute: int = 0,
    deleted: str = "",
    notes: dict[str, str] | None = None,
) -> Raw:
    annotations = {
        PREFIX + "role-hash": role,
        **{PREFIX + key: value for key, value in (notes or {}).items()},
    }
    if total is not None:
        annotations[PREFIX + "pod-group-total-count"] = total
    metadata: Raw = {
        "name": name,
        "namespace": "team",
        "uid": f"uid-{name}",
        "creationTimestamp": f"2026-01-31T12:{minute:02}:00Z",
        "labels": {PREFIX + "pod-group-name": "g", PREFIX + "queue-name": queue},
        "annotations": annotations,
    }
    if deleted:
        metadata["deletionTimestamp"] = deleted
    spec: Raw = {"containers": [{"name": "c", "image": name}]}
    if gated:
        spec["schedulingGates"] = [{"name": PREFIX + "admission"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def named(pods: list[Raw]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def test_the_name_of_a_group_is_a_label_or_an_annotation() -> None:
    assert groups.group_name(a_pod("a")) == "g"
    assert groups.group_name({"metadata": {"annotations": {PREFIX + "pod-group-name": "long"}}}) == "long"
    assert groups.group_name({"metadata": {}}) == ""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (None, "failed to extract 'kueue.x-k8s.io/pod-group-total-count' annotation"),
        ("many", "failed to extract 'kueue.x-k8s.io/pod-group-total-count' annotation"),
        ("0", "'kueue.x-k8s.io/pod-group-total-count=0': group total count should be greater than zero"),
    ],
)
def test_a_group_requires_a_total_count(said: str | None, words: str) -> None:
    with pytest.raises(Unreadable) as error:
        groups.total(a_pod("a", total=said))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("pod", "counts"),
    [
        (a_pod("a"), True),
        (a_pod("a", "Running"), True),
        (a_pod("a", "Succeeded"), True),
        (a_pod("a", "Failed"), False),
        (a_pod("a", "Running", deleted="2026-01-31T12:00:00Z"), True),
        (a_pod("a", gated=True, deleted="2026-01-31T12:00:00Z"), False),
    ],
)
def test_a_pod_counts_while_it_may_run_or_did_succeed(pod: Raw, counts: bool) -> None:
    assert groups.is_runnable(pod) is counts


def test_pods_of_a_group_agree_about_queue_and_number() -> None:
    assert groups.mismatch([a_pod("a"), a_pod("b")]) == ""
    assert groups.mismatch([a_pod("a"), a_pod("b", queue="r")]) == ("pods 'a' and 'b' has different queue names: q!=r")
    assert groups.mismatch([a_pod("a"), a_pod("b", total="4")]) == (
        "pods 'a' and 'b' has different 'kueue.x-k8s.io/pod-group-total-count' values: 3!=4"
    )


def test_a_group_is_complete_when_all_of_its_pods_exist() -> None:
    pods = [a_pod("a"), a_pod("b"), a_pod("c", "Failed")]
    assert groups.shortage(pods) == "'g' group has fewer runnable pods than expected"
    assert groups.shortage([*pods, a_pod("d")]) == ""
    assert groups.shortage([a_pod("a", notes=FAST)]) == ""


def test_a_group_has_at_most_eighteen_roles() -> None:
    pods = [a_pod(str(i), role=f"r{i}", total="19") for i in range(19)]
    assert groups.shortage(pods) == "pod group can't include more than 18 roles"


def test_roles_are_pod_sets_sorted_by_name_with_their_first_pod_as_template() -> None:
    pods = [a_pod("w0", role="worker"), a_pod("l", role="leader"), a_pod("w1", role="worker"), a_pod("x", "Failed")]
    leader, worker = groups.group_sets(pods)
    assert [(leader.name, leader.count), (worker.name, worker.count)] == [("leader", 1), ("worker", 2)]
    assert worker.template == {"spec": {"containers": [{"name": "c", "image": "w0"}]}}


def test_with_fast_admission_the_first_pod_represents_all() -> None:
    (main,) = groups.group_sets([a_pod("a", notes=FAST)])
    assert (main.name, main.count) == ("main", 3)


def test_the_workload_of_a_group_is_named_after_it_and_owned_by_its_pods() -> None:
    workload = groups.group_workload(
        [a_pod("a", notes={"podset-required-topology": "rack"}), a_pod("b"), a_pod("c")], KUEUE
    )
    assert workload == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "g",
            "namespace": "team",
            "annotations": {"kueue.x-k8s.io/is-group-workload": "true"},
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}"} for name in "abc"
            ],
        },
        "spec": {
            "podSets": [
                {
                    "name": "main",
                    "count": 3,
                    "template": {"spec": {"containers": [{"name": "c", "image": "a"}]}},
                    "topologyRequest": {"required": "rack", "podIndexLabel": "kueue.x-k8s.io/pod-group-pod-index"},
                }
            ],
            "queueName": "q",
            "priority": 0,
            "active": True,
        },
    }
    assert groups.is_of_group(workload)
    assert not groups.is_of_group({"metadata": {"name": "g"}})


def test_excess_pods_are_deleted_gated_ones_first_then_the_newest() -> None:
    pods = [
        a_pod("old", gated=True, minute=0),
        a_pod("runs", "Running", minute=9),
        a_pod("mid", gated=True, minute=1),
        a_pod("new", gated=True, minute=2),
        a_pod("gone", "Failed", minute=3),
    ]
    assert named(groups.excess(pods)) == ["new"]
    assert named(groups.excess(pods, {"main": 2})) == ["new", "mid"]
    assert named(groups.excess(pods, {"main": 0})) == ["new", "mid", "old", "runs"]
    assert groups.excess(pods, {"main": 4}) == []
    assert named(groups.excess(pods, {"other": 1})) == ["new", "mid", "old", "runs"]


def test_failed_pods_are_missed_until_others_take_their_place() -> None:
    wanted = {"leader": 1, "worker": 2}
    pods = [a_pod("l", role="leader"), a_pod("w0", "Failed", role="worker"), a_pod("w1", "Failed", role="worker")]
    assert groups.missing(pods, wanted) == {"worker": 2}
    assert groups.replaced(pods, wanted) == []
    pods.append(a_pod("w2", role="worker"))
    assert groups.missing(pods, wanted) == {"worker": 1}
    assert named(groups.replaced(pods, wanted)) == ["w0"]


@pytest.mark.parametrize(
    ("phases", "notes", "end"),
    [
        (["Succeeded", "Succeeded", "Running"], {}, None),
        (["Succeeded"] * 3, {}, Finished(True, "Pods succeeded: 3/3.")),
        (["Failed", "Succeeded", "Succeeded"], {}, None),
        (["Failed", "Succeeded", "Failed"], {"retriable-in-group": "false"}, Finished(True, "Pods succeeded: 1/3.")),
        (["Failed", "Succeeded", "Running"], {"retriable-in-group": "false"}, None),
        (["Succeeded"] * 3, SERVING, None),
    ],
)
def test_a_group_ends_when_all_succeeded_or_failed_pods_are_not_replaced(
    phases: list[str], notes: dict[str, str], end: Finished | None
) -> None:
    assert groups.finished([a_pod(str(i), phase, notes=notes) for i, phase in enumerate(phases)]) == end


def test_a_pod_past_its_deletion_time_does_not_keep_its_group_active() -> None:
    noon = 1769860800.0  # 2026-01-31T12:00:00Z
    leaving = a_pod("a", "Running", deleted="2026-01-31T12:00:30Z")
    assert groups.is_active([leaving], noon)
    assert not groups.is_active([leaving], noon + 31)
    assert not groups.is_active([a_pod("a"), a_pod("b", "Succeeded")], noon)


def test_pods_that_succeeded_are_reclaimable_unless_they_serve() -> None:
    pods = [a_pod("a", "Succeeded", role="w"), a_pod("b", "Succeeded", role="w"), a_pod("c", "Running", role="l")]
    assert groups.reclaimable(pods) == {"w": 2}
    assert groups.reclaimable([a_pod("a", "Succeeded", notes=SERVING)]) == {}


def test_a_group_is_ready_when_all_of_it_is() -> None:
    def ready(name: str, status: str) -> Raw:
        return {**a_pod(name), "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}}

    assert groups.pods_ready([ready("a", "True"), ready("b", "True"), ready("c", "True")])
    assert not groups.pods_ready([ready("a", "True"), ready("b", "True"), ready("c", "False")])
    assert not groups.pods_ready([ready("a", "True"), ready("b", "True")])


def test_pods_that_failed_are_not_waited_for_and_those_that_succeeded_are_ready() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    runs = [{**a_pod(name, "Running"), "status": {"phase": "Running", **ready}} for name in "ab"]
    assert groups.pods_ready([a_pod("x", "Failed"), *runs, a_pod("c", "Succeeded")])
    assert not groups.pods_ready([a_pod("x", "Failed"), *runs])


def test_a_pod_that_was_deleted_before_it_ran_or_should_have_ended_does_not_count() -> None:
    at_noon = "2026-01-31T12:00:00Z"
    noon = 1769860800.0
    assert not groups.is_runnable(a_pod("a", deleted=at_noon), noon)
    leaving = a_pod("a", "Running", deleted=at_noon)
    assert groups.is_runnable(leaving, noon)
    assert not groups.is_runnable(leaving, noon + 1)
    assert groups.is_runnable(a_pod("a", "Succeeded", deleted=at_noon), noon + 1)
    assert groups.next_deadline([leaving, a_pod("b", "Running")], noon) == noon + 1
    assert groups.next_deadline([leaving], noon + 1) is None
    assert groups.missing([leaving, a_pod("b"), a_pod("c")], {"main": 3}, noon + 1) == {"main": 1}


def test_a_group_is_given_up_if_the_user_deletes_all_pods_but_not_if_they_were_evicted() -> None:
    def gone(name: str, why: str = "", serving: bool = False) -> Raw:
        pod = a_pod(name, "Failed", deleted="2026-01-31T12:00:00Z", notes=SERVING if serving else None)
        pod["status"]["conditions"] = [{"type": why, "status": "True"}] if why else []
        return pod

    by_user, by_us, by_node = gone("a"), gone("b", "TerminationTarget"), gone("c", "DisruptionTarget")
    assert groups.was_given_up([by_user, by_user], False)
    assert groups.was_given_up([by_user, by_user], True)
    assert not groups.was_given_up([by_user, a_pod("d")], False)
    assert not groups.was_given_up([by_us, by_node], False)
    assert groups.was_given_up([by_user, by_node], False)
    assert not groups.was_given_up([by_user, by_us], True)
    assert not groups.was_given_up([gone("a", serving=True)], False)


def test_a_group_matches_its_workload_by_total_count_and_roles() -> None:
    pods = [a_pod("a"), a_pod("b"), a_pod("c")]
    workload = groups.group_workload(pods, KUEUE)
    assert groups.is_same(pods, workload)
    assert groups.is_same([a_pod("a", "Failed"), *pods[1:]], workload)
    assert not groups.is_same([a_pod("a", total="4"), *pods[1:]], workload)
    assert not groups.is_same([a_pod("a", role="new"), *pods[1:]], workload)


def test_each_pod_starts_with_what_its_role_gets() -> None:
    infos = [Info("leader", 1, {"l": "0"}), Info("worker", 2, {"l": "1"})]
    raw = groups.started(a_pod("w", role="worker", gated=True), infos)
    assert isinstance(raw, dict)
    assert raw["metadata"]["labels"]["l"] == "1"
    assert "schedulingGates" not in raw["spec"]
    assert groups.started(a_pod("x", role="other"), infos) == StartConflict(
        "invalid podset infos: podSetInfo with the name 'other' is not found"
    )


def test_a_pod_keeps_its_role_when_it_starts_though_its_shape_changes() -> None:
    waiting = a_pod("w", gated=True)
    del waiting["metadata"]["annotations"][PREFIX + "role-hash"]
    [podset] = groups.group_sets([waiting])
    raw = groups.started(waiting, [Info(podset.name, 1, {}, {}, {"pool": "gpu"})])
    assert isinstance(raw, dict)
    assert raw["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert groups.excess([raw], {podset.name: 1}) == []
