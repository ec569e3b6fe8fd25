"""How the jobs of a demo stand, as the store has it.

A demo says only what is so at that moment: each of its sentences about a job rests on one of these, and where things
stand otherwise `how_it_stands` says so.
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
    """Pods of a job that run, by rank; those that are on their way out do not count."""
    found = {}
    for pod in store.all(POD, NAMESPACE):
        meta, labels = pod["metadata"], pod["metadata"].get("labels") or {}
        runs = (pod.get("status") or {}).get("phase") == "Running" and "deletionTimestamp" not in meta
        if runs and labels.get(JOB_NAME) == job:
            found[int(labels.get(INDEX, 0))] = pod
    return dict(sorted(found.items()))


def hosts_of(store: Store, job: str) -> dict[int, str]:
    """Where the pods of a job run, by rank."""
    return {rank: pod["spec"]["nodeName"] for rank, pod in pods_of(store, job).items()}


def is_whole(store: Store, job: str, pods: int) -> bool:
    """Whether so many of its pods run, and all on machines that work."""
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
    """Whether it is in line."""
    found = workload_of(store, job)
    active = (found or {}).get("spec", {}).get("active", True)
    return found is not None and active and not has_quota(store, job) and not holds(found, "Finished")


def how_it_stands(store: Store, job: str) -> str:
    """A sentence that is true of any job, at any time."""
    found = store.find(JOB, NAMESPACE, job)
    if found is None or not is_here(store, job):
        return f"{job} is gone."
    if is_done(store, job):
        return f"{job} is done."
    if waits(store, job):
        return f"{job} waits in line."
    broken = failed(store)
    running = sum(host not in broken for host in hosts_of(store, job).values())
    return f"{running} of {found['spec'].get('parallelism', 1)} pods of {job} run on hosts that work."


def plan_of(store: Store, job: str) -> list[str]:
    """The host that the plan has for every rank of a job with one pod set, rank 0 first."""
    admission = ((workload_of(store, job) or {}).get("status") or {}).get("admission") or {}
    for given in admission.get("podSetAssignments") or ():
        if given.get("topologyAssignment"):
            return [path[-1] for path in decode(given["topologyAssignment"]).slots()]
    return []
