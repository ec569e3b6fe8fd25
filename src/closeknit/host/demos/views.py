"""The state of a demo's jobs, as read from the store.

A demo's sentences are true at the moment they are shown: each sentence about a job is backed by one of these functions,
and when things have gone differently `how_it_stands` describes the actual state.
"""

from __future__ import annotations

from ...cluster.embedded.store import Store
from ...cluster.kinds import JOB, POD, WORKLOAD
from ...cluster.port import Raw
from ...model.encoding import decode
from ...observe.pool_form import RACK
from .objects import NAMESPACE
from .room import failed, holds, label

JOB_NAME = "batch.kubernetes.io/job-name"
INDEX = "batch.kubernetes.io/job-completion-index"


def is_here(store: Store, job: str) -> bool:
    found = store.find(JOB, NAMESPACE, job)
    return found is not None and "deletionTimestamp" not in found["metadata"]


def pods_of(store: Store, job: str) -> dict[int, Raw]:
    """The running pods of a job by rank, without those that are being deleted."""
    found = {}
    for pod in store.all(POD, NAMESPACE):
        meta, labels = pod["metadata"], pod["metadata"].get("labels") or {}
        runs = (pod.get("status") or {}).get("phase") == "Running" and "deletionTimestamp" not in meta
        if runs and labels.get(JOB_NAME) == job:
            found[int(labels.get(INDEX, 0))] = pod
    return dict(sorted(found.items()))


def hosts_of(store: Store, job: str) -> dict[int, str]:
    """The hosts of a job's running pods, by rank."""
    return {rank: pod["spec"]["nodeName"] for rank, pod in pods_of(store, job).items()}


def is_whole(store: Store, job: str, pods: int) -> bool:
    """Whether that many of its pods run, all on healthy hosts."""
    hosts = hosts_of(store, job)
    return is_here(store, job) and len(hosts) == pods and not failed(store) & set(hosts.values())


def domains_of(store: Store, job: str, level: str) -> list[str]:
    return sorted({label(store, node, level) for node in hosts_of(store, job).values()})


def racks_of(store: Store, job: str) -> list[str]:
    return domains_of(store, job, RACK)


def workload_of(store: Store, job: str) -> Raw | None:
    for one in store.all(WORKLOAD, NAMESPACE):
        if any(owner["name"] == job for owner in one["metadata"].get("ownerReferences") or ()):
            return one
    return None


def is_done(store: Store, job: str) -> bool:
    return holds(store.find(JOB, NAMESPACE, job), "Complete")


def has_quota(store: Store, job: str) -> bool:
    return holds(workload_of(store, job), "QuotaReserved")


def waits(store: Store, job: str) -> bool:
    """Whether the job is pending."""
    found = workload_of(store, job)
    active = (found or {}).get("spec", {}).get("active", True)
    return found is not None and active and not has_quota(store, job) and not holds(found, "Finished")


def how_it_stands(store: Store, job: str) -> str:
    """A sentence about the job's state that is true at any time."""
    found = store.find(JOB, NAMESPACE, job)
    if found is None or not is_here(store, job):
        return f"{job} is gone."
    if is_done(store, job):
        return f"{job} has finished."
    if waits(store, job):
        return f"{job} is pending."
    broken = failed(store)
    running = sum(host not in broken for host in hosts_of(store, job).values())
    return f"{running} of {found['spec'].get('parallelism', 1)} pods of {job} run on healthy hosts."


def plan_of(store: Store, job: str) -> list[str]:
    """The planned host of every rank of a job with one pod set, rank 0 first."""
    admission = ((workload_of(store, job) or {}).get("status") or {}).get("admission") or {}
    for given in admission.get("podSetAssignments") or ():
        if given.get("topologyAssignment"):
            return [path[-1] for path in decode(given["topologyAssignment"]).slots()]
    return []
