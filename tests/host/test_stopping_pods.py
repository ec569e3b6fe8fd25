"""A job that waits for pods which are stopping says so, and does not speak of a preemption."""

from __future__ import annotations

from closeknit.cluster import kinds
from host.centre import centre
from host.jobs_of_each_kind import JOB


def test_a_job_that_waits_for_stopping_pods_does_not_wait_for_a_preemption() -> None:
    lab = centre(cpu=2)
    whole = JOB.manifest.replace("20s", "1h").replace(": 5", ": 3")
    for name in ("a", "b", "c", "d"):
        lab.apply(whole.replace("name: one", f"name: {name}"))
    lab.advance(20)
    assert len(lab.pods()) == 12
    lab.delete(kinds.JOB, "default", "a")
    lab.apply(whole)
    lab.settle()
    (waiting,) = [one for one in lab.workloads() if one["metadata"]["name"].startswith("job-one")]
    (told,) = [one for one in waiting["status"]["conditions"] if one["type"] == "QuotaReserved"]
    assert told["reason"] == "TopologyPlacementFailed"
    assert told["message"].endswith("Pods that are stopping have yet to leave their nodes")
