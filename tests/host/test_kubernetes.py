"""The control plane over the network does what it does in the embedded cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.port import Key
from closeknit.host.embedded import EmbeddedCluster
from closeknit.observe.dump import dump
from host.centre import HOST, QUEUES
from host.lab import condition
from host.over_rest import Cluster, cluster, controller

Raw = dict[str, Any]

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  template:
    metadata:
      annotations:
        kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack
        closeknit.dev/run-time: SECONDS
        closeknit.dev/start-time: 0s
    spec:
      restartPolicy: Never
      containers: [{name: c, image: x, resources: {requests: {cpu: "3"}}}]
"""


def job(name: str, seconds: str = "0s") -> str:
    return JOB.replace("NAME", name).replace("SECONDS", seconds)


def fill(one: Cluster) -> None:
    one.apply(QUEUES)
    for number in range(6):
        labels = {
            HOST: f"h{number}",
            "cloud.provider.com/topology-block": "b",
            "cloud.provider.com/topology-rack": f"r{number // 3}",
            "pool": "gpu",
        }
        room = {"cpu": "4", "memory": "64Gi", "pods": "32"}
        ready = [{"type": "Ready", "status": "True"}]
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"h{number}", "labels": labels}}
        one.create({**node, "status": {"allocatable": room, "capacity": room, "conditions": ready}})


def story(scenario: Callable[[Cluster], Coroutine[Any, Any, None]], folder: Path) -> None:
    async def run() -> None:
        async with cluster(folder) as one:
            fill(one)
            await scenario(one)

    asyncio.run(run())


def workload(one: Cluster, name: str) -> Raw | None:
    found = [raw for raw in one.all(kinds.WORKLOAD) if raw["metadata"]["ownerReferences"][0]["name"] == name]
    return found[0] if found else None


def has(one: Cluster, name: str, type_: str) -> bool:
    found = workload(one, name)
    return found is not None and condition(found, type_)


def test_a_job_is_admitted_started_in_rank_order_and_finished(tmp_path: Path) -> None:
    async def scenario(one: Cluster) -> None:
        async with controller(one):
            one.apply(job("train", "1s"))
            await one.until(lambda: len([pod for pod in one.all(kinds.POD) if pod["spec"].get("nodeName")]) == 3)
            by_rank = {
                pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod["spec"]["nodeName"]
                for pod in one.all(kinds.POD)
            }
            assert sorted(by_rank.items()) in (
                [("0", "h0"), ("1", "h1"), ("2", "h2")],
                [("0", "h3"), ("1", "h4"), ("2", "h5")],
            )
            await one.until(lambda: has(one, "train", "Finished"))
            await one.until(lambda: one.all(kinds.EVENT))
            reasons = {event["reason"] for event in one.all(kinds.EVENT)}
            assert {"QuotaReserved", "Admitted", "Started"} <= reasons

    story(scenario, tmp_path)


def test_the_dump_agrees_with_the_objects(tmp_path: Path) -> None:
    """Two racks hold two jobs and the third is pending, as a fresh cache of the same objects finds."""

    async def scenario(one: Cluster) -> None:
        async with controller(one) as host:
            for name in ("a", "b", "c"):
                one.apply(job(name, "300s"))
            await one.until(lambda: len(host.dump()["holdings"]) == 2 and host.dump()["writesInFlight"] == 0)
            await one.until(lambda: len(one.all(kinds.POD)) == 6)
            fresh = EmbeddedCluster(lambda: 0.0)
            for kind in kinds.KINDS:
                for raw in one.all(kind):
                    fresh.store.restore(kind, raw)
            fresh.begin()
            found, rebuilt = host.dump(), dump(fresh.control_plane.cache)
            assert {part: found[part] for part in rebuilt} == rebuilt
            assert found["leads"]
            assert [len(line) for line in found["waiting"].values()] == [1]

    story(scenario, tmp_path)


def test_a_job_without_room_is_pending_with_a_reason_and_starts_when_there_is_room(tmp_path: Path) -> None:
    async def scenario(one: Cluster) -> None:
        async with controller(one):
            for name in ("a", "b", "c"):
                one.apply(job(name, "3s"))
            await one.until(lambda: sum(has(one, name, "Admitted") for name in "abc") == 2)
            (left,) = (name for name in "abc" if not has(one, name, "Admitted"))

            def said() -> str:
                found = workload(one, left) or {}
                conditions = (found.get("status") or {}).get("conditions") or ()
                return next((str(each["message"]) for each in conditions if each["type"] == "QuotaReserved"), "")

            await one.until(lambda: 'topology "default" doesn\'t allow to fit' in said())
            await one.until(lambda: has(one, left, "Finished"))

    story(scenario, tmp_path)


def test_a_new_control_plane_continues_where_a_killed_one_stopped(tmp_path: Path) -> None:
    async def scenario(one: Cluster) -> None:
        async with controller(one):
            one.apply(job("train", "2s"))
            await one.until(lambda: has(one, "train", "Admitted"))
        before = workload(one, "train")
        one.apply(job("next", "0s"))
        async with controller(one) as host:
            await one.until(lambda: has(one, "next", "Finished"))
            await one.until(lambda: has(one, "train", "Finished"))
            after = workload(one, "train")
            assert before is not None
            assert after is not None
            assert after["status"]["admission"] == before["status"]["admission"]
            await one.until(lambda: not host.control_plane.cache.world.ledger.holdings)

    story(scenario, tmp_path)


def test_objects_deleted_while_no_watch_is_open_are_removed_from_the_cache(tmp_path: Path) -> None:
    async def scenario(one: Cluster) -> None:
        async with controller(one) as host:
            one.apply(job("train", "forever"))
            await one.until(lambda: has(one, "train", "Admitted"))
            await host.informers.refresh(kinds.POD)
            one.store.delete(Key(kinds.JOB, "default", "train"))
            one.service.nudge()
            await one.until(lambda: not one.all(kinds.WORKLOAD) and not one.all(kinds.POD))
            known = host.control_plane.cache
            await one.until(lambda: not known.world.ledger.holdings and not known.pods.all)
            await one.until(lambda: host.outbox.size == 0)

    story(scenario, tmp_path)


@pytest.mark.parametrize("seed", range(3))
def test_many_jobs_at_once_are_all_finished_and_nothing_is_left_in_use(seed: int, tmp_path: Path) -> None:
    async def scenario(one: Cluster) -> None:
        async with controller(one) as host:
            for number in range(20):
                one.apply(job(f"j{number}"))
                await asyncio.sleep(0.01 * seed)
            await one.until(lambda: all(has(one, f"j{number}", "Finished") for number in range(20)), 60)
            known = host.control_plane.cache
            await one.until(lambda: not known.world.ledger.holdings)
            await one.until(lambda: host.outbox.size == 0)
            admitted = [event for event in one.all(kinds.EVENT) if event["reason"] == "Admitted"]
            assert len({event["involvedObject"]["uid"] for event in admitted}) == len(admitted) == 20

    story(scenario, tmp_path)
