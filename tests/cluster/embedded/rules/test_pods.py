"""What is decided about a pod when it is made, and what its status keeps."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.kinds import LIMIT_RANGE, POD, PRIORITY_CLASS, RUNTIME_CLASS
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import CONTAINER, Host, causes, pod, refused


def keys_of(tolerations: list[Raw]) -> list[tuple[str | None, int | None]]:
    return [(one.get("key"), one.get("tolerationSeconds")) for one in tolerations]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([], [("node.kubernetes.io/not-ready", 7), ("node.kubernetes.io/unreachable", 7)]),
        ([{"operator": "Exists"}], [(None, None)]),
        ([{"operator": "Exists", "effect": "NoExecute"}], [(None, None)]),
        (
            [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
            [("node.kubernetes.io/not-ready", None), ("node.kubernetes.io/unreachable", 7)],
        ),
        (
            [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}],
            [
                ("node.kubernetes.io/not-ready", None),
                ("node.kubernetes.io/not-ready", 7),
                ("node.kubernetes.io/unreachable", 7),
            ],
        ),
    ],
)
def test_a_pod_that_does_not_say_stays_on_a_lost_node_for_the_time_set(given: list[Raw], kept: Any) -> None:
    made = Host(toleration_seconds=7).create(POD, pod(tolerations=given))
    assert keys_of(made["spec"]["tolerations"]) == kept


def test_a_class_gives_a_pod_its_priority() -> None:
    host = Host()
    host.create(PRIORITY_CLASS, {"metadata": {"name": "high"}, "value": 100, "preemptionPolicy": "Never"})
    spec = host.create(POD, pod(priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (100, "Never")
    made = host.create(POD, {"metadata": {"name": "y"}, **pod(priorityClassName="system-node-critical")})["spec"]
    assert made["priority"] == 2_000_001_000


def test_a_class_for_all_is_taken_by_pods_that_name_none() -> None:
    host = Host()
    host.create(PRIORITY_CLASS, {"metadata": {"name": "plain"}, "value": 5, "globalDefault": True})
    spec = host.create(POD, pod())["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("plain", 5)


@pytest.mark.parametrize(
    "spec",
    [
        {"priorityClassName": "none"},
        {"priority": 5},
        {"preemptionPolicy": "Never"},
        {"runtimeClassName": "none"},
        {"overhead": {"cpu": "1"}},
    ],
)
def test_a_pod_that_admission_rejects_is_forbidden(spec: Raw) -> None:
    code, message = refused(lambda: Host().create(POD, pod(**spec)))
    assert code == 403
    assert message.startswith('pods "x" is forbidden: ')


def test_a_runtime_class_brings_its_overhead_and_its_place() -> None:
    host = Host()
    host.create(
        RUNTIME_CLASS,
        {
            "metadata": {"name": "box"},
            "handler": "box",
            "overhead": {"podFixed": {"cpu": "250m", "memory": "1024Mi"}},
            "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "z", "operator": "Exists"}]},
        },
    )
    spec = host.create(POD, pod(runtimeClassName="box"))["spec"]
    assert spec["overhead"] == {"cpu": "250m", "memory": "1Gi"}
    assert spec["nodeSelector"] == {"a": "b"}
    assert spec["tolerations"][-1] == {"key": "z", "operator": "Exists"}
    code, message = refused(lambda: host.create(POD, pod(runtimeClassName="box", nodeSelector={"a": "c"})))
    assert code == 403
    assert "nodeSelector has a=c" in message


RANGE = {
    "metadata": {"name": "r"},
    "spec": {
        "limits": [
            {
                "type": "Container",
                "max": {"cpu": "2"},
                "min": {"cpu": "100m"},
                "default": {"cpu": "1"},
                "defaultRequest": {"cpu": "500m"},
                "maxLimitRequestRatio": {"cpu": "4"},
            },
            {"type": "Pod", "max": {"cpu": "3"}},
        ]
    },
}


def needs(**resources: Any) -> Raw:
    return {**CONTAINER, "resources": resources}


def test_a_limit_range_fills_in_what_a_container_does_not_say() -> None:
    host = Host()
    host.create(LIMIT_RANGE, RANGE)
    made = host.create(POD, pod())["spec"]["containers"][0]["resources"]
    assert made == {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}
    other = host.create(POD, {"metadata": {"name": "y"}, **pod(containers=[needs(limits={"cpu": "2"})])})
    assert other["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("containers", "words"),
    [
        ([needs(limits={"cpu": "3"})], "a Container has at most 2 of cpu, but its limit is 3"),
        (
            [needs(limits={"cpu": "1"}, requests={"cpu": "50m"})],
            "a Container asks for at least 100m of cpu, but its request is 50m",
        ),
        ([needs(limits={"cpu": "2"}, requests={"cpu": "100m"})], "at most 4 times the request, not 20 times"),
        (
            [needs(limits={"cpu": "2"}), {**needs(limits={"cpu": "2"}), "name": "d"}],
            "a Pod has at most 3 of cpu, but its limit is 4",
        ),
    ],
)
def test_a_limit_range_refuses_what_is_outside_of_it(containers: list[Raw], words: str) -> None:
    host = Host()
    host.create(LIMIT_RANGE, RANGE)
    code, message = refused(lambda: host.create(POD, pod(containers=containers)))
    assert code == 403
    assert words in message


def test_a_limit_range_of_another_namespace_is_no_matter() -> None:
    host = Host()
    host.create(LIMIT_RANGE, {**RANGE, "metadata": {"name": "r", "namespace": "kube-system"}})
    assert host.create(POD, pod())["spec"]["containers"][0]["resources"] == {}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_from_what_is_asked_for(resources: Raw, quality: str) -> None:
    made = Host().create(POD, pod(containers=[{**CONTAINER, "resources": resources}]))
    assert made["status"]["qosClass"] == quality


def test_a_gated_pod_says_so_from_the_beginning() -> None:
    made = Host().create(POD, pod(schedulingGates=[{"name": "a/b"}]))
    assert made["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": "2023-11-14T22:13:20Z",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
    ]


def test_a_status_given_at_creation_is_dropped() -> None:
    assert Host().create(POD, {**pod(), "status": {"phase": "Running"}})["status"]["phase"] == "Pending"


def test_a_write_of_the_status_keeps_what_was_decided_and_tells_what_follows() -> None:
    host = Host()
    host.create(POD, pod())
    body = {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}
    made = host.patch(POD, {"status": body, "metadata": {"ownerReferences": [{"uid": "u"}]}}, "status")
    assert made["status"] == {
        "phase": "Running",
        "qosClass": "BestEffort",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}],
    }
    assert "ownerReferences" not in made["metadata"]
    assert host.patch(POD, {"status": None}, "status")["status"] == {"qosClass": "BestEffort"}


def test_the_quality_of_service_cannot_be_written() -> None:
    host = Host()
    host.create(POD, pod())
    body = {"status": {"qosClass": "Guaranteed"}}
    assert causes(lambda: host.patch(POD, body, "status")) == [("status.qosClass", "Invalid")]
