"""RayClusters, RayJobs and the PodGangs of Grove."""

from __future__ import annotations

from typing import Any

from closeknit.dialects.kai import keys
from dialects.kai.jobs import NETWORK, RACK, SPEC, Raw, an_object, constraints, group, mistakes, template, tree

ZONE = {"topology": "network", "requiredTopologyLevel": "zone"}


def workers(name: str, replicas: int, **fields: Any) -> Raw:
    return {"groupName": name, "replicas": replicas, "template": template(), **fields}


def a_cluster(*groups: Raw, **fields: Any) -> Raw:
    return {"headGroupSpec": {"template": template()}, "workerGroupSpecs": list(groups), **fields}


def a_ray_cluster(*groups: Raw, **fields: Any) -> Raw:
    return an_object("ray.io/v1", "RayCluster", a_cluster(*groups, **fields))


def test_a_pod_gang_with_a_misspelt_field_is_refused() -> None:
    gang = an_object("scheduler.grove.io/v1alpha1", "PodGang", {"podGroups": []}, "g")
    assert mistakes(gang, an_object("v1", "Pod", SPEC, "p", labels={"grove.io/podgang": "g"})) == [
        "f: PodGang g: spec.podGroups: is not a known field; did you mean podgroups?",
        "f: PodGang g: spec.podgroups: is missing; list the groups of pods, each with name and podReferences",
    ]


def test_the_head_and_every_group_of_workers_are_sub_groups() -> None:
    one = group(a_ray_cluster(workers("a", 2), workers("b", 2, numOfHosts=3, minReplicas=1)))
    assert one.pod_group["spec"]["minMember"] == 1 + 2 + 3
    assert tree(one) == {"headgroup": ("", 1, 1), "a": ("", 2, 2), "b": ("", 3, 6)}


def test_a_group_that_is_suspended_or_empty_is_left_out() -> None:
    assert tree(group(a_ray_cluster(workers("a", 2, suspend=True), workers("b", 0)))) == {"headgroup": ("", 1, 1)}


def test_with_autoscaling_workers_may_come_later() -> None:
    one = group(a_ray_cluster(workers("a", 2), enableInTreeAutoscaling=True))
    assert tree(one) == {"headgroup": ("", 1, 1), "a": ("", 0, 2)}


def test_a_minimum_above_the_replicas_of_a_group_is_refused() -> None:
    assert mistakes(a_ray_cluster(workers("a", 1, minReplicas=2))) == [
        "f: RayCluster j: spec.workerGroupSpecs[0].minReplicas: is 2, more than the 1 replicas; "
        "raise replicas or lower it"
    ]


def test_a_placement_on_a_template_is_that_of_its_group() -> None:
    inside = template(**{keys.TOPOLOGY: "network", keys.REQUIRED: "rack"})
    one = group(a_ray_cluster(workers("a", 2, template=inside)), NETWORK)
    assert constraints(one) == {"a": RACK}


def test_segments_of_pods_without_an_index_are_refused() -> None:
    inside = template(**{keys.SEGMENT_SIZE: "2"})
    assert mistakes(a_ray_cluster(workers("a", 1, template=inside))) == [
        "f: Pod default/j-a-worker-0: metadata.annotations[kai.scheduler/segment-size]: "
        "needs pods with an index, and those of a RayCluster have none; remove it"
    ]


def test_a_ray_job_does_not_wait_for_the_pod_that_submits_it() -> None:
    job = an_object("ray.io/v1", "RayJob", {"rayClusterSpec": a_cluster(workers("a", 2))})
    job["metadata"]["labels"] = {"ray.io/priority-class-name": "build"}
    one = group(job)
    assert (one.pod_group["spec"]["minMember"], one.pod_group["spec"]["priorityClassName"]) == (3, "build")
    assert tree(one) == {"headgroup": ("", 1, 1), "a": ("", 2, 2), "submitter": ("", 0, 1)}


def test_the_pods_of_a_ray_job_are_found_through_its_cluster() -> None:
    job = an_object("ray.io/v1", "RayJob", {"rayClusterSpec": a_cluster()}, uid="u")
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "j", "uid": "u"}
    cluster = an_object("ray.io/v1", "RayCluster", a_cluster(), "j-x", uid="c", ownerReferences=[owner])
    reference = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "j-x", "uid": "c"}
    pod = an_object("v1", "Pod", SPEC, "p", labels={"ray.io/group": "headgroup"}, ownerReferences=[reference])
    one = group(job, cluster, pod)
    assert (one.pod_group["metadata"]["name"], tree(one)["headgroup"]) == ("pg-j-u", ("", 1, 1))


def a_pod_gang(**spec: Any) -> Raw:
    groups = [
        {"name": name, "minReplicas": 1, "podReferences": [{"namespace": "default", "name": f"{name}-0"}]}
        for name in ("prefill", "decode", "router")
    ]
    notes = {"grove.io/topology-name": "network"}
    return an_object("scheduler.grove.io/v1alpha1", "PodGang", {"podgroups": groups, **spec}, annotations=notes)


def a_pod(name: str) -> Raw:
    return an_object("v1", "Pod", SPEC, name, labels={"grove.io/podgang": "j"})


def pack(level: str) -> Raw:
    return {"topologyConstraint": {"packConstraint": {"required": level}}}


def test_the_pod_groups_of_a_gang_are_sub_groups_inside_those_with_a_constraint_around_them() -> None:
    config = {"name": "model", "podGroupNames": ["prefill", "decode"], **pack("rack")}
    gang = a_pod_gang(topologyConstraintGroupConfigs=[config], priorityClassName="inference", **pack("zone"))
    one = group(gang, NETWORK, *map(a_pod, ("prefill-0", "decode-0", "router-0")))
    assert tree(one) == {
        "model": ("", "2 groups", 0),
        "prefill": ("model", 1, 1),
        "decode": ("model", 1, 1),
        "router": ("", 1, 1),
    }
    spec = one.pod_group["spec"]
    assert (spec["minMember"], spec["priorityClassName"], spec["topologyConstraint"]) == (3, "inference", ZONE)
    assert constraints(one) == {"model": RACK}


def test_a_gang_that_names_an_unknown_pod_group_or_no_topology_is_refused() -> None:
    config = {"name": "model", "podGroupNames": ["prefil"]}
    gang = a_pod_gang(topologyConstraintGroupConfigs=[config])
    assert mistakes(gang, a_pod("prefill-0")) == [
        'f: PodGang j: spec.topologyConstraintGroupConfigs: names the pod group "prefil", which the gang does not '
        "have; correct its name"
    ]
    gang = a_pod_gang(**pack("zone"))
    del gang["metadata"]["annotations"]
    assert mistakes(gang, a_pod("prefill-0")) == [
        "f: PodGang j: spec.topologyConstraint.packConstraint: names a level without a topology; "
        "add the annotation grove.io/topology-name to the gang"
    ]
