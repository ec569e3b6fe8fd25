"""A pod group as one job: its pods wait, start and end together, and failed ones are replaced.

All functions take the pods of one group, in order of creation. A pod counts while it may run or if it has succeeded;
one that failed, was deleted before it ran, or has exceeded its deletion time does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf

from .....model.gates import Gates
from ....timestamps import parse
from ... import keys
from ...objects.wire import Unreadable
from ...topology_request import AnnotationError, parse_int32
from .. import marks
from ..injection import Info, StartConflict
from ..integration import Finished, Sets
from ..queueing_options import QueueingOptions
from ..raw import Raw, at, condition, items, mapping, put
from ..roles import MAX_POD_SETS
from ..workload_object import (
    NO_PRIORITY,
    Metadata,
    WorkloadPriority,
    copied_notes,
    owner_reference,
    standing_of,
    workload_object,
)
from .pod import form_of, is_gated, role, start

Pods = Sequence[Raw]


def group_name(pod: Raw) -> str:
    """The name of the pod's group; empty if it is in none. A name too long for a label is in an annotation."""
    metadata = mapping(pod, "metadata")
    return at(metadata, "annotations", keys.POD_GROUP) or at(metadata, "labels", keys.POD_GROUP) or ""


def total(pod: Raw) -> int:
    """The group's number of pods, from this pod's annotation; raises Unreadable if that is missing or invalid."""
    said = at(pod, "metadata", "annotations", keys.POD_GROUP_COUNT)
    try:
        count = parse_int32(str(said)) if said is not None else None
    except AnnotationError:
        count = None
    if count is None:
        raise Unreadable(f"failed to extract '{keys.POD_GROUP_COUNT}' annotation")
    if count < 1:
        rule = "group total count should be greater than zero"
        raise Unreadable(f"incorrect annotation value '{keys.POD_GROUP_COUNT}={said}': {rule}")
    return count


def is_terminated(pod: Raw) -> bool:
    return at(pod, "status", "phase") in ("Succeeded", "Failed")


def is_runnable(pod: Raw, now: float = -inf) -> bool:
    """Whether the pod runs, may still run, or has succeeded; a deleted one counts until its deletion time."""
    phase = at(pod, "status", "phase")
    if phase == "Succeeded" or not is_deleted(pod):
        return bool(phase != "Failed")
    return phase == "Running" and not _is_overdue(pod, now)


def is_deleted(pod: Raw) -> bool:
    return at(pod, "metadata", "deletionTimestamp") is not None


def is_stopped(pod: Raw) -> bool:
    """Whether the pod does not run: it never started, or has ended."""
    return is_gated(pod) or is_terminated(pod) or (is_deleted(pod) and at(pod, "status", "phase") != "Running")


def was_let_go(pod: Raw) -> bool:
    """Whether the pod was already counted and released; pods of a serving controller never are."""
    return marks.MANAGED not in items(pod, "metadata", "finalizers") and marks.PARENT not in mapping(
        pod, "metadata", "annotations"
    )


def was_given_up(pods: Pods, evicted: bool) -> bool:
    """Whether the user has deleted the whole group, so that its pods will not be replaced.

    Pods that were evicted or lost their node have a condition; an evicted group with such pods waits for replacements.
    """
    if is_serving(pods) or not all(map(is_deleted, pods)):
        return False
    sent = [condition(pod, "TerminationTarget", "DisruptionTarget") is not None for pod in pods]
    return not any(sent) or not (evicted or all(sent))


def is_serving(pods: Pods) -> bool:
    """Whether the pods serve requests and do not end."""
    return _says(pods[0], marks.SERVING, "true")


def starts_fast(pods: Pods) -> bool:
    """Whether fast admission is on: the first pod represents all that are still to be created."""
    return _says(pods[0], keys.FAST_ADMISSION, "true")


def gives_up(pods: Pods) -> bool:
    """Whether failed pods are not replaced, because a pod is annotated as not retriable."""
    return any(_says(pod, marks.RETRIABLE, "false") for pod in pods)


def mismatch(pods: Pods) -> str:
    """How the pods of the group contradict each other, as Kueue reports it; "" if they do not. Raises like `total`."""
    first = pods[0]
    wanted, number = _queue(first), total(first)
    for pod in pods[1:]:
        names = f"pods '{_name(first)}' and '{_name(pod)}' has different"
        if _queue(pod) != wanted:
            return f"{names} queue names: {wanted}!={_queue(pod)}"
        if total(pod) != number:
            return f"{names} '{keys.POD_GROUP_COUNT}' values: {number}!={total(pod)}"
    return ""


def is_complete(pods: Pods) -> bool:
    """Whether there are enough pods, or one with fast admission."""
    return sum(map(is_runnable, pods)) >= (1 if starts_fast(pods) else total(pods[0]))


def shortage(pods: Pods) -> str:
    """Why no Workload can be created yet; "" if one can."""
    if not is_complete(pods):
        return f"'{group_name(pods[0])}' group has fewer runnable pods than expected"
    if len({role(pod) for pod in pods if is_runnable(pod)}) > MAX_POD_SETS:
        return f"pod group can't include more than {MAX_POD_SETS} roles"
    return ""


def group_sets(pods: Pods) -> Sets:
    """One pod set per role, sorted by name; the first pod of a role is the template."""
    runnable = [pod for pod in pods if is_runnable(pod)]
    if starts_fast(pods):
        return (form_of(runnable[0], role(runnable[0]), total(pods[0])),) if runnable else ()
    first: dict[str, Raw] = {}
    for pod in runnable:
        first.setdefault(role(pod), pod)
    counts = Counter(map(role, runnable))
    return tuple(form_of(first[name], name, counts[name]) for name in sorted(first))


def group_standing(pods: Pods) -> QueueingOptions:
    """The queueing options of the group: those of its first pod."""
    return standing_of(pods[0], [form_of(pods[0])])


def group_workload(pods: Pods, gates: Gates, priority: WorkloadPriority = NO_PRIORITY) -> Raw:
    """The group's Workload, named after the group and owned by all of its pods."""
    standing, metadata = group_standing(pods), mapping(pods[0], "metadata")
    notes = {**copied_notes(metadata), keys.IS_GROUP: "true"}
    owners = [owner_reference(pod, controller=False) for pod in pods]
    made = Metadata(group_name(pods[0]), metadata.get("namespace") or "", {}, notes, owners)
    return workload_object(made, group_sets(pods), standing.queue, standing.max_seconds, priority, gates)


def is_same(pods: Pods, workload: Raw) -> bool:
    """Whether the group still matches its Workload: the same number of pods, and no unknown role."""
    wanted = wanted_of(workload)
    roles = {role(pod) for pod in pods if is_runnable(pod)}
    return is_of_group(workload) and sum(wanted.values()) == total(pods[0]) and roles <= wanted.keys()


def started(pod: Raw, infos: Sequence[Info]) -> Raw | StartConflict:
    """One pod of the group with what its role gets, and without the gates that it no longer needs.

    That changes its shape, so its role hash is recorded first: admission policies cannot compute one at creation.
    """
    name = role(pod)
    info = next((one for one in infos if one.name == name), None)
    if info is None:
        return StartConflict(f"invalid podset infos: podSetInfo with the name '{name}' is not found")
    return start(put(pod, ("metadata", "annotations", keys.ROLE_HASH), name), (), (info,))


def wanted_of(workload: Raw) -> dict[str, int]:
    """How many pods of each role a Workload has."""
    return {one.get("name", ""): one.get("count", 1) for one in items(workload, "spec", "podSets")}


def excess(pods: Pods, wanted: Mapping[str, int] | None = None, now: float = -inf) -> list[Raw]:
    """The excess pods, in order of deletion: gated ones first, and the newest first among them.

    `wanted` is by role if there is a Workload, and all pods of an unknown role are in excess; before that, the group's
    total counts.
    """
    runnable = [pod for pod in pods if is_runnable(pod, now)]
    if wanted is None:
        return _newest(runnable, len(runnable) - total(pods[0]))
    by_role = _by_role(runnable)
    return [pod for name, group in by_role.items() for pod in _newest(group, len(group) - wanted.get(name, 0))]


def _newest(pods: Pods, count: int) -> list[Raw]:
    if count <= 0:
        return []
    newest = sorted(pods, key=lambda pod: (_created(pod), _name(pod)), reverse=True)
    return sorted(newest, key=lambda pod: not is_gated(pod))[:count]


def missing(pods: Pods, wanted: Mapping[str, int], now: float = -inf) -> dict[str, int]:
    """How many pods of each role are missing; complete roles are left out."""
    there = Counter(role(pod) for pod in pods if is_runnable(pod, now))
    return {name: count - there[name] for name, count in wanted.items() if there[name] < count}


def replaced(pods: Pods, wanted: Mapping[str, int], now: float = -inf) -> list[Raw]:
    """Failed pods that have been replaced, the oldest first: they no longer need to be counted."""
    gaps = missing(pods, wanted, now)
    failed = _by_role([pod for pod in pods if not is_runnable(pod, now)])
    return [pod for name, group in failed.items() for pod in group[: max(0, len(group) - gaps.get(name, 0))]]


def finished(pods: Pods) -> Finished | None:
    """Finished if all pods of the group have succeeded, or if all have ended and failed ones are not replaced."""
    if is_serving(pods):
        return None
    succeeded, wanted = sum(at(pod, "status", "phase") == "Succeeded" for pod in pods), total(pods[0])
    if succeeded == wanted or (gives_up(pods) and all(map(is_terminated, pods))):
        return Finished(True, f"Pods succeeded: {succeeded}/{wanted}.")
    return None


def is_active(pods: Pods, now: float) -> bool:
    """Whether any of its pods runs; one that has exceeded its deletion time does not count."""
    return any(at(pod, "status", "phase") == "Running" and not _is_overdue(pod, now) for pod in pods)


def is_occupied(pods: Pods, now: float) -> bool:
    """Whether any of its pods is ungated and not known to have ended, so that quota is in use."""
    return any(not is_gated(pod) and not is_terminated(pod) and not _is_overdue(pod, now) for pod in pods)


def next_deadline(pods: Pods, now: float) -> float | None:
    """The next deletion time of a terminating pod."""
    ends = (parse(pod["metadata"]["deletionTimestamp"]) for pod in pods if is_deleted(pod) and not is_terminated(pod))
    return min((end + 1 for end in ends if end >= now), default=None)


def _is_overdue(pod: Raw, now: float) -> bool:
    end = at(pod, "metadata", "deletionTimestamp")
    return end is not None and parse(end) < now


def pods_ready(pods: Pods) -> bool:
    """Whether all pods of the group are ready or have succeeded; failed ones do not count."""
    ready = [pod for pod in pods if at(pod, "status", "phase") == "Succeeded" or condition(pod, "Ready") is not None]
    return len(ready) >= total(pods[0])


def reclaimable(pods: Pods) -> dict[str, int]:
    """Pods that have succeeded, by role; none of a serving group, whose pods are replaced even then."""
    if is_serving(pods):
        return {}
    return dict(Counter(role(pod) for pod in pods if at(pod, "status", "phase") == "Succeeded"))


def is_of_group(workload: Raw) -> bool:
    """Whether the Workload was created for a group; another one with the group's name blocks it."""
    return bool(at(workload, "metadata", "annotations", keys.IS_GROUP) == "true")


def _by_role(pods: Pods) -> dict[str, list[Raw]]:
    found: dict[str, list[Raw]] = {}
    for pod in pods:
        found.setdefault(role(pod), []).append(pod)
    return found


def _says(pod: Raw, key: str, value: str) -> bool:
    return bool(at(pod, "metadata", "annotations", key) == value)


def _queue(pod: Raw) -> str:
    return at(pod, "metadata", "labels", keys.QUEUE) or ""


def _name(pod: Raw) -> str:
    return at(pod, "metadata", "name") or ""


def _created(pod: Raw) -> float:
    stamp = at(pod, "metadata", "creationTimestamp")
    return parse(stamp) if stamp else 0.0
