"""The children of a JobSet: a Job for every replica of every replicated job, and a Service for the pods' host names.

Labels and annotations on each Job and its pods have its position in the JobSet. A resumed Job gets the current labels,
annotations and scheduling fields of the JobSet's template in addition to its own, as from the real controller: nothing
is removed from it. Exclusive placement is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from ....kinds import JOB, JOB_SET, SERVICE
from ....port import Create, Raw, Update
from ..children import child, number

PREFIX = "jobset.sigs.k8s.io/"
ATTEMPT, REPLICATED = PREFIX + "restart-attempt", PREFIX + "replicatedjob-name"


def replicated_jobs(job_set: Raw) -> list[Raw]:
    return job_set["spec"].get("replicatedJobs") or []


def replicas(replicated: Raw) -> int:
    return number(replicated.get("replicas"), 1)


def replicated_of(job: Raw) -> str:
    """The name of the Job's replicated job."""
    labels: dict[str, str] = job["metadata"].get("labels") or {}
    return labels.get(REPLICATED, "")


def attempt_of(job: Raw) -> int:
    """The restart attempt of the JobSet that the Job was created for."""
    return int((job["metadata"].get("labels") or {}).get(ATTEMPT, "0"))


def job_name(job_set: Raw, replicated: Raw, index: int) -> str:
    return f"{job_set['metadata']['name']}-{replicated['name']}-{index}"


def subdomain(job_set: Raw) -> str:
    """The subdomain of the pods' host names; empty if they have none."""
    network = job_set["spec"].get("network") or {}
    return _subdomain(job_set) if network.get("enableDNSHostnames", True) else ""


def _subdomain(job_set: Raw) -> str:
    network = job_set["spec"].get("network") or {}
    return str(network.get("subdomain") or job_set["metadata"]["name"])


def service(job_set: Raw) -> Create:
    network, name = job_set["spec"].get("network") or {}, job_set["metadata"]["name"]
    spec = {
        "clusterIP": "None",
        "selector": {PREFIX + "jobset-name": name},
        "publishNotReadyAddresses": network.get("publishNotReadyAddresses", True),
    }
    return child(SERVICE, {"spec": spec}, JOB_SET, job_set, name=_subdomain(job_set))


def new_job(job_set: Raw, replicated: Raw, index: int, attempt: int, *, suspend: bool) -> Create:
    marks = _marks(job_set, replicated, index, attempt)
    template = replicated.get("template") or {}
    spec = template.get("spec") or {}
    pods = spec.get("template") or {}
    inside = dict(pods.get("spec") or {})
    if home := subdomain(job_set):
        inside["subdomain"] = home
    body = {
        "metadata": template.get("metadata"),
        "spec": {**spec, "suspend": suspend, "template": {"metadata": _marked(pods, marks), "spec": inside}},
    }
    name = job_name(job_set, replicated, index)
    return child(JOB, body, JOB_SET, job_set, name=name, labels=marks, annotations=marks)


def _marked(template: Raw, marks: dict[str, str]) -> Raw:
    meta = template.get("metadata") or {}
    return {**meta, **{part: {**(meta.get(part) or {}), **marks} for part in ("labels", "annotations")}}


def _marks(job_set: Raw, replicated: Raw, index: int, attempt: int) -> dict[str, str]:
    """The position of a Job: its indexes in the replicated job, in its group, and in the whole JobSet."""
    meta, name = job_set["metadata"], job_name(job_set, replicated, index)
    every = replicated_jobs(job_set)
    before = every[: next(place for place, one in enumerate(every) if one["name"] == replicated["name"])]
    group = _group(replicated)
    marks = {
        "jobset-name": meta["name"],
        "jobset-uid": meta["uid"],
        "replicatedjob-name": replicated["name"],
        "replicatedjob-replicas": replicas(replicated),
        "global-replicas": sum(map(replicas, every)),
        "group-name": group,
        "group-replicas": sum(replicas(one) for one in every if _group(one) == group),
        "job-index": index,
        "job-global-index": index + sum(map(replicas, before)),
        "job-group-index": index + sum(replicas(one) for one in before if _group(one) == group),
        "job-key": hashlib.sha1(f"{meta['namespace']}/{name}".encode(), usedforsecurity=False).hexdigest(),
        "restart-attempt": attempt,
    }
    if coordinator := job_set["spec"].get("coordinator"):
        marks["coordinator"] = _coordinator(job_set, coordinator)
    return {PREFIX + key: str(value) for key, value in marks.items()}


def _group(replicated: Raw) -> str:
    return replicated.get("groupName") or "default"


def _coordinator(job_set: Raw, coordinator: Raw) -> str:
    """The host name of the coordinator pod: train-driver-0-0.train."""
    job = f"{job_set['metadata']['name']}-{coordinator['replicatedJob']}-{number(coordinator.get('jobIndex'), 0)}"
    return f"{job}-{number(coordinator.get('podIndex'), 0)}.{_subdomain(job_set)}"


def suspended(job: Raw) -> Iterator[Update]:
    if not job["spec"].get("suspend"):
        yield Update(JOB, {**job, "spec": {**job["spec"], "suspend": True}})


def resumed(job: Raw, replicated: Raw) -> Iterator[Update]:
    if not job["spec"].get("suspend"):
        return
    wanted = ((replicated.get("template") or {}).get("spec") or {}).get("template") or {}
    has = job["spec"]["template"]
    template = {
        **has,
        "metadata": _merged(has.get("metadata") or {}, wanted.get("metadata") or {}, ("labels", "annotations")),
        "spec": _merged(has["spec"], wanted.get("spec") or {}, ("nodeSelector", "tolerations", "schedulingGates")),
    }
    yield Update(JOB, {**job, "spec": {**job["spec"], "suspend": False, "template": template}})


def _merged(has: Raw, wanted: Raw, parts: tuple[str, ...]) -> Raw:
    return {**has, **{part: _joined(has.get(part), wanted[part]) for part in parts if wanted.get(part)}}


def _joined(has: Any, wanted: Any) -> Any:
    if isinstance(wanted, dict):
        return {**(has or {}), **wanted}
    return [*(has or ()), *(one for one in wanted if one not in (has or ()))]
