"""A what-if story as plain data; the fields are documented in `docs/reference/commands.md`."""

from __future__ import annotations

from typing import Any

from ..decide.what_if import StepKind, StoryStep
from ..decide.world import World
from ..model.encoding import encode
from ..model.topology import Path
from ..model.workload import PodSetAssignment, Workload
from ..state.snapshot import Snapshot
from .what_if import WhatIfAnswer, inactive_queues, leaves_of, snapshot_of


def as_data(answer: WhatIfAnswer) -> dict[str, Any]:
    return {
        "now": answer.now or None,
        "admitted": answer.all_admitted,
        "cycles": answer.story.cycles,
        "jobs": [_job(answer, key, file) for key, file in zip(answer.asked, answer.files, strict=True)],
        "steps": [_step(answer, number, step) for number, step in enumerate(answer.story.steps, start=1)],
        "waiting": [_waits(answer, one) for one in answer.waiting],
        "inactive": [
            {"clusterQueue": name, "reason": reason, "message": message, "remedy": remedy}
            for name, reason, message, remedy in inactive_queues(answer)
        ],
        "cut": bool(answer.story.cut),
    }


def _identity(answer: WhatIfAnswer, key: str) -> dict[str, Any]:
    name = answer.name_of(key)
    return {
        "workload": key,
        "job": {"kind": name.kind, "namespace": name.namespace, "name": name.name},
    }


def _job(answer: WhatIfAnswer, key: str, file: str) -> dict[str, Any]:
    one = answer.workload(key)
    value = _identity(answer, key)
    value["job"]["file"] = file
    value["state"] = "Admitted" if one.admitted else "QuotaReserved" if one.reserved else "Waiting"
    value |= {"localQueue": one.local_queue, **_admission(answer, one)}
    if not one.admitted:
        value |= _obstacle_fields(answer, one)
    return value


def _waits(answer: WhatIfAnswer, one: Workload) -> dict[str, Any]:
    return {
        **_identity(answer, one.key),
        "localQueue": one.local_queue,
        "clusterQueue": _line(answer, one),
        "priority": one.priority,
        "holdsQuota": one.reserved,
        **_obstacle_fields(answer, one),
    }


def _obstacle_fields(answer: WhatIfAnswer, one: Workload) -> dict[str, Any]:
    said = answer.obstacle(one)
    value = {"reason": said.reason, "message": said.message, "remedy": said.remedy}
    return {**value, "like": {"workload": said.like, "message": said.cause}} if said.like else value


def _step(answer: WhatIfAnswer, number: int, step: StoryStep) -> dict[str, Any]:
    value = {"step": number, "cycle": step.cycle, "kind": step.kind.value, **_identity(answer, step.workload.key)}
    if step.kind in (StepKind.ADMITTED, StepKind.RESERVED, StepKind.MOVED):
        return {**value, **_admission(answer, step.workload)}
    value["clusterQueue"] = step.queue
    if step.by is not None:
        value["by"] = {**_identity(answer, step.by.key), "clusterQueue": step.by_queue}
    return {**value, "reason": step.reason, "message": step.message}


def _line(answer: WhatIfAnswer, one: Workload) -> str | None:
    """The ClusterQueue of its LocalQueue, even while that is stopped."""
    local = answer.obstacles.pending.local_queues.get(one.local_queue)
    return None if local is None else local.cluster_queue


def _admission(answer: WhatIfAnswer, one: Workload) -> dict[str, Any]:
    admission = one.status.admission
    if admission is None:
        return {"clusterQueue": _line(answer, one), "podSets": []}
    return {
        "clusterQueue": admission.queue,
        "podSets": [_pod_set_data(answer.world, given) for given in admission.pod_sets],
    }


def _pod_set_data(world: World, given: PodSetAssignment) -> dict[str, Any]:
    value: dict[str, Any] = {
        "name": given.name,
        "count": given.count,
        "flavors": dict(given.flavors),
        "resources": dict(sorted(given.usage.items())),
        "level": None,
        "assignment": None,
        "domains": [],
    }
    if given.topology is None:
        return value
    by_prefix = "TASAssignmentsEncodingByHostnamePrefix" in world.gates
    value["assignment"] = encode(given.topology, by_prefix)
    snapshot = snapshot_of(world, given)
    value["domains"] = [{"path": _path(snapshot, path), "pods": pods} for path, pods in given.topology.domains]
    if snapshot is not None:
        level = snapshot.tree.common_level(leaves_of(snapshot, given.topology))
        value["level"] = snapshot.topology.levels[level] if level >= 0 else None
    return value


def _path(snapshot: Snapshot | None, path: Path) -> list[str]:
    """The path with all levels, if the node still exists."""
    leaf = None if snapshot is None else snapshot.tree.leaf_of.get(path)
    return list(path if snapshot is None or leaf is None else snapshot.tree.path(snapshot.topology.lowest, leaf))
