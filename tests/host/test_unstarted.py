"""A gang that is admitted and cannot start is reported first, and evicted with the scheduler's message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from closeknit.cli.main import main
from closeknit.cluster import kinds
from closeknit.cluster.port import Key
from closeknit.dialects.timestamps import stamp
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from closeknit.model.settings import PodsReady, Settings
from observe.written import RACK, folder, job, placing_cluster

from .lab import Lab

NO_ROOM = "0/4 nodes are available: 4 node(s) had volume node affinity conflict."
WAITS = Settings(pods_ready=PodsReady(timeout=300.0))
STARTS = Settings(pods_ready=None, start_timeout=300.0)


def lab_of(settings: Settings, profile: str = "closeknit") -> Lab:
    """A job whose scheduler rejects its pods."""
    lab = Lab(EmbeddedOptions(seed=1, settings=settings, gates=Gates.profile(profile)))
    for raw in placing_cluster(32)[1:]:
        lab.create(raw)
    lab.advance(5)
    raw = job("train", 2, level=RACK, gpus=1, schedulerName="of-theirs")
    raw["metadata"]["namespace"], raw["spec"]["completionMode"] = "default", "Indexed"
    spec = raw["spec"]["template"]["spec"]
    spec["restartPolicy"] = "Never"
    for container in spec["containers"]:
        asked = {key: str(value) for key, value in container["resources"]["requests"].items()}
        container |= {"image": "i", "resources": {"requests": asked, "limits": asked}}
    lab.create(raw)
    lab.advance(5)
    assert len(lab.pods()) == 2, "it is admitted"
    for pod in lab.pods():
        why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": NO_ROOM}
        key = Key(kinds.POD, "default", pod["metadata"]["name"])
        lab.cluster.store.patch(key, {"status": {"conditions": [why]}}, subresource="status")
    return lab


def eviction(lab: Lab) -> dict[str, Any]:
    (raw,) = lab.workloads()
    found = [one for one in raw["status"]["conditions"] if one["type"] == "Evicted" and one["status"] == "True"]
    return found[0] if found else {}


@pytest.mark.parametrize("settings", [WAITS, STARTS], ids=["waitForPodsReady", "startTimeout"])
def test_it_is_evicted_after_the_timeout_with_the_message_of_the_scheduler(settings: Settings) -> None:
    lab = lab_of(settings)
    lab.advance(280)
    assert not eviction(lab)
    lab.advance(30)
    assert eviction(lab)["reason"] == "PodsReadyTimeout"
    assert NO_ROOM in eviction(lab)["message"]


def test_by_the_rules_of_kueue_the_message_is_as_short_as_there_and_without_pods_ready_nothing_happens() -> None:
    lab = lab_of(WAITS, "kueue")
    lab.advance(310)
    assert eviction(lab)["message"].startswith("Exceeded the PodsReady timeout default/job-train-")
    assert NO_ROOM not in eviction(lab)["message"]
    lab = lab_of(STARTS, "kueue")
    lab.advance(3600)
    assert not eviction(lab)


def test_pods_that_start_in_time_are_left_alone() -> None:
    lab = lab_of(STARTS)
    for pod in lab.pods():
        key = Key(kinds.POD, "default", pod["metadata"]["name"])
        lab.cluster.store.patch(key, {"status": {"phase": "Running"}}, subresource="status")
    lab.advance(3600)
    assert not eviction(lab)


def test_explain_says_it_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = lab_of(STARTS)
    lab.advance(100)
    late = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "late", "creationTimestamp": stamp(lab.clock.now())},
    }
    objects = [raw for kind in kinds.KINDS for raw in lab.store.all(kind) if kind is not kinds.EVENT]
    where = folder(tmp_path, *objects, late)
    with pytest.raises(SystemExit):
        main(["explain", "train", "--cluster", where])
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("Job default/train is admitted and cannot start, for 10")
    assert first.endswith(NO_ROOM)
    with pytest.raises(SystemExit):
        main(["explain", "train", "--cluster", where, "-o", "json"])
    assert json.loads(capsys.readouterr().out)["unstarted"]["message"] == NO_ROOM
