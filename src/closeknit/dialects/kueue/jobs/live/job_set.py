"""JobSet: several Jobs that belong together, each replicated so many times."""

from __future__ import annotations

from .. import batch
from ..integration import Counts, Finished, Integration, Sets, Templates, forms
from ..raw import Raw, at, condition, items, mapping, number, put
from .job import is_suspended, pods, suspended

_TEMPLATE = ("template", "spec", "template")


def pod_sets(raw: Raw) -> Sets:
    return forms(raw, batch.job_set)


def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    jobs = [put(one, _TEMPLATE, templates[one["name"].lower()]) for one in items(raw, "spec", "replicatedJobs")]
    return put(raw, ("spec", "replicatedJobs"), jobs)


def finished(raw: Raw) -> Finished | None:
    end = condition(raw, "Completed", "Failed")
    return None if end is None else Finished(end["type"] == "Completed", end.get("message") or "")


def is_active(raw: Raw) -> bool:
    return any(number(one, "active") for one in items(raw, "status", "replicatedJobsStatus"))


def pods_ready(raw: Raw) -> bool:
    """Whether every replica of every job is ready, or was and succeeded."""
    wanted = sum(number(one, "replicas", default=1) for one in items(raw, "spec", "replicatedJobs"))
    statuses = items(raw, "status", "replicatedJobsStatus")
    return sum(number(one, "ready") + number(one, "succeeded") for one in statuses) == wanted


def reclaimable(raw: Raw) -> dict[str, int]:
    """The pods of replicas that succeeded."""
    succeeded = {at(one, "name"): number(one, "succeeded") for one in items(raw, "status", "replicatedJobsStatus")}
    done = {}
    for one in items(raw, "spec", "replicatedJobs"):
        replicas = succeeded.get(one["name"], 0)
        if 0 < replicas <= number(one, "replicas", default=1):
            done[one["name"].lower()] = replicas * pods(mapping(one, "template", "spec"))
    return done


JOB_SET = Integration(
    "jobset.x-k8s.io",
    "JobSet",
    "jobset.x-k8s.io/jobset",
    is_suspended,
    suspended,
    pod_sets,
    with_templates,
    finished,
    is_active,
    pods_ready,
    reclaimable,
)
