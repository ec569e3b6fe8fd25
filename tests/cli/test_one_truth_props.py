"""On random clusters, the commands' answers from files agree with a control plane's decisions.

CLOSEKNIT_TRUTHS sets the number of clusters; CLOSEKNIT_TRUTH sets the seed of a single one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.truths import Cluster, Maker, RoomMaker, cluster_of, job, placed
from closeknit.cli.main import main
from closeknit.cli.placed_subjects import load_placeables
from closeknit.cli.standings import StandingQuery, standings
from closeknit.cluster import kinds
from closeknit.decide.what_if import StepKind, Story, WhatIfOptions, play
from closeknit.dialects.kueue.jobs import requests
from closeknit.engine.place import place
from closeknit.engine.policy import Policy
from closeknit.model.settings import Settings
from closeknit.model.topology import HOSTNAME
from closeknit.model.workload import Workload
from closeknit.observe.given_jobs import add_jobs
from closeknit.observe.loaded import LoadedCluster
from closeknit.observe.loader import load
from closeknit.observe.manifests import read_manifests
from closeknit.queue.pending_queue import BYPASSED
from observe.written import RACK, REQUIRED, Raw

COUNT = int(os.environ.get("CLOSEKNIT_TRUTHS", "400"))
ONLY = os.environ.get("CLOSEKNIT_TRUTH")
PARTS = 8
LEFT = (StepKind.PREEMPTED, StepKind.EVICTED)


def seeds(part: int) -> Iterator[int]:
    return iter([int(ONLY)] if ONLY and part == 0 else [] if ONLY else range(part, COUNT, PARTS))


def read(cluster: Cluster, folder: Path) -> LoadedCluster:
    file = folder / "cluster.json"
    file.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": cluster.objects()}))
    found = read_manifests([str(file)])
    found.newest = cluster.clock
    return load(found, cluster.gates, Settings())


def decided(one: Workload) -> str:
    """Why the control plane has not admitted it."""
    condition = one.status.conditions.get("QuotaReserved")
    return "" if condition is None else condition.message


def is_unheard(before: Workload | None, after: Workload) -> bool:
    """Whether it has no decision of its own: another workload is ahead of it, or an equivalent one was refused."""
    return decided(after) in (BYPASSED, "" if before is None else decided(before))


def jobless(cluster: Cluster) -> set[str]:
    """Workloads whose owner is gone: nothing stops its pods, so after an eviction they keep their quota.

    Kubernetes' garbage collector, which is not here, deletes them; what-if lets every evicted workload end at once.
    """
    present = {raw["metadata"]["uid"] for raw in cluster.objects()}
    return {key for key, one in cluster.workloads().items() if one.job_uid and one.job_uid not in present}


def came_back(before: dict[str, Workload], after: dict[str, Workload]) -> set[str]:
    """Workloads that were deleted and created again."""
    return {key for key, one in after.items() if key in before and one.uid != before[key].uid}


def left(story: Story) -> set[str]:
    return {step.workload.key for step in story.steps if step.kind in LEFT}


def differences(cluster: Cluster, folder: Path) -> Iterator[str]:
    state = read(cluster, folder)
    now = cluster.clock
    explained = {one.workload.key: one for one in standings(StandingQuery(state, now), list(state.workloads))}
    afresh = read(cluster, folder)
    heard: dict[str, set[str]] = {}

    def listen(story: Story) -> None:
        for key, wait in story.waits.items():
            heard.setdefault(key, set()).add(wait.message)

    story = play(afresh.scheduler, afresh.workloads.values(), now, WhatIfOptions(False, afresh.pods_of, listen))
    if state.left_out - {"Pod group gang"}:
        yield f"left out: {[str(one) for one in state.warnings]}"
    before = cluster.workloads()
    ended = {record.workload for record in cluster.run() if record.outcome in ("Evicted", "Preempted")}
    after = {key: one for key, one in cluster.workloads().items() if not one.finished}
    again = came_back(before, after)
    gone = {key for key in after if key in before and before[key].reserved and key in ended | again}
    if set(state.workloads) != set(after):
        yield f"workloads: {sorted(set(state.workloads) ^ set(after))}"
    if left(story) & jobless(cluster):
        return
    if left(story) or gone or again:
        held = {key for key, one in before.items() if one.reserved}
        said, passing = left(story) & held, left(story) - held
        wanted = again & gone if again else gone  # a workload that is created again is queued in random order
        if not wanted <= said or (not again and said != gone):
            yield f"preempted: {said} and not {gone}"
        if not again and not passing <= ended:
            yield f"admitted and preempted: {passing} and not {ended}"
        return
    for key, one in after.items():
        if key not in story.workloads:
            continue
        if placed(story.workloads[key]) != placed(one):
            yield f"{key}: what-if {placed(story.workloads[key])}, decided {placed(one)} {decided(one)}"
        elif not one.reserved:
            obstacle = explained[key].obstacle
            if obstacle is not None and obstacle.reason == "PendingEvaluation" and is_unheard(before.get(key), one):
                continue
            if obstacle is not None and obstacle.reason == "Deactivated" and not one.active:
                continue
            if story.steps and decided(one) in heard.get(key, ()):
                continue  # it was reported before another workload was admitted, and is not reported again
            if obstacle is None or not obstacle.message.startswith(decided(one)):
                yield f"{key}: explain {obstacle}, decided {decided(one)}"


@pytest.mark.parametrize("part", range(PARTS))
def test_explain_on_files_agrees_with_the_decisions(part: int, tmp_path: Path) -> None:
    wrong = {seed: found for seed in seeds(part) if (found := list(differences(cluster_of(seed), tmp_path)))}
    assert not wrong, "\n".join(f"seed {seed}: {'; '.join(found)}" for seed, found in wrong.items())


# A job that is not submitted


def given_difference(seed: int, folder: Path) -> str:
    """The answer for a given job that is not in the cluster, if it differs from the decision after its submission."""
    maker = Maker(seed)
    cluster = maker.grow()
    cluster.clock += 1
    given = job(maker.random, "new", maker.random.choice(maker.queues))
    state, heard = read(cluster, folder), set[str]()
    (asked,) = add_jobs(state, requests([("job.json", given)], cluster.gates).jobs, cluster.clock)

    def listen(story: Story) -> None:
        if asked.key in story.waits:
            heard.add(story.waits[asked.key].message)

    story = play(state.scheduler, state.workloads.values(), cluster.clock, WhatIfOptions(False, state.pods_of, listen))
    made = cluster.create(given)
    ended = [record for record in cluster.run() if record.outcome in ("Evicted", "Preempted")]
    (one,) = [one for one in cluster.workloads().values() if one.job_uid == made["metadata"]["uid"]]
    if ended or left(story):
        return ""  # which of the two comes first is compared above
    said = placed(story.workloads[asked.key])
    if said is None and not heard:
        return ""  # a workload ahead of it waits for pods to end; the control plane had set it aside before
    if said == placed(one) and (one.reserved or not decided(one) or decided(one) in heard or not heard):
        return ""
    return f"what-if {said} {heard}, decided {placed(one)} {decided(one)}"


@pytest.mark.parametrize("part", range(PARTS // 4))
def test_what_is_said_of_a_given_job_is_what_is_decided_once_it_is_submitted(part: int, tmp_path: Path) -> None:
    some = range(part, COUNT // 4, PARTS // 4)
    wrong = {seed: found for seed in some if (found := given_difference(seed, tmp_path))}
    assert not wrong, "\n".join(f"seed {seed}: {found}" for seed, found in wrong.items())


# Nodes and pods alone


def written(folder: Path, name: str, objects: Sequence[Raw]) -> str:
    file = folder / name
    file.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(file)


def room_difference(seed: int, folder: Path) -> str:
    """The answer of `place` for one more job on a cluster's nodes and pods, if it differs from the decision there."""
    maker = RoomMaker(seed)
    cluster = maker.make()
    given = job(maker.random, "new", "lq-0")
    given["spec"]["template"]["metadata"]["annotations"] = {REQUIRED: maker.random.choice([RACK, HOSTNAME])}
    files = {
        "nodes": [written(folder, "nodes.json", cluster.all(kinds.NODE))],
        "pods": [written(folder, "pods.json", cluster.all(kinds.POD))],
        "topology": written(folder, "dc.json", [*cluster.all(kinds.TOPOLOGY), *cluster.all(kinds.RESOURCE_FLAVOR)]),
    }
    loaded = load_placeables([written(folder, "job.json", [given])], files)
    (asked,) = loaded.subjects
    assert loaded.nodes is not None
    result = place(loaded.nodes.snapshot, asked.request, Policy(loaded.gates))
    found = [sorted(one.assignment.domains) for one in result.outcomes if result.fits and one.assignment is not None]
    waiting = {key for key, one in cluster.workloads().items() if not one.finished and not one.reserved}
    made = cluster.create(given)
    cluster.run()
    (one,) = [one for one in cluster.workloads().values() if one.job_uid == made["metadata"]["uid"]]
    others = [key for key, each in cluster.workloads().items() if key in waiting and each.reserved]
    decided_on = [topology for _, _, _, topology in placed(one)[1]] if one.reserved else []
    if others or (not one.reserved and not decided(one)):
        return ""  # another workload took the capacity, or is still ahead of it
    return "" if found == decided_on else f"place {found} {result}, decided {decided_on} {decided(one)}"


@pytest.mark.parametrize("part", range(PARTS // 4))
def test_a_job_is_placed_on_nodes_and_pods_in_files_where_it_is_in_the_cluster(part: int, tmp_path: Path) -> None:
    some = range(part, COUNT // 4, PARTS // 4)
    wrong = {seed: found for seed in some if (found := room_difference(seed, tmp_path))}
    assert not wrong, "\n".join(f"seed {seed}: {found}" for seed, found in wrong.items())


# The commands themselves


def test_the_commands_say_so_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of clusters in which nothing is stopped or moved: what waits, and why."""

    def told(file: str, *words: str) -> Any:
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main([*words, "--cluster", file, "-o", "json"])
        return json.loads(capsys.readouterr().out)

    compared = 0
    for seed in range(16):
        cluster = cluster_of(seed)
        file = written(tmp_path, "cluster.json", cluster.objects())
        story = told(file, "what-if", "--checks", "pending")
        names = [one["workload"] for one in story["waiting"]]
        explained = {key: told(file, "explain", f"workload/{key.partition('/')[2]}") for key in names}
        ended = [record for record in cluster.run() if record.outcome in ("Evicted", "Preempted")]
        if ended or any(step["kind"] not in ("Admitted", "QuotaReserved") for step in story["steps"]):
            continue
        waiting = {key: one for key, one in cluster.workloads().items() if not one.finished and not one.reserved}
        assert set(names) == waiting.keys(), seed
        for key, one in waiting.items():
            said = explained[key]
            if not story["steps"] and said["reason"] not in ("PendingEvaluation", "Deactivated"):
                assert said["message"].startswith(decided(one)), seed
                compared += 1
    assert compared > 5, "there is something to compare"
