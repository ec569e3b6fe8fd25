"""Holding a job: assign the namespace's default queue, if any, then suspend the job or gate its pods.

Jobs with a suspend field are suspended, pods are gated. Deployments, StatefulSets and LeaderWorkerSets have no suspend:
their templates are labelled, and each pod created from them is gated. The dialect's job kinds define what exactly is
set; here is only which objects it is set on. Pods of a job that is itself held are left alone: they are created when it
runs.
"""

from __future__ import annotations

from .....dialects.kueue import keys
from .....dialects.kueue.jobs import marks
from .....dialects.kueue.jobs.kinds import Integration
from .....dialects.kueue.jobs.kinds.pod import prepared
from .....dialects.kueue.jobs.kinds.training import counted
from .....dialects.kueue.jobs.raw import put
from ....kinds import MPI_JOB, POD, Kind
from ....port import Raw
from ...store import Store
from ..settings import AdmissionSettings
from .managed import (
    DEFAULT,
    has_default_class,
    has_default_queue,
    has_job_for_owner,
    held_ancestor,
    is_held,
    is_managed_namespace,
    is_of_daemon_set,
    job_kind,
    queue_of,
)


def held(store: Store, settings: AdmissionSettings, kind: Kind, old: Raw | None, raw: Raw) -> Raw:
    """The object as held; the same object if it need not be. On an update only templates are labelled again."""
    if kind is POD:
        return _held_pod(store, settings, raw) if old is None else raw
    known = job_kind(settings, kind)
    if known is None or (old is not None and isinstance(known, Integration)):
        return raw
    if not is_managed_namespace(store, settings, raw["metadata"]["namespace"]):
        return raw
    if kind is MPI_JOB and "TopologyAwareScheduling" in settings.gates:
        raw = counted(raw)
    if old is None and not has_job_for_owner(settings, raw):
        raw = _with_queue(store, raw)
    if not is_held(settings, raw) or held_ancestor(store, settings, raw) is not None:
        return raw
    if old is None:
        raw = _with_class(store, raw)
    if not isinstance(known, Integration):
        return known.prepared(raw, settings.gates)
    return raw if known.is_suspended(raw) or known.ignored(raw) else known.suspended(raw, True)


def _held_pod(store: Store, settings: AdmissionSettings, pod: Raw) -> Raw:
    if is_of_daemon_set(pod):
        return pod
    meta = pod["metadata"]
    parent = (meta.get("annotations") or {}).get(marks.PARENT)
    if parent is not None:
        is_ours = parent in settings.frameworks
    else:
        is_ours = job_kind(settings, POD) is not None and not has_job_for_owner(settings, pod)
    if not is_ours:
        return pod
    namespace = meta["namespace"]
    queued = parent is not None or is_held(settings, pod) or has_default_queue(store, namespace)
    if not queued or not is_managed_namespace(store, settings, namespace):
        return pod
    if parent is None:
        pod = _with_queue(store, pod)
        if held_ancestor(store, settings, pod) is not None:
            return pod
        pod = _with_class(store, pod)
    return prepared(pod, settings.gates)


def _with_queue(store: Store, raw: Raw) -> Raw:
    if queue_of(raw) or not has_default_queue(store, raw["metadata"]["namespace"]):
        return raw
    return _labelled(raw, keys.QUEUE, DEFAULT)


def _with_class(store: Store, raw: Raw) -> Raw:
    labels = raw["metadata"].get("labels") or {}
    if labels.get(keys.PRIORITY_CLASS) or not has_default_class(store):
        return raw
    return _labelled(raw, keys.PRIORITY_CLASS, DEFAULT)


def _labelled(raw: Raw, key: str, value: str) -> Raw:
    return put(raw, ("metadata", "labels", key), value)
