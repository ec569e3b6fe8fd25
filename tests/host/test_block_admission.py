"""`waitForPodsReady.blockAdmission` and LimitRanges with a ratio, on the whole embedded host."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from closeknit.model.settings import PodsReady, Settings
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab, Raw, condition

FIRST = JOB.manifest.replace("20s", "1h")
SECOND, THIRD = (FIRST.replace("name: one", f"name: {name}") for name in ("two", "three"))
SLOW = "closeknit.dev/start-time: 30s"


def lab(blocks: bool) -> Lab:
    return centre(Lab(EmbeddedOptions(settings=Settings(pods_ready=PodsReady(blocks=blocks)), seed=1)))


def starting_slowly(manifest: str) -> str:
    return manifest.replace("closeknit.dev/run-time: 1h", f"closeknit.dev/run-time: 1h\n        {SLOW}")


def admitted(made: Lab) -> int:
    return sum(condition(one, "Admitted") for one in made.workloads())


def found(raw: Raw, kind: str) -> Raw:
    return next(one for one in raw["status"]["conditions"] if one["type"] == kind)


def test_workloads_are_admitted_one_after_the_other_when_their_pods_are_ready() -> None:
    made = lab(blocks=True)
    made.apply(starting_slowly(FIRST))
    made.advance(1)
    made.apply(SECOND)
    made.apply(THIRD)
    made.advance(5)
    assert admitted(made) == 1
    [second] = [one for one in made.workloads() if one["metadata"]["name"].startswith("job-two")]
    told = found(second, "QuotaReserved")
    assert told["reason"] == "WaitingForPodsReady"
    assert told["message"] == "waiting for all admitted workloads to be in PodsReady condition"
    made.advance(60)
    assert admitted(made) == 3
    assert all(condition(one, "PodsReady") for one in made.workloads())


def test_without_it_they_are_admitted_together() -> None:
    made = lab(blocks=False)
    made.apply(starting_slowly(FIRST))
    made.apply(SECOND)
    made.advance(5)
    assert admitted(made) == 2


LIMITS = """
apiVersion: v1
kind: LimitRange
metadata: {name: ratio, namespace: default}
spec: {limits: [{type: Container, maxLimitRequestRatio: {cpu: "2"}}]}
"""


@pytest.mark.parametrize(("limit", "works"), [("4", True), ("5", False)])
def test_a_job_whose_limits_exceed_the_ratio_is_not_admitted(limit: str, works: bool) -> None:
    made = centre()
    made.apply(LIMITS)
    made.apply(FIRST.replace('requests: {cpu: "2"', f'limits: {{cpu: "{limit}"}}, requests: {{cpu: "2"'))
    made.advance(10)
    [workload] = made.workloads()
    assert condition(workload, "Admitted") == works
    if not works:
        reserved = found(workload, "QuotaReserved")
        assert reserved["reason"] == "Misconfigured"
        assert "maxLimitRequestRatio" in reserved["message"]
        assert made.all(kinds.POD) == []


def test_in_kueues_profile_it_is_admitted_and_has_no_pods() -> None:
    made = centre(Lab(EmbeddedOptions(gates=Gates.profile("kueue"), seed=1)))
    made.apply(LIMITS)
    made.apply(FIRST.replace('requests: {cpu: "2"', 'limits: {cpu: "5"}, requests: {cpu: "2"'))
    made.advance(10)
    assert admitted(made) == 1
    assert made.all(kinds.POD) == []
