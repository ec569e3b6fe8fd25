"""Topologies of several dialects in one set of objects: each group is placed by the one that it means."""

from __future__ import annotations

import pytest

from closeknit.dialects.kai.grouper import group_objects
from closeknit.model.topology import Topology
from dialects.objects import Raw, named, read, said

KAI = named("kai.scheduler/v1alpha1", "Topology", "net", {"levels": [{"nodeLabel": "zone"}]})
KUEUE = named("kueue.x-k8s.io/v1beta2", "Topology", "net", {"levels": [{"nodeLabel": "rack"}]})
BOUNDS = {"topology": "net", "requiredTopologyLevel": "zone"}
GROUP = named("scheduling.run.ai/v2alpha2", "PodGroup", "g", {"minMember": 1, "topologyConstraint": BOUNDS})


@pytest.mark.parametrize("both", [(KAI, KUEUE), (KUEUE, KAI)])
def test_a_pod_group_of_kai_means_the_topology_of_kai(both: tuple[Raw, Raw]) -> None:
    assert read(*both, GROUP).topologies == {"net": Topology("net", ("zone",))}
    assert group_objects([("f", one) for one in (*both, GROUP)]).mistakes == []


def test_a_label_that_has_the_name_of_a_topology_is_not_that_topology() -> None:
    constraint = {"topology": [{"key": "net"}]}
    upstream = named(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        "g",
        {"schedulingPolicy": {"basic": {}}, "schedulingConstraints": constraint},
    )
    pack = {"topologyConstraint": {"packConstraint": {"required": "net"}}}
    grove = named("scheduler.grove.io/v1alpha1", "PodGang", "h", {"podgroups": [{"name": "a"}], **pack})
    found = read(KAI, upstream, grove)
    assert found.mistakes == ()
    bounds = [gang.request.groups[0].constraint for gang in found.gangs]
    assert [found.topologies[one.topology].levels for one in bounds if one] == [("net",), ("net",)]


def test_a_cluster_topology_of_grove_may_not_differ_from_the_topology_of_its_name() -> None:
    own = named("grove.io/v1alpha1", "ClusterTopology", "net", {"levels": [{"domain": "rack", "key": "rack"}]})
    assert said(read(KAI, own)) == [
        "ClusterTopology net: metadata.name: is the name of a Topology with other levels; rename one of the two"
    ]
