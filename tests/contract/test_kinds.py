"""Every kind once: what a client sees after it made one, what is refused, and what may not change later.

Pods and Jobs have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from contract.client import Answer, Api
from contract.expect import accepted, invalid, make, refused
from contract.objects import LABELS, NOBODY, Object, container, path, template

SELECTOR = {"matchLabels": LABELS}
NEVER = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}}}
HIDDEN = template(nodeSelector={"example.com/no-node": "has-this"})
CLAIM, STORAGE = "v1/persistentvolumeclaims", "storage.k8s.io/v1/storageclasses"
PRIORITY, RUNTIME = "scheduling.k8s.io/v1/priorityclasses", "node.k8s.io/v1/runtimeclasses"


class Case(NamedTuple):
    """A resource, the smallest body without its name, and the parts that the answer has to hold."""

    resource: str
    body: Object
    seen: Object


MADE = [
    Case("v1/configmaps", {"data": {"a": "1"}, "binaryData": {"b": "AAE="}}, {"data": {"a": "1"}}),
    Case("v1/secrets", {}, {"type": "Opaque"}),
    Case("v1/serviceaccounts", {}, {"kind": "ServiceAccount"}),
    Case(
        "v1/services",
        {"spec": {"selector": LABELS, "ports": [{"port": 80}]}},
        {
            "spec": {
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
            },
            "status": {"loadBalancer": {}},
        },
    ),
    Case("v1/services", {"spec": {"clusterIP": "None"}}, {"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
    Case(
        "v1/podtemplates",
        {"template": template()},
        {"template": {"spec": {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}}, "metadata": {"generation": 1}},
    ),
    Case(
        "v1/limitranges",
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2000m"}}]}},
        {
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "max": {"cpu": "2"},
                        "default": {"cpu": "2"},
                        "defaultRequest": {"cpu": "2"},
                    }
                ]
            }
        },
    ),
    Case(
        "apps/v1/deployments",
        {"spec": {"replicas": 0, "selector": SELECTOR, "template": template()}},
        {
            "spec": {
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
            },
            "status": {},
        },
    ),
    Case(
        "apps/v1/deployments",
        {"spec": {"paused": True, "selector": SELECTOR, "template": template()}},
        {"spec": {"replicas": 1}, "metadata": {"generation": 1}},
    ),
    Case(
        "apps/v1/replicasets",
        {"spec": {"replicas": 0, "selector": SELECTOR, "template": template()}},
        {"spec": {"replicas": 0}, "status": {"replicas": 0}},
    ),
    Case(
        "apps/v1/statefulsets",
        {"spec": {"replicas": 0, "selector": SELECTOR, "template": template()}},
        {
            "spec": {
                "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "revisionHistoryLimit": 10,
                "serviceName": "",
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            },
            "status": {"replicas": 0, "availableReplicas": 0},
        },
    ),
    Case(
        "apps/v1/daemonsets",
        {"spec": {"selector": SELECTOR, "template": HIDDEN}},
        {
            "spec": {
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
                "revisionHistoryLimit": 10,
            },
            "status": {
                "currentNumberScheduled": 0,
                "desiredNumberScheduled": 0,
                "numberMisscheduled": 0,
                "numberReady": 0,
            },
        },
    ),
    Case("apps/v1/controllerrevisions", {"revision": 1, "data": {"x": [1, 2]}}, {"revision": 1, "data": {"x": [1, 2]}}),
    Case(
        "batch/v1/cronjobs",
        {"spec": NEVER},
        {
            "spec": {
                "concurrencyPolicy": "Allow",
                "suspend": False,
                "successfulJobsHistoryLimit": 3,
                "failedJobsHistoryLimit": 1,
            },
            "status": {},
        },
    ),
    Case(
        "policy/v1/poddisruptionbudgets",
        {"spec": {"minAvailable": "50%", "selector": SELECTOR}},
        {
            "spec": {"minAvailable": "50%", "selector": SELECTOR},
            "status": {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0},
        },
    ),
    Case(
        "coordination.k8s.io/v1/leases",
        {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.123456Z"}},
        {"spec": {"holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.123456Z"}},
    ),
    Case("coordination.k8s.io/v1/leases", {}, {"spec": {}}),
    Case(
        CLAIM,
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}},
        {
            "spec": {"volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Pending"},
        },
    ),
]

SHARED = [
    Case(
        PRIORITY,
        {"value": 100, "description": "d"},
        {"value": 100, "preemptionPolicy": "PreemptLowerPriority", "metadata": {"generation": 1}},
    ),
    Case(RUNTIME, {"handler": "runc"}, {"handler": "runc"}),
    Case(
        STORAGE,
        {"provisioner": "csi.example.com"},
        {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", "provisioner": "csi.example.com"},
    ),
    Case(
        "v1/persistentvolumes",
        {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/d"}}},
        {"spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}},
    ),
    Case(
        "v1/nodes",
        {"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": True}},
        {"spec": {"unschedulable": True}, "metadata": {"labels": {"a": "b"}}},
    ),
    Case("v1/namespaces", {}, {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}),
]


def named(name: str, body: Object) -> Object:
    return {**body, "metadata": {**body.get("metadata", {}), "name": name}}


def holds(held: Any, seen: Any) -> bool:
    """Whether every field of `seen` is in `held`; lists and plain values have to be equal."""
    if isinstance(seen, dict) and seen:
        return isinstance(held, dict) and all(key in held and holds(held[key], value) for key, value in seen.items())
    return bool(held == seen)


@pytest.mark.parametrize("case", MADE, ids=lambda case: case.resource)
def test_a_created_object_has_its_defaults_and_reads_back(api: Api, space: str, name: str, case: Case) -> None:
    held = make(api, path(case.resource, space), named(name, case.body))
    assert holds(held, case.seen), held
    assert accepted(api.get(path(case.resource, space, name)))["metadata"]["uid"] == held["metadata"]["uid"]
    accepted(api.delete(path(case.resource, space, name)))


@pytest.mark.parametrize("case", SHARED, ids=lambda case: case.resource)
def test_a_created_cluster_scoped_object_has_its_defaults(
    api: Api, shared: Callable[[str, Any], Answer], name: str, case: Case
) -> None:
    held = shared(path(case.resource), named(name, case.body)).body
    assert holds(held, case.seen), held
    assert "namespace" not in held["metadata"]
    assert accepted(api.get(path(case.resource, name=name)))["metadata"]["uid"] == held["metadata"]["uid"]


def test_the_template_of_a_controller_has_the_defaults_of_a_pod_spec(api: Api, space: str, name: str) -> None:
    body = {"spec": {"replicas": 0, "selector": SELECTOR, "template": template()}}
    held = make(api, path("apps/v1/replicasets", space), named(name, body))
    assert held["spec"]["template"] == {
        "metadata": {"labels": LABELS},
        "spec": {
            "containers": [
                container(
                    imagePullPolicy="IfNotPresent",
                    resources={},
                    terminationMessagePath="/dev/termination-log",
                    terminationMessagePolicy="File",
                )
            ],
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30,
            "securityContext": {},
            "schedulerName": NOBODY,
        },
    }


def test_a_service_gets_an_address(api: Api, space: str, name: str) -> None:
    spec = make(api, path("v1/services", space), named(name, {"spec": {"ports": [{"port": 80}]}}))["spec"]
    assert spec["clusterIP"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]


def test_text_in_a_secret_is_kept_as_data(api: Api, space: str, name: str) -> None:
    held = make(api, path("v1/secrets", space), named(name, {"stringData": {"a": "b"}, "data": {"c": "ZA=="}}))
    assert held["data"] == {"a": "Yg==", "c": "ZA=="}
    assert "stringData" not in held
    held = accepted(api.merge(path("v1/secrets", space, name), {"stringData": {"c": "e"}}))
    assert held["data"] == {"a": "Yg==", "c": "ZQ=="}


def test_an_event_keeps_its_fields(api: Api, space: str, name: str) -> None:
    about = {"kind": "Pod", "namespace": space, "name": "p"}
    body = {
        "involvedObject": about,
        "reason": "Placed",
        "message": "hello",
        "type": "Normal",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "count": 3,
        "source": {"component": "test"},
    }
    held = make(api, path("v1/events", space), named(name, body))
    assert holds(held, body)
    assert holds(held, {"eventTime": None, "lastTimestamp": None, "reportingComponent": "", "reportingInstance": ""})


def test_the_times_of_a_lease_have_microseconds(api: Api, space: str, name: str) -> None:
    body = named(name, {"spec": {"renewTime": "2026-01-01T00:00:00Z"}})
    refused(api.post(path("coordination.k8s.io/v1/leases", space), body), 400, "BadRequest")


INVALID = [
    ("data[bad key!]", "v1/configmaps", {"data": {"bad key!": "1"}}),
    ("data[a]", "v1/configmaps", {"data": {"a": "1"}, "binaryData": {"a": "AAE="}}),
    ("data[bad key!]", "v1/secrets", {"data": {"bad key!": "AAE="}}),
    ("data[tls.crt]", "v1/secrets", {"type": "kubernetes.io/tls"}),
    ("spec.ports", "v1/services", {"spec": {"selector": LABELS}}),
    ("spec.type", "v1/services", {"spec": {"type": "Tunnel", "ports": [{"port": 1}]}}),
    ("template.spec.containers", "v1/podtemplates", {}),
    (
        "spec.limits[0].min[cpu]",
        "v1/limitranges",
        {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}},
    ),
    ("spec.selector", "apps/v1/deployments", {"spec": {"template": template()}}),
    (
        "spec.template.metadata.labels",
        "apps/v1/deployments",
        {"spec": {"selector": SELECTOR, "template": template(labels={"a": "b"})}},
    ),
    (
        "spec.template.spec.restartPolicy",
        "apps/v1/deployments",
        {"spec": {"selector": SELECTOR, "template": template(restartPolicy="Never")}},
    ),
    (
        "spec.strategy.rollingUpdate",
        "apps/v1/deployments",
        {
            "spec": {
                "selector": SELECTOR,
                "template": template(),
                "strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
            }
        },
    ),
    ("spec.replicas", "apps/v1/replicasets", {"spec": {"replicas": -1, "selector": SELECTOR, "template": template()}}),
    (
        "spec.podManagementPolicy",
        "apps/v1/statefulsets",
        {"spec": {"selector": SELECTOR, "template": template(), "podManagementPolicy": "Sideways"}},
    ),
    ("spec.template.spec.containers", "apps/v1/daemonsets", {"spec": {"selector": SELECTOR}}),
    ("data", "apps/v1/controllerrevisions", {"revision": 1}),
    ("revision", "apps/v1/controllerrevisions", {"revision": -1, "data": {}}),
    ("spec.ports[0].targetPort", "v1/services", {"spec": {"ports": [{"port": 80, "targetPort": "80"}]}}),
    ("spec.ports[0].targetPort", "v1/services", {"spec": {"ports": [{"port": 80, "targetPort": "a_b"}]}}),
    ("spec.ports[0].targetPort", "v1/services", {"spec": {"ports": [{"port": 80, "targetPort": "a--b"}]}}),
    ("spec.schedule", "batch/v1/cronjobs", {"spec": {**NEVER, "schedule": "often"}}),
    ("spec.concurrencyPolicy", "batch/v1/cronjobs", {"spec": {**NEVER, "concurrencyPolicy": "Perhaps"}}),
    ("spec.minAvailable", "policy/v1/poddisruptionbudgets", {"spec": {"minAvailable": -1}}),
    ("spec.minAvailable", "policy/v1/poddisruptionbudgets", {"spec": {"minAvailable": "150%"}}),
    ("spec", "policy/v1/poddisruptionbudgets", {"spec": {"minAvailable": 1, "maxUnavailable": 1}}),
    ("spec.leaseDurationSeconds", "coordination.k8s.io/v1/leases", {"spec": {"leaseDurationSeconds": 0}}),
    ("involvedObject.namespace", "v1/events", {"involvedObject": {"namespace": "elsewhere"}}),
]


@pytest.mark.parametrize(("field", "resource", "body"), INVALID)
def test_an_invalid_object_names_its_field(
    api: Api, space: str, name: str, field: str, resource: str, body: Object
) -> None:
    assert invalid(api.post(path(resource, space), named(name, body)), field)["name"] == name


@pytest.mark.parametrize(
    ("field", "resource", "body"),
    [
        ("value", PRIORITY, {"value": 2_000_000_000}),
        ("preemptionPolicy", PRIORITY, {"value": 1, "preemptionPolicy": "Perhaps"}),
        ("handler", RUNTIME, {}),
        ("provisioner", STORAGE, {}),
        ("handler", RUNTIME, {"handler": "Bad_Name"}),
        ("metadata.taints[0].effect", "v1/nodes", {"spec": {"taints": [{"key": "a", "effect": "Perhaps"}]}}),
    ],
)
def test_an_invalid_cluster_scoped_object_names_its_field(
    api: Api, name: str, field: str, resource: str, body: Object
) -> None:
    invalid(api.post(path(resource), named(name, body)), field)


def test_priority_class_names_of_the_system_are_reserved(api: Api, name: str) -> None:
    invalid(api.post(path(PRIORITY), named(f"system-{name}", {"value": 1})), "metadata.name")


@pytest.mark.parametrize(
    ("field", "resource", "body", "change"),
    [
        ("data", "v1/configmaps", {"data": {"a": "1"}, "immutable": True}, {"data": {"a": "2"}}),
        ("immutable", "v1/configmaps", {"data": {"a": "1"}, "immutable": True}, {"immutable": False}),
        ("data", "v1/secrets", {"immutable": True}, {"stringData": {"a": "2"}}),
        ("type", "v1/secrets", {}, {"type": "example.com/other"}),
        ("spec.clusterIPs[0]", "v1/services", {"spec": {"ports": [{"port": 1}]}}, {"spec": {"clusterIP": "10.1.2.3"}}),
        (
            "spec.selector",
            "apps/v1/deployments",
            {"spec": {"replicas": 0, "selector": SELECTOR, "template": template()}},
            {"spec": {"selector": {"matchLabels": {"z": "1"}}}},
        ),
        (
            "spec.selector",
            "apps/v1/replicasets",
            {"spec": {"replicas": 0, "selector": SELECTOR, "template": template()}},
            {"spec": {"selector": {"matchLabels": {"z": "1"}}}},
        ),
        (
            "spec",
            "apps/v1/statefulsets",
            {"spec": {"replicas": 0, "selector": SELECTOR, "template": template()}},
            {"spec": {"podManagementPolicy": "Parallel"}},
        ),
        (
            "spec.selector",
            "apps/v1/daemonsets",
            {"spec": {"selector": SELECTOR, "template": HIDDEN}},
            {"spec": {"selector": {"matchLabels": {"z": "1"}}}},
        ),
        ("data", "apps/v1/controllerrevisions", {"revision": 1, "data": {"a": 1}}, {"data": {"a": 2}}),
    ],
)
def test_a_change_of_an_immutable_field_names_it(
    api: Api, space: str, name: str, field: str, resource: str, body: Object, change: Object
) -> None:
    make(api, path(resource, space), named(name, body))
    invalid(api.merge(path(resource, space, name), change), field)


@pytest.mark.parametrize(
    ("field", "resource", "body", "change"),
    [
        ("value", PRIORITY, {"value": 1}, {"value": 2}),
        ("preemptionPolicy", PRIORITY, {"value": 1}, {"preemptionPolicy": "Never"}),
        ("handler", RUNTIME, {"handler": "a"}, {"handler": "b"}),
        ("spec.providerID", "v1/nodes", {"spec": {"providerID": "a"}}, {"spec": {"providerID": "b"}}),
    ],
)
def test_a_change_of_an_immutable_cluster_scoped_field_names_it(
    api: Api,
    shared: Callable[[str, Any], Answer],
    name: str,
    field: str,
    resource: str,
    body: Object,
    change: Object,
) -> None:
    shared(path(resource), named(name, body))
    invalid(api.merge(path(resource, name=name), change), field)


def test_an_immutable_config_map_may_still_be_labelled(api: Api, space: str, name: str) -> None:
    make(api, path("v1/configmaps", space), named(name, {"data": {"a": "1"}, "immutable": True}))
    held = accepted(api.merge(path("v1/configmaps", space, name), {"metadata": {"labels": {"x": "y"}}}))
    assert held["metadata"]["labels"] == {"x": "y"}


def test_taints_and_unschedulable_of_a_node_may_change(
    api: Api, shared: Callable[[str, Any], Answer], name: str
) -> None:
    shared(path("v1/nodes"), named(name, {}))
    taint = {"key": "example.com/a", "effect": "PreferNoSchedule"}
    change = {"spec": {"unschedulable": True, "taints": [taint]}}
    held = accepted(api.strategic(path("v1/nodes", name=name), change))["spec"]
    assert held["unschedulable"] is True
    assert taint in held["taints"]


def test_the_budget_of_a_selection_may_change(api: Api, space: str, name: str) -> None:
    budgets = path("policy/v1/poddisruptionbudgets", space)
    make(api, budgets, named(name, {"spec": {"minAvailable": 1, "selector": SELECTOR}}))
    held = accepted(api.merge(f"{budgets}/{name}", {"spec": {"minAvailable": 2}}))
    assert (held["spec"]["minAvailable"], held["metadata"]["generation"]) == (2, 2)


def test_a_limit_range_gives_new_containers_their_requests(api: Api, own_space: str, name: str) -> None:
    limit = {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}
    make(api, path("v1/limitranges", own_space), named(name, {"spec": {"limits": [limit]}}))
    held = make(api, path("v1/pods", own_space), named(name, {"spec": {"containers": [container()]}}))
    assert held["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}


def test_a_runtime_class_adds_its_overhead_and_node_selector(
    api: Api, space: str, shared: Callable[[str, Any], Answer], name: str
) -> None:
    body = {
        "handler": "runc",
        "overhead": {"podFixed": {"cpu": "100m"}},
        "scheduling": {"nodeSelector": {"example.com/runtime": "yes"}},
    }
    shared(path(RUNTIME), named(name, body))
    spec = {"runtimeClassName": name, "schedulerName": NOBODY, "containers": [container()]}
    held = make(api, path("v1/pods", space), named(name, {"spec": spec}))["spec"]
    assert (held["overhead"], held["nodeSelector"]) == ({"cpu": "100m"}, {"example.com/runtime": "yes"})
