"""The JobSet of a TrainJob, rendered from its runtime, its trainer and all patches.

Torch gets its environment variables. The additions for MPI are left out: no process in these pods would read them.
"""

from __future__ import annotations

from collections.abc import Mapping

from .....dialects.kueue.jobs.raw import at, each, mapping, put
from .....dialects.kueue.jobs.train_job import NODE, PATCHES, POD, STEP, TRAINER, merged, rendered
from ....kinds import JOB_SET, TRAIN_JOB
from ....port import Create, Raw, Update
from ..children import child, with_env
from .job_set_jobs import replicated_jobs

PORT = 29500
PLACING = ("nodeSelector", "tolerations", "schedulingGates", "affinity")
RANK = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def template(job: Raw, runtime: Raw) -> Raw:
    """Metadata and spec of the JobSet."""
    base = mapping(runtime, "spec", "template")
    plain = rendered(put(job, PATCHES, []), runtime)["spec"]["replicatedJobs"]
    jobs = [_equipped(job, one, runtime) for one in plain]
    made = {"metadata": mapping(base, "metadata"), "spec": {**mapping(base, "spec"), "replicatedJobs": jobs}}
    names = [one["name"] for one in jobs]
    for patch in each(job, *PATCHES):
        wanted = mapping(patch, "trainingRuntimeSpec", "template")
        known = [one for one in each(wanted, "spec", "replicatedJobs") if one.get("name") in names]
        made = merged(made, put(wanted, ("spec", "replicatedJobs"), known) if wanted else {})
    return made


def job_set(job: Raw, template: Raw, *, suspend: bool) -> Create:
    body = {"metadata": template["metadata"], "spec": {**template["spec"], "suspend": suspend}}
    return child(JOB_SET, body, TRAIN_JOB, job, name=job["metadata"]["name"])


def refreshed(has: Raw, template: Raw, *, suspend: bool) -> Update:
    """A suspended JobSet with the current scheduling fields of its template; everything else is immutable."""
    wanted = {one["name"]: mapping(one, *POD) for one in template["spec"]["replicatedJobs"]}
    jobs = [put(one, POD, _moved(mapping(one, *POD), wanted.get(one["name"], {}))) for one in replicated_jobs(has)]
    return Update(JOB_SET, {**has, "spec": {**has["spec"], "suspend": suspend, "replicatedJobs": jobs}})


def _moved(pods: Raw, wanted: Raw) -> Raw:
    result = pods
    for part, keys in (("metadata", ("labels", "annotations")), ("spec", PLACING)):
        kept = {key: value for key, value in mapping(pods, part).items() if key not in keys}
        given = {key: value for key, value in mapping(wanted, part).items() if key in keys}
        if kept or given or part in pods:
            result = {**result, part: {**kept, **given}}
    return result


def _equipped(job: Raw, replicated: Raw, runtime: Raw) -> Raw:
    policy = mapping(runtime, "spec", "mlPolicy")
    trains = at(replicated, "template", "metadata", "labels", STEP) == TRAINER
    if "torch" in policy and trains:
        return _with_torch(job, replicated)
    return replicated


def _with_torch(job: Raw, replicated: Raw) -> Raw:
    """Set Torch's environment variables on the training container."""
    port = {"containerPort": PORT, "protocol": "TCP"}
    containers = [
        {**with_env([one], _torch(job, replicated))[0], "ports": [*(one.get("ports") or ()), port]}
        if one.get("name") == NODE
        else one
        for one in each(replicated, *POD, "spec", "containers")
    ]
    return put(replicated, (*POD, "spec", "containers"), containers)


def _torch(job: Raw, replicated: Raw) -> list[Raw]:
    name, trainer = job["metadata"]["name"], mapping(job, "spec", "trainer")
    nodes = at(replicated, "template", "spec", "parallelism") or 1
    processes, master = str(trainer.get("numProcPerNode") or "auto"), f"{name}-{replicated['name']}-0-0.{name}"
    return [
        *variables({"PET_NNODES": str(nodes), "PET_NPROC_PER_NODE": processes}),
        {"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": RANK}}},
        *variables({"PET_MASTER_ADDR": master, "PET_MASTER_PORT": str(PORT)}),
    ]


def variables(told: Mapping[str, str]) -> list[Raw]:
    return [{"name": key, "value": value} for key, value in told.items()]
