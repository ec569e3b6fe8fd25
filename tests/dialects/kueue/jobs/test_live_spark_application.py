"""SparkApplication: the requests of its pods as Spark computes them, and the injected fields of a role."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from closeknit.dialects.kueue.jobs import requests
from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE, Finished
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.dialects.kueue.jobs.workload_object import workload_for
from closeknit.model.gates import Gates
from closeknit.model.mistake import InputError
from closeknit.model.shape import Toleration

SPARK = LIVE["sparkoperator.k8s.io", "SparkApplication"]
KUEUE = Gates.profile("kueue")
Raw = dict[str, Any]


def app(driver: Raw | None = None, executor: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "pi", "namespace": "default", "uid": "u"},
        "spec": {
            "type": "Scala",
            "mode": "cluster",
            "suspend": True,
            "driver": driver or {},
            "executor": {"instances": 2, **(executor or {})},
            **spec,
        },
    }


def asked(raw: Raw) -> list[tuple[str, str]]:
    """The requests of driver and executors: cpu and memory."""
    found = [one.template["spec"]["containers"][0]["resources"]["requests"] for one in SPARK.pod_sets(raw)]
    return [(one["cpu"], one["memory"]) for one in found]


def wrong(raw: Raw) -> str:
    with pytest.raises(InputError) as refused:
        requests([("f.yaml", raw)], KUEUE)
    return str(refused.value)


def test_a_driver_and_as_many_executors_as_instances() -> None:
    assert [(one.name, one.count) for one in SPARK.pod_sets(app())] == [("driver", 1), ("executor", 2)]


def test_by_default_a_pod_requests_one_core_and_one_gigabyte_with_its_overhead() -> None:
    assert asked(app()) == [("1", "1408Mi"), ("1", "1408Mi")]


@pytest.mark.parametrize(
    ("role", "spec", "cpu", "memory"),
    [
        ({"cores": 4, "memory": "8g"}, {}, "4", "9011Mi"),
        ({"cores": 4, "coreRequest": "500m"}, {}, "500m", "1408Mi"),
        ({"memory": "512"}, {}, "1", "896Mi"),
        ({"memory": "2048mb", "memoryOverhead": "1g"}, {}, "1", "3072Mi"),
        ({"memory": "4g"}, {"type": "Python"}, "1", "5734Mi"),
        ({"memory": "4g"}, {"type": "Python", "memoryOverheadFactor": "0.2"}, "1", "4915Mi"),
        (
            {"memory": "4g"},
            {"memoryOverheadFactor": "0.2", "sparkConf": {"spark.kubernetes.memoryOverheadFactor": "0.5"}},
            "1",
            "6144Mi",
        ),
        ({}, {"sparkConf": {"spark.executor.cores": "3", "spark.executor.memory": "2g"}}, "3", "2432Mi"),
        ({"cores": 2}, {"sparkConf": {"spark.kubernetes.executor.request.cores": "1500m"}}, "1500m", "1408Mi"),
        ({}, {"type": "Python", "sparkConf": {"spark.executor.pyspark.memory": "1g"}}, "1", "2457Mi"),
        ({}, {"sparkConf": {"spark.executor.pyspark.memory": "1g"}}, "1", "1408Mi"),
        (
            {},
            {"sparkConf": {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "1073741824"}},
            "1",
            "2432Mi",
        ),
    ],
)
def test_cores_and_memory_are_worked_out_as_spark_does(role: Raw, spec: Raw, cpu: str, memory: str) -> None:
    assert asked(app(executor=role, **spec))[1] == (cpu, memory)


def test_limits_devices_and_sidecars_are_counted() -> None:
    role = {
        "coreLimit": "2",
        "memoryLimit": "3g",
        "gpu": {"name": "nvidia.com/gpu", "quantity": 2},
        "sidecars": [{"name": "logs", "image": "l"}],
        "priorityClassName": "high",
    }
    _, executor = SPARK.pod_sets(app(executor=role))
    pod = executor.template["spec"]
    assert pod["containers"][0]["resources"]["limits"] == {"cpu": "2", "nvidia.com/gpu": "2", "memory": "3072Mi"}
    assert [one["name"] for one in pod["containers"]] == ["spark-kubernetes-executor", "logs"]
    assert pod["priorityClassName"] == "high"


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (app({"memory": "1.5g"}), 'spec.driver.memory: is "1.5g", not an amount of memory'),
        (app({"coreRequest": "a lot"}), "spec.driver.coreRequest: "),
        (app({"cores": "x"}), "spec.driver.cores: "),
        (app(memoryOverheadFactor="much"), 'spec.memoryOverheadFactor: is "much"'),
        (app(sparkConf={"spark.executor.memory": "big"}), "spec.sparkConf[spark.executor.memory]: "),
        (app(dynamicAllocation={"enabled": True}), "spec.dynamicAllocation.enabled: makes the number of pods unknown"),
        (app(executor={"instances": -1}), "spec.executor.instances: is -1"),
    ],
)
def test_an_application_without_determinable_pods_is_refused(raw: Raw, told: str) -> None:
    assert told in wrong(raw)


def test_annotations_of_a_role_ask_for_topology() -> None:
    rack = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    raw = app(executor={"annotations": rack, "template": {"metadata": {"annotations": {"a": "1"}}}})
    [found] = requests([("f.yaml", raw)], KUEUE).jobs
    assert found.order == ("driver", "executor")
    made = workload_for(raw, SPARK, KUEUE)
    assert [one.get("topologyRequest") for one in made["spec"]["podSets"]] == [None, {"required": "rack"}]
    assert made["spec"]["podSets"][1]["template"]["metadata"]["annotations"] == {"a": "1", **rack}


def infos(driver: str = "gpu", executor: str = "gpu") -> list[Info]:
    toleration = (Toleration("gpu", "Exists", "", ""),)
    return [
        Info(name, count, {"l": "1"}, {"a": "2"}, {pool: "yes"}, toleration, ("example.com/gate",))
        for name, count, pool in (("driver", 1, driver), ("executor", 2, executor))
    ]


def test_injected_fields_are_set_on_the_role() -> None:
    running = started(SPARK, app({"labels": {"mine": "1"}}), infos())
    assert isinstance(running, dict)
    assert running["spec"]["suspend"] is False
    assert running["spec"]["driver"] == {
        "labels": {"mine": "1", "l": "1"},
        "annotations": {"a": "2"},
        "nodeSelector": {"gpu": "yes"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "template": {
            "spec": {
                "containers": [{"name": "spark-kubernetes-driver"}],
                "schedulingGates": [{"name": "example.com/gate"}],
            }
        },
    }


@pytest.mark.parametrize(
    "raw",
    [
        app(),
        app({"labels": {"a": "b"}, "annotations": {}, "tolerations": [], "nodeSelector": {"x": "y"}}),
        app({"template": {"metadata": {"labels": {"t": "1"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}),
        app({"labels": {"t": "2"}, "template": {"metadata": {"labels": {"t": "1"}}}}),
        app(executor={"template": {"spec": {"schedulingGates": [{"name": "theirs"}]}}}),
        app(nodeSelector={"zone": "a"}),
    ],
    ids=["plain", "filled", "template", "over a template", "gated", "shared selector"],
)
def test_a_stopped_application_is_as_it_was_submitted(raw: Raw) -> None:
    before, workload = deepcopy(raw), workload_for(raw, SPARK, KUEUE)
    running = started(SPARK, raw, infos())
    assert isinstance(running, dict)
    step = stopping(SPARK, running, workload)
    assert step is not None
    assert step.body == before
    assert raw == before


def test_a_shared_selector_gets_what_either_role_needs() -> None:
    running = started(SPARK, app(nodeSelector={"zone": "a"}), infos("small", "large"))
    assert isinstance(running, dict)
    assert running["spec"]["nodeSelector"] == {"zone": "a", "small": "yes", "large": "yes"}
    assert "nodeSelector" not in running["spec"]["driver"]


@pytest.mark.parametrize(
    ("state", "end"),
    [
        ("RUNNING", None),
        ("SUCCEEDING", None),
        ("COMPLETED", Finished(True, "")),
        ("FAILED", Finished(False, "oom")),
        ("SUBMISSION_FAILED", Finished(False, "oom")),
    ],
)
def test_the_state_tells_how_it_ended(state: str, end: Finished | None) -> None:
    message = {"errorMessage": "oom"} if "FAILED" in state else {}
    assert SPARK.finished({**app(), "status": {"applicationState": {"state": state, **message}}}) == end


@pytest.mark.parametrize(("executors", "ready"), [([], False), (["RUNNING"], False), (["RUNNING", "COMPLETED"], True)])
def test_it_is_ready_when_all_executors_have_run(executors: list[str], ready: bool) -> None:
    states = {f"pi-exec-{index}": state for index, state in enumerate(executors)}
    status = {"applicationState": {"state": "RUNNING"}, "executorState": states}
    assert SPARK.pods_ready({**app(), "status": status}) is ready


def test_only_cluster_mode_without_dynamic_allocation_can_wait() -> None:
    assert SPARK.refusal(app()) == ""
    assert SPARK.refusal(app(mode="client")).startswith("spec.mode: only Cluster mode")
    assert SPARK.refusal(app(dynamicAllocation={"enabled": True})).startswith("spec.dynamicAllocation.enabled: ")
