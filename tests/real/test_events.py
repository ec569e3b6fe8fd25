"""The events of a job from creation to deletion."""

from __future__ import annotations

from time import sleep

from closeknit.observe.pool_form import RACK

from .scene import EVENTS, WORKLOADS, Scene
from .work import job, template

QUIET = 61.0
"""Seconds for which a repeated event is only counted."""


def test_an_event_that_happens_again_is_counted_and_not_repeated(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=1, cpu=8)
    scene.queue()
    scene.submit(job("train", 2, template(4, required=RACK)))
    scene.await_running(2)
    name = scene.workload("train")["metadata"]["name"]
    for pause in (0.0, QUIET):
        scene.patch(WORKLOADS, name, {"spec": {"active": False}})
        scene.until(lambda: not scene.pods(gone=True), "its pods are gone")
        sleep(pause)
        scene.patch(WORKLOADS, name, {"spec": {"active": True}})
        scene.await_running(2)

    def started() -> list[int]:
        return [one["count"] for one in scene.all(EVENTS) if one["reason"] == "Started"]

    scene.until(lambda: started() == [3], "it was started three times")
