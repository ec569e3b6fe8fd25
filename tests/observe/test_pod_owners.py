"""Which workload each running pod belongs to, and how it counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from closeknit.cluster import kinds
from closeknit.cluster.port import Change
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.observe.loaded import LoadedCluster
from closeknit.observe.loader import load
from closeknit.observe.manifests import listed_manifests, read_manifests

from .test_loader import said, state_of
from .written import GPU, RACK, folder, job, placing_cluster, pod, workload


def placed_pod(name: str, host: str, **meta: Any) -> dict[str, Any]:
    notes = {"kueue.x-k8s.io/podset-required-topology": RACK, **meta.pop("annotations", {})}
    owned = {"ownerReferences": [{"kind": "Job", "name": "w", "uid": "uid-of-w", "controller": True}], **meta}
    return pod(name, host, annotations=notes, labels={"kueue.x-k8s.io/podset": "main"}, **owned)


def free(state: LoadedCluster, host: str) -> int:
    """The free GPUs of a node."""
    snapshot = state.scheduler.world.snapshot("gpu")
    assert snapshot is not None
    return int(snapshot.remaining[snapshot.index[GPU], snapshot.tree.leaf_of[(host,)]])


def test_a_pod_that_was_placed_by_topology_counts_through_its_workload(tmp_path: Path) -> None:
    state = state_of(
        tmp_path,
        *placing_cluster(),
        workload("w", 2, holds="cq", hosts={"n1": 2}),
        placed_pod("w-0", "n1", annotations={"kueue.x-k8s.io/workload": "w"}),
        placed_pod("w-1", "n1", annotations={"kueue.x-k8s.io/workload": "w"}),
        pod("daemon", "n1", 1),
    )
    assert free(state, "n1") == 8 - 2 - 1
    assert said(state) == []


OF_W = {"kueue.x-k8s.io/workload": "w"}


def drains(state: LoadedCluster) -> list[str]:
    return sorted(state.scheduler.world.placed.draining)


def test_a_pod_that_never_had_a_workload_counts_as_any_other_pod_and_does_not_drain(tmp_path: Path) -> None:
    state = state_of(tmp_path, *placing_cluster(), placed_pod("bare", "n1", gpus=4))
    assert free(state, "n1") == 8 - 4
    assert drains(state) == []
    assert said(state) == []


def test_a_pod_that_names_a_workload_only_later_counts_once(tmp_path: Path) -> None:
    state = state_of(tmp_path, *placing_cluster(), workload("w", 1, holds="cq", hosts={"n1": 1}))
    bare = placed_pod("w-0", "n1")
    for one in (bare, placed_pod("w-0", "n1", annotations=OF_W), bare):
        meta = {**one["metadata"], "namespace": "default"}
        state.cache.see(Change(0, "MODIFIED", kinds.POD, {**one, "metadata": meta}))
        named = names_a_workload(one)
        assert free(state, "n1") == (8 - 1 if named else 8 - 2)
        assert drains(state) == []


def names_a_workload(one: dict[str, Any]) -> bool:
    return "kueue.x-k8s.io/workload" in one["metadata"]["annotations"]


def test_a_pod_without_its_workload_drains_with_a_warning(tmp_path: Path) -> None:
    state = state_of(tmp_path, *placing_cluster(), placed_pod("stray", "n1", gpus=4, annotations=OF_W))
    assert free(state, "n1") == 8 - 4
    assert drains(state) == ["default/stray"]
    assert said(state) == [
        "pods placed by topology without a Workload that holds quota: 1 (Pod default/stray); "
        "they use capacity on their nodes until they end; give all Workloads, if some are missing"
    ]


def test_by_the_rules_of_kueue_it_is_not_counted(tmp_path: Path) -> None:
    found = read_manifests([folder(tmp_path, *placing_cluster(), placed_pod("stray", "n1", gpus=4, annotations=OF_W))])
    state = load(found, Gates.profile("kueue"), Settings())
    assert free(state, "n1") == 8
    assert "their capacity counts as free, as in Kueue" in said(state)[0]


def test_pods_without_a_topology_count_on_their_node_and_are_traced_to_their_workload(tmp_path: Path) -> None:
    """Through an annotation, through the uid of a job, and through the JobSet that owns the job."""
    job_owner = [{"kind": "Job", "name": "train", "uid": "uid-of-train"}]
    child = job("child", uid="c", queue=None, ownerReferences=[{"kind": "JobSet", "name": "s", "uid": "uid-of-set"}])
    state = state_of(
        tmp_path,
        *placing_cluster(),
        workload("job-train-abcde", 2, holds="cq", owner="train"),
        workload("jobset-set-abcde", 1, holds="cq", owner="set"),
        workload("waiting", 1),
        child,
        pod("a", "n1", annotations={"kueue.x-k8s.io/workload": "job-train-abcde"}),
        pod("b", "n1", ownerReferences=job_owner),
        pod("c", "n1", ownerReferences=[{"kind": "Job", "name": "child", "uid": "c"}]),
        pod("d", "n1", annotations={"kueue.x-k8s.io/workload": "waiting"}),
        pod("e", "n1"),
    )
    assert state.pods_of == {
        "default/job-train-abcde": ["default/a", "default/b"],
        "default/jobset-set-abcde": ["default/c"],
    }
    assert free(state, "n1") == 8 - 5


def test_pods_on_nodes_that_were_not_given_are_warned_of(tmp_path: Path) -> None:
    state = state_of(tmp_path, *placing_cluster(), pod("lost", "n9"))
    assert said(state) == ["pods run on nodes that were not given: n9; give all nodes"]


def test_of_a_running_cluster_nothing_more_is_asked_for() -> None:
    """Leftover pods are terminating, or are bound to a node that was removed."""
    lists: dict[tuple[str, str], list[bytes]] = {}
    for raw in (*placing_cluster(), placed_pod("stray", "n1", annotations=OF_W), pod("lost", "n9")):
        lists.setdefault((raw["apiVersion"], raw["kind"]), []).append(msgspec.json.encode(raw))
    found = listed_manifests((*key, objects) for key, objects in lists.items())
    assert [one for one in said(load(found, Gates.profile(), Settings())) if "pods" in one] == [
        "pods placed by topology without a Workload that holds quota: 1 (Pod default/stray); "
        "they use capacity on their nodes until they end",
        "pods are bound to nodes that are gone: n9; Kubernetes deletes them in a while",
    ]
