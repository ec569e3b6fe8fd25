"""A loaded cluster: holdings, pending workloads, and what was left out and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from closeknit.model.gates import Gates
from closeknit.model.quota import FlavorResource
from closeknit.model.settings import Settings
from closeknit.observe.loaded import LoadedCluster
from closeknit.observe.loader import load
from closeknit.observe.manifests import read_manifests
from host.node_topologies import topology as topology_of
from host.node_topologies import zone

from .written import (
    GPU,
    QUEUE,
    cluster_queue,
    flavor,
    folder,
    job,
    kueue,
    local_queue,
    namespace,
    node,
    placing_cluster,
    pod,
    small_cluster,
    topology,
    workload,
)

GATES = Gates.profile()
NOW = 1_800_000_000.0


def state_of(path: Path, *objects: dict[str, Any]) -> LoadedCluster:
    return load(read_manifests([folder(path, *objects)]), GATES, Settings())


def said(state: LoadedCluster) -> list[str]:
    return [str(warning) for warning in state.warnings]


# Queues


def test_everything_that_a_cycle_needs_is_there(tmp_path: Path) -> None:
    state = state_of(tmp_path, *placing_cluster())
    world = state.scheduler.world
    assert (list(world.cluster_queues), list(world.flavors), list(world.topologies)) == (["cq"], ["gpu"], ["dc"])
    assert len(world.nodes) == 4
    assert world.is_active("cq")
    assert world.snapshot("gpu") is not None
    assert said(state) == []


@pytest.mark.parametrize(
    ("broken", "warning"),
    [
        (
            cluster_queue("bad", fairSharing={"weight": "-1"}),
            "ClusterQueue bad: spec.fairSharing.weight: is -1; use a quantity that is not negative",
        ),
        (
            cluster_queue("bad", {"nominalQuota": 1, "borrowingLimit": 1}),
            "borrowingLimit: requires a cohort; remove it, or set a cohort",
        ),
        (
            local_queue("bad", ""),
            'LocalQueue default/bad: spec.clusterQueue: is "", not the name of an object',
        ),
        (kueue("Topology", "bad", {"levels": []}), "Topology bad: spec.levels: is empty; add at least one entry"),
        (kueue("Cohort", "bad", {"parentName": "Not_A_Name"}), "Cohort bad: spec.parentName: is"),
        (kueue("WorkloadPriorityClass", "bad"), "WorkloadPriorityClass bad: value: is missing"),
        (kueue("AdmissionCheck", "bad", {}), "AdmissionCheck bad: spec.controllerName: is missing"),
    ],
    ids=["weight", "limit", "local-queue", "topology", "cohort", "priority-class", "check"],
)
def test_an_object_that_breaks_a_rule_is_left_out_and_the_rest_is_used(
    tmp_path: Path, broken: dict[str, Any], warning: str
) -> None:
    state = state_of(tmp_path, *small_cluster(), broken)
    assert any(warning in one for one in said(state)), said(state)
    assert len(state.left_out) == 1
    assert state.scheduler.world.is_active("cq")


def test_a_cycle_of_cohorts_makes_the_queues_below_it_inactive(tmp_path: Path) -> None:
    cohorts = [kueue("Cohort", name, {"parentName": other}) for name, other in (("a", "b"), ("b", "a"))]
    state = state_of(tmp_path, *small_cluster(), *cohorts, cluster_queue("lost", cohort="a"))
    why = state.scheduler.world.inactive("lost")
    assert why is not None
    assert why.reason == "CohortCycle"
    assert state.scheduler.world.is_active("cq")


def test_a_missing_flavor_or_topology_makes_a_queue_inactive(tmp_path: Path) -> None:
    state = state_of(
        tmp_path,
        namespace("default"),
        flavor("placed", topology="nowhere"),
        cluster_queue("one", flavor="missing"),
        cluster_queue("two", flavor="placed"),
    )
    reasons = [why.reason for name in ("one", "two") if (why := state.scheduler.world.inactive(name)) is not None]
    assert reasons == ["FlavorNotFound", "TopologyNotFound"]


def test_a_check_whose_provisioning_config_is_missing_is_warned_of(tmp_path: Path) -> None:
    spec = {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "big"},
    }
    state = state_of(tmp_path, *small_cluster(), kueue("AdmissionCheck", "nodes", spec))
    assert said(state) == [
        "AdmissionCheck nodes: spec.parameters: names ProvisioningRequestConfig big, which does not exist; create it"
    ]


# Namespaces


def test_without_any_namespace_all_are_taken_to_exist_with_a_warning(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster()[1:], workload("w", namespace="elsewhere"))
    assert state.scheduler.world.namespaces == {
        name: {"kubernetes.io/metadata.name": name} for name in ("default", "elsewhere")
    }
    assert said(state)[0].startswith("there are no Namespaces: all are taken to exist")


def test_namespaces_that_are_there_have_their_labels_and_their_name(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster(), namespace("team", paid="yes"))
    assert state.scheduler.world.namespaces["team"] == {"kubernetes.io/metadata.name": "team", "paid": "yes"}
    assert state.scheduler.world.namespaces.keys() == {"default", "team"}


# Workloads


def test_workloads_are_found_by_their_owners(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster(), workload("job-train-abcde", owner="train"), workload("plain"))
    assert [str(name) for name in state.names.values()] == ["Job default/train", "Workload default/plain"]
    assert state.by_uid == {"uid-of-train": "default/job-train-abcde"}


def test_finished_workloads_are_ignored(tmp_path: Path) -> None:
    done = workload("done")
    done["status"] = {"conditions": [{"type": "Finished", "status": "True", "reason": "Succeeded"}]}
    assert state_of(tmp_path, *small_cluster(), done).workloads == {}


def test_a_workload_that_contradicts_itself_is_left_out(tmp_path: Path) -> None:
    odd = workload("odd", 3, holds="cq")
    odd["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] = {GPU: 4}
    state = state_of(tmp_path, *small_cluster(), odd)
    assert state.workloads == {}
    assert "which cannot be divided evenly among 3 pods" in said(state)[0]
    assert state.left_out == {"Workload default/odd"}


def test_defaults_of_its_namespace_and_the_overhead_of_its_runtime_are_added_to_pods(tmp_path: Path) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "2"}}]},
    }
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "vm"},
        "overhead": {"podFixed": {"cpu": "500m"}},
    }
    one = workload("w")
    one["spec"]["podSets"][0]["template"]["spec"]["runtimeClassName"] = "vm"
    state = state_of(tmp_path, *small_cluster(), limits, runtime, one)
    (part,) = state.workloads["default/w"].parts
    assert part.requests == {"cpu": 2500, GPU: 1}


# NUMA zones


def test_zones_are_read_from_reports_and_pools_and_mistakes_in_them_are_warnings(tmp_path: Path) -> None:
    report = topology_of("n1", zone(0, {"cpu": ("4", "4", "9")}), zone(1, {"cpu": ("4", "4", "3")}))
    (tmp_path / "pool.yaml").write_text("{racks: 1, nodesPerRack: 2, node: {cpu: 8, numa: {zones: 2}}}")
    state = state_of(tmp_path, *small_cluster(), report)
    zones = state.scheduler.world.zones
    assert sorted(zones) == ["b01-r01-n01", "b01-r01-n02", "n1"]
    assert [one.resources["cpu"].available for one in zones["b01-r01-n01"].zones] == [4000, 4000]
    assert [one.resources["cpu"].available for one in zones["n1"].zones] == [9000, 3000]
    found = [text for text in said(state) if "NodeResourceTopology n1" in text]
    assert len(found) == 1
    assert "zones[0].resources[0].available: is 9, but only 4 of cpu is allocatable" in found[0]
    assert state.left_out == set()


# Jobs in the folder


def test_a_job_without_a_workload_gets_one_and_a_job_with_one_counts_once(tmp_path: Path) -> None:
    state = state_of(
        tmp_path,
        *small_cluster(),
        job("train", uid="uid-of-train"),
        workload("job-train-abcde", owner="train"),
        job("new", 3, uid="uid-of-new", gpus=2),
    )
    assert len(state.workloads) == 2
    (made,) = (one for key, one in state.workloads.items() if key != "default/job-train-abcde")
    assert made.name.startswith("job-new-")
    assert (made.local_queue, next(made.request.pod_sets).count, made.job_uid) == ("default/main", 3, "uid-of-new")


@pytest.mark.parametrize(
    "passed_over",
    [
        job("unmanaged", queue=None),
        job("ended", status={"conditions": [{"type": "Complete", "status": "True"}]}),
        job("over-w-0", uid="c", ownerReferences=[{"kind": "JobSet", "name": "over", "uid": "o", "controller": True}]),
        job("prebuilt", labels={"kueue.x-k8s.io/prebuilt-workload-name": "ready-made"}),
    ],
    ids=["without-queue", "over", "owned", "prebuilt"],
)
def test_jobs_that_kueue_creates_no_workload_for_are_ignored(tmp_path: Path, passed_over: dict[str, Any]) -> None:
    parent = job("over", uid="o", status={"conditions": [{"type": "Completed", "status": "True"}]})
    replicas = [{"name": "w", "template": {"spec": parent["spec"]}}]
    parent |= {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": replicas}}
    state = state_of(tmp_path, *small_cluster(), workload("ready-made"), parent, passed_over)
    assert list(state.workloads) == ["default/ready-made"]
    assert said(state) == []


def test_a_job_whose_owner_is_not_queued_waits_by_itself(tmp_path: Path) -> None:
    of_cron_job = job("nightly-1", uid="n", ownerReferences=[{"kind": "CronJob", "uid": "c", "controller": True}])
    (made,) = state_of(tmp_path, *small_cluster(), of_cron_job).workloads.values()
    assert made.name.startswith("job-nightly-1-")


def test_a_prebuilt_workload_that_is_about_something_else_ends(tmp_path: Path) -> None:
    other = job("other", 2, labels={"kueue.x-k8s.io/prebuilt-workload-name": "ready-made"})
    state = state_of(tmp_path, *small_cluster(), workload("ready-made"), other)
    assert (list(state.workloads), list(state.finished)) == ([], ["default/ready-made"])


def test_a_job_waits_for_the_prebuilt_workload_that_it_names(tmp_path: Path) -> None:
    waits = job("waits", labels={"kueue.x-k8s.io/prebuilt-workload-name": "to-come"})
    assert state_of(tmp_path, *small_cluster(), waits).workloads == {}


def test_a_workload_whose_job_was_deleted_without_it_is_over(tmp_path: Path) -> None:
    orphan = workload("orphan", holds="cq")
    orphan["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": "gone"}
    state = state_of(tmp_path, *small_cluster(), orphan)
    assert (list(state.workloads), list(state.finished)) == ([], ["default/orphan"])
    assert not any(state.scheduler.world.node_of("cq").usage.values())


def ray_job(**status: str) -> dict[str, Any]:
    group = {"template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {GPU: 1}}}]}}}
    spec = {"rayClusterSpec": {"headGroupSpec": group}, "shutdownAfterJobFinishes": True}
    meta = {"name": "ray", "namespace": "default", "uid": "uid-of-ray", "labels": {QUEUE: "main"}}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": meta, "spec": spec, "status": status}


def test_a_ray_job_counts_until_its_own_status_says_that_it_is_over(tmp_path: Path) -> None:
    running = state_of(tmp_path / "running", *small_cluster(), ray_job(jobDeploymentStatus="Running"))
    over = ray_job(jobStatus="SUCCEEDED", jobDeploymentStatus="Complete")
    assert (len(running.workloads), state_of(tmp_path / "over", *small_cluster(), over).workloads) == (1, {})


def test_a_job_whose_workload_has_finished_is_over_whatever_its_own_status_says(tmp_path: Path) -> None:
    done = workload("job-train-abcde", owner="train")
    done["status"] = {"conditions": [{"type": "Finished", "status": "True", "reason": "Succeeded"}]}
    state = state_of(tmp_path, *small_cluster(), done, job("train", uid="uid-of-train"))
    assert (list(state.workloads), list(state.finished)) == ([], ["default/job-train-abcde"])


def test_a_job_without_a_queue_belongs_to_the_default_queue_of_its_namespace(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster(), local_queue("default", "cq"), job("train", queue=None))
    (made,) = state.workloads.values()
    assert made.local_queue == "default/default"


def test_a_job_in_the_folder_that_is_wrong_is_left_out(tmp_path: Path) -> None:
    bad = job("bad", labels={"kueue.x-k8s.io/priority-class": "urgent"})
    worse = job("worse", gpus=-1)
    state = state_of(tmp_path, *small_cluster(), bad, worse)
    assert state.workloads == {}
    assert state.left_out == {"Job default/bad", "Job worse"}


def members(total: int, size: int, prefix: str = "m") -> list[dict[str, Any]]:
    labels = {QUEUE: "main", "kueue.x-k8s.io/pod-group-name": "gang"}
    notes = {"kueue.x-k8s.io/pod-group-total-count": str(total)}
    return [pod(f"{prefix}-{number}", labels=labels, annotations=notes) for number in range(size)]


def test_a_group_of_pods_is_one_workload(tmp_path: Path) -> None:
    (made,) = state_of(tmp_path, *small_cluster(), *members(3, 3)).workloads.values()
    assert (made.key, next(made.request.pod_sets).count) == ("default/gang", 3)


def test_a_group_of_pods_whose_workload_is_there_counts_once(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster(), workload("gang", 3), *members(3, 2))
    assert list(state.workloads) == ["default/gang"]
    assert said(state) == [], "a missing pod is not reported then"


def test_a_topology_without_nodes_is_warned_of(tmp_path: Path) -> None:
    state = state_of(tmp_path, namespace("default"), topology(), flavor(topology="dc"), cluster_queue("cq"))
    assert said(state) == ["there are no Nodes, so no flavor with a topology has room; give them too"]


def test_quota_in_use_is_what_workloads_hold(tmp_path: Path) -> None:
    state = state_of(tmp_path, *small_cluster(8), workload("w", 3, holds="cq"), node("n1"))
    assert state.scheduler.world.node_of("cq").usage == {FlavorResource("gpu", GPU): 3}
