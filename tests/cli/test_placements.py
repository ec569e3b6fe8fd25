"""Where a workload runs and what it waits for, read from objects alone."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cli.placements import Atlas, groups_of, reason_of, short_level, state_of
from closeknit.cluster.port import Raw

HOST = "kubernetes.io/hostname"
TOPOLOGY = {
    "metadata": {"name": "t"},
    "spec": {"levels": [{"nodeLabel": "block"}, {"nodeLabel": "rack"}, {"nodeLabel": HOST}]},
}
FLAVOR = {"metadata": {"name": "f"}, "spec": {"topologyName": "t"}}


def node(name: str, block: str, rack: str) -> Raw:
    return {"metadata": {"name": name, "labels": {"block": block, "rack": rack, HOST: name}}}


ATLAS = Atlas([TOPOLOGY], [FLAVOR], [node("n1", "b1", "r1"), node("n2", "b1", "r2")])


def workload(*conditions: tuple[str, str, str, str], spec: Raw | None = None, **status: Any) -> Raw:
    told = [
        {"type": kind, "status": holds, "reason": reason, "message": message}
        for kind, holds, reason, message in conditions
    ]
    return {"metadata": {"name": "w"}, "spec": spec or {}, "status": {"conditions": told, **status}}


def placed(hosts: dict[str, int]) -> Raw:
    values = [{"individual": {"roots": list(hosts)}}]
    piece = {"domainCount": len(hosts), "valuesPerLevel": values, "podCounts": {"individual": list(hosts.values())}}
    given = {
        "name": "main",
        "count": sum(hosts.values()),
        "flavors": {"cpu": "f"},
        "topologyAssignment": {"levels": [HOST], "slices": [piece]},
    }
    return workload(admission={"clusterQueue": "q", "podSetAssignments": [given]})


def test_hosts_are_found_in_the_tree_of_their_flavor() -> None:
    (group,) = groups_of(placed({"n1": 3, "n2": 1}), ATLAS)
    assert group.pods == {("b1", "r1", "n1"): 3, ("b1", "r2", "n2"): 1}
    assert (group.level, group.where) == ("block", "b1, 2 hosts")


def test_a_single_host_is_named_with_its_path() -> None:
    (group,) = groups_of(placed({"n1": 3}), ATLAS)
    assert (group.level, group.where) == (HOST, "b1/r1/n1")


def test_a_host_that_is_gone_is_named_alone() -> None:
    (group,) = groups_of(placed({"n1": 3, "n9": 1}), ATLAS)
    assert (group.level, group.where) == ("", "b1, n9, 2 hosts")


def test_pods_without_a_topology_have_no_place_here() -> None:
    given = {"name": "main", "count": 2, "flavors": {"cpu": "f"}}
    (group,) = groups_of(workload(admission={"podSetAssignments": [given]}), ATLAS)
    assert (group.number, group.flavors, group.pods, group.where) == (2, ("f",), {}, "")


def test_an_assignment_that_contradicts_itself_does_no_harm() -> None:
    raw = placed({"n1": 3})
    raw["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]["slices"][0]["domainCount"] = 5
    assert groups_of(raw, ATLAS)[0].pods == {}


YES, NO = "True", "False"


@pytest.mark.parametrize(
    ("raw", "state", "reason"),
    [
        (workload(), "Pending", "a decision"),
        (workload(("QuotaReserved", NO, "WaitingForQuota", "long")), "Pending", "WaitingForQuota"),
        (workload(("QuotaReserved", NO, "Pending", "couldn't assign")), "Pending", "couldn't assign"),
        (workload(("QuotaReserved", YES, "QuotaReserved", "")), "QuotaReserved", ""),
        (workload(("Admitted", YES, "Admitted", ""), ("QuotaReserved", YES, "", "")), "Admitted", ""),
        (workload(("Finished", YES, "Succeeded", ""), ("Admitted", YES, "", "")), "Finished (Succeeded)", ""),
        (workload(("Evicted", YES, "Preempted", "by x")), "Evicted", "Preempted"),
        (workload(spec={"active": False}), "Pending", "Deactivated"),
    ],
)
def test_states_and_reasons(raw: Raw, state: str, reason: str) -> None:
    assert (state_of(raw), reason_of(raw)[0]) == (state, reason)


def test_checks_that_are_not_ready_are_named() -> None:
    checks = [{"name": "a", "state": "Ready"}, {"name": "b", "state": "Pending", "message": "no machines yet"}]
    raw = workload(("QuotaReserved", YES, "", ""), admissionChecks=checks)
    assert reason_of(raw) == (
        "admission checks (b)",
        "It holds its quota and waits for admission checks: b (no machines yet)",
    )


def test_a_long_message_is_cut_short_where_there_is_no_reason() -> None:
    reason, message = reason_of(workload(("QuotaReserved", NO, "Pending", "x" * 80)))
    assert reason == "x" * 59 + "…"
    assert message == "x" * 80


def test_levels_have_short_names() -> None:
    assert short_level("cloud.provider.com/topology-rack") == "rack"
    assert short_level(HOST) == "hostname"
