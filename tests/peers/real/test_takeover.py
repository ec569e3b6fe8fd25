"""From Kueue to Closeknit and back while jobs run: no job is restarted or admitted a second time.

kept      runs all the time
urgent    runs, and has preempted `early`
early     was evicted, and waits again
going     is being evicted for `next` while the controllers change: its pods are not gone yet
next      waits for that
vast      waits for ever
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import sleep
from typing import Any

from contract.client import Api
from contract.expect import eventually
from contract.objects import jobs, path
from peers.sides import controller
from peers.workload_log import WORKLOADS, job_of
from servers.cluster import USUAL, RealCluster
from servers.components import CONTROLLER_MANAGER
from servers.manifests import is_true
from servers.nodes import make_nodes
from servers.process import Process, StartError

Object = dict[str, Any]

SPACE = "team"
PATIENCE = 8.0
"""Seconds within which a misbehaving controller would have shown it."""
HOME, ACCOUNT = "closeknit-system", "closeknit-controller"
ADMISSION = "admissionregistration.k8s.io/v1"
HOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
FRAMEWORKS = {"integrations": {"frameworks": ["batch/job"]}}
WORLD = """
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: cloud.provider.com/topology-rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
spec: {nodeLabels: {type: kwok}, topologyName: racks}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 25}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: team}
spec: {clusterQueue: all}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 0
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
"""


def test_closeknit_takes_over_from_kueue_and_gives_back_without_touching_what_runs() -> None:
    with RealCluster([*USUAL, "kueue"]) as cluster:
        api = cluster.api
        make_nodes(api, racks=2, hosts=4, size={"cpu": "8", "memory": "32Gi", "pods": "110"})
        elect_a_leader(cluster)
        cluster.apply(WORLD)
        in_the_middle_of_things(cluster)

        refusal = refused(controller(cluster, FRAMEWORKS))
        assert "Kueue runs on this cluster" in refusal

        before = standing(api)
        hooks = gone(cluster)
        clear_the_way(cluster, hooks)
        closeknit(cluster, "install")
        with deciding(cluster):
            sleep(PATIENCE)
            assert since(before, api) == before
            cluster.start(CONTROLLER_MANAGER)
            eventually(lambda: holds(api, "next"))
            assert not holds(api, "going")
            runs(api, "next")
            kept = ("kept", "urgent", "early", "vast")
            assert since(only(before, kept), api) == only(before, kept)
            (made,) = cluster.apply([job("later", "high", 1, 1)])
            assert made["spec"]["suspend"] is True
            finish(api, "kept")
            runs(api, "later")
            runs(api, "going")
            between = standing(api)

        closeknit(cluster, "uninstall")
        cluster.apply(hooks)
        cluster.start("kueue")
        sleep(PATIENCE)
        assert since(between, api) == between
        finish(api, "urgent")
        finish(api, "next")
        runs(api, "early")
        left = ("later", "going", "vast")
        assert since(only(between, left), api) == only(between, left)


# The cluster as it is left


def elect_a_leader(cluster: RealCluster) -> None:
    """As installed, Kueue renews a Lease."""
    config = cluster.folder / "kueue" / "config.json"
    election = {"leaderElect": True, "resourceNamespace": "kueue-system", "resourceName": "c1f6bfd2.kueue.x-k8s.io"}
    config.write_text(json.dumps({**json.loads(config.read_text()), "leaderElection": election, **FRAMEWORKS}))
    cluster.restart("kueue")


def in_the_middle_of_things(cluster: RealCluster) -> None:
    api = cluster.api
    for name, priority, pods, cpu in (("kept", "high", 4, 2), ("early", "low", 4, 4)):
        cluster.apply([job(name, priority, pods, cpu)])
        runs(api, name)
    cluster.apply([job("urgent", "high", 4, 2)])
    runs(api, "urgent")
    assert evicted(api, "early")
    cluster.apply([job("vast", "high", 50, 2)])
    cluster.apply([job("going", "low", 4, 2)])
    runs(api, "going")
    cluster.stop(CONTROLLER_MANAGER)
    cluster.apply([job("next", "high", 4, 2)])
    eventually(lambda: evicted(api, "going"))
    eventually(lambda: is_pending(api, "vast") and is_pending(api, "early") and is_pending(api, "next"))
    eventually(lambda: api.get(jobs(SPACE, "going")).body["spec"]["suspend"])


def gone(cluster: RealCluster) -> list[Object]:
    """Kueue stops. Its webhooks stay, and ask a Service as they do in a cluster; returns them as they were."""
    cluster.stop("kueue")
    found = [one for kind in HOOKS for one in cluster.api.get(path(f"{ADMISSION}/{kind}")).body["items"]]
    hooks = [bare(one) for one in found if one.get("webhooks")]
    for one in json.loads(json.dumps(hooks)):
        for hook in one["webhooks"]:
            service = {"name": "kueue-webhook-service", "namespace": "kueue-system", "path": "/any"}
            hook["clientConfig"] = {"service": service, "url": None}
        cluster.apply([one])
    return hooks


def bare(hook: Object) -> Object:
    kept = {key: hook["metadata"][key] for key in ("name",)}
    kind = "MutatingWebhookConfiguration" if "reinvocationPolicy" in hook["webhooks"][0] else None
    kind = kind or "ValidatingWebhookConfiguration"
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": kept, "webhooks": hook["webhooks"]}


def clear_the_way(cluster: RealCluster, hooks: list[Object]) -> None:
    """Remove the webhooks, without which nothing can be created; `doctor` reports them with the remedy."""
    body = job("blocked", "low", 1, 1)
    eventually(lambda: cluster.api.post(jobs(SPACE), body, dryRun="All").status == 500)
    findings = closeknit(cluster, "doctor", "-o", "json", code=3)
    for one in hooks:
        command = f"kubectl delete {one['kind'].lower()} {one['metadata']['name']}"
        assert command in findings
        cluster.kubectl(*command.split()[1:])
    eventually(lambda: cluster.api.post(jobs(SPACE), body, dryRun="All").status == 201)


# Who decides


@contextmanager
def deciding(cluster: RealCluster) -> Iterator[Process]:
    """Our controller, with only the permissions of its installation."""
    account = cluster.kubeconfig_of(HOME, ACCOUNT)
    process = controller(cluster, FRAMEWORKS, "--kubeconfig", str(account))
    process.start()
    try:
        yield process
    finally:
        process.stop()


def refused(process: Process) -> str:
    try:
        process.start()
    except StartError as error:
        return str(error)
    process.stop()
    raise AssertionError("the controller has begun while Kueue runs")


def closeknit(cluster: RealCluster, *words: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "closeknit", *words, "--kubeconfig", str(cluster.kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


# Jobs, and how they stand


def job(name: str, priority: str, pods: int, cpu: int) -> Object:
    notes = {
        "closeknit.dev/run-time": "forever",
        "kueue.x-k8s.io/podset-preferred-topology": "cloud.provider.com/topology-rack",
    }
    container = {"name": "main", "image": "example.com/image:1", "resources": {"requests": {"cpu": str(cpu)}}}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    labels = {"kueue.x-k8s.io/queue-name": "team", "kueue.x-k8s.io/priority-class": priority}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": SPACE, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {"metadata": {"annotations": notes}, "spec": spec},
        },
    }


def workloads(api: Api) -> dict[str, Object]:
    return {job_of(one): one for one in api.get(path(WORKLOADS, SPACE)).body["items"]}


def pods_of(api: Api, name: str) -> list[Object]:
    found: list[Object] = api.get(path("v1/pods", SPACE), labelSelector=f"job-name={name}").body["items"]
    return found


def runs(api: Api, name: str) -> None:
    """Wait until all its pods run, and its workload has PodsReady."""

    def all_run() -> bool:
        wanted = api.get(jobs(SPACE, name)).body["spec"]["parallelism"]
        alive = [one for one in pods_of(api, name) if one["status"]["phase"] == "Running"]
        return len(alive) == wanted and not any(one["metadata"].get("deletionTimestamp") for one in alive)

    eventually(all_run)
    eventually(lambda: is_true(workloads(api)[name], "PodsReady"))


def finish(api: Api, name: str) -> None:
    for one in pods_of(api, name):
        where = path("v1/pods", SPACE, one["metadata"]["name"], "status")
        assert api.merge(where, {"status": {"phase": "Succeeded"}}).status == 200
    eventually(lambda: is_true(workloads(api)[name], "Finished"))


def holds(api: Api, name: str) -> bool:
    return is_true(workloads(api)[name], "QuotaReserved")


def evicted(api: Api, name: str) -> bool:
    return is_true(workloads(api).get(name, {}), "Evicted")


def is_pending(api: Api, name: str) -> bool:
    """Whether it is pending with a reason."""
    conditions = workloads(api).get(name, {}).get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == ("QuotaReserved", "False") for one in conditions)


def standing(api: Api) -> dict[str, Object]:
    """The workload, pods, admission and transition times of every job."""
    return {name: {**held(one), "pods": uids(pods_of(api, name))} for name, one in workloads(api).items()}


def since(before: Mapping[str, Object], api: Api) -> dict[str, Object]:
    """The same jobs now, without conditions that are new."""
    now = standing(api)
    for name, one in before.items():
        now[name]["since"] = {kind: at for kind, at in now[name]["since"].items() if kind in one["since"]}
    return only(now, (*before,))


def held(workload: Object) -> Object:
    status = workload["status"]
    since = {one["type"]: (one["status"], one["lastTransitionTime"]) for one in status["conditions"]}
    return {"uid": workload["metadata"]["uid"], "admission": status.get("admission"), "since": since}


def uids(found: list[Object]) -> list[str]:
    return sorted(one["metadata"]["uid"] for one in found)


def only(found: Mapping[str, Object], names: tuple[str, ...]) -> dict[str, Object]:
    return {name: one for name, one in found.items() if name in names}
