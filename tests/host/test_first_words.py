"""Every pending workload gets PodsReady=False, in the same write as its first other status."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.port import Update
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from host.centre import centre
from host.jobs_of_each_kind import GROUP, JOB, Case
from host.lab import Lab
from host.late import Late

Raw = dict[str, Any]
BARE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: bare, namespace: default}
spec:
  queueName: lq
  podSets:
  - name: main
    count: 1
    template: {spec: {restartPolicy: Never, containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]}}
"""


def begun(manifest: str, profile: str = "closeknit") -> tuple[Lab, list[Raw]]:
    """The first writes to the status of its Workload."""
    lab = centre(Lab(EmbeddedOptions(seed=1, gates=Gates.profile(profile))))
    late = Late(lab.cluster)
    lab.apply(manifest)
    lab.advance(1)
    written = [one.body["status"] for one in late.writes if isinstance(one, Update) and one.kind is kinds.WORKLOAD]
    return lab, [one for one in written if one]


def said(status: Raw) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status.get("conditions") or ()}


@pytest.mark.parametrize("profile", ["closeknit", "kueue"])
@pytest.mark.parametrize("case", [JOB, GROUP], ids=lambda case: case.name)
def test_the_condition_is_written_with_the_admission(case: Case, profile: str) -> None:
    _, written = begun(case.manifest, profile)
    assert said(written[0])["Admitted"][0] == "True"
    assert said(written[0])["PodsReady"] == ("False", "WaitForStart")
    assert len({str(said(one)) for one in written}) == len(written)


def test_the_condition_is_written_with_the_pending_reason() -> None:
    _, written = begun(JOB.manifest.replace(": 5\n", ": 5000\n"))
    assert said(written[0])["QuotaReserved"][0] == "False"
    assert said(written[0])["PodsReady"] == ("False", "WaitForStart")


@pytest.mark.parametrize("case", [JOB, GROUP], ids=lambda case: case.name)
def test_the_condition_is_written_alone_without_a_decision(case: Case) -> None:
    lab = centre()
    lab.cluster.control_plane.cache.scheduler.cycle = lambda now: []  # type: ignore[method-assign]
    lab.apply(case.manifest)
    lab.advance(2)
    [workload] = lab.workloads()
    assert said(workload.get("status") or {}) == {}
    lab.advance(10)
    [workload] = lab.workloads()
    assert said(workload["status"]) == {"PodsReady": ("False", "WaitForStart")}


def test_a_workload_without_a_job_has_no_such_condition() -> None:
    lab, _ = begun(BARE)
    [workload] = lab.workloads()
    assert said(workload["status"])["Admitted"][0] == "True"
    assert "PodsReady" not in said(workload["status"])
