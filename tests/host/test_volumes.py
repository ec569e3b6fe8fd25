"""Volumes on the embedded cluster: jobs go where their claims let them, and start once claims appear."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from host.centre import RACK
from host.lab import Lab, Raw, condition
from host.test_pod_filters import job, lab, nodes, racks, why_not_admitted

DATA = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
SIZE = {"storage": "1Gi"}


def claim(storage_class: str | None = "", mode: str = "ReadWriteMany", name: str = "data") -> Raw:
    spec: Raw = {"accessModes": [mode], "resources": {"requests": SIZE}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def volume(rack: str = "", mode: str = "ReadWriteMany") -> Raw:
    spec: Raw = {"accessModes": [mode], "capacity": SIZE, "nfs": {"server": "s", "path": "/"}}
    if rack:
        one = {"key": RACK, "operator": "In", "values": [rack]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [one]}]}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": spec}


def storage_class(*racks: str, default: bool = False) -> Raw:
    notes = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local", "annotations": notes},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": RACK, "values": list(racks)}]}],
    }


def phase(place: Lab, kind: Any, name: str, namespace: str = "") -> str:
    found: str = place.get(kind, name, namespace)["status"]["phase"]
    return found


def test_a_job_goes_to_the_rack_of_its_volume() -> None:
    place = lab()
    place.create(volume("r2"))
    place.create(claim())
    place.advance(2)
    place.create(job(3, DATA))
    place.advance(10)
    assert all(nodes(place))
    assert racks(place) == {"r2"}


def test_a_missing_claim_is_named_and_its_creation_lets_the_job_in_at_once() -> None:
    place = lab()
    place.create(volume("r1"))
    place.create(job(3, DATA))
    place.advance(10)
    assert 'PersistentVolumeClaim "data" does not exist: 12' in why_not_admitted(place)
    place.create(claim())
    place.advance(3)
    assert racks(place) == {"r1"}
    assert all(nodes(place))


def test_a_claim_that_waits_for_its_first_pod_goes_to_a_rack_of_its_class_and_is_bound() -> None:
    place = lab()
    place.create(storage_class("r3", default=True))
    place.create(claim(None))
    place.create(job(2, DATA))
    place.advance(10)
    assert all(nodes(place))
    assert racks(place) == {"r3"}
    bound = place.get(kinds.VOLUME_CLAIM, "data", "default")
    assert (bound["spec"]["storageClassName"], bound["status"]["phase"]) == ("local", "Bound")
    made = place.get(kinds.VOLUME, bound["spec"]["volumeName"])
    assert made["spec"]["claimRef"]["name"] == "data"
    assert made["status"]["phase"] == "Bound"


def test_jobs_with_one_claim_for_one_pod_run_one_after_the_other() -> None:
    place = lab()
    place.create(volume(mode="ReadWriteOncePod"))
    place.create(claim(mode="ReadWriteOncePod"))
    place.advance(2)
    place.create(job(1, DATA, "first"))
    place.advance(10)
    place.create(job(1, DATA, "second"))
    place.advance(10)
    assert all(nodes(place, "first"))
    assert not nodes(place, "second")
    place.delete(kinds.JOB, "default", "first")
    place.advance(60)
    assert all(nodes(place, "second"))


def test_a_job_of_two_pods_with_a_claim_for_one_pod_is_refused() -> None:
    place = lab()
    place.create(volume(mode="ReadWriteOncePod"))
    place.create(claim(mode="ReadWriteOncePod"))
    place.advance(2)
    place.create(job(2, DATA))
    place.advance(10)
    assert "fit only 1 out of 2 pod(s)" in why_not_admitted(place)
    assert 'volume "data" in use: 12' in why_not_admitted(place)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], '0/12 nodes are available: persistentvolumeclaim "data" not found.'),
        ([claim()], "0/12 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
    ],
)
def test_in_kueues_profile_the_job_is_admitted_and_the_scheduler_keeps_its_pods_waiting(
    objects: list[Raw], message: str
) -> None:
    place = lab("kueue")
    for one in objects:
        place.create(one)
    place.create(job(1, DATA))
    place.advance(10)
    assert condition(place.workloads()[0], "Admitted")
    (waiting,) = place.pods()
    (scheduled,) = [one for one in waiting["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert scheduled["message"].startswith(message)
    place.create(volume("r2"))
    if not objects:
        place.create(claim())
    place.advance(5)
