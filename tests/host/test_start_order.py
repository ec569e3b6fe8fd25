"""Pods of several shapes on hosts with NUMA zones: their kubelets admit them all, in the zones that were planned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.cluster import kinds

from .centre import HOST, RACK
from .lab import Lab, Raw
from .zoned_nodes import GPU, fates, held, node

QUEUES = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {{name: default}}
spec: {{levels: [{{nodeLabel: {RACK}}}, {{nodeLabel: {HOST}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: gpu}}
spec: {{nodeLabels: {{pool: gpu}}, topologyName: default}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: cq}}
spec:
  namespaceSelector: {{}}
  preemption: {{withinClusterQueue: LowerPriority}}
  resourceGroups:
  - coveredResources: [cpu, memory, {GPU}]
    flavors:
    - name: gpu
      resources:
      - {{name: cpu, nominalQuota: 900}}
      - {{name: memory, nominalQuota: 9000Gi}}
      - {{name: {GPU}, nominalQuota: 900}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: lq, namespace: default}}
spec: {{clusterQueue: cq}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {{name: high}}
value: 100
"""


def centre(hosts: int = 4, **numa: Any) -> Lab:
    """Hosts of one rack with two zones of 4 CPUs and 2 GPUs each, single-numa-node unless `numa` tells otherwise."""
    lab = Lab()
    for number in range(hosts):
        made = node(f"h{number}", numa={"zones": 2, "policy": "single-numa-node", "exporter": "2s", **numa})
        made["metadata"]["labels"] |= {RACK: "r0", "pool": "gpu"}
        lab.create(made)
    lab.apply(QUEUES)
    lab.advance(5)
    return lab


def template(cpu: int, gpu: int = 0, pods: str = "") -> Raw:
    amounts = {"cpu": str(cpu), "memory": "1Gi", **({GPU: str(gpu)} if gpu else {})}
    notes = {"kueue.x-k8s.io/podset-required-topology": RACK, "closeknit.dev/run-time": "forever"}
    if pods:
        notes["kueue.x-k8s.io/podset-group-name"] = pods
    container = {"name": "main", "image": "example", "resources": {"requests": amounts, "limits": amounts}}
    return {"metadata": {"annotations": notes}, "spec": {"restartPolicy": "Never", "containers": [container]}}


def job(name: str, pods: int, cpu: int, gpu: int = 0, priority: str = "") -> Raw:
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    if priority:
        labels["kueue.x-k8s.io/priority-class"] = priority
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": template(cpu, gpu),
        },
    }


def job_set(name: str, leader: tuple[int, int], workers: int, worker: tuple[int, int]) -> Raw:
    def replicated(role: str, pods: int, cpu: int, gpu: int) -> Raw:
        spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template(cpu, gpu, name)}
        return {"name": role, "replicas": 1, "template": {"spec": {**spec, "completionMode": "Indexed"}}}

    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"replicatedJobs": [replicated("leader", 1, *leader), replicated("workers", workers, *worker)]},
    }


def as_planned(lab: Lab) -> None:
    """Every pod runs, in the zones that it was told."""
    assert set(fates(lab).values()) == {"Running"}
    for pod in lab.pods():
        name, notes = pod["metadata"]["name"], pod["metadata"]["annotations"]
        told = {one["zone"] for one in json.loads(notes["closeknit.dev/numa-zones"])}
        assert told == {f"node-{held(lab, name)['containers']['main']}"}, name


def test_a_leader_of_another_shape_shares_hosts_with_its_workers() -> None:
    lab = centre()
    lab.create(job_set("train", (3, 0), 8, (2, 1)))
    lab.advance(30)
    assert len(lab.pods()) == 9
    as_planned(lab)


@pytest.mark.parametrize("policy", ["single-numa-node", "restricted"])
def test_jobs_of_different_shapes_that_start_at_once_get_the_planned_zones(policy: str) -> None:
    """Alone, the small pods would take zone 0 of each host, and leave no zone for the large ones."""
    lab = centre(2, policy=policy)
    for name, pods, cpu in (("small", 2, 2), ("large", 2, 4), ("mixed", 2, 2)):
        lab.create(job(name, pods, cpu))
    lab.advance(30)
    assert len(lab.pods()) == 6
    as_planned(lab)


def test_pods_wait_for_those_that_were_planned_before_them_on_their_host() -> None:
    """Zones have 4 CPUs each: 3, 3, 1, 1 fit in this order. After 1, 1, which both go to zone 0, one 3 is refused."""
    lab = centre(1)
    large = job("large", 2, 3)
    large["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/hold"}]
    lab.create(large)
    lab.advance(2)
    lab.create(job("small", 2, 1))
    lab.advance(20)
    assert set(fates(lab).values()) == {"Pending"}
    for pod in lab.pods():
        if pod["metadata"]["name"].startswith("large"):
            assert [gate["name"] for gate in pod["spec"]["schedulingGates"]] == ["example.com/hold"]
            lab.patch(kinds.POD, "default", pod["metadata"]["name"], {"spec": {"schedulingGates": None}})
    lab.advance(20)
    assert len(lab.pods()) == 4
    as_planned(lab)


def test_a_victim_frees_its_own_zones() -> None:
    lab = centre(1)
    lab.create(job("low", 2, 3))
    lab.advance(20)
    as_planned(lab)
    lab.create(job("high", 1, 4, priority="high"))
    lab.advance(60)
    running = {name: fate for name, fate in fates(lab).items() if fate == "Running"}
    assert [name.split("-")[0] for name in running] == ["high"]
    assert "TopologyAffinityError" not in fates(lab).values()


def test_a_restarted_control_plane_has_the_same_zones() -> None:
    lab = centre()
    lab.create(job_set("train", (3, 0), 8, (2, 1)))
    lab.advance(30)
    before = _states(lab)
    lab.restart()
    lab.advance(1)
    assert _states(lab) == before


def _states(lab: Lab) -> dict[str, object]:
    world = lab.cluster.control_plane.cache.world
    plans, columns = world.zoning.plans, world.mirror.columns
    assert plans is not None
    assert columns.zones is not None
    numbers = columns.zones.states["now"].tolist()
    return {name: plans.admissions.state(number) for name, number in zip(columns.table.names, numbers, strict=True)}
