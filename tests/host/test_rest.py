"""When the control plane stops running cycles, and how it reports that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest

from closeknit.cluster.kinds import CLUSTER_QUEUE, NODE, POD, WORKLOAD
from closeknit.cluster.kinds import JOB as JOB_KIND
from closeknit.decide.decision import Decision, Wait
from closeknit.host.demos.objects import job
from closeknit.observe.pool_form import RACK
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.stage import Stage

WAITING = 120


def large(number: int) -> dict[str, Any]:
    return job(f"large-{number:03d}", "training", 4 + number, required=RACK)


def test_after_a_restart_every_pending_workload_is_tried() -> None:
    stage = Stage("rank-drift")
    for number in range(WAITING):
        stage.create(large(number))
    stage.advance(2)
    before = len(stage.records)
    stage.restart()
    stage.advance(0.5)
    looked_at = {one.workload for one in stage.records[before:] if one.outcome == "Waits"}
    assert len(looked_at) == WAITING


def test_cycles_that_repeat_themselves_end_and_that_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage("rank-drift")
    stage.create(large(0))
    stage.advance(0.5)
    scheduler = stage.cluster.control_plane.cache.scheduler
    (waiting,) = stage.workloads()
    known = stage.cluster.control_plane.cache.workloads[f"default/{waiting['metadata']['name']}"]
    answers: Iterator[str] = cycle(("one way", "or another"))

    def turned(now: float) -> list[Decision]:
        return [Wait(known, "room", "Pending", next(answers))]  # type: ignore[arg-type]

    monkeypatch.setattr(type(scheduler), "is_ready", True)
    monkeypatch.setattr(scheduler, "cycle", turned)
    for _ in range(3):
        stage.patch(WORKLOAD, "default", waiting["metadata"]["name"], {"metadata": {"labels": {"seen": str(_)}}})
        stage.advance(0.1)
    rests = [one for one in stage.records if one.outcome == "Rests"]
    assert [(one.workload, "until something changes" in one.reason) for one in rests] == [(known.key, True)]


def test_changes_of_pods_and_jobs_do_not_retry_the_head_of_a_strict_queue() -> None:
    lab, queue = centre(), {"spec": {"queueingStrategy": "StrictFIFO"}}
    lab.patch(CLUSTER_QUEUE, "", "cq", queue)
    lab.apply(JOB.manifest.replace("20s", "1h"))
    lab.apply(JOB.manifest.replace("name: one", "name: big").replace('cpu: "2"', 'cpu: "5"'))
    lab.advance(20)
    number = lab.cluster.control_plane.cache.scheduler.number
    for turn in range(3):
        lab.patch(POD, "default", lab.pods()[0]["metadata"]["name"], {"metadata": {"labels": {"turn": str(turn)}}})
        lab.patch(JOB_KIND, "default", "one", {"metadata": {"labels": {"turn": str(turn)}}})
        lab.advance(5)
    assert lab.cluster.control_plane.cache.scheduler.number == number
    lab.patch(NODE, "", "h00", {"spec": {"unschedulable": True}})
    lab.advance(5)
    assert lab.cluster.control_plane.cache.scheduler.number > number
