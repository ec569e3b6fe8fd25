"""Tables: how a server prints its objects for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from contract.client import Answer, Api
from contract.expect import accepted, make
from contract.objects import config_map, config_maps, deployment, deployments, job, jobs, node, path, pod, pods

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

COLUMNS = [
    ("v1/namespaces", ["Name", "Status", "Age"], []),
    (
        "v1/nodes",
        ["Name", "Status", "Roles", "Age", "Version"],
        ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
    ),
    (
        "v1/pods",
        ["Name", "Ready", "Status", "Restarts", "Age"],
        ["IP", "Node", "Nominated Node", "Readiness Gates"],
    ),
    (
        "v1/events",
        ["Last Seen", "Type", "Reason", "Object", "Message"],
        ["Subobject", "Source", "First Seen", "Count", "Name"],
    ),
    ("v1/configmaps", ["Name", "Data", "Age"], []),
    ("v1/secrets", ["Name", "Type", "Data", "Age"], []),
    ("v1/services", ["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"], ["Selector"]),
    ("v1/serviceaccounts", ["Name", "Age"], []),
    ("v1/podtemplates", ["Name", "Containers", "Images", "Pod Labels"], []),
    ("v1/limitranges", ["Name", "Created At"], []),
    (
        "apps/v1/deployments",
        ["Name", "Ready", "Up-to-date", "Available", "Age"],
        ["Containers", "Images", "Selector"],
    ),
    ("apps/v1/replicasets", ["Name", "Desired", "Current", "Ready", "Age"], ["Containers", "Images", "Selector"]),
    ("apps/v1/statefulsets", ["Name", "Ready", "Age"], ["Containers", "Images"]),
    (
        "apps/v1/daemonsets",
        ["Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age"],
        ["Containers", "Images", "Selector"],
    ),
    ("apps/v1/controllerrevisions", ["Name", "Controller", "Revision", "Age"], []),
    (
        "batch/v1/jobs",
        ["Name", "Status", "Completions", "Duration", "Age"],
        ["Containers", "Images", "Selector"],
    ),
    (
        "batch/v1/cronjobs",
        ["Name", "Schedule", "Timezone", "Suspend", "Active", "Last Schedule", "Age"],
        ["Containers", "Images", "Selector"],
    ),
    (
        "policy/v1/poddisruptionbudgets",
        ["Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age"],
        [],
    ),
    ("scheduling.k8s.io/v1/priorityclasses", ["Name", "Value", "Global-Default", "Age", "PreemptionPolicy"], []),
    ("node.k8s.io/v1/runtimeclasses", ["Name", "Handler", "Age"], []),
    ("coordination.k8s.io/v1/leases", ["Name", "Holder", "Age"], []),
]


def row(body: dict[str, Any]) -> dict[str, Any]:
    """The only row of a table, by the names of its columns."""
    (only,) = body["rows"]
    names = [column["name"] for column in body["columnDefinitions"]]
    return dict(zip(names, only["cells"], strict=True))


@pytest.mark.parametrize(("resource", "always", "wide"), COLUMNS)
def test_the_columns_of_a_kind(api: Api, resource: str, always: list[str], wide: list[str]) -> None:
    body = accepted(api.get(path(resource), accept=TABLE, limit=1))
    assert (body["kind"], body["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    columns = body["columnDefinitions"]
    assert [column["name"] for column in columns if column["priority"] == 0] == always
    assert [column["name"] for column in columns if column["priority"] == 1] == wide
    assert all(column["type"] for column in columns)


def test_a_table_carries_the_version_and_the_metadata_of_its_rows(api: Api, own_space: str) -> None:
    make(api, path("v1/secrets", own_space), {"metadata": {"name": "a"}})
    make(api, path("v1/secrets", own_space), {"metadata": {"name": "b"}})
    body = accepted(api.get(path("v1/secrets", own_space), accept=TABLE, limit=1))
    assert body["metadata"]["resourceVersion"].isdigit()
    assert body["metadata"]["continue"]
    assert body["metadata"]["remainingItemCount"] == 1
    (only,) = body["rows"]
    assert (only["object"]["kind"], only["object"]["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert only["object"]["metadata"]["name"] == "a"
    assert "data" not in only["object"]


def test_the_row_of_a_new_pod(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    cells = row(accepted(api.get(pods(space, name), accept=TABLE)))
    age = cells.pop("Age")
    assert age.endswith("s")
    assert cells == {
        "Name": name,
        "Ready": "0/1",
        "Status": "Pending",
        "Restarts": "0",
        "IP": "<none>",
        "Node": "<none>",
        "Nominated Node": "<none>",
        "Readiness Gates": "<none>",
    }


def test_the_row_of_a_gated_pod_says_so(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name, schedulingGates=[{"name": "example.com/a"}]))
    assert row(accepted(api.get(pods(space, name), accept=TABLE)))["Status"] == "SchedulingGated"


def test_the_row_of_a_running_pod(api: Api, space: str, shared: Callable[[str, Any], Answer], name: str) -> None:
    shared(path("v1/nodes"), node(name))
    make(api, pods(space), pod(name, nodeName=name))
    state = {"name": "main", "ready": True, "restartCount": 2, "image": "", "imageID": "", "state": {"running": {}}}
    status = {"phase": "Running", "podIP": "10.1.2.3", "containerStatuses": [state]}
    accepted(api.merge(pods(space, name, "status"), {"status": status}))
    cells = row(accepted(api.get(pods(space, name), accept=TABLE)))
    assert (cells["Ready"], cells["Status"], cells["Restarts"]) == ("1/1", "Running", "2")
    assert (cells["IP"], cells["Node"]) == ("10.1.2.3", name)
    accepted(api.delete(pods(space, name)))
    assert row(accepted(api.get(pods(space, name), accept=TABLE)))["Status"] == "Terminating"
    accepted(api.delete(pods(space, name), gracePeriodSeconds=0))


def test_the_row_of_a_succeeded_pod_says_completed(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))
    ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    state = {"name": "main", "ready": False, "restartCount": 0, "image": "", "imageID": "", "state": ended}
    change = {"status": {"phase": "Succeeded", "containerStatuses": [state]}}
    accepted(api.merge(pods(space, name, "status"), change))
    assert row(accepted(api.get(pods(space, name), accept=TABLE)))["Status"] == "Completed"


def test_the_row_of_a_node(api: Api, shared: Callable[[str, Any], Answer], name: str) -> None:
    labels = {"node-role.kubernetes.io/worker": ""}
    shared(path("v1/nodes"), node(name, {"labels": labels}, unschedulable=True))
    cells = row(accepted(api.get(path("v1/nodes", name=name), accept=TABLE)))
    assert cells["Roles"] == "worker"
    assert cells["Status"].endswith(",SchedulingDisabled")


def test_the_row_of_a_job(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, completions=3, parallelism=2))
    cells = row(accepted(api.get(jobs(space, name), accept=TABLE)))
    assert (cells["Status"], cells["Completions"], cells["Duration"]) == ("Running", "0/3", "")
    assert (cells["Containers"], cells["Images"]) == ("main", "example.com/image:1")


def test_the_row_of_a_suspended_job(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name, suspend=True))
    suspended = {"type": "Suspended", "status": "True"}
    accepted(api.merge(jobs(space, name, "status"), {"status": {"conditions": [suspended]}}))
    assert row(accepted(api.get(jobs(space, name), accept=TABLE)))["Status"] == "Suspended"


def test_the_row_of_a_deployment(api: Api, space: str, name: str) -> None:
    make(api, deployments(space), deployment(name, paused=True, replicas=0))
    cells = row(accepted(api.get(deployments(space, name), accept=TABLE)))
    assert (cells["Ready"], cells["Up-to-date"], cells["Available"]) == ("0/0", 0, 0)
    assert cells["Selector"] == "app=contract"


def test_rows_may_carry_whole_objects_or_none(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name, {"a": "1"}))
    body = accepted(api.get(config_maps(space, name), accept=TABLE, includeObject="Object"))
    assert body["rows"][0]["object"]["data"] == {"a": "1"}
    body = accepted(api.get(config_maps(space, name), accept=TABLE, includeObject="None"))
    assert body["rows"][0]["object"] is None


def test_a_watch_can_send_tables(api: Api, own_space: str) -> None:
    for each in ("a", "b"):
        make(api, path("v1/secrets", own_space), {"metadata": {"name": each}})
    with api.watch(path("v1/secrets", own_space), accept=TABLE) as watch:
        first, second = watch.take(2)
    assert (first["type"], first["object"]["kind"]) == ("ADDED", "Table")
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Type", "Data", "Age"]
    assert second["object"]["columnDefinitions"] is None
    assert sorted(each["object"]["rows"][0]["cells"][0] for each in (first, second)) == ["a", "b"]


def test_a_missing_object_is_a_status_not_a_table(api: Api, space: str, name: str) -> None:
    answer = api.get(pods(space, name), accept=TABLE)
    assert (answer.status, answer.body["kind"]) == (404, "Status")


def test_metadata_alone_can_be_read(api: Api, own_space: str) -> None:
    make(api, config_maps(own_space), config_map("a", {"x": "1"}, labels={"color": "red"}))
    held = accepted(api.get(config_maps(own_space, "a"), accept=METADATA))
    assert (held["kind"], held["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert held["metadata"]["labels"] == {"color": "red"}
    assert "data" not in held
    body = accepted(api.get(config_maps(own_space), accept=METADATA_LIST, labelSelector="color=red"))
    assert body["kind"] == "PartialObjectMetadataList"
    assert [(item["kind"], item["metadata"]["name"]) for item in body["items"]] == [("PartialObjectMetadata", "a")]


def test_metadata_alone_can_be_watched(api: Api, own_space: str) -> None:
    make(api, path("v1/secrets", own_space), {"metadata": {"name": "a"}})
    with api.watch(path("v1/secrets", own_space), accept=METADATA) as watch:
        event = watch.next()
    assert (event["type"], event["object"]["kind"]) == ("ADDED", "PartialObjectMetadata")
    assert event["object"]["metadata"]["name"] == "a"
