"""A queue with a MultiKueue check and a flavor with a topology, on the whole embedded host: it is inactive."""

from __future__ import annotations

from closeknit.cluster import kinds
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Raw

CHECK = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: multi}
spec: {controllerName: kueue.x-k8s.io/multikueue}
"""


def found(raw: Raw, kind: str) -> Raw:
    return next(one for one in raw["status"]["conditions"] if one["type"] == kind)


def test_such_a_queue_is_inactive_and_its_job_says_so() -> None:
    lab = centre()
    lab.apply(CHECK)
    strategy = {"admissionChecks": [{"name": "multi"}]}
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": strategy}})
    lab.apply(JOB.manifest)
    lab.advance(10)
    active = found(lab.get(kinds.CLUSTER_QUEUE, "cq"), "Active")
    assert (active["status"], active["reason"]) == ("False", "NotSupportedWithTopologyAwareScheduling")
    assert "TAS flavor(s) gpu cannot be used with MultiKueue AdmissionCheck(s): multi" in active["message"]
    waits = found(lab.workloads()[0], "QuotaReserved")
    assert (waits["status"], waits["message"]) == ("False", "ClusterQueue cq is inactive")
    lab.patch(kinds.CLUSTER_QUEUE, "", "cq", {"spec": {"admissionChecksStrategy": None}})
    lab.advance(10)
    assert found(lab.workloads()[0], "Admitted")["status"] == "True"
