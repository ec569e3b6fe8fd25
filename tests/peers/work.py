"""Jobs for a world: sizes, priorities, and every way of asking for places.

Most are Jobs; those with a leader, or with two groups of pods, are JobSets. Their pods run until the script ends them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from .worlds import POOL, PRIORITIES, Object, World

PREFIX = "kueue.x-k8s.io/"
QUEUE, PRIORITY = f"{PREFIX}queue-name", f"{PREFIX}priority-class"
MIN_PARALLELISM = f"{PREFIX}job-min-parallelism"
LIFE = {"closeknit.dev/run-time": "forever", "closeknit.dev/start-time": "0s"}

Notes = dict[str, str]


def make_job(random: Random, world: World, name: str) -> Object:
    if random.random() < 0.2:
        return job_set(random, world, name)
    count, cpu = size(random, world)
    notes, count = random.choice(WAYS)(random, world, count)
    metadata = labelled(random, world, name)
    if count > 2 and random.random() < 0.1 and not any("slice" in key for key in notes):
        metadata["annotations"] = {MIN_PARALLELISM: str(count // 2)}
    pod = template(cpu, notes)
    if random.random() < 0.15:
        pod["spec"]["nodeSelector"] = {POOL: random.choice(world.pools)}
    spec = job_spec(count, pod)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"suspend": True, **spec}}


def labelled(random: Random, world: World, name: str) -> Object:
    labels = {QUEUE: random.choice(world.queues), PRIORITY: f"{world.name}-p{random.choice(PRIORITIES)}"}
    return {"name": name, "namespace": world.name, "labels": labels}


def size(random: Random, world: World) -> tuple[int, int]:
    """The number of pods and the CPU of each: a twentieth to a third of the cluster, rarely more than fits."""
    if random.random() < 0.05:
        return random.choice((2, 4)), world.widest + 1
    cpu = random.choice((1, 1, 2, 3, 4, world.widest))
    total = world.room * random.choice((0.03, 0.06, 0.1, 0.15, 0.3))
    return max(1, min(12, round(total / cpu))), cpu


def job_spec(count: int, pod: Object) -> Object:
    """A Job that survives any number of lost pods, because how many are lost is chance."""
    counts = {"parallelism": count, "completions": count, "backoffLimit": 1000}
    return {**counts, "completionMode": "Indexed", "template": pod}


def template(cpu: int, notes: Notes) -> Object:
    container = {"name": "main", "image": "example.com/image:1", "resources": {"requests": {"cpu": str(cpu)}}}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {"metadata": {"annotations": {**LIFE, **notes}}, "spec": spec}


# How places are asked for: annotations, and the number of pods that they need


def not_at_all(random: Random, world: World, count: int) -> tuple[Notes, int]:
    return {}, count


def anywhere(random: Random, world: World, count: int) -> tuple[Notes, int]:
    return {f"{PREFIX}podset-unconstrained-topology": "true"}, count


def required(random: Random, world: World, count: int) -> tuple[Notes, int]:
    """Lower levels for few pods, since few have room there."""
    return {f"{PREFIX}podset-required-topology": level_for(random, world, count)}, count


def level_for(random: Random, world: World, count: int) -> str:
    hopeful = world.levels if count <= 2 else world.levels[:-1]
    return random.choice(hopeful if random.random() < 0.85 else world.levels)


def preferred(random: Random, world: World, count: int) -> tuple[Notes, int]:
    return {f"{PREFIX}podset-preferred-topology": random.choice(world.levels)}, count


def sliced(random: Random, world: World, count: int) -> tuple[Notes, int]:
    """Slices below a requested level, or without one."""
    above = random.randrange(len(world.levels))
    below = random.randrange(above, len(world.levels))
    size = 2 if world.levels[below] == world.levels[-1] else random.choice((2, 2, 3, 4))
    notes = {
        f"{PREFIX}podset-slice-required-topology": world.levels[below],
        f"{PREFIX}podset-slice-size": str(size),
    }
    way = random.choice(("required", "preferred", ""))
    if way:
        notes[f"{PREFIX}podset-{way}-topology"] = world.levels[above]
    return notes, max(1, count // size) * size


WAYS: tuple[Callable[[Random, World, int], tuple[Notes, int]], ...] = (
    *(not_at_all, anywhere, required, required, preferred, preferred),
    *(sliced, sliced),
)


# JobSets


def job_set(random: Random, world: World, name: str) -> Object:
    count, cpu = size(random, world)
    way = random.choice(("required", "preferred"))
    notes = {f"{PREFIX}podset-{way}-topology": level_for(random, world, count)}
    leads = random.random() < 0.7
    if leads:
        notes[f"{PREFIX}podset-group-name"] = "together"
    first, others = template(random.choice((1, cpu)), notes), template(cpu, notes)
    parts = [part("first", 1 if leads else 2, first), part("others", max(1, count - 1), others)]
    spec = {"suspend": True, "replicatedJobs": parts}
    metadata = labelled(random, world, name)
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


def part(name: str, count: int, pod: Object) -> dict[str, Any]:
    return {"name": name, "replicas": 1, "template": {"spec": job_spec(count, pod)}}
