from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.objects import workload
from closeknit.dialects.kueue.objects.pod_sets import WirePodSet, asked, template_digest
from closeknit.dialects.kueue.objects.wire import Unreadable
from closeknit.model.container import Container
from closeknit.model.request import Constraint, Group, Layer, PodSet, Ranks, Request
from closeknit.model.shape import Shape, Toleration
from closeknit.model.workload import Workload, WorkloadPodSet


def read(version: str = "v1beta2", **pod_set: Any) -> Workload:
    return workload({"apiVersion": f"kueue.x-k8s.io/{version}", "spec": {"podSets": [pod_set]}})


def part(**pod_set: Any) -> WorkloadPodSet:
    return read(**pod_set).parts[0]


def pods(version: str = "v1beta2", **pod_set: Any) -> PodSet:
    return next(read(version, **pod_set).request.pod_sets)


def pod(**spec: Any) -> WorkloadPodSet:
    return part(template={"spec": spec})


def shape(**spec: Any) -> Shape:
    return pods(template={"spec": spec}).shape


def asks(**requests: Any) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def test_a_pod_set_is_main_with_one_pod_by_default() -> None:
    for one in (part(), part(name=None, count=None, template=None)):
        assert (one.name, one.min_count) == ("main", None)
        assert (one.requests, one.template_digest) == ({}, "")
    assert (pods().name, pods().count, pods(count=0).count, pods().shape.containers) == ("main", 1, 0, ())
    assert part(name="workers", count=4, minCount=2).min_count == 2


def test_a_pod_requests_the_total_of_its_containers() -> None:
    spec = {
        "containers": [asks(cpu="1", memory="1Gi"), asks(cpu="500m")],
        "initContainers": [{**asks(cpu="3"), "restartPolicy": "Always"}],
        "overhead": {"memory": "1Mi"},
    }
    assert pod(**spec).requests == {"cpu": 4500, "memory": 2**30 + 2**20}
    assert dict(shape(**spec).requests) == pod(**spec).requests


def test_the_shape_lists_containers_as_they_start_and_a_limit_without_a_request_is_one() -> None:
    limited = {"resources": {"limits": {"cpu": "2"}, "requests": None}}
    first = [asks(memory="1Ki"), {**asks(cpu=3), "restartPolicy": "Always"}]
    found = shape(containers=[asks(cpu=1), limited], initContainers=first)
    assert found.containers == (
        Container.of({"memory": 1024}, kind="init"),
        Container.of({"cpu": 3000}, kind="sidecar"),
        Container.of({"cpu": 1000}),
        Container.of({"cpu": 2000}, {"cpu": 2000}),
    )


def test_a_quantity_of_null_is_none() -> None:
    assert pod(containers=[asks(cpu=1, memory=None)]).requests == {"cpu": 1000}


def test_the_shape_has_the_pods_node_selection() -> None:
    tolerations = [{"key": "a", "operator": "Exists"}]
    assert shape(nodeSelector={"pool": "a"}, tolerations=tolerations) == Shape.of(
        {}, {"pool": "a"}, (Toleration("a", "Exists"),)
    )


def test_equal_templates_have_one_shape_and_requests_of_their_own() -> None:
    first, second = pod(containers=[asks(cpu=7)]), pod(containers=[asks(cpu=7)])
    assert shape(containers=[asks(cpu=7)]) is shape(containers=[asks(cpu=7)])
    assert first.requests is not second.requests


def test_a_topology_request_is_read_unchanged() -> None:
    one = read(
        topologyRequest={
            "preferred": "block",
            "podSetGroupName": "g",
            "podIndexLabel": "index",
            "subGroupIndexLabel": "job",
            "subGroupCount": 2,
            "podSetSliceRequiredTopology": "rack",
            "podSetSliceSize": 3,
        }
    )
    constraint, ranks = Constraint(preferred="block", slices=(Layer("rack", 3),)), Ranks("index", "job", 2)
    assert one.request == Request((Group((PodSet("main", 1, shape(), constraint, ranks),), "g"),))
    assert pods(topologyRequest=None).constraint is None
    assert pods(topologyRequest={"unconstrained": True}).constraint == Constraint(unconstrained=True)


def test_layers_are_read_from_v1beta2_and_dropped_from_v1beta1() -> None:
    layers = [{"topology": "rack", "size": 4}, {"topology": "host", "size": 2}]
    request = {"required": "block", "podsetSliceRequiredTopologyConstraints": layers}
    slices = (Layer("rack", 4), Layer("host", 2))
    assert pods(topologyRequest=request).constraint == Constraint("block", slices=slices)
    assert pods("v1beta1", topologyRequest=request).constraint == Constraint("block")


PLAIN = {"containers": [asks(cpu=1)], "nodeSelector": {"a": "b"}, "restartPolicy": "Never"}


@pytest.mark.parametrize(
    "more",
    [
        {"runtimeClassName": "kata"},
        {"priority": 5},
        {"topologySpreadConstraints": [{"maxSkew": 1}]},
        {"resourceClaims": [{"name": "gpu"}]},
        {"overhead": {"cpu": "1"}},
        {"resources": {"requests": {"cpu": "1"}}},
        {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}},
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}},
        {"tolerations": [{"key": "a", "tolerationSeconds": 0}]},
        {"containers": [{**asks(cpu=1), "ports": [{"containerPort": 80}]}]},
        {"containers": [asks(cpu=1), asks(cpu=1)]},
        {"initContainers": [asks(cpu=1)]},
    ],
)
def test_scheduling_fields_outside_the_shape_distinguish_pods(more: dict[str, Any]) -> None:
    assert template_digest({**PLAIN, **more}) not in ("", template_digest({**PLAIN, "runtimeClassName": "other"}))


def test_fields_that_a_scheduler_ignores_do_not_distinguish_pods() -> None:
    assert template_digest(PLAIN) == ""
    assert template_digest({**PLAIN, "affinity": {"nodeAffinity": {}, "podAffinity": None}, "overhead": {}}) == ""
    image = [{**asks(cpu=1), "image": "a", "command": ["x"], "env": []}]
    assert template_digest({**PLAIN, "containers": image, "serviceAccountName": "s"}) == ""


def test_the_digest_of_a_template_is_short_stable_and_independent_of_spelling() -> None:
    two = {"containers": [asks(cpu=1, memory="1Gi"), asks(cpu="2")], "runtimeClassName": "kata"}
    same = {"runtimeClassName": "kata", "containers": [asks(memory="1024Mi", cpu="1000m"), asks(cpu="2", gpu=None)]}
    assert template_digest(two) == template_digest(same)
    assert len(template_digest(two)) == 16
    other = {**two, "containers": [asks(cpu=2, memory="1Gi"), asks(cpu=1)]}
    assert template_digest(two) != template_digest(other)


def test_rules_of_the_wrong_type_are_one_kind_of_error_and_nulls_are_left_out() -> None:
    assert shape(containers=[None]).rules is None
    with pytest.raises(Unreadable, match="hostPort"):
        shape(containers=[{"name": "c", "ports": [{"hostPort": "http"}]}])


@pytest.mark.parametrize("metadata", [True, {"labels": ["a"]}, {"annotations": {"a": 1}}])
def test_metadata_of_the_wrong_type_is_the_same_kind_of_error(metadata: Any) -> None:
    with pytest.raises(Unreadable):
        asked([WirePodSet("main", 1, template={"metadata": metadata})], is_old=False)
