"""The children of Ray's kinds: a head and groups of workers, a Service for the head, a Job that submits.

Pods have only the containers of their templates, so that they request what was counted. The init container in which
real workers wait for the head is left out, and so are addresses of the head: no Ray runs here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .....dialects.kueue.jobs.kinds.ray_cluster import AUTOSCALER
from .....dialects.kueue.jobs.kinds.ray_job import SUBMITTER, default_submitter
from .....dialects.own_marks import PREFIX as OURS
from .....model.resources import amounts, canonical, times, total
from ....kinds import JOB, RAY_CLUSTER, RAY_JOB, SERVICE
from ....port import Create, Raw
from ..children import child, fingerprint, number, pod

PREFIX = "ray.io/"
CLUSTER, GROUP, NODE_TYPE = PREFIX + "cluster", PREFIX + "group", PREFIX + "node-type"
IS_NODE, IDENTIFIER = PREFIX + "is-ray-node", PREFIX + "identifier"
REPLICA_INDEX, REPLICA_NAME = PREFIX + "worker-group-replica-index", PREFIX + "worker-group-replica-name"
HOST_INDEX = PREFIX + "replica-host-index"
FROM_NAME, FROM_KIND = PREFIX + "originated-from-cr-name", PREFIX + "originated-from-crd"
MODE = PREFIX + "job-submission-mode"
APP = {"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/created-by": "kuberay-operator"}
PORTS = {"client": 10001, "dashboard": 8265, "gcs-server": 6379, "metrics": 8080}
HEAD_GROUP = "headgroup"
SUBMITTER_RETRIES = 2


class RayWorkerGroup(NamedTuple):
    """A worker group: `replicas` times `hosts` pods of one template."""

    name: str
    template: Raw
    replicas: int
    hosts: int
    fewest: int
    most: int
    doomed: tuple[str, ...]


def groups(cluster: Raw) -> list[RayWorkerGroup]:
    found = []
    for one in cluster["spec"].get("workerGroupSpecs") or ():
        fewest, most = number(one.get("minReplicas"), 0), number(one.get("maxReplicas"), 2**31 - 1)
        wanted = min(max(number(one.get("replicas"), 0), fewest), most)
        hosts = max(1, number(one.get("numOfHosts"), 1))
        doomed = tuple((one.get("scaleStrategy") or {}).get("workersToDelete") or ())
        halts = bool(one.get("suspend"))
        found.append(
            RayWorkerGroup(
                one["groupName"], one.get("template") or {}, 0 if halts else wanted, hosts, fewest, most, doomed
            )
        )
    return found


def desired(cluster: Raw) -> dict[str, str]:
    """The total requests of a cluster's pods."""
    parts = [_asked(cluster["spec"]["headGroupSpec"].get("template") or {})]
    parts += [times(_asked(one.template), one.replicas * one.hosts) for one in groups(cluster)]
    every = total(parts)
    names = {"CPU": "cpu", "Memory": "memory", "GPU": "nvidia.com/gpu", "TPU": "google.com/tpu"}
    return {f"desired{key}": _written(name, every.get(name, 0)) for key, name in names.items()}


def _written(resource: str, value: int) -> str:
    """A quantity with a binary or decimal suffix, whichever is shorter: 3Gi, 4G."""
    text = canonical(resource, value)
    return min(text, canonical("", value), key=len) if resource == "memory" else text


def _asked(template: Raw) -> dict[str, int]:
    containers = (template.get("spec") or {}).get("containers") or ()
    resources = [one.get("resources") or {} for one in containers]
    return total(amounts({**(one.get("limits") or {}), **(one.get("requests") or {})}) for one in resources)


def service_name(cluster: str) -> str:
    return f"{cluster}-head-svc"


def address(cluster: Raw) -> str:
    meta = cluster["metadata"]
    return f"{service_name(meta['name'])}.{meta['namespace']}.svc.cluster.local"


def head_selector(name: str) -> dict[str, str]:
    return {**APP, CLUSTER: name, IDENTIFIER: f"{name}-head", NODE_TYPE: "head"}


def head_service(cluster: Raw) -> Create:
    name = cluster["metadata"]["name"]
    selector = head_selector(name)
    return child(SERVICE, _headless(cluster, selector), RAY_CLUSTER, cluster, name=service_name(name), labels=selector)


def _headless(cluster: Raw, selector: dict[str, str]) -> Raw:
    listed = [
        {"name": name, "port": port, "targetPort": port, "protocol": "TCP", "appProtocol": "tcp"}
        for name, port in endpoints(cluster).items()
    ]
    return {"spec": {"clusterIP": "None", "selector": selector, "ports": listed, "publishNotReadyAddresses": True}}


def endpoints(cluster: Raw) -> dict[str, int]:
    """The ports of the head: those of its container, and the defaults."""
    containers = (cluster["spec"]["headGroupSpec"].get("template") or {}).get("spec", {}).get("containers") or [{}]
    named = {one["name"]: one["containerPort"] for one in containers[0].get("ports") or () if one.get("name")}
    found = named or {name: port for name, port in PORTS.items() if name != "metrics"}
    return dict(sorted({**found, "metrics": named.get("metrics", PORTS["metrics"])}.items()))


def new_head(cluster: Raw) -> Create:
    name, spec = cluster["metadata"]["name"], cluster["spec"]
    template = spec["headGroupSpec"].get("template") or {}
    inner: Raw = template.get("spec") or {}
    containers = [*inner["containers"]]
    if spec.get("enableInTreeAutoscaling"):
        containers.append(_autoscaler(spec, containers[0]))
    if (cluster["metadata"].get("labels") or {}).get(MODE) == "SidecarMode":
        containers.append({**SUBMITTER, "image": containers[0].get("image")})
    labels = {**_labels(name, "head", HEAD_GROUP), IDENTIFIER: f"{name}-head"}
    return pod(template, RAY_CLUSTER, cluster, prefix=f"{name}-head-", labels=labels, spec={"containers": containers})


def new_workers(cluster: Raw, group: RayWorkerGroup, index: int) -> Iterator[Create]:
    """The pods of one replica of a group."""
    meta = cluster["metadata"]
    name = meta["name"]
    marks = {**_labels(name, "worker", group.name), IDENTIFIER: f"{name}-worker", REPLICA_INDEX: str(index)}
    if group.hosts > 1:
        marks[REPLICA_NAME] = f"{group.name}-{fingerprint([meta['uid'], group.name, index], 5)}"
    for host in range(group.hosts):
        labels = {**marks, HOST_INDEX: str(host)} if group.hosts > 1 else marks
        yield pod(group.template, RAY_CLUSTER, cluster, prefix=f"{name}-{group.name}-worker-", labels=labels)


def _labels(cluster: str, node_type: str, group: str) -> dict[str, str]:
    return {**APP, CLUSTER: cluster, GROUP: group, IS_NODE: "yes", NODE_TYPE: node_type}


def _autoscaler(spec: Raw, head: Raw) -> Raw:
    options = spec.get("autoscalerOptions") or {}
    container = {**AUTOSCALER, "image": options.get("image") or head.get("image")}
    return {**container, "resources": options["resources"]} if options.get("resources") else container


# A RayJob


def new_cluster(job: Raw, name: str) -> Create:
    meta, spec = job["metadata"], job["spec"]
    labels = {**(meta.get("labels") or {}), **_from(job), MODE: spec.get("submissionMode") or "K8sJobMode"}
    notes = meta.get("annotations") or {}
    body = {"spec": spec.get("rayClusterSpec") or {}}
    return child(RAY_CLUSTER, body, RAY_JOB, job, name=name, labels=labels, annotations=notes)


def job_service(job: Raw, cluster: Raw) -> Create:
    """A Service for the head, with a name that does not depend on the cluster."""
    name = job["metadata"]["name"]
    labels = {IDENTIFIER: f"{name}-head", NODE_TYPE: "head", **_from(job)}
    body = _headless(cluster, head_selector(cluster["metadata"]["name"]))
    return child(SERVICE, body, RAY_JOB, job, name=service_name(name), labels=labels)


def submitter(job: Raw) -> Create:
    """The submitter Job; without a submitter template it gets the run-time annotations of the RayJob."""
    spec, meta = job["spec"], job["metadata"]
    template: Raw = spec.get("submitterPodTemplate") or default_submitter(job)
    notes = {key: value for key, value in (meta.get("annotations") or {}).items() if key.startswith(OURS)}
    given, inner = template.get("metadata") or {}, template.get("spec") or {}
    pods = {
        "metadata": {**given, "annotations": {**notes, **(given.get("annotations") or {})}},
        "spec": {"restartPolicy": "Never", **inner},
    }
    tries = number((spec.get("submitterConfig") or {}).get("backoffLimit"), SUBMITTER_RETRIES)
    labels = {"app.kubernetes.io/created-by": APP["app.kubernetes.io/created-by"], **_from(job)}
    return child(
        JOB, {"spec": {"backoffLimit": tries, "template": pods}}, RAY_JOB, job, name=meta["name"], labels=labels
    )


def _from(job: Raw) -> dict[str, str]:
    return {FROM_NAME: job["metadata"]["name"], FROM_KIND: RAY_JOB.kind}
