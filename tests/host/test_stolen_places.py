"""Nothing takes the place of a workload's pod by merely naming the workload: neither a pod nor a job."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from host.centre import HOST, RACK, centre
from host.jobs_of_each_kind import APP_WRAPPER, GROUP, JOB, JOB_SET, STATEFUL_SET, TRAIN_JOB, Case
from host.lab import Lab, Raw, condition

PREFIX = "kueue.x-k8s.io/"


def running(case: Case, **gates: bool) -> Lab:
    lab = centre(Lab(EmbeddedOptions(seed=1, gates=Gates.profile("closeknit", gates))))
    lab.apply(case.manifest)
    lab.advance(10)
    assert all(pod["spec"].get("nodeName") for pod in lab.pods())
    return lab


def forged(like: Raw, name: str = "aaa-thief", **meta: Any) -> Raw:
    """A pod with the marks of another, gated as it was, without its owners."""
    own = {key: value for key, value in like["metadata"]["labels"].items() if "queue-name" not in key}
    notes = {key: value for key, value in like["metadata"]["annotations"].items() if PREFIX in key}
    spec = {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        "schedulingGates": [{"name": f"{PREFIX}topology"}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    }
    head = {"name": name, "namespace": "default", "labels": own, "annotations": notes, **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec}


def thief(lab: Lab, name: str = "aaa-thief") -> Raw:
    return lab.get(kinds.POD, name)


def is_gated(pod: Raw) -> bool:
    return bool(pod["spec"].get("schedulingGates"))


def stays_gated(lab: Lab) -> bool:
    """Whether it is gated; or a controller has deleted it, as one too many or as one without an owner."""
    return all(is_gated(pod) for pod in lab.pods() if pod["metadata"]["name"] == "aaa-thief")


def steal(lab: Lab, **meta: Any) -> None:
    """Create the forged pod, and delete the pod whose place it is after."""
    victim = lab.pods()[0]
    lab.create(forged(victim, **meta))
    lab.advance(2)
    lab.delete(kinds.POD, "default", victim["metadata"]["name"])
    lab.advance(60)


@pytest.mark.parametrize("case", [JOB, JOB_SET, TRAIN_JOB, APP_WRAPPER], ids=lambda case: case.name)
def test_a_bare_pod_with_the_marks_of_a_member_stays_gated_and_is_told(case: Case) -> None:
    lab = running(case)
    steal(lab)
    assert is_gated(thief(lab))
    (event,) = [one for one in lab.all(kinds.EVENT) if one["reason"] == "NotAMember"]
    assert event["involvedObject"]["name"] == "aaa-thief"
    assert "its owners do not lead to" in event["message"]
    bound = [pod for pod in lab.pods() if pod["spec"].get("nodeName") and "thief" not in pod["metadata"]["name"]]
    assert len(bound) >= case.pods, "the deleted pod was replaced, in its place"


def test_without_the_gate_it_takes_the_place_as_in_kueue() -> None:
    lab = running(JOB, VerifyPodOwners=False)
    steal(lab)
    assert thief(lab)["spec"]["nodeSelector"][HOST]


def owner(raw: Raw, **more: Any) -> list[dict[str, Any]]:
    kept = {"apiVersion": raw["apiVersion"], "kind": raw["kind"], "name": raw["metadata"]["name"]}
    return [{**kept, "uid": raw["metadata"]["uid"], "controller": True, **more}]


def test_a_pod_that_names_the_job_as_its_owner_without_being_selected_by_it_stays_gated() -> None:
    lab = running(JOB)
    victim = lab.pods()[0]
    labels = {key: value for key, value in victim["metadata"]["labels"].items() if "controller-uid" not in key}
    steal(lab, ownerReferences=owner(lab.get(kinds.JOB, "one")), labels=labels)
    assert stays_gated(lab)


def test_a_pod_that_names_an_owner_that_does_not_exist_stays_gated() -> None:
    lab = running(JOB)
    steal(lab, ownerReferences=owner(lab.get(kinds.JOB, "one"), uid="11111111-2222-3333-4444-555555555555"))
    assert stays_gated(lab)


@pytest.mark.parametrize("case", [JOB, JOB_SET, APP_WRAPPER], ids=lambda case: case.name)
def test_a_pod_owned_by_a_config_map_stays_gated(case: Case) -> None:
    lab = running(case)
    made = lab.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}})
    steal(lab, ownerReferences=owner({**made, "apiVersion": "v1", "kind": "ConfigMap"}))
    assert is_gated(thief(lab))


DEPLOYMENT = """
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: one, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  components:
  - template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: site}
      spec:
        replicas: 2
        selector: {matchLabels: {app: site}}
        template:
          metadata:
            labels: {app: site}
            annotations: {kueue.x-k8s.io/podset-required-topology: RACK}
          spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""


def test_pods_of_a_wrapped_deployment_are_members_though_their_replica_set_is_not_watched() -> None:
    lab = centre()
    lab.apply(DEPLOYMENT.replace("RACK", RACK))
    lab.advance(10)
    assert [bool(pod["spec"].get("nodeName")) for pod in lab.pods()] == [True, True]


def test_a_forged_rank_does_not_disturb_the_ranks_of_the_members() -> None:
    """With a second rank 0 the whole pod set would be filled greedily, and ranks would leave their hosts."""
    lab = running(JOB)
    before = {_rank(pod): pod["spec"]["nodeName"] for pod in lab.pods()}
    lab.create(forged(lab.pods()[0]))
    lab.delete(kinds.POD, "default", lab.pods()[-1]["metadata"]["name"])
    lab.advance(60)
    after = {_rank(pod): pod["spec"].get("nodeName") for pod in lab.pods() if "thief" not in pod["metadata"]["name"]}
    assert after == before


def _rank(pod: Raw) -> str:
    return str(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])


def job(name: str, above: Raw, **more: Any) -> Raw:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {}}]}
    meta = {"name": name, "namespace": "default", "ownerReferences": owner(above), **more}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": {"spec": pod}}}


def test_a_job_that_names_an_admitted_job_as_its_owner_gets_a_workload_of_its_own() -> None:
    lab = running(JOB)
    made = lab.create(job("thief", lab.get(kinds.JOB, "one"), labels={f"{PREFIX}queue-name": "lq"}))
    lab.advance(10)
    owners = [one["metadata"]["ownerReferences"][0]["uid"] for one in lab.workloads()]
    assert made["metadata"]["uid"] in owners


def test_the_pods_of_a_job_that_is_not_a_child_of_its_owner_are_not_members() -> None:
    lab = running(JOB_SET)
    pods = lab.pods()
    false = lab.create(job("thief", lab.get(kinds.JOB_SET, "one")))
    lab.advance(2)
    uid = {"batch.kubernetes.io/controller-uid": false["metadata"]["uid"]}
    steal(lab, ownerReferences=owner(false), labels={**pods[0]["metadata"]["labels"], **uid})
    assert stays_gated(lab)


def test_a_bare_pod_that_names_the_workload_of_a_set_is_no_pod_of_the_set() -> None:
    lab = running(STATEFUL_SET)
    steal(lab)
    assert is_gated(thief(lab))


def test_a_pod_that_names_a_group_workload_but_not_the_group_stays_gated() -> None:
    lab = running(GROUP)
    like = lab.pods()[0]
    pod = forged(like)
    for part in ("labels", "annotations"):
        pod["metadata"][part] = {key: one for key, one in pod["metadata"][part].items() if "pod-group" not in key}
    lab.create(pod)
    lab.delete(kinds.POD, "default", like["metadata"]["name"])
    lab.advance(60)
    assert stays_gated(lab)


def test_the_room_of_a_bare_pod_counts_although_it_names_a_workload() -> None:
    """Were it taken for a member, its room would count as the workload's, and other jobs would be promised it."""
    lab = running(JOB)
    like = lab.pods()[0]
    pod = forged(like)
    pod["spec"].pop("schedulingGates")
    pod["spec"]["nodeName"] = like["spec"]["nodeName"]
    lab.create(pod)
    lab.delete(kinds.POD, "default", like["metadata"]["name"])
    lab.settle()
    assert "default/aaa-thief" in lab.cluster.control_plane.cache.world.other_pods


def test_members_of_every_case_are_admitted_and_run() -> None:
    for case in (JOB, JOB_SET, TRAIN_JOB, APP_WRAPPER, STATEFUL_SET, GROUP):
        lab = running(case)
        assert all(condition(one, "Admitted") for one in lab.workloads())
        assert not [one for one in lab.all(kinds.EVENT) if one["reason"] == "NotAMember"]
