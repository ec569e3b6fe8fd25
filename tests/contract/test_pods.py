"""Pods: what a client sees of its defaults, and the little that may change in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract.client import Answer, Api
from contract.expect import accepted, eventually, invalid, make, refused
from contract.objects import Object, container, path, pod, pods

GATES = [{"name": "example.com/a"}, {"name": "example.com/b"}]
IN = {"key": "rack", "operator": "In", "values": ["r1"]}
EXISTS = {"key": "gpu", "operator": "Exists"}


def required(*terms: list[Object]) -> Object:
    chosen = [{"matchExpressions": term} for term in terms]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": chosen}}}


def test_the_defaults_of_a_pod(api: Api, space: str, name: str) -> None:
    held = make(api, pods(space), pod(name))
    (main,) = held["spec"]["containers"]
    assert main == {
        "name": "main",
        "image": "example.com/image:1",
        "imagePullPolicy": "IfNotPresent",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    expected = {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "enableServiceLinks": True,
    }
    assert held["spec"] == {**held["spec"], **expected}
    assert held["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_pod_without_a_scheduler_gets_the_default_one(api: Api, space: str, name: str) -> None:
    body = pod(name, nodeName="nowhere")
    del body["spec"]["schedulerName"]
    assert make(api, pods(space), body)["spec"]["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize(("image", "policy"), [("a", "Always"), ("a:latest", "Always"), ("a:1", "IfNotPresent")])
def test_an_image_without_a_fixed_tag_is_always_pulled(
    api: Api, space: str, name: str, image: str, policy: str
) -> None:
    held = make(api, pods(space), pod(name, containers=[{"name": "main", "image": image}]))
    assert held["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_the_defaults_of_ports_probes_and_volumes(api: Api, space: str, name: str) -> None:
    main = container(
        ports=[{"containerPort": 80}],
        env=[{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        livenessProbe={"httpGet": {"port": 80}},
        volumeMounts=[{"name": "c", "mountPath": "/c"}],
    )
    volumes = [{"name": "c", "configMap": {"name": "x"}}, {"name": "s", "secret": {"secretName": "y"}}]
    held = make(api, pods(space), pod(name, containers=[main], volumes=volumes))["spec"]
    kept = held["containers"][0]
    assert kept["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert kept["env"][0]["valueFrom"]["fieldRef"] == {"apiVersion": "v1", "fieldPath": "metadata.name"}
    assert kept["livenessProbe"] == {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert held["volumes"] == [
        {"name": "c", "configMap": {"name": "x", "defaultMode": 420}},
        {"name": "s", "secret": {"secretName": "y", "defaultMode": 420}},
    ]


def test_limits_are_requests_where_none_are_given(api: Api, space: str, name: str) -> None:
    main = container(resources={"limits": {"cpu": "1", "memory": "1Gi"}})
    held = make(api, pods(space), pod(name, containers=[main]))
    assert held["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert held["status"]["qosClass"] == "Guaranteed"


def test_quantities_come_back_in_their_shortest_form(api: Api, space: str, name: str) -> None:
    requests = {"cpu": "0.5", "memory": "1024Mi", "ephemeral-storage": 1000}
    held = make(api, pods(space), pod(name, containers=[container(resources={"requests": requests})]))
    kept = held["spec"]["containers"][0]["resources"]["requests"]
    assert kept == {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1k"}
    assert held["status"]["qosClass"] == "Burstable"


def test_a_quantity_that_cannot_be_read_is_a_bad_request(api: Api, space: str, name: str) -> None:
    main = container(resources={"requests": {"cpu": "many"}})
    refused(api.post(pods(space), pod(name, containers=[main])), 400, "BadRequest")


def test_a_gated_pod_says_so(api: Api, space: str, name: str) -> None:
    held = make(api, pods(space), pod(name, schedulingGates=GATES))
    (why,) = held["status"]["conditions"]
    assert (why["type"], why["status"], why["reason"]) == ("PodScheduled", "False", "SchedulingGated")


def test_a_pod_can_be_made_on_a_node(api: Api, space: str, name: str) -> None:
    held = make(api, pods(space), pod(name, nodeName="nowhere"))
    assert (held["spec"]["nodeName"], held["status"]["phase"]) == ("nowhere", "Pending")


def test_a_gated_pod_cannot_be_made_on_a_node(api: Api, space: str, name: str) -> None:
    invalid(api.post(pods(space), pod(name, schedulingGates=GATES, nodeName="nowhere")), "spec.nodeName")


def test_a_pod_has_the_priority_of_its_class(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(
        path("scheduling.k8s.io/v1/priorityclasses"),
        {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": "Never"},
    )
    eventually(lambda: api.post(pods(space), pod(name, priorityClassName=name)).status == 201)
    held = accepted(api.get(pods(space, name)))["spec"]
    assert (held["priority"], held["preemptionPolicy"]) == (1000, "Never")


def test_a_priority_class_that_does_not_exist_is_forbidden(api: Api, space: str, name: str) -> None:
    refused(api.post(pods(space), pod(name, priorityClassName="no-such-class")), 403, "Forbidden")


def test_a_priority_may_not_be_given_as_a_number(api: Api, space: str, name: str) -> None:
    refused(api.post(pods(space), pod(name, priority=7)), 403, "Forbidden")


@pytest.mark.parametrize(
    ("field", "spec"),
    [
        ("spec.containers", {"containers": []}),
        ("spec.containers[0].image", {"containers": [{"name": "main"}]}),
        ("spec.containers[0].name", {"containers": [container("Bad_Name")]}),
        ("spec.containers[1].name", {"containers": [container("a"), container("a")]}),
        ("spec.restartPolicy", {"restartPolicy": "Sometimes"}),
        ("spec.activeDeadlineSeconds", {"activeDeadlineSeconds": 0}),
        ("spec.nodeName", {"nodeName": "Bad_Name"}),
        ("spec.nodeSelector", {"nodeSelector": {"bad key": "x"}}),
        ("spec.tolerations[0].operator", {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}),
        ("spec.schedulingGates[1]", {"schedulingGates": [GATES[0], GATES[0]]}),
        ("spec.schedulingGates[0]", {"schedulingGates": [{"name": "bad name"}]}),
        (
            "spec.containers[0].resources.requests",
            {"containers": [container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]},
        ),
        (
            "spec.containers[0].resources.limits",
            {"containers": [container(resources={"requests": {"example.com/gpu": "1"}})]},
        ),
        (
            "spec.containers[0].resources.limits[example.com/gpu]",
            {"containers": [container(resources={"limits": {"example.com/gpu": "0.5"}})]},
        ),
        (
            "spec.containers[0].volumeMounts[0].name",
            {"containers": [container(volumeMounts=[{"name": "v", "mountPath": "/v"}])]},
        ),
        (
            "spec.topologySpreadConstraints[0].maxSkew",
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 0, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
        ),
        (
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
            {"affinity": required()},
        ),
    ],
)
def test_an_invalid_pod_names_its_field(api: Api, space: str, name: str, field: str, spec: Object) -> None:
    assert invalid(api.post(pods(space), pod(name, **spec)), field)["kind"] == "Pod"


def test_the_image_of_a_container_may_change(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    held = accepted(api.strategic(pods(space, name), {"spec": {"containers": [{"name": "main", "image": "other:2"}]}}))
    assert held["spec"]["containers"][0]["image"] == "other:2"


@pytest.mark.parametrize(
    "change",
    [
        {"containers": [{"name": "main", "command": ["x"]}]},
        {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
        {"nodeName": "nowhere"},
        {"nodeSelector": {"a": "b"}},
        {"schedulerName": "other"},
        {"terminationGracePeriodSeconds": 5},
        {"priorityClassName": "system-node-critical"},
        {"affinity": required([IN])},
        {"restartPolicy": "Never"},
    ],
)
def test_other_fields_of_a_pod_may_not_change(api: Api, space: str, name: str, change: Object) -> None:
    make(api, pods(space), pod(name))
    invalid(api.strategic(pods(space, name), {"spec": change}), "spec")


def test_containers_may_not_be_added(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    invalid(api.strategic(pods(space, name), {"spec": {"containers": [container("two")]}}), "spec.containers")


def test_a_deadline_may_be_set_and_lowered_but_not_raised_or_removed(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    for seconds in (50, 40):
        accepted(api.merge(pods(space, name), {"spec": {"activeDeadlineSeconds": seconds}}))
    for late in (60, None):
        change = {"spec": {"activeDeadlineSeconds": late}}
        invalid(api.merge(pods(space, name), change), "spec.activeDeadlineSeconds")


def test_tolerations_may_be_added_but_not_taken_away(api: Api, space: str, name: str) -> None:
    held = make(api, pods(space), pod(name, tolerations=[{"key": "a", "operator": "Exists"}]))["spec"]["tolerations"]
    more = [*held, {"key": "b", "operator": "Exists"}]
    changed = accepted(api.merge(pods(space, name), {"spec": {"tolerations": more}}))
    assert {"key": "b", "operator": "Exists"} in changed["spec"]["tolerations"]
    fewer = {"spec": {"tolerations": [each for each in more if each["key"] != "a"]}}
    invalid(api.merge(pods(space, name), fewer), "spec.tolerations")


def test_labels_and_annotations_of_a_pod_may_change(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, {"labels": {"a": "1"}}))
    change = {"metadata": {"labels": {"a": None, "b": "2"}, "annotations": {"c": "3"}}}
    held = accepted(api.merge(pods(space, name), change))["metadata"]
    assert (held["labels"], held["annotations"]) == ({"b": "2"}, {"c": "3"})


def test_gates_are_removed_one_by_one(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, schedulingGates=GATES))
    held = accepted(api.merge(pods(space, name), {"spec": {"schedulingGates": GATES[1:]}}))
    assert held["spec"]["schedulingGates"] == GATES[1:]
    held = accepted(api.merge(pods(space, name), {"spec": {"schedulingGates": None}}))
    assert "schedulingGates" not in held["spec"]


def test_a_gate_is_removed_by_its_name(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, schedulingGates=GATES))
    change = {"spec": {"schedulingGates": [{"name": "example.com/a", "$patch": "delete"}]}}
    assert accepted(api.strategic(pods(space, name), change))["spec"]["schedulingGates"] == GATES[1:]


def test_gates_cannot_be_added(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    invalid(api.merge(pods(space, name), {"spec": {"schedulingGates": GATES[:1]}}), "spec.schedulingGates[0].name")


def test_a_gated_pod_cannot_get_another_gate(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, schedulingGates=GATES))
    more = [*GATES, {"name": "example.com/c"}]
    invalid(api.merge(pods(space, name), {"spec": {"schedulingGates": more}}), "spec.schedulingGates[2].name")


def test_the_node_selector_of_a_gated_pod_may_grow(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, schedulingGates=GATES, nodeSelector={"a": "1"}))
    held = accepted(api.merge(pods(space, name), {"spec": {"nodeSelector": {"b": "2"}}}))
    assert held["spec"]["nodeSelector"] == {"a": "1", "b": "2"}
    for change in ({"a": "9"}, {"a": None}):
        invalid(api.merge(pods(space, name), {"spec": {"nodeSelector": change}}), "spec.nodeSelector")


def test_a_pod_is_ungated_and_directed_in_one_write(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, schedulingGates=GATES))
    change = {"spec": {"schedulingGates": None, "nodeSelector": {"kubernetes.io/hostname": "n1"}}}
    held = accepted(api.merge(pods(space, name), change))["spec"]
    assert held["nodeSelector"] == {"kubernetes.io/hostname": "n1"}
    assert "schedulingGates" not in held


def test_the_required_affinity_of_a_gated_pod_may_be_set_and_narrowed(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, schedulingGates=GATES))
    accepted(api.merge(pods(space, name), {"spec": {"affinity": required([IN])}}))
    accepted(api.merge(pods(space, name), {"spec": {"affinity": required([IN, EXISTS])}}))
    terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    invalid(api.merge(pods(space, name), {"spec": {"affinity": required([EXISTS])}}), f"{terms}[0]")
    invalid(api.merge(pods(space, name), {"spec": {"affinity": required([IN, EXISTS], [IN])}}), terms)


def test_an_address_in_the_status_fills_the_list_of_addresses(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    held = accepted(api.merge(pods(space, name, "status"), {"status": {"phase": "Running", "podIP": "10.1.2.3"}}))
    assert (held["status"]["podIP"], held["status"]["podIPs"]) == ("10.1.2.3", [{"ip": "10.1.2.3"}])
