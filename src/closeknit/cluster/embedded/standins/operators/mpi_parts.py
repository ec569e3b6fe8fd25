"""The children of an MPIJob: a Service, pods for the workers, a Job for the launcher.

SSH keys, host files and the environment of mpirun are left out: no process in these pods would read them.
"""

from __future__ import annotations

from ....kinds import JOB, MPI_JOB, SERVICE
from ....port import Create, Raw, Update
from ..children import child, number, owner_reference, pod
from .kubeflow import JOB_NAME, OPERATOR, REPLICA_INDEX, ROLE

NAME = "mpi-operator"


def replica(job: Raw, kind: str) -> Raw:
    return (job["spec"].get("mpiReplicaSpecs") or {}).get(kind) or {}


def workers(job: Raw) -> int:
    return number(replica(job, "Worker").get("replicas"), 1) if replica(job, "Worker") else 0


def works(job: Raw) -> bool:
    """Whether the launcher also runs as a worker."""
    return bool(job["spec"].get("runLauncherAsWorker"))


def labels(job: Raw, role: str) -> dict[str, str]:
    return {JOB_NAME: job["metadata"]["name"], OPERATOR: NAME, ROLE: role}


def service(job: Raw) -> Create:
    name = job["metadata"]["name"]
    spec = {"clusterIP": "None", "selector": {JOB_NAME: name, OPERATOR: NAME}}
    return child(SERVICE, {"spec": spec}, MPI_JOB, job, name=name, labels={"app": name})


def worker(job: Raw, index: int) -> Create:
    meta, spec = job["metadata"], replica(job, "Worker")
    name = f"{meta['name']}-worker-{index}"
    rank = index + 1 if works(job) else index
    return pod(
        spec.get("template") or {},
        MPI_JOB,
        job,
        name=name,
        labels={**labels(job, "worker"), REPLICA_INDEX: str(rank)},
        spec={"hostname": name, "subdomain": meta["name"], "restartPolicy": spec.get("restartPolicy") or "Never"},
    )


def launcher(job: Raw, *, suspend: bool) -> Create:
    meta, policy = job["metadata"], job["spec"].get("runPolicy") or {}
    parts = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
    spec = {
        **{part: policy[part] for part in parts if policy.get(part) is not None},
        "suspend": suspend,
        "podReplacementPolicy": "Failed",
        "template": _launcher_template(job),
    }
    return child(JOB, {"spec": spec}, MPI_JOB, job, name=f"{meta['name']}-launcher", labels={"app": meta["name"]})


def _launcher_template(job: Raw) -> Raw:
    meta, replicas = job["metadata"], replica(job, "Launcher")
    template: Raw = replicas.get("template") or {}
    given, inner = template.get("metadata") or {}, template.get("spec") or {}
    rank = {REPLICA_INDEX: "0"} if works(job) else {}
    spec = {
        **inner,
        "hostname": f"{meta['name']}-launcher",
        "subdomain": meta["name"],
        "restartPolicy": replicas.get("restartPolicy") or inner.get("restartPolicy") or "OnFailure",
    }
    ours = {
        **given,
        "labels": {**(given.get("labels") or {}), **labels(job, "launcher"), **rank},
        "ownerReferences": [owner_reference(MPI_JOB, job)],
    }
    return {"metadata": ours, "spec": spec}


def relaunched(job: Raw, launcher: Raw) -> Update:
    """The resumed launcher with the scheduling fields of its template; labels and annotations are only added."""
    has, wanted = launcher["spec"]["template"], _launcher_template(job)
    meta: Raw = {**has["metadata"]}
    for part in ("labels", "annotations"):
        if together := {**(meta.get(part) or {}), **(wanted["metadata"].get(part) or {})}:
            meta[part] = together
    spec = {**has["spec"]}
    for part in ("nodeSelector", "tolerations", "schedulingGates"):
        spec.pop(part, None)
        if wanted["spec"].get(part):
            spec[part] = wanted["spec"][part]
    template = {**has, "metadata": meta, "spec": spec}
    return Update(JOB, {**launcher, "spec": {**launcher["spec"], "suspend": False, "template": template}})
