from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.kinds import DEPLOYMENT, POD
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import CONTAINER, Host, a_set, pod

FILLED = {
    "name": "c",
    "image": "i:1",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}
TOLERATIONS = [
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
]


def spec_of(**spec: Any) -> Raw:
    made: Raw = Host().create(POD, pod(**spec))["spec"]
    return made


def container_of(**more: Any) -> Raw:
    made: Raw = spec_of(containers=[{**CONTAINER, **more}])["containers"][0]
    return made


def test_a_pod_is_filled_in_as_by_an_api_server() -> None:
    made = Host().create(POD, pod())
    assert made["spec"] == {
        "containers": [FILLED],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "enableServiceLinks": True,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": TOLERATIONS,
    }
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_template_gets_what_is_true_of_all_its_pods_and_no_more() -> None:
    limits = {"limits": {"cpu": 1, "memory": "1024Mi"}}
    inner = {"containers": [{**CONTAINER, "ports": [{"containerPort": 80}], "resources": limits}], "hostNetwork": True}
    made = Host().create(DEPLOYMENT, a_set(template={"metadata": {"labels": {"app": "x"}}, "spec": inner}))
    assert made["spec"]["template"] == {
        "metadata": {"labels": {"app": "x"}},
        "spec": {
            "containers": [
                {
                    **FILLED,
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                }
            ],
            "hostNetwork": True,
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        },
    }


def test_in_a_pod_limits_become_requests_and_ports_those_of_the_host() -> None:
    made = spec_of(
        hostNetwork=True,
        containers=[
            {**CONTAINER, "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}
        ],
    )["containers"][0]
    assert made["ports"] == [{"hostPort": 80, "containerPort": 80, "protocol": "TCP"}]
    assert made["resources"] == {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"),
        ("a:latest", "Always"),
        ("a:1", "IfNotPresent"),
        ("example:5000/a", "Always"),
        ("example:5000/a:1", "IfNotPresent"),
        ("a@sha256:00", "IfNotPresent"),
        ("a:latest@sha256:00", "Always"),
    ],
)
def test_an_image_that_may_change_is_pulled_always(image: str, policy: str) -> None:
    assert container_of(image=image)["imagePullPolicy"] == policy


def test_empty_fields_are_not_stored() -> None:
    made = spec_of(
        hostPID=False,
        nodeSelector={},
        imagePullSecrets=[],
        hostname="",
        activeDeadlineSeconds=None,
        automountServiceAccountToken=False,
        affinity={},
    )
    assert made.keys() & {"hostPID", "nodeSelector", "imagePullSecrets", "hostname", "activeDeadlineSeconds"} == set()
    assert made["automountServiceAccountToken"] is False
    assert made["affinity"] == {}


def test_probes_variables_and_hooks_are_filled_in() -> None:
    made = container_of(
        livenessProbe={"httpGet": {"port": 80}, "initialDelaySeconds": 0},
        readinessProbe={"grpc": {"port": 80}, "periodSeconds": 2},
        lifecycle={"preStop": {"httpGet": {"port": 1}}},
        env=[
            {"name": "A", "value": ""},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ],
    )
    often = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert made["livenessProbe"] == {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, **often}
    assert made["readinessProbe"] == {"grpc": {"port": 80, "service": ""}, **often, "periodSeconds": 2}
    assert made["lifecycle"] == {"preStop": {"httpGet": {"path": "/", "port": 1, "scheme": "HTTP"}}}
    assert made["env"] == [
        {"name": "A"},
        {"name": "B", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}},
    ]


def test_volumes_are_filled_in() -> None:
    made = spec_of(
        volumes=[
            {"name": "a"},
            {"name": "b", "emptyDir": {"sizeLimit": "1024Mi"}},
            {"name": "c", "configMap": {"name": "x"}},
            {"name": "d", "secret": {"secretName": "x", "defaultMode": 256}},
            {"name": "e", "hostPath": {"path": "/x"}},
            {"name": "f", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"name": "g", "projected": {"sources": [{"configMap": {"name": "x"}}]}},
        ]
    )["volumes"]
    assert made == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "c", "configMap": {"name": "x", "defaultMode": 420}},
        {"name": "d", "secret": {"secretName": "x", "defaultMode": 256}},
        {"name": "e", "hostPath": {"path": "/x", "type": ""}},
        {
            "name": "f",
            "downwardAPI": {
                "items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}],
                "defaultMode": 420,
            },
        },
        {"name": "g", "projected": {"sources": [{"configMap": {"name": "x"}}], "defaultMode": 420}},
    ]


def test_resources_of_the_whole_pod_come_from_its_containers_and_its_limits() -> None:
    inner = [{**CONTAINER, "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]
    made = spec_of(containers=inner, resources={"limits": {"cpu": "1000m"}})
    assert made["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "500m", "memory": "1Gi"}}
    assert spec_of(resources={"limits": {"cpu": 1}})["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}


def test_the_old_name_of_the_account_means_the_same() -> None:
    made = spec_of(serviceAccount="robot")
    assert (made["serviceAccountName"], made["serviceAccount"]) == ("robot", "robot")


def test_a_time_to_stop_below_nothing_is_one_second() -> None:
    assert spec_of(terminationGracePeriodSeconds=-5)["terminationGracePeriodSeconds"] == 1


def test_the_given_object_is_not_changed_in_place() -> None:
    body = pod(containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": 1}}}], tolerations=[])
    Host().create(POD, body)
    assert body == pod(containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": 1}}}], tolerations=[])


def test_null_in_a_node_selector_is_an_empty_value() -> None:
    assert spec_of(nodeSelector={"pool": None, "zone": "a"})["nodeSelector"] == {"pool": "", "zone": "a"}
