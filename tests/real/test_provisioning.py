"""ProvisioningRequests, with an autoscaler played by the test."""

from __future__ import annotations

import pytest

from closeknit.observe.pool_form import RACK
from servers.manifests import Object

from .scene import KUEUE, Scene
from .work import job, template

REQUESTS, TEMPLATES = "autoscaling.x-k8s.io/v1/provisioningrequests", "v1/podtemplates"
CLASS = "check-capacity.autoscaling.x-k8s.io"
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def asked(scene: Scene) -> Scene:
    """A queue with a provisioning check, and a job of four pods that waits for machines."""
    config, check = f"{scene.name}-config", f"{scene.name}-check"
    spec = {
        "provisioningClassName": CLASS,
        "parameters": {"size": "large"},
        "retryStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 1},
    }
    scene.of_all(apiVersion=KUEUE, kind="ProvisioningRequestConfig", metadata={"name": config}, spec=spec)
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": config}
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    scene.of_all(apiVersion=KUEUE, kind="AdmissionCheck", metadata={"name": check}, spec=spec)
    scene.queue(admissionChecksStrategy={"admissionChecks": [{"name": check}]})
    scene.submit(job("train", 4, template(4, required=RACK)))
    return scene


def request(scene: Scene, attempt: int = 1) -> Object:
    def found() -> Object:
        (one,) = [one for one in scene.all(REQUESTS) if one["metadata"]["name"].endswith(f"-{attempt}")]
        return one

    made: Object = scene.until(found, f"machines are asked for, attempt {attempt}")
    return made


def answer(scene: Scene, request: Object, kind: str, message: str = "") -> None:
    condition = {"type": kind, "status": "True", "reason": kind, "message": message, "lastTransitionTime": NOW}
    scene.patch(REQUESTS, request["metadata"]["name"], {"status": {"conditions": [condition]}}, "status")


def test_a_job_is_placed_on_the_machines_that_were_brought_for_it(asked: Scene) -> None:
    made = request(asked)
    assert made["spec"]["provisioningClassName"] == CLASS
    assert made["spec"]["parameters"]["size"] == "large"
    [part] = made["spec"]["podSets"]
    assert part["count"] == 4
    made_of = asked.until(lambda: asked.find(TEMPLATES, part["podTemplateRef"]["name"]), "its pods are described")
    pods = made_of["template"]["spec"]
    assert pods["containers"][0]["resources"]["requests"] == {"cpu": "4"}
    workload = asked.await_true("train", "QuotaReserved")
    [given] = workload["status"]["admission"]["podSetAssignments"]
    assert given["delayedTopologyRequest"] == "Pending"
    assert "topologyAssignment" not in given
    asked.stays(lambda: not asked.pods(), "it waits", 2)

    asked.nodes(racks=1, hosts=2, cpu=8)
    answer(asked, made, "Provisioned")
    running = asked.await_running(4)
    assert asked.places() == asked.plan("train")
    assert {one["metadata"]["annotations"][CONSUMES] for one in running} == {made["metadata"]["name"]}
    asked.finish(*running)
    asked.await_true("train", "Finished")
    asked.until(lambda: not asked.all(REQUESTS) and not asked.all(TEMPLATES), "the requests are deleted")


def test_refused_machines_are_requested_once_more_and_then_the_job_is_deactivated(asked: Scene) -> None:
    answer(asked, request(asked), "Failed", "no machines today")
    again = request(asked, 2)
    names = [again["metadata"]["name"]]
    asked.until(lambda: [one["metadata"]["name"] for one in asked.all(REQUESTS)] == names, "the first is withdrawn")
    answer(asked, again, "Failed", "nor tomorrow")
    asked.until(lambda: asked.workload("train")["spec"]["active"] is False, "it is given up")
    asked.await_false("train", "QuotaReserved")
    asked.until(lambda: asked.used() == "0", "none of the quota is in use")
    assert asked.pods() == []


def test_machines_that_come_at_the_second_try_are_used(asked: Scene) -> None:
    answer(asked, request(asked), "Failed", "no machines today")
    again = request(asked, 2)
    asked.nodes(racks=1, hosts=2, cpu=8)
    answer(asked, again, "Provisioned")
    asked.await_running(4)
    assert asked.places() == asked.plan("train")


def test_a_job_whose_machines_are_taken_away_again_is_evicted(asked: Scene) -> None:
    asked.nodes(racks=1, hosts=2, cpu=8)
    made = request(asked)
    answer(asked, made, "Provisioned")
    asked.await_running(4)
    answer(asked, made, "CapacityRevoked", "others need them")
    asked.until(lambda: asked.workload("train")["spec"]["active"] is False, "it is given up")
    asked.await_true("train", "Evicted")
    asked.until(lambda: not asked.pods(gone=True), "its pods are gone")
