"""Two replicas with the default lease: when the leader dies, the other takes over soon."""

from __future__ import annotations

from time import monotonic

from closeknit.cluster import kinds
from faults.ground import Ground
from faults.scene import Scene
from host.lab import condition
from stories import objects

LIMIT = 15.0
"""Seconds within which the other replica has to admit a job."""
FACTS = {"kind": "Job", "pods": 1, "cpu": 1, "wish": "", "level": "", "priority": "high", "seconds": 0, "fails": False}


def test_a_job_is_admitted_within_fifteen_seconds_of_the_death_of_the_leader(ground: Ground) -> None:
    with Scene(ground, 70, election="") as scene:
        scene.begin()
        scene.judge.now()
        scene.leader().kill()
        begun = monotonic()
        [job] = objects.submitted({**FACTS, "name": "after", "queue": "red"})
        ground.cluster.api.post(kinds.JOB.path("default"), job)
        scene.leader(other_than=scene.holder)
        led = monotonic() - begun
        while not _is_admitted(ground, "after"):
            assert monotonic() - begun < LIMIT
        took = monotonic() - begun
        print(f"\nanother led after {led:.1f} s, and had admitted a new job after {took:.1f} s")
        assert took < LIMIT
        scene.rest()


def _is_admitted(ground: Ground, job: str) -> bool:
    found = ground.api.get(kinds.WORKLOAD.path("default")).body["items"]
    mine = [one for one in found if job in [owner["name"] for owner in one["metadata"].get("ownerReferences") or ()]]
    return any(condition(one, "Admitted") for one in mine)
