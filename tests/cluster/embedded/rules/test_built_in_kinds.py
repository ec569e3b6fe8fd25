"""Defaults and rules of the built-in kinds besides pods and jobs, as an API server has them."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import Kind
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import Host, a_set, refused, template

TEMPLATE = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i:1",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
}
SELECTED = {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}


def made(kind: Kind, body: Raw) -> Raw:
    """Everything but what says which object it is."""
    whole = Host().create(kind, body)
    return {key: value for key, value in whole.items() if key not in ("apiVersion", "kind", "metadata")}


@pytest.mark.parametrize(
    ("kind", "body", "kept"),
    [
        (
            kinds.DEPLOYMENT,
            a_set(),
            {
                "spec": {
                    **SELECTED,
                    "replicas": 1,
                    "strategy": {
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
                    },
                    "revisionHistoryLimit": 10,
                    "progressDeadlineSeconds": 600,
                },
                "status": {},
            },
        ),
        (kinds.REPLICA_SET, a_set(), {"spec": {**SELECTED, "replicas": 1}, "status": {"replicas": 0}}),
        (
            kinds.STATEFUL_SET,
            a_set(),
            {
                "spec": {
                    **SELECTED,
                    "replicas": 1,
                    "serviceName": "",
                    "podManagementPolicy": "OrderedReady",
                    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                    "revisionHistoryLimit": 10,
                    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                },
                "status": {"replicas": 0, "availableReplicas": 0},
            },
        ),
        (
            kinds.DAEMON_SET,
            a_set(),
            {
                "spec": {
                    **SELECTED,
                    "updateStrategy": {
                        "type": "RollingUpdate",
                        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
                    },
                    "revisionHistoryLimit": 10,
                },
                "status": {
                    "currentNumberScheduled": 0,
                    "numberMisscheduled": 0,
                    "desiredNumberScheduled": 0,
                    "numberReady": 0,
                },
            },
        ),
        (kinds.POD_TEMPLATE, {"template": template()}, {"template": TEMPLATE}),
        (
            kinds.BUDGET,
            {"spec": {"minAvailable": 1}},
            {
                "spec": {"minAvailable": 1},
                "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
            },
        ),
        (kinds.SECRET, {"stringData": {"a": "b"}}, {"data": {"a": "Yg=="}, "type": "Opaque"}),
        (kinds.CONFIG_MAP, {"data": {"a": "b"}}, {"data": {"a": "b"}}),
        (kinds.PRIORITY_CLASS, {"value": 100}, {"value": 100, "preemptionPolicy": "PreemptLowerPriority"}),
        (
            kinds.RUNTIME_CLASS,
            {"handler": "box", "overhead": {"podFixed": {"cpu": "1000m"}}},
            {"handler": "box", "overhead": {"podFixed": {"cpu": "1"}}},
        ),
        (
            kinds.LIMIT_RANGE,
            {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2000m"}, "min": {"memory": "1Gi"}}]}},
            {
                "spec": {
                    "limits": [
                        {
                            "type": "Container",
                            "max": {"cpu": "2"},
                            "min": {"memory": "1Gi"},
                            "default": {"cpu": "2"},
                            "defaultRequest": {"cpu": "2", "memory": "1Gi"},
                        }
                    ]
                }
            },
        ),
        (
            kinds.EVENT,
            {"involvedObject": {"namespace": "default"}, "reason": "R"},
            {
                "involvedObject": {"namespace": "default"},
                "reason": "R",
                "source": {},
                "firstTimestamp": None,
                "lastTimestamp": None,
                "eventTime": None,
                "reportingComponent": "",
                "reportingInstance": "",
            },
        ),
        (kinds.LEASE, {}, {"spec": {}}),
        (kinds.SERVICE_ACCOUNT, {}, {}),
    ],
    ids=lambda one: one.kind if isinstance(one, Kind) else "",
)
def test_defaults(kind: Kind, body: Raw, kept: Raw) -> None:
    assert made(kind, body) == kept


def service(**spec: Any) -> Raw:
    return {"spec": spec}


@pytest.mark.parametrize(
    ("spec", "some"),
    [
        (
            {"ports": [{"port": 80}]},
            {
                "type": "ClusterIP",
                "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
                "sessionAffinity": "None",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster",
            },
        ),
        ({"clusterIP": "None", "selector": {"a": "b"}}, {"clusterIPs": ["None"], "ipFamilies": ["IPv4"]}),
        ({"clusterIP": "None"}, {"ipFamilyPolicy": "RequireDualStack"}),
        (
            {"ports": [{"port": 80}], "sessionAffinity": "ClientIP"},
            {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}},
        ),
        ({"ports": [{"port": 80}], "type": "LoadBalancer"}, {"allocateLoadBalancerNodePorts": True}),
    ],
)
def test_defaults_of_services(spec: Raw, some: Raw) -> None:
    filled = made(kinds.SERVICE, service(**spec))
    assert filled["status"] == {"loadBalancer": {}}
    assert {key: filled["spec"].get(key) for key in some} == some


def test_services_have_addresses_of_their_own() -> None:
    host = Host()
    ports = [{"port": 80}]
    one = host.create(kinds.SERVICE, service(ports=ports))["spec"]
    other = host.create(kinds.SERVICE, {"metadata": {"name": "y"}, **service(ports=ports, type="NodePort")})["spec"]
    assert one["clusterIP"].startswith("10.96.")
    assert one["clusterIPs"] == [one["clusterIP"]]
    assert one["clusterIP"] != other["clusterIP"]
    assert 30_000 <= other["ports"][0]["nodePort"] < 32_768


def test_the_address_of_a_service_is_kept_when_it_is_left_out_and_cannot_change() -> None:
    host = Host()
    address = host.create(kinds.SERVICE, service(ports=[{"port": 80}]))["spec"]["clusterIP"]
    left_out = host.patch(kinds.SERVICE, {"spec": {"clusterIP": None, "clusterIPs": None}})
    assert left_out["spec"]["clusterIP"] == address
    change = {"spec": {"clusterIP": "10.96.77.77", "clusterIPs": ["10.96.77.77"]}}
    assert host.change_refusal(kinds.SERVICE, change) == [("spec.clusterIPs[0]", "Invalid")]
    name_only = host.patch(kinds.SERVICE, {"spec": {"type": "ExternalName", "externalName": "a.b"}})["spec"]
    assert name_only.keys() == {"type", "externalName", "ports", "sessionAffinity"}


def test_a_new_node_is_tainted_not_ready_unless_a_trusted_writer_created_it() -> None:
    host = Host()
    body = {
        "spec": {"podCIDR": "10.0.0.0/24", "unschedulable": False},
        "status": {"capacity": {"cpu": "4000m"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    node = host.create(kinds.NODE, body)
    assert node["spec"] == {
        "podCIDR": "10.0.0.0/24",
        "podCIDRs": ["10.0.0.0/24"],
        "taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
    }
    assert node["status"]["capacity"] == {"cpu": "4"}
    assert node["status"]["conditions"] == [
        {"type": "Ready", "status": "True", "lastHeartbeatTime": None, "lastTransitionTime": None}
    ]
    assert node["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert node["status"]["nodeInfo"]["kubeletVersion"] == ""
    ours = host.create(kinds.NODE, {"metadata": {"name": "y"}}, trusted=True)
    assert ours["spec"] == {}


def test_a_node_that_says_what_it_has_can_give_that_away() -> None:
    host = Host()
    host.create(kinds.NODE, {})
    status = host.patch(kinds.NODE, {"status": {"capacity": {"cpu": "4000m"}}}, "status")["status"]
    assert (status["capacity"], status["allocatable"]) == ({"cpu": "4"}, {"cpu": "4"})


def test_daemon_sets_count_their_templates() -> None:
    host = Host()
    note = "deprecated.daemonset.template.generation"
    assert host.create(kinds.DAEMON_SET, a_set())["metadata"]["annotations"] == {note: "1"}
    same = host.patch(kinds.DAEMON_SET, {"spec": {"minReadySeconds": 3}})
    assert same["metadata"]["annotations"] == {note: "1"}
    other = host.patch(kinds.DAEMON_SET, {"spec": {"template": {"spec": {"schedulerName": "z"}}}})
    assert other["metadata"]["annotations"] == {note: "2"}


SETS = [kinds.DEPLOYMENT, kinds.REPLICA_SET, kinds.STATEFUL_SET]
LABELS = ("spec.template.metadata.labels", "Invalid")


@pytest.mark.parametrize("kind", SETS, ids=lambda one: one.kind)
@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"selector": None}, [("spec.selector", "Required"), LABELS]),
        ({"selector": {}}, [("spec.selector", "Invalid")]),
        ({"selector": {"matchLabels": {"app": "y"}}}, [LABELS]),
        ({"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}}, []),
        ({"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}}, [LABELS]),
        ({"replicas": -1}, [("spec.replicas", "Invalid")]),
        ({"template": template(restartPolicy="Never")}, [("spec.template.spec.restartPolicy", "NotSupported")]),
        ({"template": template(activeDeadlineSeconds=3)}, [("spec.template.spec.activeDeadlineSeconds", "Forbidden")]),
    ],
)
def test_sets_that_break_a_rule_are_refused_by_field(kind: Kind, change: Raw, wrong: Any) -> None:
    assert Host().refusal(kind, a_set(**change)) == wrong


ROLLING = "spec.strategy.rollingUpdate"


@pytest.mark.parametrize(
    ("kind", "body", "wrong"),
    [
        (kinds.DEPLOYMENT, a_set(strategy={"type": "X"}), [("spec.strategy", "NotSupported")]),
        (
            kinds.DEPLOYMENT,
            a_set(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
            [(ROLLING, "Forbidden")],
        ),
        (
            kinds.DEPLOYMENT,
            a_set(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}),
            [(f"{ROLLING}.maxUnavailable", "Invalid")],
        ),
        (
            kinds.DEPLOYMENT,
            a_set(strategy={"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "150%"}}),
            [(f"{ROLLING}.maxUnavailable", "Invalid"), (f"{ROLLING}.maxSurge", "Invalid")],
        ),
        (
            kinds.DEPLOYMENT,
            a_set(minReadySeconds=10, progressDeadlineSeconds=5),
            [("spec.progressDeadlineSeconds", "Invalid")],
        ),
        (kinds.STATEFUL_SET, a_set(podManagementPolicy="X"), [("spec.podManagementPolicy", "Invalid")]),
        (kinds.STATEFUL_SET, a_set(updateStrategy={"type": "X"}), [("spec.updateStrategy", "Invalid")]),
        (kinds.STATEFUL_SET, a_set(ordinals={"start": -1}), [("spec.ordinals.start", "Invalid")]),
        (kinds.DAEMON_SET, a_set(updateStrategy={"type": "X"}), [("spec.updateStrategy", "NotSupported")]),
        (
            kinds.DAEMON_SET,
            a_set(updateStrategy={"rollingUpdate": {"maxSurge": 1}}),
            [("spec.updateStrategy.rollingUpdate.maxSurge", "Invalid")],
        ),
        (kinds.POD_TEMPLATE, {}, [("template.spec.containers", "Required")]),
        (kinds.CONTROLLER_REVISION, {"revision": -1}, [("data", "Required"), ("revision", "Invalid")]),
        (kinds.SERVICE, service(), [("spec.ports", "Required")]),
        (
            kinds.SERVICE,
            service(ports=[{"port": 80}, {"port": 81}]),
            [("spec.ports[0].name", "Required"), ("spec.ports[1].name", "Required")],
        ),
        (
            kinds.SERVICE,
            service(ports=[{"port": 0}]),
            [("spec.ports[0].port", "Invalid"), ("spec.ports[0].targetPort", "Invalid")],
        ),
        (kinds.SERVICE, service(type="X", ports=[{"port": 80}]), [("spec.type", "NotSupported")]),
        (kinds.SERVICE, service(type="ExternalName"), [("spec.externalName", "Required")]),
        (kinds.SERVICE, service(clusterIP="x", ports=[{"port": 80}]), [("spec.clusterIPs[0]", "Invalid")]),
        (kinds.SERVICE, service(ports=[{"port": 80, "nodePort": 30001}]), [("spec.ports[0].nodePort", "Forbidden")]),
        (kinds.BUDGET, {"spec": {"minAvailable": 1, "maxUnavailable": 1}}, [("spec", "Invalid")]),
        (kinds.BUDGET, {"spec": {"minAvailable": "150%"}}, [("spec.minAvailable", "Invalid")]),
        (kinds.LEASE, {"spec": {"leaseDurationSeconds": 0}}, [("spec.leaseDurationSeconds", "Invalid")]),
        (kinds.EVENT, {"involvedObject": {"namespace": "other"}}, [("involvedObject.namespace", "Invalid")]),
        (kinds.CONFIG_MAP, {"data": {"bad key!": "x"}}, [("data[bad key!]", "Invalid")]),
        (kinds.CONFIG_MAP, {"data": {"a": "x"}, "binaryData": {"a": "Yg=="}}, [("data[a]", "Invalid")]),
        (
            kinds.SECRET,
            {"type": "kubernetes.io/tls"},
            [("data[tls.crt]", "Required"), ("data[tls.key]", "Required")],
        ),
        (kinds.PRIORITY_CLASS, {"value": 1_000_000_001}, [("value", "Forbidden")]),
        (kinds.PRIORITY_CLASS, {"metadata": {"name": "system-x"}}, [("metadata.name", "Forbidden")]),
        (kinds.PRIORITY_CLASS, {"preemptionPolicy": "X"}, [("preemptionPolicy", "NotSupported")]),
        (kinds.RUNTIME_CLASS, {}, [("handler", "Required")]),
        (kinds.RUNTIME_CLASS, {"handler": "A_b"}, [("handler", "Invalid")]),
        (
            kinds.LIMIT_RANGE,
            {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}]}},
            [("spec.limits[0].defaultRequest[cpu]", "Invalid")],
        ),
        (
            kinds.LIMIT_RANGE,
            {"spec": {"limits": [{"type": "Pod", "default": {"cpu": "1"}}, {"type": "Pod"}]}},
            [("spec.limits[0].default", "Forbidden"), ("spec.limits[1].type", "Duplicate")],
        ),
        (
            kinds.NODE,
            {"spec": {"taints": [{"key": "a", "effect": "X"}]}},
            [("metadata.taints[0].effect", "NotSupported")],
        ),
        (kinds.NODE, {"spec": {"podCIDRs": ["x"]}}, [("spec.podCIDRs[0]", "Invalid")]),
    ],
)
def test_an_object_that_breaks_a_rule_is_rejected_by_field(kind: Kind, body: Raw, wrong: Any) -> None:
    assert Host().refusal(kind, body) == wrong


@pytest.mark.parametrize(
    ("kind", "body", "change", "wrong"),
    [
        (kinds.DEPLOYMENT, a_set(), {"spec": {"replicas": 3}}, []),
        (
            kinds.DEPLOYMENT,
            a_set(),
            {"spec": {"selector": {"matchLabels": {"b": "c"}}, "template": {"metadata": {"labels": {"b": "c"}}}}},
            [("spec.selector", "Invalid")],
        ),
        (kinds.STATEFUL_SET, a_set(), {"spec": {"serviceName": "z"}}, [("spec", "Forbidden")]),
        (kinds.STATEFUL_SET, a_set(), {"spec": {"replicas": 3, "template": {"spec": {"schedulerName": "z"}}}}, []),
        (kinds.CONFIG_MAP, {"data": {"a": "b"}, "immutable": True}, {"data": {"a": "c"}}, [("data", "Forbidden")]),
        (kinds.CONFIG_MAP, {"immutable": True}, {"immutable": None}, [("immutable", "Forbidden")]),
        (kinds.CONFIG_MAP, {"immutable": True}, {"metadata": {"labels": {"a": "b"}}}, []),
        (kinds.SECRET, {}, {"type": "other"}, [("type", "Invalid")]),
        (kinds.PRIORITY_CLASS, {"value": 5}, {"value": 6}, [("value", "Forbidden")]),
        (kinds.PRIORITY_CLASS, {"value": 5}, {"preemptionPolicy": "Never"}, [("preemptionPolicy", "Invalid")]),
        (kinds.RUNTIME_CLASS, {"handler": "a"}, {"handler": "b"}, [("handler", "Invalid")]),
        (kinds.CONTROLLER_REVISION, {"revision": 1, "data": {"a": 1}}, {"data": {"a": 2}}, [("data", "Invalid")]),
        (kinds.NODE, {"spec": {"providerID": "a"}}, {"spec": {"providerID": "b"}}, [("spec.providerID", "Forbidden")]),
        (kinds.NODE, {}, {"spec": {"unschedulable": True}}, []),
    ],
)
def test_immutable_fields_cannot_change(kind: Kind, body: Raw, change: Raw, wrong: Any) -> None:
    host = Host()
    host.create(kind, body)
    assert host.change_refusal(kind, change) == wrong


def test_data_that_is_not_base64_cannot_be_decoded() -> None:
    assert refused(lambda: Host().create(kinds.SECRET, {"data": {"a": "c!"}}))[0] == 400
    assert refused(lambda: Host().create(kinds.CONFIG_MAP, {"binaryData": {"a": "x"}}))[0] == 400
