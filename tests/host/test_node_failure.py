"""Nodes that fail under running jobs, on the whole embedded host: kubelets stop reporting, pods are replaced."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from host.centre import RACK, centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab, Raw, condition
from stories.invariants import placed

FIVE = JOB.manifest.replace("20s", "1h")
"""A job of five pods that share a rack of three hosts with room for two pods each: one place stays free."""


def running(manifest: str = FIVE, options: EmbeddedOptions | None = None, cpu: int = 4) -> Lab:
    lab = centre(Lab(options), cpu)
    lab.apply(manifest)
    lab.advance(10)
    assert condition(lab.workloads()[0], "PodsReady")
    return lab


def fail(lab: Lab, *nodes: str) -> None:
    for node in nodes:
        lab.patch(kinds.NODE, "", node, {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}})


def recover(lab: Lab, node: str) -> None:
    lab.patch(kinds.NODE, "", node, {"metadata": {"annotations": {"closeknit.dev/failed": None}}})


def hosts(lab: Lab) -> dict[str, str]:
    """Where each rank runs now."""
    index = "batch.kubernetes.io/job-completion-index"
    return {
        pod["metadata"]["labels"][index]: pod["spec"]["nodeName"]
        for pod in lab.pods()
        if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
    }


def evictions(workload: Raw) -> dict[str, int]:
    stats = workload["status"].get("schedulingStats") or {}
    return {one["reason"]: one["count"] for one in stats.get("evictions") or ()}


def planned(lab: Lab) -> set[str]:
    [workload] = lab.workloads()
    [(_, _, places)] = placed(workload)
    return set(places)


PAUSE = 330
"""Seconds until the pods of a lost node are evicted: 10 for the node, 300 of toleration."""


def test_the_pods_of_a_lost_node_move_and_the_others_stay() -> None:
    lab = running(cpu=6)
    before = hosts(lab)
    assert before == {"0": "h00", "1": "h00", "2": "h00", "3": "h01", "4": "h01"}
    fail(lab, "h01")
    lab.advance(PAUSE)
    after = hosts(lab)
    assert {rank: after[rank] for rank in "012"} == dict.fromkeys("012", "h00")
    assert {after["3"], after["4"]} == {"h02"}
    [workload] = lab.workloads()
    assert evictions(workload) == {}
    assert "unhealthyNodes" not in workload["status"]
    assert condition(workload, "PodsReady")


def test_several_nodes_at_once_are_replaced_by_us_and_end_in_an_eviction_in_kueues_profile() -> None:
    ours = running(FIVE.replace("-required-", "-preferred-"))
    fail(ours, "h00", "h01")
    ours.advance(PAUSE)
    assert len(hosts(ours)) == 5
    assert not {"h00", "h01"} & set(hosts(ours).values())
    assert evictions(ours.workloads()[0]) == {}
    kueue = running(FIVE.replace("-required-", "-preferred-"), EmbeddedOptions(gates=Gates.profile("kueue"), seed=1))
    fail(kueue, "h00", "h01")
    kueue.advance(PAUSE)
    assert evictions(kueue.workloads()[0]) == {"NodeFailures": 1}
    assert len(hosts(kueue)) == 5
    assert not {"h00", "h01"} & set(hosts(kueue).values())


def test_a_job_without_a_spare_node_in_its_rack_moves_to_another_rack() -> None:
    lab = running(FIVE.replace("parallelism: 5", "parallelism: 6").replace("completions: 5", "completions: 6"))
    assert set(hosts(lab).values()) == {"h00", "h01", "h02"}
    fail(lab, "h01")
    lab.advance(PAUSE)
    [workload] = lab.workloads()
    assert evictions(workload) == {"NodeFailures": 1}
    racks = {node["metadata"]["name"]: node["metadata"]["labels"][RACK] for node in lab.all(kinds.NODE, "")}
    assert len({racks[host] for host in hosts(lab).values()}) == 1
    assert len(hosts(lab)) == 6


def test_a_node_that_is_deleted_is_replaced() -> None:
    lab = running(cpu=6)
    lab.delete(kinds.NODE, "", "h01")
    lab.advance(60)
    assert set(hosts(lab).values()) == {"h00", "h02"}
    assert evictions(lab.workloads()[0]) == {}


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    lab = running(cpu=6)
    before = hosts(lab)
    fail(lab, "h01")
    lab.advance(100)
    recover(lab, "h01")
    lab.advance(PAUSE)
    assert hosts(lab) == before
    assert "unhealthyNodes" not in lab.workloads()[0]["status"]


def test_pods_leave_a_node_with_a_taint_that_they_do_not_tolerate() -> None:
    lab = running(cpu=6)
    taints = [{"key": "gpu", "effect": "NoSchedule"}, {"key": "broken", "effect": "NoExecute"}]
    lab.patch(kinds.NODE, "", "h01", {"spec": {"taints": taints}})
    lab.advance(30)
    assert set(hosts(lab).values()) == {"h00", "h02"}
    assert evictions(lab.workloads()[0]) == {}


def test_without_hot_swap_a_job_on_a_lost_node_waits() -> None:
    gates = Gates.profile(changes={"TASFailedNodeReplacement": False})
    lab = running(options=EmbeddedOptions(gates=gates, seed=1), cpu=6)
    fail(lab, "h01")
    lab.advance(PAUSE)
    assert set(hosts(lab).values()) == {"h00"}
    assert evictions(lab.workloads()[0]) == {}


def test_after_thirty_seconds_a_node_counts_as_lost_where_pod_termination_does_not_count() -> None:
    gates = Gates.profile(changes={"TASReplaceNodeOnPodTermination": False})
    lab = running(options=EmbeddedOptions(gates=gates, seed=1), cpu=6)
    fail(lab, "h01")
    lab.advance(35)
    assert planned(lab) == {"h00", "h01"}
    lab.advance(12)
    assert planned(lab) == {"h00", "h02"}


def test_a_rack_that_fails_is_left_by_its_job_which_ends_elsewhere() -> None:
    """Pods on dead nodes never report that they stopped; the job is known to be over only when the nodes are back."""
    lab = running(JOB.manifest.replace("20s", "10m"))
    fail(lab, "h00", "h01", "h02")
    lab.advance(PAUSE)
    assert set(hosts(lab).values()) == {"h03", "h04", "h05"}
    lab.advance(700)
    for node in ("h00", "h01", "h02"):
        recover(lab, node)
    lab.advance(60)
    [workload] = lab.workloads()
    assert condition(workload, "Finished")
    assert evictions(workload) == {}


EIGHT = JOB.manifest.replace("20s", "60s").replace("parallelism: 5", "parallelism: 8")
EIGHT = EIGHT.replace("completions: 5", "completions: 8")
"""Eight pods on three hosts of one rack with room for three each. The last host is lost, so its rack has no spare."""


def six_of_eight_finished(manifest: str, gates: Gates) -> Lab:
    """On a slow host two pods still run when the others are done; then that host is lost."""
    lab = centre(Lab(EmbeddedOptions(gates=gates, seed=1)), cpu=6)
    lab.patch(kinds.NODE, "", "h02", {"metadata": {"annotations": {"closeknit.dev/slow": "100"}}})
    lab.apply(manifest)
    lab.advance(100)
    assert [one["count"] for one in lab.workloads()[0]["status"]["reclaimablePods"]] == [6]
    assert sorted(hosts_of_running(lab)) == ["h02", "h02"]
    fail(lab, "h02")
    return lab


def hosts_of_running(lab: Lab) -> list[str]:
    pods = [one for one in lab.pods() if "deletionTimestamp" not in one["metadata"]]
    return [one["spec"]["nodeName"] for one in pods if one["status"]["phase"] == "Running"]


@pytest.mark.parametrize("manifest", [EIGHT, EIGHT.replace("  completionMode: Indexed\n", "")])
def test_pods_of_a_lost_node_take_the_places_of_finished_pods_and_the_job_continues(manifest: str) -> None:
    lab = six_of_eight_finished(manifest, Gates.profile())
    lab.advance(PAUSE)
    assert hosts_of_running(lab) == ["h00", "h00"]
    [workload] = lab.workloads()
    assert evictions(workload) == {}
    assert "unhealthyNodes" not in workload["status"]
    assert [dict(places) for _, _, places in placed(workload)] == [{"h00": 3, "h01": 3}]
    lab.advance(60)
    assert lab.get(kinds.JOB, "one")["status"]["succeeded"] == 8


def test_in_kueues_profile_such_pods_start_and_are_evicted_a_second_later() -> None:
    lab = six_of_eight_finished(EIGHT, Gates.profile("kueue"))
    while "unhealthyNodes" not in lab.workloads()[0]["status"]:
        lab.advance(0.5)
    new = [one for one in lab.pods() if one["status"]["phase"] == "Pending"]
    assert [one["spec"]["nodeName"] for one in new] == ["h00", "h00"]
    lab.advance(2)
    assert evictions(lab.workloads()[0]) == {"NodeFailures": 1}


def test_a_pod_of_a_lost_node_waits_for_the_second_pass_even_if_the_place_of_a_finished_pod_is_free() -> None:
    lab = six_of_eight_finished(EIGHT, Gates.profile())
    while "unhealthyNodes" not in lab.workloads()[0]["status"]:
        lab.advance(0.5)
    new = [one for one in lab.pods() if one["status"]["phase"] == "Pending"]
    assert len(new) == 2
    assert all(one["spec"]["schedulingGates"] for one in new)


@pytest.mark.parametrize("fail_fast", [True, False])
def test_fail_fast_decides_whether_a_job_waits_for_a_node_in_its_rack(fail_fast: bool) -> None:
    gates = Gates.profile(changes={"TASFailedNodeReplacementFailFast": fail_fast})
    six = FIVE.replace("parallelism: 5", "parallelism: 6").replace("completions: 5", "completions: 6")
    lab = running(six, EmbeddedOptions(gates=gates, seed=1))
    lab.delete(kinds.NODE, "", "h01")
    lab.advance(60)
    [workload] = lab.workloads()
    assert evictions(workload) == ({"NodeFailures": 1} if fail_fast else {})
    if not fail_fast:
        node = {"cloud.provider.com/topology-block": "b0", RACK: "r0", "kubernetes.io/hostname": "new", "pool": "gpu"}
        room = {"cpu": "4", "memory": "64Gi", "pods": "32"}
        ready = {"type": "Ready", "status": "True"}
        meta = {"name": "new", "labels": node}
        status = {"allocatable": room, "capacity": room, "conditions": [ready]}
        lab.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status})
        lab.advance(60)
        assert set(hosts(lab).values()) == {"h00", "h02", "new"}
        assert evictions(lab.workloads()[0]) == {}


def test_a_pod_deleted_from_a_cordoned_host_waits_there_while_its_job_runs_on() -> None:
    lab = running()
    shared = next(host for host in planned(lab) if list(hosts(lab).values()).count(host) == 2)
    lab.patch(kinds.NODE, "", shared, {"spec": {"unschedulable": True}})
    first = next(pod for pod in lab.pods() if pod["spec"].get("nodeName") == shared)
    lab.delete(kinds.POD, "default", first["metadata"]["name"])
    lab.advance(300)
    assert lab.get(kinds.JOB, "one")["status"]["failed"] == 1, "only the pod that was deleted"
    assert len(hosts(lab)) == 4
    lab.patch(kinds.NODE, "", shared, {"spec": {"unschedulable": None}})
    lab.advance(60)
    assert len(hosts(lab)) == 5
