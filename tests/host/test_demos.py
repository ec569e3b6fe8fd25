"""Every demo shows what it promises, minute for minute, on a clock of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.cluster import kinds
from closeknit.host.demo_place import KEY
from closeknit.host.demos import DEMOS
from host.lab import condition
from host.stage import Stage
from host.test_demo_claims import Witness


@pytest.mark.parametrize("name", DEMOS)
def test_every_demo_has_a_line_for_the_help_and_begins_at_once(name: str) -> None:
    stage = Stage(name)
    stage.advance(5)
    assert DEMOS[name].name == name
    assert 20 < len(DEMOS[name].line) < 100
    assert stage.said
    assert stage.said[0][0] <= 1.0


def test_every_demo_is_in_the_reference() -> None:
    text = (Path(__file__).parents[2] / "docs/reference/demos.md").read_text()
    assert [name for name in DEMOS if f"| `{name}` |" not in text] == []


# first-steps


def test_first_steps_places_two_jobs_in_a_rack_each_and_lets_the_third_wait() -> None:
    stage = Stage("first-steps")
    said = stage.until("tune runs")
    assert said == "tune runs in rack b1-r2, all of it. That of train, b1-r1, has 8 free GPUs."
    said = stage.until("pretrain waits")
    assert said.startswith("pretrain waits: no rack has 12 free GPUs, 8 are the most.")
    assert stage.domains("train", "rack") == {"b1-r1"}
    assert stage.domains("tune", "rack") == {"b1-r2"}
    assert len(stage.hosts("train")) == 8
    assert len(stage.hosts("tune")) == 10
    assert not stage.is_admitted("pretrain")
    assert stage.get(kinds.LOCAL_QUEUE, "default")["spec"]["clusterQueue"] == "team"


def test_first_steps_has_a_rack_for_the_third_when_the_first_is_done() -> None:
    stage = Stage("first-steps")
    said = stage.until("train is done", seconds=280)
    assert said == "train is done, and pretrain has its rack: all 12 pods run in b1-r1."
    assert stage.domains("pretrain", "rack") == {"b1-r1"}
    assert len(stage.hosts("pretrain")) == 12
    stage.advance(900)
    assert all(condition(one, "Finished") for one in stage.workloads())


def test_who_makes_room_need_not_wait_for_the_story() -> None:
    stage = Stage("first-steps")
    stage.until("pretrain waits")
    stage.advance(5)
    stage.delete(kinds.JOB, "default", "train")
    assert stage.until("pretrain has its rack", seconds=10) == "pretrain has its rack: all 12 pods run in b1-r1."


def test_looking_again_and_again_writes_nothing() -> None:
    stage = Stage("first-steps")
    stage.until("pretrain waits")
    stage.advance(1)
    before = stage.get(KEY.kind, KEY.name, KEY.namespace)["metadata"]["resourceVersion"]
    stage.advance(60)
    assert stage.get(KEY.kind, KEY.name, KEY.namespace)["metadata"]["resourceVersion"] == before


# node-failure


def test_node_failure_shows_all_of_it_within_a_minute() -> None:
    stage = Stage("node-failure")
    stage.advance(60)
    told = [text for _, text in stage.said]
    for words in ("waits in line", "let fail under pod 2 of llm", "same rack", "moved as a whole", "has the 12 hosts"):
        assert any(words in text for text in told), words
    assert any("The next one follows" in text for text in told)


def test_a_failed_host_is_replaced_in_the_same_rack_and_the_other_pods_run_on() -> None:
    stage = Stage("node-failure")
    stage.until("let fail under pod 2")
    assert stage.hosts("llm") == ["b1-r1-n1", "b1-r1-n2", "b1-r1-n3", "b1-r1-n4", "b1-r1-n5"]
    others = {pod["metadata"]["uid"] for pod in stage.pods() if pod["metadata"]["name"].startswith("llm-")}
    said = stage.until("now, a host of")
    assert said == "Pod 2 of llm runs on b1-r1-n6 now, a host of the same rack b1-r1. The others ran on."
    assert stage.hosts("llm") == ["b1-r1-n1", "b1-r1-n2", "b1-r1-n6", "b1-r1-n4", "b1-r1-n5"]
    after = {pod["metadata"]["uid"] for pod in stage.pods() if pod["metadata"]["name"].startswith("llm-")}
    assert len(others & after) == 5
    assert len(after - others) == 1


def test_a_failed_rack_is_left_by_the_whole_job() -> None:
    stage = Stage("node-failure")
    stage.until("The whole rack b1-r2 is let fail")
    assert stage.domains("vision", "rack") == {"b1-r2"}
    assert stage.until("moved as a whole") == "vision has moved as a whole: all of its pods run in rack b1-r3 now."
    assert stage.hosts("vision") == ["b1-r3-n1", "b1-r3-n2", "b1-r3-n3", "b1-r3-n4"]
    assert stage.domains("llm", "rack") == {"b1-r1"}


def test_who_waited_for_a_block_has_one_when_machines_are_repaired() -> None:
    stage = Stage("node-failure")
    stage.until("waits in line")
    stage.advance(1)
    assert not stage.is_admitted("sweep")
    stage.until("sweep has the 12 hosts of one block that it asked for, in b1.")
    assert stage.domains("sweep", "block") == {"b1"}
    assert len(set(stage.hosts("sweep"))) == 12
    assert stage.domains("speech", "block") == {"b2"}


def test_node_failure_begins_again_and_goes_the_same_way() -> None:
    stage = Stage("node-failure")
    stage.until("The next one follows")
    first = len(stage.said)
    stage.until("The next one follows")
    words = [text for _, text in stage.said]
    assert words[first:] == words[:first]
    assert stage.player.place is not None
    assert stage.player.place.round == 3
    stage.advance(2)
    assert stage.pods() == []
    assert not [one for one in stage.all(kinds.NODE) if not condition(one, "Ready")]


# rank-drift


def test_a_replacement_pod_gets_the_place_that_is_really_free() -> None:
    stage = Stage("rank-drift")
    assert stage.until("The plan:") == ("The plan: rank 0 → x1, rank 1 → x2. What runs: rank 0 on x1, rank 1 on x2.")
    assert stage.until("by rank") == (
        "The plan is now: rank 0 → x2, rank 1 → x3. But rank 1 runs on x2: by rank, the new pod 0 would land on it."
    )
    assert stage.until("really free") == (
        "The new pod 0 got the place that is really free: rank 0 on x3, rank 1 on x2. No two pods share a host."
    )
    assert stage.hosts("pair") == ["x3", "x2"]


# gpu-block


def test_gpu_block_keeps_640_hosts_busy_lends_quota_and_gives_it_back() -> None:
    stage = Witness("gpu-block")
    stage.advance(55)
    picture = stage.scene.picture()
    queues = {one.name: one for one in picture.queues}
    assert sum(1 for _ in picture.hosts()) == 640
    assert {name: one.quota for name, one in queues.items()} == {"batch": 1024, "product": 1536, "research": 2560}
    assert queues["product"].used == 0
    assert queues["batch"].borrowed > 0
    assert sum(1 for host in picture.hosts() if host.share) > 400
    racks = {job.name: job.where for job in picture.jobs if job.name.startswith("ablation")}
    assert racks
    assert all("-r" in where for where in racks.values())
    assert not any(one.outcome == "Preempted" and "release" in one.reason for one in stage.records)

    stage.advance(60)
    queues = {one.name: one for one in stage.scene.picture().queues}
    assert queues["product"].used > 0
    assert any(one.outcome == "Preempted" for one in stage.records)
    assert sum(one.used for one in queues.values()) <= 5120

    stage.advance(15)
    assert len(stage.said) > 7


# provisioning


def test_machines_come_when_they_are_asked_for_and_the_job_sits_in_one_rack() -> None:
    stage = Stage("provisioning")
    stage.until("train is submitted")
    assert stage.all(kinds.NODE) == []
    said = stage.until("Hosts have come")
    assert said == (
        "Hosts have come: train runs on burst-0001, burst-0002, burst-0003, burst-0004, all in rack burst-1."
    )
    assert stage.hosts("train") == ["burst-0001", "burst-0002", "burst-0003", "burst-0004"]


def test_more_than_may_be_had_is_refused_and_taken_out_of_line() -> None:
    stage = Stage("provisioning")
    stage.until("The autoscaler said no: ")
    stage.until("said no again")
    assert stage.workload("huge")["spec"]["active"] is False
    assert not stage.is_admitted("huge")
    assert stage.is_admitted("train")
    assert stage.until("given back") == "4 empty hosts are being given back. The story begins again."
    stage.advance(3)
    assert stage.all(kinds.NODE) == []


# Going on


def test_a_demo_goes_on_after_a_restart_where_it_was_and_no_faster() -> None:
    stage = Stage("node-failure")
    stage.until("The whole rack b1-r2 is let fail")
    stage.clock.time += 3600
    stage.restart()
    before = len(stage.said)
    stage.advance(0.1)
    (next_one,) = stage.said[before:]
    assert "vision" in next_one[1]
    stage.advance(3.5)
    assert len(stage.said) == before + 1
    stage.until("The next one follows", seconds=30)


def test_whoever_deletes_its_note_ends_a_demo_and_keeps_the_cluster() -> None:
    stage = Stage("node-failure")
    stage.until("speech is submitted")
    stage.advance(1)
    stage.delete(KEY.kind, KEY.namespace, KEY.name)
    before = list(stage.said)
    stage.advance(120)
    assert stage.said == before
    assert len(stage.hosts("speech")) == 10
    assert stage.scene.picture().demo == ""


def test_a_step_that_is_refused_does_not_end_a_demo() -> None:
    stage = Stage("node-failure")
    stage.create(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "llm", "namespace": "default"},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
        }
    )
    stage.until("The next one follows")
