"""Every demo shows what it promises, minute by minute, in virtual time."""

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


def test_first_steps_places_two_jobs_in_a_rack_each_while_the_third_is_pending() -> None:
    stage = Stage("first-steps")
    said = stage.until("tune run")
    assert said == "All pods of tune run in rack b1-r2. Rack b1-r1, where train runs, has 8 free GPUs."
    said = stage.until("pretrain is pending")
    assert said.startswith("pretrain is pending: no rack has 12 free GPUs, at most 8.")
    assert stage.domains("train", "rack") == {"b1-r1"}
    assert stage.domains("tune", "rack") == {"b1-r2"}
    assert len(stage.hosts("train")) == 8
    assert len(stage.hosts("tune")) == 10
    assert not stage.is_admitted("pretrain")
    assert stage.get(kinds.LOCAL_QUEUE, "default")["spec"]["clusterQueue"] == "team"


def test_first_steps_has_a_rack_for_the_third_when_the_first_is_done() -> None:
    stage = Stage("first-steps")
    said = stage.until("train has finished", seconds=280)
    assert said == "train has finished, and pretrain has its rack: all 12 pods run in b1-r1."
    assert stage.domains("pretrain", "rack") == {"b1-r1"}
    assert len(stage.hosts("pretrain")) == 12
    stage.advance(900)
    assert all(condition(one, "Finished") for one in stage.workloads())


def test_the_pending_job_starts_as_soon_as_a_user_makes_room() -> None:
    stage = Stage("first-steps")
    stage.until("pretrain is pending")
    stage.advance(5)
    stage.delete(kinds.JOB, "default", "train")
    assert stage.until("pretrain has its rack", seconds=10) == "pretrain has its rack: all 12 pods run in b1-r1."


def test_repeating_a_step_writes_nothing() -> None:
    stage = Stage("first-steps")
    stage.until("pretrain is pending")
    stage.advance(1)
    before = stage.get(KEY.kind, KEY.name, KEY.namespace)["metadata"]["resourceVersion"]
    stage.advance(60)
    assert stage.get(KEY.kind, KEY.name, KEY.namespace)["metadata"]["resourceVersion"] == before


# node-failure


def test_node_failure_shows_all_of_it_within_a_minute() -> None:
    stage = Stage("node-failure")
    stage.advance(60)
    texts = [text for _, text in stage.said]
    for words in ("is pending", "which runs pod 2 of llm", "same rack", "moved as a whole", "has its 12 hosts"):
        assert any(words in text for text in texts), words
    assert any("The next round follows" in text for text in texts)


def test_a_failed_host_is_replaced_in_the_same_rack_and_the_other_pods_keep_running() -> None:
    stage = Stage("node-failure")
    stage.until("which runs pod 2")
    assert stage.hosts("llm") == ["b1-r1-n1", "b1-r1-n2", "b1-r1-n3", "b1-r1-n4", "b1-r1-n5"]
    others = {pod["metadata"]["uid"] for pod in stage.pods() if pod["metadata"]["name"].startswith("llm-")}
    said = stage.until("in the same rack")
    assert said == "Pod 2 of llm now runs on b1-r1-n6, in the same rack b1-r1. The others kept running."
    assert stage.hosts("llm") == ["b1-r1-n1", "b1-r1-n2", "b1-r1-n6", "b1-r1-n4", "b1-r1-n5"]
    after = {pod["metadata"]["uid"] for pod in stage.pods() if pod["metadata"]["name"].startswith("llm-")}
    assert len(others & after) == 5
    assert len(after - others) == 1


def test_a_job_leaves_a_failed_rack_as_a_whole() -> None:
    stage = Stage("node-failure")
    stage.until("Failing the whole rack b1-r2")
    assert stage.domains("vision", "rack") == {"b1-r2"}
    assert stage.until("moved as a whole") == "vision has moved as a whole: all of its pods now run in rack b1-r3."
    assert stage.hosts("vision") == ["b1-r3-n1", "b1-r3-n2", "b1-r3-n3", "b1-r3-n4"]
    assert stage.domains("llm", "rack") == {"b1-r1"}


def test_a_job_that_waits_for_a_block_starts_when_machines_are_repaired() -> None:
    stage = Stage("node-failure")
    stage.until("sweep is pending")
    stage.advance(1)
    assert not stage.is_admitted("sweep")
    stage.until("sweep has its 12 hosts in one block, b1.")
    assert stage.domains("sweep", "block") == {"b1"}
    assert len(set(stage.hosts("sweep"))) == 12
    assert stage.domains("speech", "block") == {"b2"}


def test_node_failure_begins_again_and_goes_the_same_way() -> None:
    stage = Stage("node-failure")
    stage.until("The next round follows")
    first = len(stage.said)
    stage.until("The next round follows")
    words = [text for _, text in stage.said]
    assert words[first:] == words[:first]
    assert stage.player.place is not None
    assert stage.player.place.round == 3
    stage.advance(2)
    assert stage.pods() == []
    assert not [one for one in stage.all(kinds.NODE) if not condition(one, "Ready")]


# rank-drift


def test_a_replacement_pod_gets_the_host_that_is_really_free() -> None:
    stage = Stage("rank-drift")
    assert stage.until("The plan:") == ("The plan: rank 0 → x1, rank 1 → x2. Running: rank 0 on x1, rank 1 on x2.")
    assert stage.until("By rank") == (
        "The plan is now: rank 0 → x2, rank 1 → x3. By rank the new pod 0 would go to x2, where rank 1 already runs."
    )
    assert stage.until("really free") == (
        "The new pod 0 got the host that is really free: rank 0 on x3, rank 1 on x2. No two pods share a host."
    )
    assert stage.hosts("pair") == ["x3", "x2"]


# gpu-block


def test_gpu_block_keeps_640_hosts_busy_lends_quota_and_gives_it_back() -> None:
    stage = Witness("gpu-block")
    stage.advance(55)
    picture = stage.live_state.picture()
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
    queues = {one.name: one for one in stage.live_state.picture().queues}
    assert queues["product"].used > 0
    assert any(one.outcome == "Preempted" for one in stage.records)
    assert sum(one.used for one in queues.values()) <= 5120

    stage.advance(15)
    assert len(stage.said) > 7


# provisioning


def test_requested_machines_join_and_the_job_runs_in_one_rack() -> None:
    stage = Stage("provisioning")
    stage.until("Submitting train")
    assert stage.all(kinds.NODE) == []
    said = stage.until("The hosts have joined")
    assert said == (
        "The hosts have joined: train runs on burst-0001, burst-0002, burst-0003, burst-0004, all in rack burst-1."
    )
    assert stage.hosts("train") == ["burst-0001", "burst-0002", "burst-0003", "burst-0004"]


def test_a_request_beyond_the_group_is_refused_and_its_workload_deactivated() -> None:
    stage = Stage("provisioning")
    stage.until("The autoscaler refused: ")
    stage.until("refused again")
    assert stage.workload("huge")["spec"]["active"] is False
    assert not stage.is_admitted("huge")
    assert stage.is_admitted("train")
    assert stage.until("being removed") == "4 empty hosts are being removed. The demo starts again."
    stage.advance(3)
    assert stage.all(kinds.NODE) == []


# Continuing


def test_a_demo_continues_after_a_restart_where_it_was_and_no_faster() -> None:
    stage = Stage("node-failure")
    stage.until("Failing the whole rack b1-r2")
    stage.clock.time += 3600
    stage.restart()
    before = len(stage.said)
    stage.advance(0.1)
    (next_one,) = stage.said[before:]
    assert "vision" in next_one[1]
    stage.advance(3.5)
    assert len(stage.said) == before + 1
    stage.until("The next round follows", seconds=30)


def test_deleting_its_configmap_ends_a_demo_and_keeps_the_cluster() -> None:
    stage = Stage("node-failure")
    stage.until("Submitting speech")
    stage.advance(1)
    stage.delete(KEY.kind, KEY.namespace, KEY.name)
    before = list(stage.said)
    stage.advance(120)
    assert stage.said == before
    assert len(stage.hosts("speech")) == 10
    assert stage.live_state.picture().demo == ""


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
    stage.until("The next round follows")


# numa


def test_numa_shows_the_storm_of_a_deployment_whose_pods_fit_by_their_totals_only() -> None:
    stage = Stage("numa")
    first = stage.until("pods of server so far")
    second = stage.until("pods of server so far")
    storm = [int(text.split()[2]) for text in (first, second)]
    assert storm[0] >= 10
    assert storm[1] >= storm[0] + 10
    stage.until("is being deleted")
    stage.advance(5)
    assert [one for one in stage.pods() if one["metadata"].get("labels", {}).get("app") == "server"] == []


def test_numa_places_a_gang_in_one_rack_and_every_pod_in_a_zone_of_its_own() -> None:
    stage = Stage("numa")
    assert stage.until("All pods of gang") == (
        "All pods of gang run in rack b1-r2, each in a zone of its own. No kubelet refused one."
    )


def test_numa_places_the_same_pod_where_a_zone_has_room_and_holds_one_back_that_no_zone_can_hold() -> None:
    stage = Stage("numa")
    assert stage.until("pod with 2 GPUs, as that of server")
    stage.advance(6)
    assert stage.said[-1][1].startswith("train runs on b1-r2-")
    stage.until("Submitting wide")
    stage.advance(5)
    assert stage.said[-1][1].startswith("wide is pending, and no kubelet was asked.")
