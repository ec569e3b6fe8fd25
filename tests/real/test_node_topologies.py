"""NodeResourceTopologies on a real server: the definition is accepted, and comes and goes while the controller runs."""

from __future__ import annotations

from functools import partial

from closeknit.cluster.kinds import JOB, NODE_TOPOLOGY
from closeknit.cluster.kube.discovery import CRD
from closeknit.controller.zone_reports import REASON
from closeknit.deploy.crds import definition
from contract.client import Api
from contract.expect import accepted, eventually, gone, make
from host.node_topologies import Raw, topology, zone
from servers import manifests
from servers.cluster import RealCluster
from servers.manifests import is_true
from servers.policies import is_known

from .installation import await_policies, controller, findings, installed
from .test_kinds import OFF, PATIENCE, QUEUES, await_admitted, lines, submit

ODD = {"cpu": ("4", "4", "9")}
EVENTS = "/api/v1/namespaces/default/events"


def warned(api: Api, node: str) -> bool:
    """Whether the controller has seen the report of this node and found the mistake in it."""
    found = api.get(EVENTS).body["items"]
    return any(one["involvedObject"]["name"] == node and one["reason"] == REASON for one in found)


def report(cluster: RealCluster, node: str) -> None:
    make(cluster.api, NODE_TOPOLOGY.path(), topology(node, zone(0, ODD)))


def test_a_report_that_is_made_after_the_start_is_seen_and_one_without_a_node_is_harmless() -> None:
    with installed() as cluster:
        cluster.apply(QUEUES)
        await_policies(cluster)
        assert is_true(cluster.api.get(CRD.path(name=NODE_TOPOLOGY.resource)).body, "Established")
        with controller(cluster) as process:
            report(cluster, "nobody")
            eventually(partial(warned, cluster.api, "nobody"), PATIENCE)
            submit(cluster.api, JOB, "train")
            await_admitted(cluster.api, JOB, "train")
            assert process.is_alive


def test_the_definition_may_go_and_come_back_without_a_restart() -> None:
    place = CRD.path(name=NODE_TOPOLOGY.resource)
    with installed() as cluster:
        cluster.apply(QUEUES)
        await_policies(cluster)
        with controller(cluster) as process:
            report(cluster, "before")
            eventually(partial(warned, cluster.api, "before"), PATIENCE)
            accepted(cluster.api.delete(place))
            eventually(gone(cluster.api, place), PATIENCE)
            eventually(lambda: lines(process, NODE_TOPOLOGY, OFF) == 1, PATIENCE)
            assert [text for _, _, text in findings(cluster) if NODE_TOPOLOGY.resource in text]
            manifests.define(cluster.api, [_of_others()])
            eventually(partial(is_known, cluster.api, NODE_TOPOLOGY))
            report(cluster, "after")
            eventually(partial(warned, cluster.api, "after"), PATIENCE)
            assert process.is_alive


def _of_others() -> Raw:
    """The definition as another installation made it."""
    found = definition(NODE_TOPOLOGY)
    del found["metadata"]["labels"]
    return found
