"""The real Kueue on a cluster of its own, for answers to compare with."""

from __future__ import annotations

from contract.expect import eventually, namespace
from contract.objects import jobs
from servers.cluster import USUAL, RealCluster
from servers.manifests import is_true
from servers.nodes import make_nodes

from .objects import job, of_job, template

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec:
  levels:
  - nodeLabel: cloud.provider.com/topology-block
  - nodeLabel: cloud.provider.com/topology-rack
  - nodeLabel: kubernetes.io/hostname
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
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 1000}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: SPACE}
spec: {clusterQueue: all}
"""


def test_kueue_holds_a_job_and_runs_it_within_one_rack() -> None:
    with RealCluster([*USUAL, "kueue"]) as cluster, namespace(cluster.api) as space:
        make_nodes(cluster.api, racks=2, hosts=4)
        cluster.apply(QUEUES.replace("SPACE", space))
        pod = template(run_time="1s")
        pod["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] = "cloud.provider.com/topology-rack"
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "32"
        body = job("train", space, pod, completions=4, parallelism=4)
        body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
        (made,) = cluster.apply([body])
        assert made["spec"]["suspend"] is True
        eventually(lambda: is_true(cluster.api.get(jobs(space, "train")).body, "Complete"))
        nodes = sorted(one["spec"]["nodeName"] for one in of_job(cluster.api, space, "train"))
    assert nodes == ["b1-r1-h1", "b1-r1-h2", "b1-r1-h3", "b1-r1-h4"]
