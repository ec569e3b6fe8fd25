"""A machine that stops its heartbeats, as Kubernetes sees it."""

from __future__ import annotations

from time import monotonic

from contract.client import Api
from contract.expect import eventually
from contract.objects import path, pods
from servers.cluster import RealCluster
from servers.manifests import is_true
from servers.nodes import NODES, await_nodes, bring_back, make_nodes, silence

from .objects import job, of_job, template


def test_nodes_have_their_place_in_their_labels(api: Api, cluster: RealCluster) -> None:
    found = api.get(path(NODES, None, "b1-r2-h3")).body
    labels = found["metadata"]["labels"]
    assert labels["cloud.provider.com/topology-block"] == "b1"
    assert labels["cloud.provider.com/topology-rack"] == "b1-r2"
    assert labels["kubernetes.io/hostname"] == "b1-r2-h3"
    assert found["status"]["allocatable"]["nvidia.com/gpu"] == "8"


def test_a_silent_node_is_not_ready_and_its_pods_are_deleted_until_it_is_back(
    cluster: RealCluster, api: Api, space: str
) -> None:
    (name,) = make_nodes(api, racks=1, hosts=1, prefix="lost-")
    pod = template(run_time="forever")
    pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": name}
    cluster.apply([job("train", space, pod)])
    eventually(lambda: [one["status"]["phase"] for one in of_job(api, space, "train")] == ["Running"])
    (first,) = of_job(api, space, "train")
    where = pods(space, first["metadata"]["name"])

    begin = monotonic()
    silence(api, name)
    eventually(lambda: not is_true(api.get(path(NODES, None, name)).body, "Ready"))
    assert monotonic() - begin > 5.0, "a node is not lost in a moment"
    eventually(lambda: "deletionTimestamp" in api.get(where).body["metadata"])
    assert api.get(where).body["status"]["phase"] == "Running", "no kubelet is there to stop it"

    bring_back(api, name)
    await_nodes(api, [name])
    eventually(lambda: api.get(where).status == 404)
    api.delete(path(NODES, None, name))
