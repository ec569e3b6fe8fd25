"""Discovery: what a client finds out about the server before it sends anything."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract.client import Answer, Api
from contract.expect import accepted

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
GROUPS = ["apps", "batch", "coordination.k8s.io", "node.k8s.io", "policy", "scheduling.k8s.io", "storage.k8s.io"]

KINDS = [
    ("/api/v1", "namespaces", "Namespace", False, ["ns"], []),
    ("/api/v1", "nodes", "Node", False, ["no"], []),
    ("/api/v1", "pods", "Pod", True, ["po"], ["all"]),
    ("/api/v1", "events", "Event", True, ["ev"], []),
    ("/api/v1", "configmaps", "ConfigMap", True, ["cm"], []),
    ("/api/v1", "secrets", "Secret", True, [], []),
    ("/api/v1", "services", "Service", True, ["svc"], ["all"]),
    ("/api/v1", "serviceaccounts", "ServiceAccount", True, ["sa"], []),
    ("/api/v1", "podtemplates", "PodTemplate", True, [], []),
    ("/api/v1", "limitranges", "LimitRange", True, ["limits"], []),
    ("/apis/apps/v1", "deployments", "Deployment", True, ["deploy"], ["all"]),
    ("/apis/apps/v1", "replicasets", "ReplicaSet", True, ["rs"], ["all"]),
    ("/apis/apps/v1", "statefulsets", "StatefulSet", True, ["sts"], ["all"]),
    ("/apis/apps/v1", "daemonsets", "DaemonSet", True, ["ds"], ["all"]),
    ("/apis/apps/v1", "controllerrevisions", "ControllerRevision", True, [], []),
    ("/apis/batch/v1", "jobs", "Job", True, [], ["all"]),
    ("/apis/batch/v1", "cronjobs", "CronJob", True, ["cj"], ["all"]),
    ("/apis/policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", True, ["pdb"], []),
    ("/apis/scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", False, ["pc"], []),
    ("/apis/node.k8s.io/v1", "runtimeclasses", "RuntimeClass", False, [], []),
    ("/api/v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, ["pvc"], []),
    ("/api/v1", "persistentvolumes", "PersistentVolume", False, ["pv"], []),
    ("/apis/storage.k8s.io/v1", "storageclasses", "StorageClass", False, ["sc"], []),
    ("/apis/coordination.k8s.io/v1", "leases", "Lease", True, [], []),
]

SUBRESOURCES = [
    ("/api/v1", "pods/binding", "Binding", ["create"]),
    ("/api/v1", "pods/eviction", "Eviction", ["create"]),
    ("/api/v1", "pods/status", "Pod", ["get", "patch", "update"]),
    ("/api/v1", "nodes/status", "Node", ["get", "patch", "update"]),
    ("/api/v1", "namespaces/status", "Namespace", ["get", "patch", "update"]),
    ("/apis/apps/v1", "deployments/scale", "Scale", ["get", "patch", "update"]),
    ("/apis/apps/v1", "statefulsets/scale", "Scale", ["get", "patch", "update"]),
    ("/apis/apps/v1", "replicasets/scale", "Scale", ["get", "patch", "update"]),
    ("/apis/apps/v1", "deployments/status", "Deployment", ["get", "patch", "update"]),
    ("/apis/batch/v1", "jobs/status", "Job", ["get", "patch", "update"]),
    ("/apis/policy/v1", "poddisruptionbudgets/status", "PodDisruptionBudget", ["get", "patch", "update"]),
]

PATCHED = [
    ("api/v1", "/api/v1/namespaces/{namespace}/pods/{name}", "", "Pod"),
    ("api/v1", "/api/v1/nodes/{name}", "", "Node"),
    ("apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "apps", "Deployment"),
    ("apis/batch/v1", "/apis/batch/v1/namespaces/{namespace}/jobs/{name}", "batch", "Job"),
    (
        "apis/policy/v1",
        "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}",
        "policy",
        "PodDisruptionBudget",
    ),
]


def whole(answer: Answer) -> Any:
    """The JSON of a response, whatever its media type."""
    body = accepted(answer)
    return json.loads(body) if isinstance(body, str) else body


def resources(api: Api, path: str) -> dict[str, Any]:
    body = accepted(api.get(path))
    assert body["kind"] == "APIResourceList"
    return {entry["name"]: entry for entry in body["resources"]}


def test_the_core_has_one_version(api: Api) -> None:
    body = accepted(api.get("/api"))
    assert (body["kind"], body["versions"]) == ("APIVersions", ["v1"])


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_is_listed_with_its_preferred_version(api: Api, group: str) -> None:
    body = accepted(api.get("/apis"))
    assert (body["kind"], body["apiVersion"]) == ("APIGroupList", "v1")
    (entry,) = [each for each in body["groups"] if each["name"] == group]
    version = {"groupVersion": f"{group}/v1", "version": "v1"}
    assert entry["preferredVersion"] == version
    assert version in entry["versions"]
    alone = accepted(api.get(f"/apis/{group}"))
    assert (alone["kind"], alone["name"], alone["preferredVersion"]) == ("APIGroup", group, version)


def test_the_resources_of_a_version_say_which_it_is(api: Api) -> None:
    assert accepted(api.get("/api/v1"))["groupVersion"] == "v1"
    assert accepted(api.get("/apis/apps/v1"))["groupVersion"] == "apps/v1"


@pytest.mark.parametrize(("path", "plural", "kind", "namespaced", "short", "categories"), KINDS)
def test_a_resource_is_described(
    api: Api, path: str, plural: str, kind: str, namespaced: bool, short: list[str], categories: list[str]
) -> None:
    entry = resources(api, path)[plural]
    assert (entry["kind"], entry["namespaced"], entry["singularName"]) == (kind, namespaced, kind.lower())
    assert (entry.get("shortNames", []), entry.get("categories", [])) == (short, categories)
    expected = [verb for verb in VERBS if (verb, plural) != ("deletecollection", "namespaces")]
    assert sorted(entry["verbs"]) == expected


@pytest.mark.parametrize(("path", "name", "kind", "verbs"), SUBRESOURCES)
def test_a_subresource_is_described(api: Api, path: str, name: str, kind: str, verbs: list[str]) -> None:
    entry = resources(api, path)[name]
    assert (entry["kind"], sorted(entry["verbs"]), entry["singularName"]) == (kind, verbs, "")


def test_a_subresource_of_another_group_names_it(api: Api) -> None:
    scale = resources(api, "/apis/apps/v1")["deployments/scale"]
    assert (scale["group"], scale["version"]) == ("autoscaling", "v1")
    eviction = resources(api, "/api/v1")["pods/eviction"]
    assert (eviction["group"], eviction["version"]) == ("policy", "v1")


def test_the_core_is_discovered_in_one_response_on_request(api: Api) -> None:
    answer = api.get("/api", accept=AGGREGATED)
    body = accepted(answer)
    assert answer.headers["Content-Type"] == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert (body["kind"], body["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    (core,) = body["items"]
    assert "name" not in core["metadata"]
    (version,) = core["versions"]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    (pods,) = [each for each in version["resources"] if each["resource"] == "pods"]
    assert (pods["scope"], pods["singularResource"], pods["shortNames"]) == ("Namespaced", "pod", ["po"])
    assert pods["responseKind"]["kind"] == "Pod"
    assert sorted(pods["verbs"]) == VERBS
    assert pods["categories"] == ["all"]
    status = next(each for each in pods["subresources"] if each["subresource"] == "status")
    assert (status["responseKind"]["kind"], sorted(status["verbs"])) == ("Pod", ["get", "patch", "update"])


def test_the_groups_are_discovered_in_one_response_on_request(api: Api) -> None:
    body = accepted(api.get("/apis", accept=AGGREGATED))
    groups = {each["metadata"]["name"]: each["versions"] for each in body["items"]}
    assert groups.keys() >= set(GROUPS)
    (version,) = groups["apps"]
    entries = {each["resource"]: each for each in version["resources"]}
    assert entries["deployments"]["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    scale = next(each for each in entries["deployments"]["subresources"] if each["subresource"] == "scale")
    assert scale["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}


def test_the_version_is_served(api: Api) -> None:
    body = accepted(api.get("/version"))
    assert body["major"] == "1"
    assert body["minor"].rstrip("+").isdigit()
    assert body["gitVersion"].startswith("v1.")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
def test_a_healthy_server_says_ok(api: Api, path: str) -> None:
    assert accepted(api.get(path)) == "ok"


def test_the_schemas_are_indexed_by_version_with_an_address_that_changes_with_them(api: Api) -> None:
    paths = whole(api.get("/openapi/v3"))["paths"]
    for key in ("api/v1", "apis/apps/v1", "apis/batch/v1"):
        assert paths[key]["serverRelativeURL"].startswith(f"/openapi/v3/{key}?hash=")
    assert whole(api.get(paths["apis/batch/v1"]["serverRelativeURL"]))["openapi"].startswith("3.")


@pytest.mark.parametrize(("document", "path", "group", "kind"), PATCHED)
def test_a_kind_has_a_patch_that_can_be_validated(api: Api, document: str, path: str, group: str, kind: str) -> None:
    patch = whole(api.get(f"/openapi/v3/{document}"))["paths"][path]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": group, "version": "v1", "kind": kind}
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}


def test_a_schema_names_its_kind_and_its_fields(api: Api) -> None:
    schemas = whole(api.get("/openapi/v3/apis/batch/v1"))["components"]["schemas"]
    (job,) = [
        schema
        for schema in schemas.values()
        if {"group": "batch", "version": "v1", "kind": "Job"} in schema.get("x-kubernetes-group-version-kind", [])
    ]
    assert job["type"] == "object"
    assert job["properties"].keys() >= {"apiVersion", "kind", "metadata", "spec", "status"}
