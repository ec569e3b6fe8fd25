from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli.jobs import read_jobs
from closeknit.dialects.kueue import keys
from closeknit.model.gates import Gates
from closeknit.model.mistake import InputError
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
        read_jobs(paths, Gates.profile(), TOPOLOGY)
    return str(caught.value)


def test_a_job_on_known_levels_is_read(tmp_path: Path) -> None:
    (read,) = read_jobs(job(tmp_path, required_topology=RACK), Gates.profile(), TOPOLOGY)
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
    assert "coarse to fine, the levels are" in text


def test_a_group_that_would_lose_pods_is_refused_with_its_counts(tmp_path: Path) -> None:
    def pod_set(name: str, count: int) -> dict[str, Any]:
        request = {"required": RACK, "podSetGroupName": "g"}
        template = {"spec": {"containers": [{"name": "main"}]}}
        return {"name": name, "count": count, "template": template, "topologyRequest": request}

    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "wl"},
        "spec": {"podSets": [pod_set("a", 2), pod_set("b", 3)]},
    }
    text = refusal(write(tmp_path, manifest))
    assert "Workload wl: group g: its pod sets have 2, 3 pods; a group is a leader of one pod" in text


def test_a_file_without_a_job_is_refused(tmp_path: Path) -> None:
    paths = write(tmp_path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    assert "there is no job to place; give a Job, JobSet" in refusal(paths)
