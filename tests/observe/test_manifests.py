"""A folder of manifests: what is kept, and the warnings about the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.dialects.timestamps import parse
from closeknit.model.mistake import InputError
from closeknit.model.pod_rules import PodKind
from closeknit.observe.manifests import Manifests, read_manifests
from closeknit.state.mirror import OtherPod

from .written import GPU, KUEUE, cluster_queue, flavor, folder, job, kueue, local_queue, namespace, node, pod, workload


def read(path: Path, *objects: dict[str, Any]) -> Manifests:
    return read_manifests([folder(path, *objects)])


def said(found: Manifests) -> list[str]:
    return [str(warning) for warning in found.warnings]


def test_objects_are_sorted_by_kind(tmp_path: Path) -> None:
    found = read(tmp_path, node("n1"), namespace("a"), cluster_queue("cq"), local_queue("main", "cq"), workload("w"))
    assert list(found.nodes) == ["n1"]
    assert [one.raw["metadata"]["name"] for one in found.of("ClusterQueue")] == ["cq"]
    assert [one.raw["metadata"]["name"] for one in found.of("Namespace", "")] == ["a"]
    assert said(found) == []


def test_json_yaml_lists_and_documents_read_the_same(tmp_path: Path) -> None:
    objects = [node("n1"), flavor(), cluster_queue("cq"), pod("p", "n1")]
    one = {"apiVersion": "v1", "kind": "List", "items": objects}
    texts = {
        "list.json": json.dumps(one),
        "list.yaml": yaml.safe_dump(one, sort_keys=False),
        "documents.yaml": yaml.safe_dump_all(objects),
        "nested.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [one]}),
    }
    found = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        found.append(read_manifests([str(tmp_path / name)]))
    for other in found[1:]:
        assert other.nodes == found[0].nodes
        assert other.pods == found[0].pods
        assert [one.raw for one in other.of("ClusterQueue")] == [one.raw for one in found[0].of("ClusterQueue")]


def test_items_that_leave_their_kind_to_the_list_are_read_too(tmp_path: Path) -> None:
    bare = {key: value for key, value in cluster_queue("cq").items() if key not in ("kind", "apiVersion")}
    text = json.dumps({"kind": "ClusterQueueList", "apiVersion": KUEUE, "items": [bare]})
    (tmp_path / "list.json").write_text(text)
    found = read_manifests([str(tmp_path)])
    assert [one.raw["metadata"]["name"] for one in found.of("ClusterQueue")] == ["cq"]


def test_other_kinds_are_ignored(tmp_path: Path) -> None:
    found = read(tmp_path, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, node("n1"))
    assert found.objects == {}
    assert said(found) == []


def test_pools_in_the_compact_form_are_nodes_too(tmp_path: Path) -> None:
    text = "{blocks: 1, racksPerBlock: 2, nodesPerRack: 2, node: {cpu: 8, nvidia.com/gpu: 4}, used: 50%}"
    (tmp_path / "nodes.yaml").write_text(text)
    found = read_manifests([str(tmp_path)])
    assert list(found.nodes) == ["b01-r01-n01", "b01-r01-n02", "b01-r02-n01", "b01-r02-n02"]
    assert found.nodes["b01-r02-n01"].labels["cloud.provider.com/topology-rack"] == "b01-r02"
    used = sum(one.pod.requests[GPU] for one in found.pods if one.pod is not None)
    assert used == 8, "half of 16 gpus"


def test_a_pool_that_is_wrong_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text("{racks: 0, nodesPerRack: 2, node: {cpu: 8}}")
    with pytest.raises(InputError, match="racks: is 0; write one or more"):
        read_manifests([str(tmp_path)])


def test_what_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("hello: world")
    with pytest.raises(InputError, match="is not a Kubernetes object: it has no apiVersion and kind"):
        read_manifests([str(tmp_path)])


def test_the_first_of_two_objects_of_one_name_counts(tmp_path: Path) -> None:
    found = read(tmp_path, cluster_queue("cq", 4), cluster_queue("cq", 8), node("n1", gpus=1), node("n1", gpus=2))
    (only,) = found.of("ClusterQueue")
    assert only.raw["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] == 4
    assert found.nodes["n1"].allocatable[GPU] == 1
    expected = "objects that appear more than once: 2 (ClusterQueue cq, Node n1); the first of each counts"
    assert said(found) == [expected]


def test_v1beta1_is_converted_to_v1beta2_and_counted(tmp_path: Path) -> None:
    old = cluster_queue("cq")
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    old["spec"]["cohort"] = "lab"
    found = read(tmp_path, old)
    assert found.of("ClusterQueue")[0].raw["spec"]["cohortName"] == "lab"
    assert found.old_versions == {("kueue.x-k8s.io/v1beta1", "ClusterQueue"): 1}


def test_the_newest_time_is_that_of_any_object_but_not_a_time_to_come(tmp_path: Path) -> None:
    late = workload("w")
    late["status"] = {
        "conditions": [{"type": "Evicted", "status": "True", "lastTransitionTime": "2026-03-02T07:00:00Z"}],
        "requeueState": {"requeueAt": "2030-01-01T00:00:00Z"},
    }
    assert read(tmp_path, node("n1"), late).newest == parse("2026-03-02T07:00:00Z")
    assert read(tmp_path, node("n1"), workload("w")).newest == parse("2026-03-02T00:00:00Z"), "the node's heartbeat"
    assert read(tmp_path, cluster_queue("cq")).newest is None


# Nodes and pods


def test_a_node_that_cannot_be_read_is_left_out_with_a_warning(tmp_path: Path) -> None:
    bad = node("n1")
    bad["status"]["allocatable"]["cpu"] = "lots"
    found = read(tmp_path, bad, node("n2"))
    assert list(found.nodes) == ["n2"]
    assert len(said(found)) == 1
    assert 'Node n1: status.allocatable[cpu]: "lots" is not a quantity' in said(found)[0]


def test_nodes_that_share_a_hostname_are_warned_of(tmp_path: Path) -> None:
    sharing = node("n2")
    sharing["metadata"]["labels"]["kubernetes.io/hostname"] = "n1"
    found = read(tmp_path, node("n1"), sharing)
    assert 'has the value "n1" of Node n1 too' in said(found)[0]


def test_only_pods_that_take_room_are_kept(tmp_path: Path) -> None:
    ended = pod("done", "n1")
    ended["status"]["phase"] = "Succeeded"
    found = read(tmp_path, pod("runs", "n1", 2), pod("waits"), ended)
    runs = OtherPod("n1", {GPU: 2}, kind=PodKind("default"))
    [kept] = found.pods
    assert (kept.key, kept.node) == ("default/runs", "n1")
    assert kept.pod is not None
    assert kept.pod._replace(needs=None) == runs


def test_a_pod_says_which_workload_it_belongs_to(tmp_path: Path) -> None:
    by_note = pod("a", "n1", annotations={"kueue.x-k8s.io/workload": "w"})
    by_group = pod("b", "n1", labels={"kueue.x-k8s.io/pod-group-name": "g"})
    by_owner = pod("c", "n1", ownerReferences=[{"kind": "Job", "name": "j", "uid": "u"}], uid="own")
    found = read(tmp_path, by_note, by_group, by_owner)
    assert [(one.workload, one.owners) for one in found.pods] == [("w", ()), ("g", ()), ("", ("u", "own"))]


def test_a_pod_placed_by_topology_is_distinguished_from_others(tmp_path: Path) -> None:
    placed = pod("a", "n1", annotations={"kueue.x-k8s.io/podset-unconstrained-topology": "true"})
    assert [one.by_topology for one in read(tmp_path, placed, pod("b", "n1")).pods] == [True, False]


def test_managed_pods_are_kept_whole(tmp_path: Path) -> None:
    queued = {"kueue.x-k8s.io/queue-name": "main"}
    owner = [{"kind": "Job", "name": "j", "uid": "u"}]
    found = read(
        tmp_path,
        pod("lone", labels=queued),
        pod("owned", labels=queued, ownerReferences=owner),
        pod("running", "n1", labels=queued),
        pod("member", "n1", labels={"kueue.x-k8s.io/pod-group-name": "g"}),
        pod("other", "n1"),
        job("j"),
    )
    assert [one.raw["metadata"]["name"] for one in found.jobs] == ["j", "lone", "owned", "running", "member"]
    assert [one.key for one in found.pods if one.pod is None] == ["default/running", "default/member"]


# What is wrong


def test_a_label_that_yaml_reads_as_a_number_is_a_warning(tmp_path: Path) -> None:
    bad = flavor()
    bad["spec"]["nodeLabels"] = {"zone": 7}
    found = read(tmp_path, bad)
    assert found.of("ResourceFlavor") == []
    assert "ResourceFlavor gpu: spec.nodeLabels[zone]: must be text, but is read as 7; quote it" in said(found)[0]


def test_an_object_without_a_name_is_a_warning(tmp_path: Path) -> None:
    found = read(tmp_path, kueue("ClusterQueue", ""))
    assert "metadata.name: is missing; give it a name" in said(found)[0]


def test_a_job_may_be_named_by_the_cluster(tmp_path: Path) -> None:
    unnamed = job("x")
    unnamed["metadata"] = {"generateName": "train-", "namespace": "default"}
    found = read(tmp_path, unnamed, unnamed)
    assert len(list(found.jobs)) == 2
    assert said(found) == []


@pytest.mark.parametrize(("key", "junk"), [("labels", [1]), ("annotations", "x"), ("ownerReferences", {}), ("uid", 7)])
def test_metadata_that_has_not_the_form_of_the_api_is_a_warning(tmp_path: Path, key: str, junk: Any) -> None:
    bad = cluster_queue("cq")
    bad["metadata"][key] = junk
    found = read(tmp_path, bad)
    assert found.of("ClusterQueue") == []
    assert f"ClusterQueue cq: metadata.{key}: is not a" in said(found)[0]


def test_a_workload_of_v1beta1_that_contradicts_itself_is_a_warning(tmp_path: Path) -> None:
    old = workload("w", holds="cq")
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    old["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = {"levels": ["a"], "domains": [{"x": 1}]}
    found = read(tmp_path, old)
    assert found.of("Workload") == []
    assert "Workload default/w: topologyAssignment" in said(found)[0]
