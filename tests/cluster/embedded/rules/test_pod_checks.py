from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.kinds import JOB, POD
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import CONTAINER, Host, job, pod, refused

MUST, MAY = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
TERMS = f"spec.affinity.nodeAffinity.{MUST}.nodeSelectorTerms"


def terms(*expressions: Raw) -> Raw:
    return {"affinity": {"nodeAffinity": {MUST: {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}}}}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"containers": []}, [("spec.containers", "Required")]),
        ({"containers": [CONTAINER, CONTAINER]}, [("spec.containers[1].name", "Duplicate")]),
        ({"initContainers": [CONTAINER]}, [("spec.initContainers[0].name", "Duplicate")]),
        ({"restartPolicy": "X"}, [("spec.restartPolicy", "NotSupported")]),
        ({"dnsPolicy": "X"}, [("spec.dnsPolicy", "NotSupported")]),
        ({"activeDeadlineSeconds": 0}, [("spec.activeDeadlineSeconds", "Invalid")]),
        ({"nodeName": "A_"}, [("spec.nodeName", "Invalid")]),
        ({"hostname": "a.b"}, [("spec.hostname", "Invalid")]),
        ({"serviceAccountName": "A b"}, [("spec.serviceAccountName", "Invalid")]),
        ({"nodeSelector": {"a b": "c"}}, [("spec.nodeSelector", "Invalid")]),
        ({"nodeSelector": {"a": "c d"}}, [("spec.nodeSelector", "Invalid")]),
        ({"schedulingGates": [{"name": "a/b"}, {"name": "a/b"}]}, [("spec.schedulingGates[1]", "Duplicate")]),
        ({"schedulingGates": [{"name": "x y"}]}, [("spec.schedulingGates[0]", "Invalid")]),
        ({"schedulingGates": [{"name": "x"}], "nodeName": "n"}, [("spec.nodeName", "Forbidden")]),
        ({"volumes": [{"name": "A"}]}, [("spec.volumes[0].name", "Invalid")]),
        ({"volumes": [{"name": "a"}, {"name": "a"}]}, [("spec.volumes[1].name", "Duplicate")]),
        (
            {"volumes": [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/"}}]},
            [("spec.volumes[0].hostPath", "Forbidden")],
        ),
        ({"tolerations": [{"key": "a b"}]}, [("spec.tolerations[0].key", "Invalid")]),
        ({"tolerations": [{"operator": "Equal"}]}, [("spec.tolerations[0].operator", "Invalid")]),
        ({"tolerations": [{"key": "a", "operator": "X"}]}, [("spec.tolerations[0].operator", "NotSupported")]),
        ({"tolerations": [{"key": "a", "effect": "X"}]}, [("spec.tolerations[0].effect", "NotSupported")]),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            [("spec.tolerations[0].operator", "Invalid")],
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3}]},
            [("spec.tolerations[0].effect", "Invalid")],
        ),
        ({"affinity": {"nodeAffinity": {MUST: {"nodeSelectorTerms": []}}}}, [(TERMS, "Required")]),
        (terms({"key": "a", "operator": "X"}), [(f"{TERMS}[0].matchExpressions[0].operator", "Invalid")]),
        (terms({"key": "a", "operator": "In"}), [(f"{TERMS}[0].matchExpressions[0].values", "Required")]),
        (
            terms({"key": "a", "operator": "Exists", "values": ["x"]}),
            [(f"{TERMS}[0].matchExpressions[0].values", "Forbidden")],
        ),
        (
            {"affinity": {"nodeAffinity": {MAY: [{"weight": 0, "preference": {}}]}}},
            [(f"spec.affinity.nodeAffinity.{MAY}[0].weight", "Invalid")],
        ),
        (
            {"affinity": {"podAffinity": {MUST: [{"topologyKey": ""}]}}},
            [(f"spec.affinity.podAffinity.{MUST}[0].topologyKey", "Required")],
        ),
        (
            {"topologySpreadConstraints": [{}]},
            [
                ("spec.topologySpreadConstraints[0].maxSkew", "Invalid"),
                ("spec.topologySpreadConstraints[0].topologyKey", "Required"),
                ("spec.topologySpreadConstraints[0].whenUnsatisfiable", "NotSupported"),
            ],
        ),
    ],
)
def test_a_pod_that_breaks_a_rule_is_refused_by_field(spec: Raw, wrong: Any) -> None:
    assert Host().refusal(POD, pod(**spec)) == wrong


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"name": "A_"}, [("name", "Invalid")]),
        ({"name": ""}, [("name", "Required")]),
        ({"image": ""}, [("image", "Required")]),
        ({"image": " x"}, [("image", "Invalid")]),
        ({"imagePullPolicy": "X"}, [("imagePullPolicy", "NotSupported")]),
        ({"resources": {"requests": {"cpu": "-1"}}}, [("resources.requests[cpu]", "Invalid")]),
        ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}, [("resources.requests", "Invalid")]),
        ({"resources": {"requests": {"a.b/c": "1"}}}, [("resources.limits", "Required")]),
        ({"resources": {"requests": {"a.b/c": "1"}, "limits": {"a.b/c": "2"}}}, [("resources.requests", "Invalid")]),
        (
            {"resources": {"limits": {"a.b/c": "0.5"}}},
            [("resources.limits[a.b/c]", "Invalid"), ("resources.requests[a.b/c]", "Invalid")],
        ),
        (
            {"resources": {"limits": {"gpu": "1"}}},
            [("resources.limits[gpu]", "Invalid"), ("resources.requests[gpu]", "Invalid")],
        ),
        ({"resources": {"limits": {"hugepages-2Mi": "4Mi"}}}, [("resources", "Forbidden")]),
        ({"resources": {"claims": [{"name": "x"}]}}, [("resources.claims[0]", "NotFound")]),
        ({"ports": [{}]}, [("ports[0].containerPort", "Required")]),
        ({"ports": [{"containerPort": 70000}]}, [("ports[0].containerPort", "Invalid")]),
        ({"ports": [{"containerPort": 80, "protocol": "X"}]}, [("ports[0].protocol", "NotSupported")]),
        ({"ports": [{"containerPort": 80, "name": "A"}]}, [("ports[0].name", "Invalid")]),
        (
            {"ports": [{"containerPort": 80, "hostPort": 1}, {"containerPort": 81, "hostPort": 1}]},
            [("ports[1].hostPort", "Duplicate")],
        ),
        ({"env": [{}]}, [("env[0].name", "Required")]),
        ({"env": [{"name": "a=b"}]}, [("env[0].name", "Invalid")]),
        ({"env": [{"name": "A", "valueFrom": {}}]}, [("env[0].valueFrom", "Invalid")]),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "foo"}}}]},
            [("env[0].valueFrom.fieldRef.fieldPath", "Invalid")],
        ),
        ({"volumeMounts": [{"name": "v", "mountPath": "/x"}]}, [("volumeMounts[0].name", "NotFound")]),
        ({"livenessProbe": {}}, [("livenessProbe", "Required")]),
        ({"livenessProbe": {"exec": {}}}, [("livenessProbe.exec.command", "Required")]),
        ({"livenessProbe": {"httpGet": {"port": 0}}}, [("livenessProbe.httpGet.port", "Invalid")]),
        (
            {"livenessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}},
            [("livenessProbe.tcpSocket", "Forbidden")],
        ),
        (
            {"livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}},
            [("livenessProbe.successThreshold", "Invalid")],
        ),
        ({"lifecycle": {"preStop": {}}}, [("lifecycle.preStop", "Required")]),
    ],
)
def test_a_container_that_breaks_a_rule_is_refused_by_field(change: Raw, wrong: Any) -> None:
    found = Host().refusal(POD, pod(containers=[{**CONTAINER, **change}]))
    assert found == [(f"spec.containers[0].{field}", reason) for field, reason in wrong]


def test_a_pod_template_is_held_to_the_same_rules() -> None:
    assert Host().refusal(JOB, job(pods={"containers": [{"name": "c"}], "dnsPolicy": "X"})) == [
        ("spec.template.spec.containers[0].image", "Required"),
        ("spec.template.spec.dnsPolicy", "NotSupported"),
    ]


def test_a_malformed_quantity_cannot_be_decoded() -> None:
    body = pod(containers=[{**CONTAINER, "resources": {"limits": {"cpu": "x"}}}])
    code, message = refused(lambda: Host().create(POD, body))
    assert code == 400
    assert '"x" is not a quantity' in message


def test_all_causes_are_reported_at_once_in_one_sentence() -> None:
    code, message = refused(lambda: Host().create(POD, pod(containers=[{"name": "A"}])))
    assert code == 422
    assert message == (
        'Pod "x" is invalid: [spec.containers[0].name: Invalid value: "A": use lower-case letters, digits and \'-\', '
        "with a letter or digit at both ends, spec.containers[0].image: Required value]"
    )


def test_objects_of_trusted_writers_are_not_validated() -> None:
    assert Host().create(POD, pod(containers=[{"name": "A"}]), trusted=True)["spec"]["containers"][0]["name"] == "A"
