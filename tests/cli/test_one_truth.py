"""`explain` and `what-if` on a saved cluster agree with the decisions of its control plane."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from closeknit.cli.main import main
from closeknit.cluster import kinds
from closeknit.cluster.embedded.standins.settings import StandinSettings as Pace
from closeknit.host.embedded import EmbeddedOptions
from host.lab import Lab, condition
from observe.written import GPU, RACK, REQUIRED, Raw, folder, job, placing_cluster

Told = Callable[..., Any]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Told:
    """The JSON output of a command for the objects of a cluster."""

    def call(lab: Lab, command: str, *names: str) -> Any:
        objects = [raw for kind in kinds.KINDS for raw in lab.store.all(kind) if kind is not kinds.EVENT]
        with pytest.raises(SystemExit):
            main([command, *names, "--cluster", folder(tmp_path, *objects), "-o", "json"])
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def lab() -> Lab:
    """Two racks of two nodes with 8 gpus each, quota for all of them, and pods that take ten minutes to stop."""
    lab = Lab(EmbeddedOptions(seed=1, pace=Pace(stop_time=600.0)))
    for raw in placing_cluster(32)[1:]:
        lab.create(raw)
    lab.advance(5)
    return lab


def submit(lab: Lab, name: str, pods: int, gpus: int = 8, grace: int = 600) -> None:
    lab.create(with_limits(job(name, pods, level=RACK, gpus=gpus, terminationGracePeriodSeconds=grace)))


def with_limits(raw: Raw) -> Raw:
    """Extended resources need equal requests and limits, as the API requires."""
    spec = raw["spec"].get("template", raw)["spec"]
    spec["restartPolicy"] = "Never"
    for container in spec["containers"]:
        container |= {"image": "i"}
        container["resources"]["limits"] = container["resources"]["requests"] = {
            key: str(value) for key, value in container["resources"]["requests"].items()
        }
    if raw["kind"] == "Job":
        raw["metadata"]["namespace"] = "default"
        raw["spec"]["completionMode"] = "Indexed"
    return raw


def bound(name: str, node: str, gpus: int, **annotations: str) -> Raw:
    resources = {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i", "resources": resources}]},
    }


def decided(lab: Lab, name: str) -> str:
    """The reason that the control plane recorded on the workload of a job; empty if it is admitted."""
    (raw,) = [one for one in lab.workloads() if one["metadata"]["ownerReferences"][0]["name"] == name]
    reserved = [one for one in raw["status"]["conditions"] if one["type"] == "QuotaReserved"]
    return "" if condition(raw, "QuotaReserved") else str(reserved[0]["message"])


def test_pods_that_are_not_managed_and_carry_topology_annotations_take_their_room(lab: Lab, told: Told) -> None:
    for number in (1, 2, 3, 4):
        lab.create(bound(f"stray-{number}", f"n{number}", 1, **{REQUIRED: RACK}))
    lab.advance(2)
    submit(lab, "train", 2)
    lab.advance(10)
    message = decided(lab, "train")
    assert "topology" in message, "the control plane finds no room beside the pods"
    assert told(lab, "explain", "train")["reason"] == "TopologyPlacementFailed", "nothing is being preempted"
    assert told(lab, "explain", "train")["message"] == message
    (waiting,) = told(lab, "what-if")["waiting"]
    assert waiting["message"] == message


def test_pods_that_drain_take_their_room_until_they_are_gone(lab: Lab, told: Told) -> None:
    for name in ("old-1", "old-2"):
        submit(lab, name, 2)
    lab.advance(10)
    assert decided(lab, "old-1") == decided(lab, "old-2") == ""
    for name in ("old-1", "old-2"):
        lab.delete(kinds.JOB, "default", name)
    lab.advance(2)
    assert len(lab.pods()) == 4, "they are on their way out"
    submit(lab, "train", 2)
    lab.advance(10)
    message = decided(lab, "train")
    assert message, "the control plane waits for them"
    assert told(lab, "explain", "train")["message"] == message
    (waiting,) = told(lab, "what-if")["waiting"]
    assert waiting["message"] == message
