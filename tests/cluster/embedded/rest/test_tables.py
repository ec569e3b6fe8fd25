"""What `kubectl get` prints: columns, rows, ages."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.rest.ages import age, shown
from closeknit.cluster.embedded.rest.tables import cells, columns
from closeknit.cluster.kinds import (
    BUDGET,
    CLUSTER_QUEUE,
    COHORT,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    CRON_JOB,
    DAEMON_SET,
    EVENT,
    JOB,
    JOB_SET,
    KINDS,
    LEASE,
    LIMIT_RANGE,
    LOCAL_QUEUE,
    MPI_JOB,
    NODE,
    POD,
    PRIORITY_CLASS,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RESOURCE_FLAVOR,
    SERVICE,
    TOPOLOGY,
    WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
    Kind,
)

NOW = 1_800_000_000.0
MADE = "2027-01-15T07:59:00Z"


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (11_000, "3h3m"),
        (28_800, "8h"),
        (172_799, "47h"),
        (172_800, "2d"),
        (200_000, "2d7h"),
        (691_200, "8d"),
        (63_071_999, "729d"),
        (63_072_000, "2y"),
        (63_172_800, "2y1d"),
        (252_288_000, "8y"),
    ],
)
def test_a_span_is_exact_where_short_and_coarse_where_long(span: float, text: str) -> None:
    assert shown(span) == text


@pytest.mark.parametrize("text", [None, "", "yesterday", 5, {}, "2027-01-15"])
def test_without_a_time_the_age_is_unknown(text: object) -> None:
    assert age(text, NOW) == "<unknown>"


def made(kind: Kind, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "x", "creationTimestamp": MADE, **fields.pop("metadata", {})}, **fields}


def row(kind: Kind, raw: dict[str, Any]) -> dict[str, Any]:
    """Cells by column, without name and age, which are checked."""
    names = [column["name"] for column in columns(kind)]
    found = dict(zip(names, cells(kind, raw, NOW), strict=True))
    if "Name" in found:
        assert found.pop("Name") == "x"
    if "Age" in found:
        assert found.pop("Age") == "60s"
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_row_has_a_cell_for_every_column_whatever_the_object_is_like(kind: Kind) -> None:
    for fields in ({}, {"spec": None, "status": None}, {"spec": 1, "status": "x"}, {"spec": [], "data": 1}):
        raw = {"metadata": {"name": "x"}, **fields}
        found = cells(kind, raw, NOW)
        assert len(found) == len(columns(kind))
        assert found[-1 if kind is EVENT else 0] == "x"


def test_columns_say_their_type_and_which_are_only_for_wide_output() -> None:
    assert [(one["name"], one["type"], one["priority"]) for one in columns(CLUSTER_QUEUE)] == [
        ("Name", "string", 0),
        ("Cohort", "string", 0),
        ("Strategy", "string", 1),
        ("Pending Workloads", "integer", 0),
        ("Admitted Workloads", "integer", 1),
        ("State", "string", 0),
    ]
    assert [(one["name"], one["type"]) for one in columns(LIMIT_RANGE)] == [
        ("Name", "string"),
        ("Created At", "date"),
    ]
    assert [one["format"] for one in columns(POD)][:2] == ["name", ""]


def pod(*states: dict[str, Any], phase: str = "Running", **more: Any) -> dict[str, Any]:
    """A pod with a container for each of these states."""
    statuses = [
        {"name": f"c{number}", "ready": "running" in state, "restartCount": 0, "state": state}
        for number, state in enumerate(states)
    ]
    status = {"phase": phase, "containerStatuses": statuses, **more.pop("status", {})}
    spec = {"containers": [{"name": one["name"]} for one in statuses], **more.pop("spec", {})}
    return made(POD, spec=spec, status=status, **more)


RUNS: dict[str, Any] = {"running": {}}
ENDED: dict[str, Any] = {"terminated": {"exitCode": 0, "reason": "Completed"}}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("raw", "ready", "status"),
    [
        (pod(RUNS, RUNS), "2/2", "Running"),
        (pod(RUNS, {"waiting": {"reason": "CrashLoopBackOff"}}), "1/2", "CrashLoopBackOff"),
        (pod(ENDED, phase="Succeeded"), "0/1", "Completed"),
        (pod(ENDED, RUNS, status=READY), "1/2", "Running"),
        (pod(ENDED, RUNS), "1/2", "NotReady"),
        (pod({"terminated": {"exitCode": 3}}, phase="Failed"), "0/1", "ExitCode:3"),
        (pod({"terminated": {"exitCode": 137, "signal": 9}}, phase="Failed"), "0/1", "Signal:9"),
        (pod(phase="Failed", status={"reason": "Evicted"}, spec={"containers": [{"name": "c"}]}), "0/1", "Evicted"),
        (pod(RUNS, metadata={"deletionTimestamp": MADE}), "1/1", "Terminating"),
        (pod(ENDED, phase="Succeeded", metadata={"deletionTimestamp": MADE}), "0/1", "Completed"),
        (pod(RUNS, metadata={"deletionTimestamp": MADE}, status={"reason": "NodeLost"}), "1/1", "Unknown"),
    ],
)
def test_the_word_for_a_pod(raw: dict[str, Any], ready: str, status: str) -> None:
    found = row(POD, raw)
    assert (found["Ready"], found["Status"]) == (ready, status)


def test_a_gated_pod_says_so() -> None:
    gated = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}
    assert row(POD, pod(phase="Pending", status=gated))["Status"] == "SchedulingGated"


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ([ENDED, {"waiting": {"reason": "PodInitializing"}}], "Init:1/2"),
        ([{"waiting": {"reason": "ErrImagePull"}}], "Init:ErrImagePull"),
        ([{"terminated": {"exitCode": 2}}], "Init:ExitCode:2"),
        ([{"terminated": {"exitCode": 2, "reason": "Error"}}], "Init:Error"),
    ],
)
def test_an_init_container_that_is_not_through_comes_first(states: list[dict[str, Any]], word: str) -> None:
    starting = [{"name": f"i{number}", "state": state} for number, state in enumerate(states)]
    spec = {"initContainers": [{"name": "i0"}, {"name": "i1"}]}
    raw = pod({"waiting": {"reason": "PodInitializing"}}, phase="Pending", status={"initContainerStatuses": starting})
    raw["spec"] |= spec
    assert row(POD, raw)["Status"] == word


def test_a_sidecar_counts_as_a_container() -> None:
    sidecar = {"name": "s", "ready": True, "started": True, "restartCount": 2, "state": RUNS}
    raw = pod(RUNS, status={"initContainerStatuses": [sidecar]})
    raw["spec"]["initContainers"] = [{"name": "s", "restartPolicy": "Always"}]
    found = row(POD, raw)
    assert (found["Ready"], found["Status"], found["Restarts"]) == ("2/2", "Running", "2")


def test_restarts_say_when_the_last_one_was() -> None:
    raw = pod(RUNS, RUNS)
    raw["status"]["containerStatuses"][1] |= {
        "restartCount": 3,
        "lastState": {"terminated": {"finishedAt": "2027-01-15T07:57:00Z"}},
    }
    assert row(POD, raw)["Restarts"] == "3 (3m ago)"


def test_where_a_pod_is() -> None:
    gates = {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}], "nodeName": "n1"}
    conditions = {"conditions": [{"type": "a", "status": "True"}], "podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]}
    found = row(POD, pod(RUNS, spec=gates, status=conditions))
    assert (found["IP"], found["Node"], found["Readiness Gates"]) == ("10.0.0.1", "n1", "1/2")


def test_a_node() -> None:
    labels = {"node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": "", "kubernetes.io/role": "c"}
    status = {
        "conditions": [{"type": "Ready", "status": "Unknown"}],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}],
        "nodeInfo": {"kubeletVersion": "v1.36.0", "osImage": "Debian"},
    }
    assert row(NODE, made(NODE, metadata={"labels": labels}, spec={"unschedulable": True}, status=status)) == {
        "Status": "NotReady,SchedulingDisabled",
        "Roles": "a,b,c",
        "Version": "v1.36.0",
        "Internal-IP": "10.0.0.7",
        "External-IP": "<none>",
        "OS-Image": "Debian",
        "Kernel-Version": "<unknown>",
        "Container-Runtime": "<unknown>",
    }


@pytest.mark.parametrize(
    ("spec", "status", "word", "completions", "duration"),
    [
        ({"completions": 3}, {}, "Running", "0/3", ""),
        ({"parallelism": 4}, {"succeeded": 1}, "Running", "1/1 of 4", ""),
        ({}, {"startTime": MADE}, "Running", "0/1", "60s"),
        (
            {"completions": 1},
            {
                "startTime": MADE,
                "completionTime": "2027-01-15T07:59:05Z",
                "succeeded": 1,
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "Complete", "status": "True"},
                ],
            },
            "Complete",
            "1/1",
            "5s",
        ),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, "Suspended", "0/1", ""),
        ({}, {"conditions": [{"type": "Suspended", "status": "False"}]}, "Running", "0/1", ""),
        ({}, {"conditions": [{"type": "Failed", "status": "True"}]}, "Failed", "0/1", ""),
    ],
)
def test_a_job(spec: dict[str, Any], status: dict[str, Any], word: str, completions: str, duration: str) -> None:
    found = row(JOB, made(JOB, spec=spec, status=status))
    assert (found["Status"], found["Completions"], found["Duration"]) == (word, completions, duration)


def test_an_event() -> None:
    about = {"kind": "Pod", "name": "p", "fieldPath": "spec"}
    raw = made(
        EVENT,
        involvedObject=about,
        reason="Pulled",
        type="Normal",
        message=" done \n",
        count=3,
        firstTimestamp="2027-01-15T07:00:00Z",
        lastTimestamp="2027-01-15T07:59:50Z",
        source={"component": "kubelet", "host": "n1"},
    )
    assert row(EVENT, raw) == {
        "Last Seen": "10s",
        "Type": "Normal",
        "Reason": "Pulled",
        "Object": "pod/p",
        "Subobject": "spec",
        "Source": "kubelet, n1",
        "Message": "done",
        "First Seen": "60m",
        "Count": 3,
    }


def test_a_service() -> None:
    ports = [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    spec = {"type": "LoadBalancer", "clusterIP": "10.0.0.1", "ports": ports, "selector": {"a": "b"}}
    assert row(SERVICE, made(SERVICE, spec=spec)) == {
        "Type": "LoadBalancer",
        "Cluster-IP": "10.0.0.1",
        "External-IP": "<pending>",
        "Port(s)": "80:30080/TCP,53/UDP",
        "Selector": "a=b",
    }


def test_other_kinds_of_kubernetes() -> None:
    assert row(CONFIG_MAP, made(CONFIG_MAP, data={"a": ""}, binaryData={"b": ""})) == {"Data": 2}
    assert row(LEASE, made(LEASE, spec={"holderIdentity": "me"})) == {"Holder": "me"}
    assert row(LIMIT_RANGE, made(LIMIT_RANGE)) == {"Created At": MADE}
    assert row(PRIORITY_CLASS, made(PRIORITY_CLASS, value=7, preemptionPolicy="Never")) == {
        "Value": 7,
        "Global-Default": False,
        "PreemptionPolicy": "Never",
    }
    assert row(BUDGET, made(BUDGET, spec={"minAvailable": 1}, status={"disruptionsAllowed": 2})) == {
        "Min Available": "1",
        "Max Unavailable": "N/A",
        "Allowed Disruptions": 2,
    }
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}
    raw = made(CONTROLLER_REVISION, metadata={"ownerReferences": [owner]}, revision=4)
    assert row(CONTROLLER_REVISION, raw) == {"Controller": "daemonset.apps/d", "Revision": 4}
    counts = {"desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 1}
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]
    spec = {"template": {"spec": {"containers": containers, "nodeSelector": {"x": "y"}}}}
    assert row(DAEMON_SET, made(DAEMON_SET, spec=spec, status=counts)) == {
        "Desired": 3,
        "Current": 2,
        "Ready": 1,
        "Up-to-date": 0,
        "Available": 0,
        "Node Selector": "x=y",
        "Containers": "a,b",
        "Images": "i,j",
        "Selector": "<none>",
    }
    found = row(CRON_JOB, made(CRON_JOB, spec={"schedule": "* * * * *", "suspend": True}, status={"active": [{}]}))
    assert (found["Schedule"], found["Timezone"], found["Suspend"]) == ("* * * * *", "<none>", "True")
    assert (found["Active"], found["Last Schedule"]) == (1, "<none>")


def test_kinds_of_kueue() -> None:
    conditions = [{"type": "QuotaReserved", "status": "True"}, {"type": "Admitted", "status": "True"}]
    raw = made(
        WORKLOAD,
        spec={"queueName": "lq"},
        status={"admission": {"clusterQueue": "cq"}, "conditions": conditions},
    )
    assert row(WORKLOAD, raw) == {"Queue": "lq", "Reserved in": "cq", "Admitted": "True", "Finished": None}
    assert row(CLUSTER_QUEUE, made(CLUSTER_QUEUE, spec={"cohortName": "c"}, status={"pendingWorkloads": 4})) == {
        "Cohort": "c",
        "Strategy": None,
        "Pending Workloads": 4,
        "Admitted Workloads": None,
        "State": "",
    }
    assert row(LOCAL_QUEUE, made(LOCAL_QUEUE, spec={"clusterQueue": "q"}))["ClusterQueue"] == "q"
    assert row(WORKLOAD_PRIORITY_CLASS, made(WORKLOAD_PRIORITY_CLASS, value=-5)) == {"Value": -5}


def test_kinds_of_others() -> None:
    status = {"restarts": 0, "terminalState": "Completed", "conditions": [{"type": "Completed", "status": "True"}]}
    assert row(JOB_SET, made(JOB_SET, spec={"suspend": False}, status=status)) == {
        "TerminalState": "Completed",
        "Restarts": "0",
        "Completed": "True",
        "Suspended": "false",
    }
    conditions = {"conditions": [{"type": "Created"}, {"type": "Running"}]}
    assert row(PYTORCH_JOB, made(PYTORCH_JOB, status=conditions)) == {"State": "Running"}
    assert row(RAY_CLUSTER, made(RAY_CLUSTER, status={"state": "ready"}))["age"] == "60s"
    assert row(MPI_JOB, made(MPI_JOB)) == row(COHORT, made(COHORT)) == {}


def test_an_object_that_is_being_deleted_shows_it() -> None:
    going = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"levels": []}}
    for kind in (CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, TOPOLOGY):
        assert row(kind, made(kind, **going))["State"] == "Terminating"


def test_flavors_and_topologies_say_what_they_are_about() -> None:
    flavor = made(RESOURCE_FLAVOR, spec={"topologyName": "hall"})
    assert row(RESOURCE_FLAVOR, flavor) == {"Topology": "hall", "State": "active"}
    topology = made(TOPOLOGY, spec={"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "host"}]})
    assert row(TOPOLOGY, topology) == {"Levels": "rack, host", "State": "active"}
