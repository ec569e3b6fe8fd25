"""A stock kube-scheduler with our extender: every pod that it binds would be admitted by the kubelet of its node.

A control plane of its own, since its scheduler has another configuration: 20 nodes that KWOK simulates, with reports
that the test writes, and 200 pods at once. The extender runs under the permissions that it prints. The audit log has
the order of the bindings; the rules of the kubelets, played for each node in that order, say whether a pod would have
been refused. KWOK itself refuses none.
"""

from __future__ import annotations

import random
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import yaml

from closeknit.cluster.kinds import NODE_TOPOLOGY
from closeknit.deploy.crds import definition
from closeknit.deploy.extender import NAME, ExtenderUrl, permissions, scheduler_configuration
from closeknit.deploy.marks import NAMESPACE
from closeknit.dialects.nrt.reading import read_topology
from closeknit.dialects.scheduler_extender import ScheduledPod
from closeknit.numa.reported import reported_admission
from closeknit.observe.applicants import applicant
from contract.expect import eventually
from contract.objects import path
from host.node_topologies import topology, zone
from servers.build import binary
from servers.cluster import RealCluster
from servers.components import CONTROLLER_MANAGER, KWOK, SCHEDULER
from servers.nodes import await_nodes, node
from servers.process import HOST, Process, Recipe, free_ports

Raw = dict[str, Any]
NODES, PODS, ZONES, CPUS = 20, 200, 2, 16
MEMORY = ("64Gi", "64Gi", "64Gi")
TOPOLOGIES = "topology.node.k8s.io/v1alpha2/noderesourcetopologies"
WITHIN = 180.0


def report(name: str) -> Raw:
    cpus = (str(CPUS), str(CPUS), str(CPUS))
    costs = ({0: 10, 1: 20}, {0: 20, 1: 10})
    zones = (zone(at, {"cpu": cpus, "memory": MEMORY}, costs[at]) for at in range(ZONES))
    return topology(name, *zones, topologyManagerPolicy="single-numa-node")


def pod(number: int, cpus: int) -> Raw:
    needs = {"cpu": str(cpus), "memory": "1Gi"}
    container = {"name": "main", "image": "busybox", "resources": {"requests": needs, "limits": needs}}
    meta = {"name": f"p{number}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


@contextmanager
def extending(cluster: RealCluster, port: int) -> Iterator[None]:
    cluster.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *permissions()])
    account = cluster.kubeconfig_of(NAMESPACE, NAME)
    command = [sys.executable, "-m", "closeknit", "extender", "--kubeconfig", str(account)]
    process = Process(
        Recipe([*command, "--listen", f"{HOST}:{port}"], f"http://{HOST}:{port}/readyz"),
        cluster.folder / "logs" / "extender.log",
    )
    process.start()
    try:
        yield
    finally:
        process.stop()


@contextmanager
def scheduling(cluster: RealCluster, url: ExtenderUrl) -> Iterator[None]:
    """The scheduler with the configuration that the extender prints."""
    (port,) = free_ports(1)
    config = yaml.safe_load(scheduler_configuration(url))
    config["clientConnection"] = {"kubeconfig": str(cluster.kubeconfig), "qps": 500, "burst": 1000}
    config["leaderElection"] = {"leaderElect": False}
    file, certificates = cluster.folder / "extended.yaml", cluster.folder / "extended"
    file.write_text(yaml.safe_dump(config))
    options = (f"--config={file}", f"--bind-address={HOST}", f"--secure-port={port}", f"--cert-dir={certificates}")
    recipe = Recipe(
        [str(binary(SCHEDULER)), *options], f"https://{HOST}:{port}/healthz", certificates / f"{SCHEDULER}.crt"
    )
    process = Process(recipe, cluster.folder / "logs" / f"{SCHEDULER}.log")
    process.start()
    try:
        yield
    finally:
        process.stop()


def bound_pods(cluster: RealCluster) -> dict[str, Raw]:
    found = cluster.api.get(path("v1/pods", "default")).body["items"]
    return {one["metadata"]["name"]: one for one in found if one["spec"].get("nodeName")}


def refused(cluster: RealCluster) -> list[str]:
    """The pods that a kubelet would refuse, given the order in which they were bound."""
    pods = bound_pods(cluster)
    order = [
        one["objectRef"]["name"]
        for one in cluster.requests()
        if one.get("objectRef", {}).get("subresource") == "binding" and one["responseStatus"]["code"] == 201
    ]
    assert sorted(order) == sorted(pods), "every pod was bound by the extender, once"
    kubelets = {f"n{number}": reported_admission(read_topology(report(f"n{number}"))) for number in range(NODES)}
    bad = []
    for name in order:
        found = applicant(msgspec.convert(pods[name], ScheduledPod))
        if not kubelets[found.node].admit(found.uid, found.demand).admitted:
            bad.append(name)
    return bad


def test_no_kubelet_would_refuse_a_pod_that_the_scheduler_bound_with_the_extender(tmp_path: Path) -> None:
    """Reports are created after extender and scheduler have started."""
    account = f"system:serviceaccount:{NAMESPACE}:{NAME}"
    with RealCluster([CONTROLLER_MANAGER, KWOK], audit=account, folder=tmp_path) as cluster:
        (port,) = free_ports(1)
        size = {"cpu": str(ZONES * CPUS), "memory": "128Gi", "pods": "110"}
        names = [f"n{number}" for number in range(NODES)]
        cluster.apply([node(name, {}, size) for name in names])
        with extending(cluster, port), scheduling(cluster, ExtenderUrl(f"{HOST}:{port}")):
            await_nodes(cluster.api, names)
            cluster.apply([definition(NODE_TOPOLOGY)])
            eventually(lambda: cluster.api.get(path(TOPOLOGIES)).status == 200)
            cluster.apply([report(name) for name in names])
            eventually(lambda: "nodes_without_report 0.0" in metrics(port), WITHIN)
            chance = random.Random(7)
            sizes = [chance.randint(1, 4) for _ in range(PODS)]
            cluster.apply([pod(number, cpus) for number, cpus in enumerate(sizes)])
            with suppress(AssertionError):
                eventually(lambda: len(bound_pods(cluster)) == PODS, WITHIN)
            bad, count = refused(cluster), len(bound_pods(cluster))
            print(f"\n{PODS} pods on {NODES} nodes with the extender: {count} bound, {len(bad)} would be refused")
            assert bad == []
            assert count == PODS, Counter(sizes)


def metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
        return text
