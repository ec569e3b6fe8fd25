"""`place` on files: volumes among them, and running pods with their labels and anti-affinity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from closeknit.cli.place import command

LEVELS = ("--levels", "rack,kubernetes.io/hostname")


def node(name: str, cpu: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"rack": name[0], "kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": str(cpu), "pods": "9"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def job() -> dict[str, Any]:
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    notes = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": {
                "metadata": {"labels": {"app": "x"}, "annotations": notes},
                "spec": {"restartPolicy": "Never", "containers": [container], "volumes": [claim]},
            },
        },
    }


def volumes(namespace: str) -> list[dict[str, Any]]:
    one = {"key": "rack", "operator": "In", "values": ["a"]}
    of_volume = {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "1Gi"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [one]}]}},
    }
    of_claim = {"accessModes": ["ReadWriteMany"], "volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"name": "data", "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": of_volume},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": claim, "spec": of_claim},
    ]


def guard(host: str) -> dict[str, Any]:
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "x"}}}
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"nodeName": host, "containers": [{"name": "c"}], "affinity": away}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "guard", "namespace": "team"}, "spec": spec}


def place(
    folder: Path,
    *objects: dict[str, Any],
    beside: list[dict[str, Any]] | None = None,
    pods: Any = (),
    given: dict[str, Any] | None = None,
) -> Result:
    """Rack b is the tighter fit, so a job without rules goes there."""
    (folder / "job.yaml").write_text(yaml.safe_dump_all([given or job(), *objects]))
    (folder / "nodes.yaml").write_text(yaml.safe_dump_all([node("a1", 8), node("b1", 4), *(beside or ())]))
    (folder / "pods.yaml").write_text(yaml.safe_dump_all(pods))
    running = ["--pods", str(folder / "pods.yaml")] if pods else []
    paths = [str(folder / "job.yaml"), "--nodes", str(folder / "nodes.yaml")]
    return CliRunner().invoke(command, [*paths, *running, *LEVELS, "-o", "json"], standalone_mode=False)


def rack(found: Result) -> str:
    text = json.dumps(json.loads(found.stdout))
    (name,) = [one for one in ("a1", "b1") if f'"{one}"' in text]
    return name[0]


def test_without_any_volume_in_the_files_claims_are_not_considered(tmp_path: Path) -> None:
    assert rack(place(tmp_path)) == "b"


@pytest.mark.parametrize("where", ["beside the job", "beside the nodes"])
def test_a_job_goes_to_the_rack_of_its_volume(tmp_path: Path, where: str) -> None:
    found = volumes("team")
    result = place(tmp_path, *found) if where == "beside the job" else place(tmp_path, beside=found)
    assert rack(result) == "a"


def test_a_claim_of_another_namespace_is_not_that_of_the_job(tmp_path: Path) -> None:
    assert 'PersistentVolumeClaim \\"data\\" does not exist: 2' in place(tmp_path, *volumes("other")).stdout


def test_running_pods_keep_a_job_away_by_its_labels(tmp_path: Path) -> None:
    assert rack(place(tmp_path, pods=[guard("b1")])) == "a"
    assert rack(place(tmp_path, pods=[guard("a1")])) == "b"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [({"kubernetes.io/metadata.name": "team"}, "a"), ({"kind": "batch"}, "a"), ({"x": "y"}, "b")],
)
def test_running_pods_keep_a_job_away_by_the_labels_of_its_namespace(
    tmp_path: Path, labels: dict[str, str], expected: str
) -> None:
    away = guard("b1")
    away["metadata"]["namespace"] = "other"
    (term,) = away["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    term["namespaceSelector"] = {"matchLabels": labels}
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"kind": "batch"}}}
    assert rack(place(tmp_path, team, pods=[away])) == expected


@pytest.mark.parametrize("label", ["job-name", "batch.kubernetes.io/job-name"])
def test_pods_of_a_job_keep_apart_by_the_name_of_the_job(tmp_path: Path, label: str) -> None:
    whole, affinity = job(), guard("")["spec"]["affinity"]
    (term,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    term |= {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {label: "train"}}}
    whole["spec"]["template"]["spec"]["affinity"] = affinity
    assert "podAntiAffinity among its own pods" in place(tmp_path, given=whole).stdout
