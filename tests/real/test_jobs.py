"""Indexed Jobs: where the plan says, in rank order, bound by the stock scheduler."""

from __future__ import annotations

from closeknit.observe.pool_form import BLOCK, RACK
from servers.manifests import is_true

from .scene import JOBS, Scene
from .work import job, template


def test_a_job_that_requires_a_rack_is_bound_there_in_rank_order(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=3, cpu=8)
    scene.queue()
    scene.submit(job("train", 5, template(4, required=RACK)))
    scene.await_true("train", "Admitted")
    scene.await_running(5)
    plan = scene.plan("train")
    assert len(scene.racks(plan)) == 1
    assert scene.places() == plan
    assert sorted(map(plan.count, set(plan))) == [1, 2, 2]


def test_a_job_that_is_too_large_for_every_rack_waits_with_a_reason(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=2, cpu=8)
    scene.queue()
    scene.submit(job("train", 5, template(4, required=RACK)))
    scene.until(lambda: "allows to fit only 4 out of 5 pod(s)" in scene.why("train"), "it has a reason")
    assert scene.get(JOBS, "train")["spec"]["suspend"] is True
    assert scene.pods() == []


def test_a_job_that_prefers_a_block_spreads_when_none_has_room(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, blocks=2, cpu=8)
    scene.queue()
    scene.submit(job("train", 6, template(4, preferred=BLOCK)))
    scene.await_running(6)
    plan = scene.plan("train")
    assert scene.racks(plan) == ["b1-r1", "b2-r1"]
    assert scene.places() == plan


def test_a_job_that_prefers_a_block_is_in_one_when_it_has_room(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=2, blocks=2, cpu=8)
    scene.queue()
    scene.submit(job("train", 6, template(4, preferred=BLOCK)))
    scene.await_running(6)
    plan = scene.plan("train")
    assert scene.racks(plan) in (["b1-r1", "b1-r2"], ["b2-r1", "b2-r2"])
    assert scene.places() == plan


def test_a_job_without_constraint_is_placed_all_the_same(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=2, cpu=8)
    scene.queue()
    scene.submit(job("train", 7, template(4, unconstrained="true")))
    scene.await_running(7)
    plan = scene.plan("train")
    assert max(map(plan.count, plan)) == 2
    assert scene.places() == plan


def test_slices_are_never_torn_between_racks(scene: Scene) -> None:
    scene.nodes(racks=3, hosts=3, cpu=8)
    scene.queue()
    scene.submit(job("train", 12, template(4, preferred=BLOCK, slice_required=RACK, slice_size="4")))
    scene.await_running(12)
    plan = scene.plan("train")
    assert scene.places() == plan
    for begin in (0, 4, 8):
        assert len(scene.racks(plan[begin : begin + 4])) == 1


def test_finishing_frees_everything(scene: Scene) -> None:
    scene.nodes(racks=1, hosts=2, cpu=8)
    scene.queue(cpu=16)
    scene.submit(job("first", 4, template(4, required=RACK)))
    running = scene.await_running(4)
    scene.submit(job("second", 4, template(4, required=RACK, run="1s")))
    scene.until(lambda: scene.workloads("second"), "the second has a workload")
    scene.stays(lambda: not scene.pods("job-name=second"), "the second waits", 2)
    scene.until(lambda: scene.used() == "16", "all of the quota is in use")
    scene.finish(*running)
    scene.await_true("first", "Finished")
    scene.until(lambda: is_true(scene.get(JOBS, "first"), "Complete"), "the job is Complete")
    scene.await_true("second", "Finished")
    scene.until(lambda: scene.used() == "0", "none of the quota is in use")
    assert {one["status"]["phase"] for one in scene.pods()} == {"Succeeded"}
    scene.until(lambda: scene.finalizers() == [], "the pods' finalizers are removed")
