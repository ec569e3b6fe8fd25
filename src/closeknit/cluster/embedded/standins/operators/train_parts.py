"""What a TrainJob is made of: the JobSet that its runtime, its trainer and all patches come to.

Torch gets its variables, MPI a list of hosts and a Secret. The keys in it are none: nobody logs in anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from .....dialects.kueue.jobs.raw import at, each, mapping, put
from .....dialects.kueue.jobs.train_job import NODE, PATCHES, POD, STEP, TRAINER, merged, rendered
from ....kinds import CONFIG_MAP, JOB_SET, SECRET, TRAIN_JOB
from ....port import Create, Raw, Update
from ..children import child, with_env
from .job_set_jobs import replicas, replicated_jobs
from .mpi_parts import MPI_PATH, SSH_PATH, hosts_volume, keys_volume, open_mpi, secret_body, variables

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
    """A JobSet that stands still, with what its template says by now of where pods go; all else is fixed."""
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
        return _with_containers(replicated, _torch(job, replicated), port=True)
    if "mpi" in policy and (trains or replicated.get("name") == NODE):
        return _with_mpi(job, replicated, mapping(policy, "mpi"), trains)
    return replicated


def _with_containers(replicated: Raw, env: list[Raw], *, port: bool = False, mounts: list[Raw] | None = None) -> Raw:
    """The container that trains, with all that."""
    containers = []
    for one in each(replicated, *POD, "spec", "containers"):
        if one.get("name") == NODE:
            one = with_env([one], env)[0] if env else one
            if port:
                one = {**one, "ports": [*(one.get("ports") or ()), {"containerPort": PORT, "protocol": "TCP"}]}
            if mounts:
                one = {**one, "volumeMounts": [*(one.get("volumeMounts") or ()), *mounts]}
        containers.append(one)
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


def _with_mpi(job: Raw, replicated: Raw, policy: Raw, trains: bool) -> Raw:
    name = job["metadata"]["name"]
    volumes: list[Raw] = [keys_volume("mpi-ssh-auth", f"{name}-mpi-ssh-auth")]
    mounts: list[Raw] = [{"name": "mpi-ssh-auth", "mountPath": policy.get("sshAuthMountPath") or SSH_PATH}]
    env: list[Raw] = []
    if trains:
        volumes.append(hosts_volume("mpi-hostfile", f"{name}-mpi-hostfile", {"hostfile": 0o444}))
        mounts.append({"name": "mpi-hostfile", "mountPath": MPI_PATH})
        env = variables(open_mpi(_slots(job, policy)))
    made = _with_containers(replicated, env, mounts=mounts)
    return put(made, (*POD, "spec", "volumes"), [*each(made, *POD, "spec", "volumes"), *volumes])


def _slots(job: Raw, policy: Raw) -> str:
    return str(at(job, "spec", "trainer", "numProcPerNode") or policy.get("numProcPerNode") or 1)


def extras(job: Raw, runtime: Raw) -> Iterator[Create]:
    """What MPI needs besides: the hosts in their order, the launcher first if it computes, and keys."""
    policy = at(runtime, "spec", "mlPolicy", "mpi")
    if policy is None:
        return
    name = job["metadata"]["name"]
    hosts = []
    for one in each(template(job, runtime), "spec", "replicatedJobs"):
        if one.get("name") == NODE or policy.get("runLauncherAsNode"):
            pods = at(one, "template", "spec", "parallelism") or 1
            hosts += [f"{name}-{one['name']}-{job}-{pod}.{name}" for job in range(replicas(one)) for pod in range(pods)]
    data = {"hostfile": "".join(f"{host} slots={_slots(job, policy)}\n" for host in hosts)}
    yield child(CONFIG_MAP, {"data": data}, TRAIN_JOB, job, name=f"{name}-mpi-hostfile")
    yield child(SECRET, {**secret_body(), "immutable": True}, TRAIN_JOB, job, name=f"{name}-mpi-ssh-auth")
