"""The workload of a pod, by its annotation or through its owners."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from closeknit.cli.owners import Owners
from closeknit.cluster import kinds
from closeknit.cluster.errors import NotFound
from closeknit.cluster.kinds import Kind

Raw = dict[str, Any]


def thing(kind: Kind, name: str, *above: Raw, **meta: Any) -> Raw:
    owners = [
        {"apiVersion": one["apiVersion"], "kind": one["kind"], "name": one["metadata"]["name"], "uid": uid(one)}
        for one in above
    ]
    metadata = {"name": name, "namespace": "default", "uid": f"{kind.kind}-{name}", "ownerReferences": owners, **meta}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def uid(raw: Raw) -> str:
    found: str = raw["metadata"]["uid"]
    return found


class Cluster:
    """A client of a cluster with these objects; it counts the requests."""

    def __init__(self, *objects: Raw) -> None:
        self.objects, self.asked = objects, list[Kind]()

    async def list(self, kind: Kind, namespace: str, accept: str) -> list[Raw]:
        self.asked.append(kind)
        if kind is kinds.RAY_JOB:
            raise NotFound("not served")
        return [one for one in self.objects if one["kind"] == kind.kind]


def workloads(cluster: Cluster, *pods: Raw) -> list[str]:
    owners = Owners(cluster)  # type: ignore[arg-type]
    asyncio.run(owners.learn(pods, "default"))
    return [owners.workload_of(pod) for pod in pods]


def test_a_pod_of_a_job_of_a_job_set_has_the_workload_of_the_job_set() -> None:
    whole = thing(kinds.JOB_SET, "whole")
    part = thing(kinds.JOB, "part", whole)
    cluster = Cluster(whole, part, thing(kinds.WORKLOAD, "jobset-whole-1a2b3", whole))
    pod, other = thing(kinds.POD, "a", part), thing(kinds.POD, "b", part)
    assert workloads(cluster, pod, other) == ["jobset-whole-1a2b3"] * 2
    assert cluster.asked.count(kinds.JOB) == 1, "a kind is asked for once, however many pods there are"


def test_a_pod_of_a_job_has_its_workload_and_a_pod_by_itself_may_have_one() -> None:
    job = thing(kinds.JOB, "train")
    alone = thing(kinds.POD, "alone")
    cluster = Cluster(thing(kinds.WORKLOAD, "job-train", job), thing(kinds.WORKLOAD, "pod-alone", alone))
    assert workloads(cluster, thing(kinds.POD, "a", job), alone) == ["job-train", "pod-alone"]


@pytest.mark.parametrize(
    "meta",
    [
        {"annotations": {"kueue.x-k8s.io/workload": "said"}},
        {"labels": {"kueue.x-k8s.io/pod-group-name": "said"}},
    ],
)
def test_a_pod_with_the_annotation_needs_no_lookup(meta: Raw) -> None:
    cluster = Cluster()
    assert workloads(cluster, thing(kinds.POD, "a", **meta)) == ["said"]
    assert cluster.asked == []


def test_a_pod_without_a_managed_owner_has_no_workload() -> None:
    unknown = {**thing(kinds.JOB, "x"), "apiVersion": "example.com/v1", "kind": "Robot"}
    pods = [thing(kinds.POD, "a", unknown), thing(kinds.POD, "b", thing(kinds.RAY_JOB, "r")), thing(kinds.POD, "c")]
    assert workloads(Cluster(), *pods) == ["", "", ""]
