"""Explains objects that are no workloads themselves: Deployments and other sets of pods, pods, jobs without a queue.

Such an object is explained by its pods, whether they are ready, and by the workloads of these pods. For an object
without a queue, the answer is that Closeknit does not manage it, and where its pods are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cluster import kinds
from ..cluster.errors import NotFound
from ..cluster.kinds import Kind
from ..dialects.kueue import keys
from ..dialects.kueue.jobs.kinds.pod_groups import group_name, is_runnable, starts_fast, total
from ..dialects.kueue.objects.wire import Unreadable
from ..model.nearest import nearest
from ..model.number import number_of
from .columns import JOBS
from .owners import Owners
from .placements import Raw, condition, holds, is_going

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from .naming import Meant

SETS = (
    kinds.LEADER_WORKER_SET,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.REPLICA_SET,
    kinds.DAEMON_SET,
    kinds.CRON_JOB,
)
ASKED = (*SETS, *sorted(JOBS - {kinds.POD, *SETS}, key=lambda kind: kind.kind), kinds.POD)
"""The kinds searched for a name without a kind, in this order: owners before what they own."""
GROUP = "Pod group"
ENDS = ("Complete", "Completed", "Succeeded", "Failed")
SHOWN = 10


class PodState(NamedTuple):
    name: str
    state: str
    node: str


class Subject(NamedTuple):
    """`wanted` is the desired number of pods, `workloads` are keys; `queue` is empty if it has none.

    `note` summarizes its own status; `owner` is the object that controls it.
    """

    kind: str
    namespace: str
    name: str
    queue: str
    wanted: int
    pods: Sequence[PodState]
    workloads: Sequence[str]
    note: str = ""
    owner: str = ""
    misspelt: str = ""
    """A label that is probably meant to name a queue."""

    @property
    def up(self) -> int:
        return sum(pod.state == "Ready" for pod in self.pods)


async def look_up(client: Client, asked: Meant) -> Subject | None:
    """The object of that name with its pods; None if there is none."""
    for kind in ASKED if asked.kind is None else (asked.kind,):
        if not kind.namespaced:
            continue
        try:
            raw = await client.get(kind, asked.namespace, asked.name)
        except NotFound:
            continue
        return await _subject(client, kind, raw)
    return await _group(client, asked) if asked.kind is None else None


async def _subject(client: Client, kind: Kind, raw: Raw) -> Subject:
    meta = raw["metadata"]
    namespace = meta["namespace"]
    every = await client.list(kinds.POD, namespace)
    owners = Owners(client)
    pods = [raw] if kind is kinds.POD else await owners.below(meta.get("uid", ""), every, namespace)
    await owners.learn([raw, *pods], namespace)
    names = dict.fromkeys(filter(None, map(owners.workload_of, pods or [raw])))
    workloads = [f"{namespace}/{name}" for name in names]
    note = await _jobs(client, raw, namespace) if kind is kinds.CRON_JOB else _note(raw)
    if kind is kinds.POD and not note:
        note = _shortage([pod for pod in every if group_name(raw) and group_name(pod) == group_name(raw)])
    wanted = _wanted(raw, len(pods))
    return Subject(
        kind.kind,
        namespace,
        meta["name"],
        queue_of(raw),
        wanted,
        _states(pods),
        workloads,
        note,
        _owner(raw),
        _misspelt(raw),
    )


async def _group(client: Client, asked: Meant) -> Subject | None:
    """A pod group without a workload, because some of its pods are missing."""
    every = await client.list(kinds.POD, asked.namespace)
    pods = [pod for pod in every if group_name(pod) == asked.name]
    if not pods:
        return None
    note = _shortage(pods)
    return Subject(
        GROUP, asked.namespace, asked.name, queue_of(pods[0]), _total(pods) or len(pods), _states(pods), (), note
    )


def _misspelt(raw: Raw) -> str:
    labels = raw["metadata"].get("labels") or {}
    return next((key for key in labels if key != keys.QUEUE and nearest(key, [keys.QUEUE])), "")


def _shortage(pods: Sequence[Raw]) -> str:
    there, wanted = len([pod for pod in pods if is_runnable(pod)]), _total(pods)
    if there >= wanted or starts_fast(pods):
        return ""
    return f"its group has {there} of {number_of(wanted, 'pod')} and is queued once all of them exist"


def _total(pods: Sequence[Raw]) -> int:
    """The size of the pods' group; 0 if it is not known."""
    try:
        return total(pods[0]) if pods else 0
    except Unreadable:
        return 0


def _states(pods: Sequence[Raw]) -> list[PodState]:
    return [PodState(pod["metadata"]["name"], _state(pod), _node(pod)) for pod in pods]


def _owner(raw: Raw) -> str:
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((f"{one.get('kind')} {one.get('name')}" for one in owners if one.get("controller")), "")


def _wanted(raw: Raw, there: int) -> int:
    """The desired number of pods; a LeaderWorkerSet has `replicas` groups of `size` pods."""
    spec = raw.get("spec") or {}
    found = spec.get("replicas", spec.get("parallelism", there))
    size = (spec.get("leaderWorkerTemplate") or {}).get("size", 1)
    return found * size if isinstance(found, int) and isinstance(size, int) else there


async def _jobs(client: Client, raw: Raw, namespace: str) -> str:
    uid = raw["metadata"].get("uid")
    made = [
        one["metadata"]["name"]
        for one in await client.list(kinds.JOB, namespace)
        if any(owner.get("uid") == uid for owner in one["metadata"].get("ownerReferences") or ())
    ]
    return f"it creates Jobs, each with its own workload: {', '.join(made[-SHOWN:])}" if made else "it has no Jobs yet"


def queue_of(raw: Raw) -> str:
    meta = raw["metadata"]
    marks = {**(meta.get("annotations") or {}), **(meta.get("labels") or {})}
    return str(marks.get(keys.QUEUE) or "")


def _note(raw: Raw) -> str:
    """When and how it finished, or that it is being deleted; else empty."""
    for kind in ENDS:
        found = condition(raw, kind)
        if found is not None and found.get("status") == "True":
            why = ": ".join(filter(None, (found.get("reason"), found.get("message"))))
            return f"it finished at {found.get('lastTransitionTime', 'an unknown time')}: {kind}" + (
                f" ({why})" if why else ""
            )
    if is_going(raw):
        return "it is being deleted"
    return ""


def _state(pod: Raw) -> str:
    status = pod.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if is_going(pod):
        return "Terminating"
    if phase == "Running":
        return "Ready" if holds(pod, "Ready") else "not ready"
    gates = [one.get("name", "") for one in (pod.get("spec") or {}).get("schedulingGates") or ()]
    if gates:
        return f"gated by {', '.join(gates)}"
    return phase + _unscheduled(pod) if phase == "Pending" else phase


def _unscheduled(pod: Raw) -> str:
    found = condition(pod, "PodScheduled") or {}
    return f": {found['message']}" if found.get("status") == "False" and found.get("message") else ""


def _node(pod: Raw) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


# Text output


def subject_lines(one: Subject, known: Mapping[str, Any]) -> Iterator[str]:
    """The lines for an object; `known` are the workloads that are explained below these lines."""
    name = f"{one.kind} {one.namespace}/{one.name}"
    if one.kind == "Pod":
        yield from _pod_lines(one, name, known)
        return
    yield f"{name}: {one.up} of {number_of(one.wanted, 'pod')} ready" + (f"; {one.note}" if one.note else "")
    yield from (f"  {_pod(pod)}" for pod in one.pods[:SHOWN])
    if len(one.pods) > SHOWN:
        yield f"  … and {len(one.pods) - SHOWN} more"
    if one.workloads:
        yield f"  {_of_workloads(one, known)}"
    if one.owner:
        yield f"  it is part of {one.owner}"
    elif one.kind == "DaemonSet":
        yield "  pods of DaemonSets are never queued"
    elif not one.workloads and not one.queue and one.kind != "CronJob":
        yield f"  {NO_QUEUE}"
        if one.misspelt:
            yield f"  it has the label {one.misspelt}; did you mean {keys.QUEUE}?"


NO_QUEUE = f"it has no queue, so Closeknit does not manage it; the label {keys.QUEUE} puts it in a queue"


def _pod_lines(one: Subject, name: str, known: Mapping[str, Any]) -> Iterator[str]:
    (pod,) = one.pods
    where = f" on node {pod.node}" if pod.node else ""
    yield f"{name} is {pod.state}{where}" + (f"; {one.note}" if one.note else "")
    if one.workloads and (known or not one.note):
        yield f"  {_of_workloads(one, known)}"
    elif not one.queue:
        yield f"  it is part of {one.owner}" if one.owner else f"  {NO_QUEUE}"
    elif not one.note:
        yield f"  it is in LocalQueue {one.queue} but has no workload: it has finished, or is not reconciled yet"


def _of_workloads(one: Subject, known: Mapping[str, Any]) -> str:
    """The workloads of the pods, and which of these no longer exist."""
    names = ", ".join(one.workloads[:SHOWN]) + (
        f" and {len(one.workloads) - SHOWN} more" if len(one.workloads) > SHOWN else ""
    )
    belongs = "it belongs" if one.kind == "Pod" else "its pods belong"
    gone = [key for key in one.workloads if key not in known]
    rest = f"; no longer existing: {', '.join(gone[:SHOWN])}" if gone else ""
    return f"{belongs} to {'Workload' if len(one.workloads) == 1 else 'Workloads'} {names}{rest}"


def _pod(pod: PodState) -> str:
    return f"{pod.name}  {pod.state}" + (f" on {pod.node}" if pod.node else "")


# JSON and YAML output


def subject_data(one: Subject) -> dict[str, Any]:
    return {
        "object": {"kind": one.kind, "namespace": one.namespace, "name": one.name},
        "queue": one.queue or None,
        "note": one.note,
        "wanted": one.wanted,
        "pods": [{"name": pod.name, "state": pod.state, "node": pod.node or None} for pod in one.pods],
    }
