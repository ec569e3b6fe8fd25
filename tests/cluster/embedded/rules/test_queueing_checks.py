"""What is asked of jobs that may wait in a queue, when they are made and when they change."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import DEPLOYMENT, JOB, JOB_SET, LEADER_WORKER_SET, POD, STATEFUL_SET, Kind
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import CONTAINER, KUEUE, QUEUE, Host, a_set, job, pod, template

REQUIRED, PREFERRED = KUEUE + "podset-required-topology", KUEUE + "podset-preferred-topology"
SLICE_LEVEL, SLICE_SIZE = KUEUE + "podset-slice-required-topology", KUEUE + "podset-slice-size"
GROUP = KUEUE + "podset-group-name"
MAX_SECONDS, PREBUILT, CLASS = (
    KUEUE + "max-exec-time-seconds",
    KUEUE + "prebuilt-workload-name",
    KUEUE + "priority-class",
)
ELASTIC = KUEUE + "elastic-job"


APP_WRAPPER = kinds.BY_NAME["workload.codeflare.dev", "AppWrapper"]
SPARK_APPLICATION = kinds.BY_NAME["sparkoperator.k8s.io", "SparkApplication"]


def spark(**spec: Any) -> Raw:
    return {"spec": {"driver": {}, "executor": {"instances": 1}, **spec}}


def noted(body: Raw, **notes: str) -> Raw:
    """A Job whose pods have these annotations."""
    spec = body["spec"]
    return {**body, "spec": {**spec, "template": {**spec["template"], "metadata": {"annotations": notes}}}}


def at(key: str) -> str:
    return f"spec.template.metadata.annotations[{key}]"


@pytest.mark.parametrize(
    ("notes", "wrong"),
    [
        ({REQUIRED: "rack"}, []),
        ({REQUIRED: "not a label"}, [(at(REQUIRED), "Invalid")]),
        (
            {REQUIRED: "rack", KUEUE + "podset-unconstrained-topology": "true"},
            [(at(KUEUE + "podset-unconstrained-topology"), "Invalid")],
        ),
        ({KUEUE + "podset-unconstrained-topology": "yes"}, [(at(KUEUE + "podset-unconstrained-topology"), "Invalid")]),
        ({SLICE_LEVEL: "rack"}, [(at(SLICE_LEVEL), "Invalid")]),
        ({REQUIRED: "block", SLICE_LEVEL: "rack", SLICE_SIZE: "0"}, [(at(SLICE_SIZE), "Invalid")]),
        ({REQUIRED: "block", SLICE_LEVEL: "rack", SLICE_SIZE: "8"}, [(at(SLICE_SIZE), "Invalid")]),
        ({REQUIRED: "block", SLICE_LEVEL: "rack", SLICE_SIZE: "2"}, []),
        ({REQUIRED: "rack", GROUP: "7"}, [(at(GROUP), "Invalid")]),
        ({GROUP: "g"}, [(at(GROUP), "Invalid")]),
    ],
)
def test_a_job_that_asks_for_an_impossible_topology_is_refused(notes: dict[str, str], wrong: Any) -> None:
    assert Host().refusal(JOB, noted(job(parallelism=4, completions=4), **notes)) == wrong


def test_an_elastic_job_takes_no_level() -> None:
    body = noted(job(), **{REQUIRED: "rack"})
    wrong = Host().refusal(JOB, {**body, "metadata": {"annotations": {ELASTIC: "true"}}})
    assert wrong == [(at(REQUIRED), "Invalid")]


def replicated(name: str, parallelism: int, **notes: str) -> Raw:
    pods = {"metadata": {"annotations": notes}, "spec": {"containers": [CONTAINER]}}
    spec = {"parallelism": parallelism, "completions": parallelism, "template": pods}
    return {"name": name, "template": {"spec": spec}}


def test_the_groups_of_a_job_set_are_a_leader_and_its_workers() -> None:
    notes = {REQUIRED: "rack", GROUP: "g"}
    body = {"spec": {"replicatedJobs": [replicated("leader", 2, **notes), replicated("worker", 2, **notes)]}}
    path = f"spec.replicatedJobs[1].template.spec.template.metadata.annotations[{GROUP}]"
    assert Host().refusal(JOB_SET, body) == [(path, "Invalid")]


def test_sets_with_pods_checked_one_by_one_are_not_checked_as_a_whole() -> None:
    pods = {"metadata": {"labels": {"app": "x"}, "annotations": {REQUIRED: "not a label"}}, "spec": template()["spec"]}
    for kind in (DEPLOYMENT, STATEFUL_SET):
        assert Host().refusal(kind, a_set(template=pods)) == []


def test_a_pod_that_asks_for_an_impossible_topology_is_refused() -> None:
    wrong = Host().refusal(POD, {**pod(), "metadata": {"annotations": {REQUIRED: "not a label"}}})
    assert wrong == [(f"metadata.annotations[{REQUIRED}]", "Invalid")]


def test_jobs_outside_managed_namespaces_are_not_checked() -> None:
    body = noted(job(), **{REQUIRED: "not a label"})
    assert Host().refusal(JOB, {**body, "metadata": {"namespace": "kube-system"}}) == []


def test_trusted_writers_are_not_checked() -> None:
    made = Host().create(JOB, noted(job(), **{REQUIRED: "not a label"}), trusted=True)
    assert made["spec"]["template"]["metadata"]["annotations"][REQUIRED] == "not a label"


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        ({QUEUE: "Bad_Queue"}, [(f"metadata.labels[{QUEUE}]", "Invalid")]),
        ({PREBUILT: "Bad_Name"}, [(f"metadata.labels[{PREBUILT}]", "Invalid")]),
        ({MAX_SECONDS: "0"}, [(f"metadata.labels[{MAX_SECONDS}]", "Invalid")]),
        ({MAX_SECONDS: "soon"}, [(f"metadata.labels[{MAX_SECONDS}]", "Invalid")]),
        ({QUEUE: "q", PREBUILT: "w", MAX_SECONDS: "60"}, []),
    ],
)
def test_labels_that_say_how_a_job_waits_have_a_form(labels: Raw, wrong: Any) -> None:
    assert Host().refusal(JOB, job(labels=labels)) == wrong


@pytest.mark.parametrize(
    ("kind", "body", "meta", "wrong"),
    [
        (JOB, job(), {"annotations": {ELASTIC: "true"}}, []),
        (
            STATEFUL_SET,
            a_set(),
            {"annotations": {ELASTIC: "true"}},
            [(f"metadata.annotations[{ELASTIC}]", "Forbidden")],
        ),
        (DEPLOYMENT, a_set(), {"labels": {PREBUILT: "w", MAX_SECONDS: "soon"}}, []),
        (DEPLOYMENT, a_set(), {"labels": {QUEUE: "Bad_Queue"}}, [(f"metadata.labels[{QUEUE}]", "Invalid")]),
        (
            kinds.RAY_JOB,
            {"spec": {"rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": [CONTAINER]}}}}}},
            {"labels": {QUEUE: "q"}},
            [("spec.shutdownAfterJobFinishes", "Invalid")],
        ),
        (
            APP_WRAPPER,
            {"spec": {"components": [{"podSets": [{"path": "template.spec"}], "template": {"kind": "Thing"}}]}},
            {"labels": {QUEUE: "q"}},
            [("spec.components[0].podSets[0].path", "Invalid")],
        ),
        (SPARK_APPLICATION, spark(mode="client"), {"labels": {QUEUE: "q"}}, [("spec.mode", "Invalid")]),
        (SPARK_APPLICATION, spark(mode="client"), {}, []),
        (
            SPARK_APPLICATION,
            spark(dynamicAllocation={"enabled": True}),
            {"labels": {QUEUE: "q"}},
            [("spec.dynamicAllocation.enabled", "Invalid")],
        ),
        (
            SPARK_APPLICATION,
            spark(driver={"memory": "much"}),
            {"labels": {QUEUE: "q"}},
            [("spec.driver.memory", "Invalid")],
        ),
        (
            SPARK_APPLICATION,
            spark(driver={"annotations": {REQUIRED: "not a label"}}),
            {"labels": {QUEUE: "q"}},
            [(f"spec.driver.annotations[{REQUIRED}]", "Invalid")],
        ),
        (
            SPARK_APPLICATION,
            spark(driver={"template": {"metadata": {"annotations": {REQUIRED: "not a label"}}}}),
            {"labels": {QUEUE: "q"}},
            [(f"spec.driver.template.metadata.annotations[{REQUIRED}]", "Invalid")],
        ),
    ],
)
def test_not_every_kind_can_have_everything(kind: Kind, body: Raw, meta: Raw, wrong: Any) -> None:
    assert Host().refusal(kind, {**body, "metadata": meta}) == wrong


LEAST, SAME = KUEUE + "job-min-parallelism", KUEUE + "job-completions-equal-parallelism"


@pytest.mark.parametrize(
    ("spec", "notes", "wrong"),
    [
        ({"parallelism": 4}, {LEAST: "2"}, []),
        ({"parallelism": 4}, {LEAST: "4"}, [(f"metadata.annotations[{LEAST}]", "Invalid")]),
        ({"parallelism": 4}, {LEAST: "none"}, [(f"metadata.annotations[{LEAST}]", "Invalid")]),
        ({}, {SAME: "true"}, [(f"metadata.annotations[{SAME}]", "Invalid")]),
        ({"completionMode": "Indexed", "completions": 3}, {SAME: "true"}, [("spec.completions", "Invalid")]),
        ({"completionMode": "Indexed", "completions": 3, "parallelism": 3}, {SAME: "true"}, []),
    ],
)
def test_a_job_that_may_start_with_fewer_pods_says_how_few(spec: Raw, notes: Raw, wrong: Any) -> None:
    assert Host().refusal(JOB, {**job(**spec), "metadata": {"annotations": notes}}) == wrong


def running(labels: Raw) -> Host:
    host = Host()
    host.create(JOB, job(labels=labels))
    host.patch(JOB, {"spec": {"suspend": False}}, trusted=True)
    return host


@pytest.mark.parametrize(
    ("labels", "change", "while_it_waits", "while_it_runs"),
    [
        ({QUEUE: "q"}, {QUEUE: "r"}, [], [QUEUE]),
        ({QUEUE: "q"}, {CLASS: "high"}, [], [CLASS]),
        ({QUEUE: "q", CLASS: "low"}, {CLASS: "high"}, [], []),
        ({QUEUE: "q", CLASS: "low"}, {CLASS: None}, [CLASS], [CLASS]),
        ({QUEUE: "q", MAX_SECONDS: "60"}, {MAX_SECONDS: "90"}, [], [MAX_SECONDS]),
        ({QUEUE: "q", PREBUILT: "w"}, {PREBUILT: "v"}, [], [PREBUILT]),
    ],
)
def test_queue_and_limits_of_a_job_are_immutable_while_it_runs(
    labels: Raw, change: Raw, while_it_waits: list[str], while_it_runs: list[str]
) -> None:
    waiting = Host()
    waiting.create(JOB, job(labels=labels))
    for host, wrong in ((running(labels), while_it_runs), (waiting, while_it_waits)):
        found = host.change_refusal(JOB, {"metadata": {"labels": change}})
        assert found == [(f"metadata.labels[{key}]", "Invalid") for key in wrong]


def test_a_queue_is_not_left_where_the_default_one_would_be_taken() -> None:
    host = Host()
    host.create(JOB, job(labels={QUEUE: "q", "a": "b"}))
    host.default_queue()
    wrong = host.change_refusal(JOB, {"metadata": {"labels": {QUEUE: None}}})
    assert wrong == [(f"metadata.labels[{QUEUE}]", "Invalid")]


def test_whether_a_job_is_elastic_is_immutable() -> None:
    host = Host()
    host.create(JOB, job())
    wrong = host.change_refusal(JOB, {"metadata": {"annotations": {ELASTIC: "true"}}})
    assert wrong == [(f"metadata.annotations[{ELASTIC}]", "Invalid")]


def test_a_job_that_may_start_with_fewer_pods_keeps_its_number_while_it_runs() -> None:
    host = Host()
    host.create(JOB, {**job(parallelism=4), "metadata": {"labels": {QUEUE: "q"}, "annotations": {LEAST: "2"}}})
    assert host.change_refusal(JOB, {"spec": {"parallelism": 5}}) == []
    host.patch(JOB, {"spec": {"suspend": False}}, trusted=True)
    assert host.change_refusal(JOB, {"spec": {"parallelism": 6}}) == [("spec.parallelism", "Forbidden")]


NAME, COUNT = KUEUE + "pod-group-name", KUEUE + "pod-group-total-count"


@pytest.mark.parametrize(
    ("labels", "notes", "wrong"),
    [
        ({QUEUE: "q", NAME: "g"}, {COUNT: "2"}, []),
        ({QUEUE: "q", NAME: "g"}, {}, [(f"metadata.annotations[{COUNT}]", "Required")]),
        ({QUEUE: "q"}, {COUNT: "2"}, [(f"metadata.labels[{NAME}]", "Required")]),
        ({QUEUE: "q", NAME: "g"}, {COUNT: "0"}, [(f"metadata.annotations[{COUNT}]", "Invalid")]),
        ({QUEUE: "q", NAME: "g"}, {COUNT: "many"}, [(f"metadata.annotations[{COUNT}]", "Invalid")]),
        ({QUEUE: "q", NAME: "Bad_Group"}, {COUNT: "2"}, [(f"metadata.labels[{NAME}]", "Invalid")]),
        ({KUEUE + "managed": "no"}, {}, [(f"metadata.labels[{KUEUE}managed]", "Forbidden")]),
    ],
)
def test_a_group_of_pods_has_a_name_and_a_number(labels: Raw, notes: Raw, wrong: Any) -> None:
    assert Host().refusal(POD, {**pod(), "metadata": {"labels": labels, "annotations": notes}}) == wrong


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"labels": {NAME: "h"}}, f"metadata.labels[{NAME}]"),
        ({"labels": {KUEUE + "managed": "false"}}, f"metadata.labels[{KUEUE}managed]"),
        ({"annotations": {KUEUE + "retriable-in-group": None}}, f"metadata.annotations[{KUEUE}retriable-in-group]"),
    ],
)
def test_a_pod_stays_in_its_group(change: Raw, field: str) -> None:
    host = Host()
    notes = {COUNT: "2", KUEUE + "retriable-in-group": "false"}
    host.create(POD, {**pod(), "metadata": {"labels": {QUEUE: "q", NAME: "g"}, "annotations": notes}})
    assert field in [wrong for wrong, _ in host.change_refusal(POD, {"metadata": change})]


def needing(cpu: str, image: str = "i:1") -> Raw:
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}}


@pytest.mark.parametrize(
    ("labels", "change", "wrong"),
    [
        ({QUEUE: "q"}, {"replicas": 0}, []),
        ({QUEUE: "q"}, {"replicas": 5}, [("spec.replicas", "Forbidden")]),
        ({QUEUE: "q"}, {"template": needing("2")}, [("spec.template.spec", "Invalid")]),
        ({QUEUE: "q"}, {"template": needing("1", image="o:1")}, []),
        ({"a": "b"}, {"replicas": 5, "template": needing("2")}, []),
    ],
)
def test_a_stateful_set_in_a_queue_is_whole_or_gone(labels: Raw, change: Raw, wrong: Any) -> None:
    host = Host()
    host.create(STATEFUL_SET, {**a_set(replicas=3, template=needing("1")), "metadata": {"labels": labels}})
    assert host.change_refusal(STATEFUL_SET, {"spec": change}) == wrong


def test_the_templates_of_a_leader_worker_set_in_a_queue_stay() -> None:
    host = Host()
    body = {"spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": needing("1")}}}
    host.create(LEADER_WORKER_SET, {**body, "metadata": {"labels": {QUEUE: "q"}}})
    change = {"spec": {"leaderWorkerTemplate": {"workerTemplate": needing("2")}}}
    path = "spec.leaderWorkerTemplate.workerTemplate.spec"
    assert host.change_refusal(LEADER_WORKER_SET, change) == [(path, "Invalid")]


def test_a_deployment_with_running_pods_stays_in_its_queue() -> None:
    host = Host()
    host.create(DEPLOYMENT, {**a_set(), "metadata": {"labels": {QUEUE: "q"}}})
    change = {"metadata": {"labels": {QUEUE: "r"}}}
    host.patch(DEPLOYMENT, {"status": {"readyReplicas": 1}}, "status", trusted=True)
    assert host.change_refusal(DEPLOYMENT, change) == [(f"metadata.labels[{QUEUE}]", "Invalid")]
    host.patch(DEPLOYMENT, {"status": {"readyReplicas": 0}}, "status", trusted=True)
    assert host.change_refusal(DEPLOYMENT, change) == []


@pytest.mark.parametrize("kind", [DEPLOYMENT, STATEFUL_SET], ids=lambda one: one.kind)
def test_a_serving_set_does_not_leave_its_queue(kind: Kind) -> None:
    host = Host()
    host.create(kind, {**a_set(), "metadata": {"labels": {QUEUE: "q"}}})
    wrong = host.change_refusal(kind, {"metadata": {"labels": {QUEUE: None}}})
    assert wrong == [(f"metadata.labels[{QUEUE}]", "Invalid")]


def test_groups_of_ray_cannot_be_called_as_the_head_is() -> None:
    head = {"template": {"spec": {"containers": [CONTAINER]}}}
    spec = {"headGroupSpec": head, "workerGroupSpecs": [{"groupName": "head", **head}]}
    wrong = Host().refusal(kinds.RAY_CLUSTER, {"spec": spec, "metadata": {"labels": {QUEUE: "q"}}})
    assert wrong == [("spec.workerGroupSpecs[0].groupName", "Invalid")]
    assert Host().refusal(kinds.RAY_CLUSTER, {"spec": spec}) == []
