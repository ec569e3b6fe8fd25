"""ProvisioningRequests: their owners, and the events that users see."""

from __future__ import annotations

from closeknit.cluster import kinds
from closeknit.cluster.errors import Invalid
from closeknit.cluster.port import Create, target_of
from closeknit.controller.provisioning import ProvisioningReconciler
from host.centre import centre
from host.lab import Lab, condition
from host.test_job_lives import LONG, event_messages, only

CLASS = "check-capacity.autoscaling.x-k8s.io"
SETUP = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {{name: machines}}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {{apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: config}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {{name: config}}
spec: {{provisioningClassName: {CLASS}}}
"""
CHECKS = {"admissionChecks": [{"name": "machines"}]}


def asked() -> Lab:
    """A job whose machines were requested and have not joined yet."""
    lab = centre()
    lab.apply(SETUP)
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": CHECKS}})
    lab.settle()
    lab.apply(LONG)
    lab.settle()
    return lab


def test_the_templates_of_a_request_belong_to_the_request() -> None:
    lab = asked()
    [request], [template] = lab.all(kinds.PROVISIONING_REQUEST), lab.all(kinds.POD_TEMPLATE)
    [owner] = template["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("ProvisioningRequest", request["metadata"]["uid"])
    assert owner["controller"] is True
    [owner] = request["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Workload", only(lab)["metadata"]["uid"])


def test_the_templates_go_with_their_request() -> None:
    lab = asked()
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"stopPolicy": "HoldAndDrain"}})
    lab.advance(60)
    assert lab.all(kinds.PROVISIONING_REQUEST) == []
    assert lab.all(kinds.POD_TEMPLATE) == []


def test_the_message_of_a_pending_check_is_an_event_of_the_job() -> None:
    lab = asked()
    assert event_messages(lab, "UpdatedAdmissionCheck") == ["machines: Capacity is expected at 2027-01-15T08:00:05Z"]
    [event] = [one for one in lab.all(kinds.EVENT) if one["reason"] == "UpdatedAdmissionCheck"]
    assert (event["involvedObject"]["kind"], event["type"]) == ("Job", "Normal")


def test_a_refused_request_gets_an_event() -> None:
    lab = asked()
    parts = lab.cluster.control_plane.parts
    reconciler = next(one for one in parts if isinstance(one, ProvisioningReconciler))
    [request] = lab.all(kinds.PROVISIONING_REQUEST)
    lab.patch(kinds.WORKLOAD, "default", only(lab)["metadata"]["name"], {"metadata": {"labels": {"look": "again"}}})
    lab.delete(kinds.PROVISIONING_REQUEST, "default", request["metadata"]["name"])
    lab.cluster.loop.pass_on()
    made = reconciler.step(lab.clock.time)
    [flight] = [one for one in made if target_of(one.write).kind is kinds.PROVISIONING_REQUEST]
    assert isinstance(flight.write, Create)
    reconciler.done(flight, Invalid("no such class"), lab.clock.time)
    lab.advance(1)
    name = request["metadata"]["name"]
    assert event_messages(lab, "FailedCreate") == [f'Error creating ProvisioningRequest "{name}": no such class']


def test_a_workload_that_loses_its_last_check_is_placed_and_runs() -> None:
    lab = asked()
    assert not condition(only(lab), "Admitted")
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": None}})
    lab.advance(10)
    assert condition(only(lab), "Admitted")
    assert len(lab.pods()) == 5


CONFIG = SETUP.split("---")[1]


def test_a_workload_that_waits_for_machines_gets_them_when_the_configuration_is_back() -> None:
    lab = asked()
    lab.delete(kinds.PROVISIONING_CONFIG, "", "config")
    lab.advance(2)
    assert lab.all(kinds.PROVISIONING_REQUEST) == []
    lab.apply(CONFIG)
    lab.advance(30)
    assert condition(only(lab), "Admitted")


def test_a_check_with_another_configuration_asks_again() -> None:
    lab = asked()
    other = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
    lab.apply(CONFIG.replace("name: config", "name: other").replace(CLASS, other))
    lab.settle()
    lab.patch(kinds.ADMISSION_CHECK, "", "machines", {"spec": {"parameters": {"name": "other"}}})
    lab.settle()
    [request] = lab.all(kinds.PROVISIONING_REQUEST)
    assert request["spec"]["provisioningClassName"] == other


def test_a_job_that_runs_keeps_its_request_when_the_configuration_changes_or_goes() -> None:
    lab = asked()
    lab.advance(30)
    [request] = lab.all(kinds.PROVISIONING_REQUEST)
    lab.patch(kinds.PROVISIONING_CONFIG, "", "config", {"spec": {"parameters": {"x": "y"}}})
    lab.advance(5)
    lab.delete(kinds.PROVISIONING_CONFIG, "", "config")
    lab.advance(5)
    assert [one["metadata"]["uid"] for one in lab.all(kinds.PROVISIONING_REQUEST)] == [request["metadata"]["uid"]]
    assert [one["state"] for one in only(lab)["status"]["admissionChecks"]] == ["Ready"]
