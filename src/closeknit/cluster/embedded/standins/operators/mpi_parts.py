"""What an MPIJob is made of: a Service, a list of hosts, a Secret, pods for the workers, a Job for the launcher."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping

from ....kinds import CONFIG_MAP, JOB, MPI_JOB, SECRET, SERVICE
from ....port import Create, Raw, Update
from ..children import child, number, owner_reference, phase, pod, with_env
from .kubeflow import JOB_NAME, OPERATOR, REPLICA_INDEX, ROLE

NAME = "mpi-operator"
SSH_PATH, MPI_PATH = "/root/.ssh", "/etc/mpi"
SERVER = ["/usr/sbin/sshd", "-De"]
NO_KEY = base64.b64encode(b"no key: pods are simulated").decode()


def replica(job: Raw, kind: str) -> Raw:
    return (job["spec"].get("mpiReplicaSpecs") or {}).get(kind) or {}


def workers(job: Raw) -> int:
    return number(replica(job, "Worker").get("replicas"), 1) if replica(job, "Worker") else 0


def works(job: Raw) -> bool:
    """Whether the launcher is one of those that compute."""
    return bool(job["spec"].get("runLauncherAsWorker"))


def labels(job: Raw, role: str) -> dict[str, str]:
    return {JOB_NAME: job["metadata"]["name"], OPERATOR: NAME, ROLE: role}


def service(job: Raw) -> Create:
    name = job["metadata"]["name"]
    spec = {"clusterIP": "None", "selector": {JOB_NAME: name, OPERATOR: NAME}}
    return child(SERVICE, {"spec": spec}, MPI_JOB, job, name=name, labels={"app": name})


def hosts(job: Raw, pods: Iterable[Raw]) -> list[str]:
    """The workers that run, and the launcher if it is one of them."""
    names = [one["metadata"]["name"] for one in pods if phase(one) == "Running"]
    return [*([f"{job['metadata']['name']}-launcher"] if works(job) else []), *sorted(names)]


def config_map(job: Raw, running: list[str]) -> Create:
    meta = job["metadata"]
    home, slots = f"{meta['name']}.{meta['namespace']}.svc", number(job["spec"].get("slotsPerWorker"), 1)
    every = [f"{meta['name']}-worker-{index}" for index in range(workers(job))]
    if works(job):
        every.insert(0, f"{meta['name']}-launcher")
    data = {
        "hostfile": "".join(f"{name}.{home} slots={slots}\n" for name in every),
        "discover_hosts.sh": "#!/bin/sh\n" + "".join(f"echo {name}.{home}\n" for name in running),
    }
    name = meta["name"]
    return child(CONFIG_MAP, {"data": data}, MPI_JOB, job, name=f"{name}-config", labels={"app": name})


def secret(job: Raw) -> Create:
    name = job["metadata"]["name"]
    return child(SECRET, secret_body(), MPI_JOB, job, name=f"{name}-ssh", labels={"app": name})


def secret_body() -> Raw:
    return {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": NO_KEY, "ssh-publickey": NO_KEY}}


def worker(job: Raw, index: int) -> Create:
    meta, spec = job["metadata"], replica(job, "Worker")
    template: Raw = spec.get("template") or {}
    inner: Raw = template.get("spec") or {}
    containers = with_env(inner["containers"], [{"name": "K_MPI_JOB_ROLE", "value": "worker"}])
    if not (containers[0].get("command") or containers[0].get("args")):
        containers[0]["command"] = SERVER
    name = f"{meta['name']}-worker-{index}"
    more = {
        "hostname": name,
        "subdomain": meta["name"],
        "restartPolicy": spec.get("restartPolicy") or "Never",
        "containers": [_mounted(containers[0], _keys_mount(job)), *containers[1:]],
        "volumes": [*(inner.get("volumes") or ()), _keys(job)],
        "dnsConfig": {"searches": [f"{meta['name']}.{meta['namespace']}.svc.cluster.local"]},
    }
    rank = index + 1 if works(job) else index
    return pod(
        template,
        MPI_JOB,
        job,
        name=name,
        labels={**labels(job, "worker"), REPLICA_INDEX: str(rank)},
        spec=more,
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
    containers = with_env(inner["containers"], _environment(job))
    spec = {
        **inner,
        "hostname": f"{meta['name']}-launcher",
        "subdomain": meta["name"],
        "restartPolicy": replicas.get("restartPolicy") or inner.get("restartPolicy") or "OnFailure",
        "containers": [_mounted(containers[0], _keys_mount(job), _hosts_mount()), *containers[1:]],
        "volumes": [*(inner.get("volumes") or ()), _keys(job), _hosts(job)],
    }
    ours = {
        **given,
        "labels": {**(given.get("labels") or {}), **labels(job, "launcher"), **rank},
        "ownerReferences": [owner_reference(MPI_JOB, job)],
    }
    return {"metadata": ours, "spec": spec}


def relaunched(job: Raw, launcher: Raw) -> Update:
    """The launcher resumed, with what its template says of scheduling by now; labels and annotations only come."""
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


def _environment(job: Raw) -> list[Raw]:
    """What mpirun wants to know, by the implementation that it is of."""
    slots = str(number(job["spec"].get("slotsPerWorker"), 1))
    match job["spec"].get("mpiImplementation") or "OpenMPI":
        case "Intel":
            told = {"I_MPI_HYDRA_HOST_FILE": f"{MPI_PATH}/hostfile", "I_MPI_PERHOST": slots}
        case "MPICH":
            told = {"HYDRA_HOST_FILE": f"{MPI_PATH}/hostfile", "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10"}
        case _:
            told = open_mpi(slots)
    idle = [] if works(job) else [{"name": "NVIDIA_VISIBLE_DEVICES"}, {"name": "NVIDIA_DRIVER_CAPABILITIES"}]
    return [*variables({"K_MPI_JOB_ROLE": "launcher", **told}), *idle]


def open_mpi(slots: str) -> dict[str, str]:
    return {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": f"{MPI_PATH}/hostfile",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "OMPI_MCA_orte_set_default_slots": slots,
    }


def variables(told: Mapping[str, str]) -> list[Raw]:
    return [{"name": key, "value": value} for key, value in told.items()]


def _mounted(container: Raw, *mounts: Raw) -> Raw:
    return {**container, "volumeMounts": [*(container.get("volumeMounts") or ()), *mounts]}


def _keys(job: Raw) -> Raw:
    volume = keys_volume("ssh-auth", f"{job['metadata']['name']}-ssh")
    if _keys_path(job) == SSH_PATH:
        volume["secret"]["defaultMode"] = 0o600
    return volume


def keys_volume(name: str, secret: str) -> Raw:
    items = [("ssh-privatekey", "id_rsa"), ("ssh-publickey", "id_rsa.pub"), ("ssh-publickey", "authorized_keys")]
    return {
        "name": name,
        "secret": {"secretName": secret, "items": [{"key": key, "path": path} for key, path in items]},
    }


def _keys_path(job: Raw) -> str:
    return str(job["spec"].get("sshAuthMountPath") or SSH_PATH)


def _keys_mount(job: Raw) -> Raw:
    return {"name": "ssh-auth", "mountPath": _keys_path(job)}


def _hosts(job: Raw) -> Raw:
    modes = {"hostfile": 0o444, "discover_hosts.sh": 0o555}
    return hosts_volume("mpi-job-config", f"{job['metadata']['name']}-config", modes)


def hosts_volume(name: str, config_map: str, modes: Mapping[str, int]) -> Raw:
    items = [{"key": key, "path": key, "mode": mode} for key, mode in modes.items()]
    return {"name": name, "configMap": {"name": config_map, "items": items}}


def _hosts_mount() -> Raw:
    return {"name": "mpi-job-config", "mountPath": MPI_PATH}
