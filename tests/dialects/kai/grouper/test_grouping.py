"""What all kinds share: names, queues, priority classes, and which owner decides."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kai import keys
from closeknit.dialects.kai.grouper import group_pods
from dialects.kai.jobs import (
    NETWORK,
    SEGMENTS_OF_2,
    SPEC,
    Raw,
    a_job,
    an_object,
    group,
    grouped,
    groups,
    mistakes,
    template,
    tree,
    warnings,
)


def a_pod(name: str, *owners: Raw, spec: Raw | None = None, **metadata: Any) -> Raw:
    return an_object("v1", "Pod", {**SPEC, **(spec or {})}, name, ownerReferences=list(owners), **metadata)


def reference(version: str, kind: str, name: str, uid: str = "") -> Raw:
    return {"apiVersion": version, "kind": kind, "name": name, **({"uid": uid} if uid else {})}


def test_a_pod_without_an_owner_is_a_group_of_its_own() -> None:
    one = group(a_pod("p", uid="u", namespace="team", labels={"a": "b"}))
    assert one.pod_group == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": "pg-p-u",
            "namespace": "team",
            "labels": {"a": "b"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
        },
        "spec": {"minMember": 1, "queue": "default-queue", "priorityClassName": "train"},
    }
    assert one.pods[0]["metadata"]["annotations"] == {"pod-group-name": "pg-p-u"}


def test_every_pod_of_a_deployment_is_a_group_of_its_own_for_inference() -> None:
    deployment = an_object("apps/v1", "Deployment", {"replicas": 2, "template": template()}, "web")
    found = groups(deployment)
    assert [one.pod_group["metadata"]["name"] for one in found] == ["pg-web-0", "pg-web-1"]
    assert {one.pod_group["spec"]["priorityClassName"] for one in found} == {"inference"}


def test_the_pods_of_a_deployment_are_found_through_its_replica_sets() -> None:
    deployment = an_object("apps/v1", "Deployment", {"template": template()}, "web", uid="d")
    above = [reference("apps/v1", "Deployment", "web", "d")]
    replica_set = an_object("apps/v1", "ReplicaSet", {}, "web-1", uid="r", ownerReferences=above)
    pod = a_pod("web-1-x", reference("apps/v1", "ReplicaSet", "web-1", "r"), uid="p")
    one = group(deployment, replica_set, pod)
    assert one.pod_group["metadata"]["name"] == "pg-web-1-x-p"
    assert one.pod_group["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "web-1-x", "uid": "p"}
    ]


def test_a_stateful_set_is_one_group_of_which_one_pod_has_to_run() -> None:
    one = group(an_object("apps/v1", "StatefulSet", {"replicas": 3, "template": template()}, "db"))
    assert (one.pod_group["spec"]["minMember"], len(one.pods)) == (1, 3)


def test_a_stateful_set_in_segments_has_to_create_its_pods_at_once() -> None:
    spec = {"replicas": 3, "ordinals": {"start": 5}, "template": template(**SEGMENTS_OF_2)}
    one = group(an_object("apps/v1", "StatefulSet", {**spec, "podManagementPolicy": "Parallel"}, "db"), NETWORK)
    assert one.pod_group["spec"]["minMember"] == 3
    assert tree(one) == {"segment-0": ("", 2, 2), "segment-1": ("", 1, 1)}
    assert mistakes(an_object("apps/v1", "StatefulSet", spec, "db"), NETWORK) == [
        "f: StatefulSet db: spec.podManagementPolicy: has to be Parallel for kai.scheduler/segment-size: "
        "a segment waits for all of its pods; set it"
    ]


def test_more_pods_than_are_supported_are_refused_before_they_are_made() -> None:
    assert mistakes(an_object("apps/v1", "StatefulSet", {"replicas": 2**31 - 1, "template": template()}, "db")) == [
        "f: StatefulSet db: spec.replicas: makes 2147483647 pods; at most 100000 are supported"
    ]


def test_a_level_without_a_topology_is_refused_where_it_is_written() -> None:
    assert mistakes(a_job(2, {keys.PREFERRED: "rack"})) == [
        "f: Job j: metadata.annotations[kai.scheduler/topology-preferred-placement]: "
        "names a level without a topology; add the annotation kai.scheduler/topology"
    ]


def test_a_mistake_in_one_object_does_not_hide_those_in_another() -> None:
    bounds = {"topology": "network", "requiredTopologyLevel": "rak"}
    wrong = an_object("scheduling.run.ai/v2alpha2", "PodGroup", {"minMember": 1, "topologyConstraint": bounds}, "g")
    assert mistakes(NETWORK, a_pod("p"), a_pod("p"), wrong) == [
        "f: Pod p: metadata.name: is the name of another Pod too; rename or remove one of the two",
        'f: PodGroup g: spec.topologyConstraint.requiredTopologyLevel: is "rak", '
        'which is not a level of Topology "network"; did you mean rack?',
    ]


def test_levels_are_not_checked_against_a_topology_with_mistakes() -> None:
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "rack"}]
    bounds = {"topology": "t", "requiredTopologyLevel": "rack"}
    group_of_rack = an_object("scheduling.run.ai/v2alpha2", "PodGroup", {"minMember": 1, "topologyConstraint": bounds})
    assert mistakes(an_object("kai.scheduler/v1alpha1", "Topology", {"levels": levels}, "t"), group_of_rack) == [
        'f: Topology t: spec.levels[1].nodeLabel: is "rack" a second time; name each level once'
    ]


def test_the_pods_of_an_unknown_owner_are_one_group() -> None:
    owner = reference("example.com/v1", "Thing", "t", "u")
    one = group(an_object("example.com/v1", "Thing", {}, "t", uid="u"), a_pod("a", owner), a_pod("b", owner))
    assert one.pod_group["metadata"]["name"] == "pg-t-u"
    assert (one.pod_group["spec"]["minMember"], len(one.pods)) == (1, 2)


def test_pods_whose_owner_is_missing_are_grouped_by_the_reference_and_that_is_told() -> None:
    owner = reference("kubeflow.org/v1", "PyTorchJob", "t", "u")
    pods = [a_pod("a", owner), a_pod("b", owner)]
    one = group(*pods)
    assert one.pod_group["metadata"]["ownerReferences"] == [owner]
    assert len(one.pods) == 2
    assert warnings(*pods) == [
        "PyTorchJob default/t: is not among the objects: its pods are one group, of which one has to run; add it"
    ]


def test_a_wrapper_is_looked_through_and_its_pods_are_alone() -> None:
    owner = reference("argoproj.io/v1alpha1", "Workflow", "w", "u")
    workflow = an_object("argoproj.io/v1alpha1", "Workflow", {}, "w", uid="u", labels={keys.QUEUE: "team"})
    found = groups(workflow, a_pod("a", owner), a_pod("b", owner))
    assert [one.pod_group["metadata"]["name"] for one in found] == ["pg-a", "pg-b"]
    assert {one.pod_group["spec"]["queue"] for one in found} == {"team"}


def test_owners_in_a_circle_do_not_hang_the_grouper() -> None:
    first = an_object("example.com/v1", "A", {}, "a", ownerReferences=[reference("example.com/v1", "B", "b")])
    second = an_object("example.com/v1", "B", {}, "b", ownerReferences=[reference("example.com/v1", "A", "a")])
    assert len(groups(first, second, a_pod("p", reference("example.com/v1", "A", "a")))) == 1


@pytest.mark.parametrize(
    ("on_owner", "on_pod", "queue"),
    [
        ({keys.QUEUE: "a"}, {keys.QUEUE: "b"}, "a"),
        ({keys.PROJECT: "p"}, {keys.QUEUE: "b"}, "b"),
        ({}, {keys.PROJECT: "p"}, "p"),
        ({}, {}, "default-queue"),
    ],
)
def test_the_queue_is_that_of_owner_or_pod_or_else_their_project(on_owner: Raw, on_pod: Raw, queue: str) -> None:
    job = a_job(1)
    job["metadata"]["labels"] = on_owner
    job["spec"]["template"]["metadata"]["labels"] = on_pod
    assert group(job).pod_group["spec"]["queue"] == queue


@pytest.mark.parametrize(
    ("on_owner", "on_pod", "in_spec", "name"),
    [
        ({keys.PRIORITY_CLASS: "a"}, {keys.PRIORITY_CLASS: "b"}, "c", "a"),
        ({}, {keys.PRIORITY_CLASS: "b"}, "c", "b"),
        ({}, {}, "c", "c"),
        ({}, {}, "", "train"),
    ],
)
def test_the_priority_class_is_that_of_a_label_then_of_the_pod(
    on_owner: Raw, on_pod: Raw, in_spec: str, name: str
) -> None:
    job = a_job(1)
    job["metadata"]["labels"] = on_owner
    job["spec"]["template"]["metadata"]["labels"] = on_pod
    job["spec"]["template"]["spec"] = {**SPEC, "priorityClassName": in_spec}
    assert group(job).pod_group["spec"]["priorityClassName"] == name


def test_preemptibility_is_a_label_with_two_values() -> None:
    pod = a_pod("p", labels={keys.PREEMPTIBILITY: "non-preemptible"})
    assert group(pod).pod_group["spec"]["preemptibility"] == "non-preemptible"
    pod["metadata"]["labels"][keys.PREEMPTIBILITY] = "never"
    assert mistakes(pod) == [
        'f: Pod p: metadata.labels[kai.scheduler/preemptibility]: is "never"; use one of: preemptible, non-preemptible'
    ]


def test_annotations_of_the_owner_are_copied_except_those_of_kubectl() -> None:
    last = "kubectl.kubernetes.io/last-applied-configuration"
    pod = a_pod("p", annotations={last: "{}", "a": "b"})
    assert group(pod).pod_group["metadata"]["annotations"] == {"a": "b"}


def test_pods_that_name_a_group_stay_in_it() -> None:
    given = an_object("scheduling.run.ai/v2alpha2", "PodGroup", {"minMember": 1}, "mine")
    pod = a_pod("p", annotations={keys.POD_GROUP: "mine"})
    one = group(given, pod)
    assert (one.pod_group, one.pods, one.owner) == (given, (pod,), "")
    result = grouped(pod)
    assert result.groupings == []
    assert list(map(str, result.warnings)) == [
        'f: Pod p: metadata.annotations.pod-group-name: names PodGroup "default/mine", which is not among the objects; '
        "add it"
    ]


def test_a_job_that_skips_the_grouper_is_in_the_group_that_its_template_names() -> None:
    given = an_object("scheduling.run.ai/v2alpha2", "PodGroup", {"minMember": 1}, "mine")
    job = a_job(2, {keys.SKIP: "true"}, {keys.POD_GROUP: "mine"})
    assert len(group(given, job).pods) == 2
    assert warnings(a_job(1, {keys.SKIP: "true"})) == [
        "f: Pod default/j-0: has kai.scheduler/skip-podgrouper and names no PodGroup; add the annotation pod-group-name"
    ]


def test_levels_of_a_job_are_checked_against_the_topologies_among_the_files() -> None:
    job = a_job(2, {keys.TOPOLOGY: "network", keys.REQUIRED: "rak"})
    assert mistakes(job, NETWORK) == [
        "f: Job j: metadata.annotations[kai.scheduler/topology-required-placement]: "
        'is "rak", which is not a level of Topology "network"; did you mean rack?'
    ]


def test_mistakes_in_queues_and_topologies_are_told() -> None:
    queue = an_object("scheduling.run.ai/v2", "Queue", {"parent": "x"}, "q")
    topology = {**NETWORK, "spec": {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "rack"}]}}
    assert mistakes(queue, topology) == [
        "f: Queue q: spec.parent: is not a known field; did you mean parentQueue?",
        'f: Topology network: spec.levels[1].nodeLabel: is "rack" a second time; name each level once',
    ]


def test_kinds_without_pods_are_skipped_and_jobs_without_any_are_told() -> None:
    service = an_object("v1", "Service", {}, "web")
    assert list(grouped(service).skipped) == ["v1/Service"]
    assert warnings(a_job(0)) == [
        "f: Job j: has no pods among the objects, and none can be planned for it; add its pods"
    ]


def test_a_chain_of_owners_can_be_grouped_without_files() -> None:
    result = group_pods([("", a_job(2, {keys.MIN_MEMBER: "2"}))], [("", a_pod("a")), ("", a_pod("b"))])
    [one] = result.groupings
    assert [pod["metadata"]["annotations"][keys.POD_GROUP] for pod in one.pods] == ["pg-j", "pg-j"]


def test_misspelt_and_misplaced_keys_of_kai_are_warned_of() -> None:
    job = a_job(1, {"kai.scheduler/topology-require-placement": "rack", "kai.scheduler/unheard-of": "x"})
    job["metadata"]["labels"] = {keys.TOPOLOGY: "network"}
    assert warnings(job) == [
        "f: Job j: metadata.annotations[kai.scheduler/topology-require-placement]: is not a key that is read; "
        "did you mean kai.scheduler/topology-required-placement?",
        "f: Job j: metadata.labels[kai.scheduler/topology]: is not read there; make it an annotation",
    ]


def test_an_object_that_is_there_twice_is_refused() -> None:
    assert mistakes(a_pod("p"), a_pod("p"), a_pod("p", namespace="other")) == [
        "f: Pod p: metadata.name: is the name of another Pod too; rename or remove one of the two"
    ]


def test_a_job_that_gets_its_name_from_the_server_is_grouped_by_the_beginning_of_it() -> None:
    job = a_job(2, {keys.MIN_MEMBER: "2"})
    job["metadata"] = {"generateName": "train-", "annotations": job["metadata"]["annotations"]}
    assert group(job).pod_group["metadata"]["name"] == "pg-train"


def test_every_group_is_also_read_as_a_gang() -> None:
    result = grouped(a_job(2, {keys.MIN_MEMBER: "2"}), a_pod("p"))
    assert [gang.key for gang in result.gangs] == ["default/pg-p", "default/pg-j"]
