from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli.jobs import check_jobs, named_levels, read_jobs, tolerating
from closeknit.dialects.kueue import keys
from closeknit.model.gates import Gates
from closeknit.model.mistake import InputError
from closeknit.model.shape import Toleration
from closeknit.model.topology import HOSTNAME, Topology

RACK = "example.com/rack"
TOPOLOGY = Topology("default", (RACK, HOSTNAME))


def job(folder: Path, **annotations: str) -> tuple[str, ...]:
    template = {
        "metadata": {
            "annotations": {f"{keys.PREFIX}podset-{key.replace('_', '-')}": v for key, v in annotations.items()}
        },
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
    }
    spec = {"parallelism": 8, "completions": 8, "template": template}
    return write(folder, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": spec})


def write(folder: Path, manifest: dict[str, Any]) -> tuple[str, ...]:
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump(manifest))
    return (str(file),)


def refusal(paths: tuple[str, ...]) -> str:
    with pytest.raises(InputError) as caught:
        check_jobs(read_jobs(paths, Gates.profile()), Gates.profile(), TOPOLOGY)
    return str(caught.value)


def test_a_job_on_known_levels_is_read(tmp_path: Path) -> None:
    (read,) = read_jobs(job(tmp_path, required_topology=RACK), Gates.profile())
    check_jobs([read], Gates.profile(), TOPOLOGY)
    assert [(one.name, one.count) for one in read.request.pod_sets] == [("main", 8)]


@pytest.mark.parametrize("key", ["required_topology", "preferred_topology"])
def test_an_unknown_level_names_job_annotation_and_the_nearest_level(tmp_path: Path, key: str) -> None:
    text = refusal(job(tmp_path, **{key: "example.com/rak"}))
    assert "Job train" in text
    assert f"podset-{key.replace('_', '-')}" in text
    assert "did you mean example.com/rack? the levels are example.com/rack, kubernetes.io/hostname" in text


def test_an_unknown_slice_level_names_its_annotation(tmp_path: Path) -> None:
    text = refusal(job(tmp_path, slice_required_topology="example.com/row", slice_size="2"))
    assert "podset-slice-required-topology: no requested topology level for slices: example.com/row" in text


def test_slices_above_the_pod_set_are_refused(tmp_path: Path) -> None:
    text = refusal(job(tmp_path, required_topology=HOSTNAME, slice_required_topology=RACK, slice_size="2"))
    assert "is above the podset topology" in text
    assert "the levels are" in text


def pod_set(name: str, count: int, **request: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main"}]}}
    return {"name": name, "count": count, "template": template, "topologyRequest": request}


def workload(folder: Path, *pod_sets: dict[str, Any]) -> tuple[str, ...]:
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "wl"},
        "spec": {"podSets": list(pod_sets)},
    }
    return write(folder, manifest)


ROW = "example.com/row"
LAYERS = "podsetSliceRequiredTopologyConstraints"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"required": ROW}, "required"),
        ({"preferred": ROW}, "preferred"),
        (
            {"required": RACK, "podSetSliceRequiredTopology": ROW, "podSetSliceSize": 2},
            "podSetSliceRequiredTopology",
        ),
        (
            {"required": HOSTNAME, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2},
            "podSetSliceRequiredTopology",
        ),
        ({"required": RACK, LAYERS: [{"topology": RACK, "size": 4}, {"topology": ROW, "size": 2}]}, LAYERS),
    ],
)
def test_an_impossible_request_of_a_workload_is_named_by_its_field(
    tmp_path: Path, request_: dict[str, Any], field: str
) -> None:
    text = refusal(workload(tmp_path, pod_set("a", 1, required=RACK), pod_set("b", 4, **request_)))
    assert f"job.yaml: Workload wl: spec.podSets[1].topologyRequest.{field}: " in text
    assert keys.PREFIX not in text


def test_the_pod_sets_of_a_workload_are_numbered_as_it_has_them(tmp_path: Path) -> None:
    grouped = {"required": RACK, "podSetGroupName": "g"}
    sets = [pod_set("leader", 1, **grouped), pod_set("alone", 2, required=ROW), pod_set("workers", 2, **grouped)]
    assert "Workload wl: spec.podSets[1].topologyRequest.required: no requested" in refusal(workload(tmp_path, *sets))


def test_a_group_that_would_lose_pods_is_refused_with_its_counts(tmp_path: Path) -> None:
    grouped = {"required": RACK, "podSetGroupName": "g"}
    text = refusal(workload(tmp_path, pod_set("a", 2, **grouped), pod_set("b", 3, **grouped)))
    assert "Workload wl: group g: its pod sets have 2, 3 pods; a group is one leader pod" in text


def test_a_file_without_a_job_is_refused(tmp_path: Path) -> None:
    paths = write(tmp_path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    assert "no job to place: v1/ConfigMap is not read; supported kinds: batch/Job" in refusal(paths)


def test_a_kind_that_is_not_read_is_named_with_its_group(tmp_path: Path) -> None:
    paths = write(tmp_path, {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "x"}})
    text = refusal(paths)
    assert "batch.volcano.sh/v1alpha1/Job is not read" in text
    assert "jobset.x-k8s.io/JobSet" in text


def test_pods_that_run_already_are_no_job(tmp_path: Path) -> None:
    spec = {"nodeName": "n1", "containers": [{"name": "main"}]}
    paths = write(tmp_path, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec})
    assert "no job to place: Pod x has nothing to place" in refusal(paths)


def test_the_levels_that_jobs_name_are_known_before_the_cluster(tmp_path: Path) -> None:
    sliced = job(tmp_path, preferred_topology=RACK, slice_required_topology=HOSTNAME, slice_size="2")
    assert named_levels(read_jobs(sliced, Gates.profile())) == [RACK, HOSTNAME]
    assert named_levels(read_jobs(job(tmp_path, required_topology="auto"), Gates.profile())) == []


def test_what_a_flavor_tolerates_every_pod_set_does(tmp_path: Path) -> None:
    (read,) = read_jobs(job(tmp_path, required_topology=RACK), Gates.profile())
    more = tolerating(read, (Toleration("gpu", "Exists"),))
    assert [one.shape.tolerations for one in more.request.pod_sets] == [(Toleration("gpu", "Exists"),)]
    assert tolerating(read, ()) is read
