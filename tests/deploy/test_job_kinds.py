"""A descriptor is all that a kind of job needs: every room has it in its tables."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from closeknit.cli.columns import JOBS
from closeknit.cluster.embedded.descriptions import about
from closeknit.cluster.embedded.rest.tables import columns
from closeknit.cluster.embedded.rules.settings import AdmissionSettings
from closeknit.cluster.embedded.schema import schema_of
from closeknit.cluster.embedded.standins import standins
from closeknit.cluster.kinds import KINDS, kind_of
from closeknit.deploy.job_kinds import page
from closeknit.deploy.policies import policies
from closeknit.deploy.rbac import CLUSTER_WIDE
from closeknit.dialects.kueue.jobs import READ_KINDS
from closeknit.dialects.kueue.jobs.kinds import JOB_KINDS, Integration, JobKind
from closeknit.model.gates import Gates

RUN = [one for one in JOB_KINDS if one.hosted and one.framework]
SUSPENDED = [one for one in RUN if isinstance(one, Integration) and one.held is not None]


def named(kinds: Iterable[JobKind]) -> list[object]:
    return [pytest.param(one, id=one.kind) for one in kinds]


@pytest.mark.parametrize("job", named(RUN))
def test_it_is_served_described_and_shown(job: JobKind) -> None:
    assert job.served in KINDS
    assert kind_of(job.served.api_version, job.kind) is job.served
    assert schema_of(job.served) is not None
    assert about(job.kind) == job.description != ""
    shown = [one["name"] for one in columns(job.served)]
    assert job.served.is_built_in or shown == ["Name", *(one.name for one in job.columns)]
    assert job.kind == "Pod" or job.owner is not None or job.served in JOBS


@pytest.mark.parametrize("job", named(one for one in JOB_KINDS if one.kind != "Pod"))
def test_it_is_placed_from_files_and_documented(job: JobKind) -> None:
    assert f"{job.group}/{job.kind}" in READ_KINDS
    assert f"| {job.kind} | `{job.served.api_version}` |" in page()


@pytest.mark.parametrize("job", named(RUN))
def test_policies_hold_and_judge_it(job: JobKind) -> None:
    found = [
        one
        for one in policies(AdmissionSettings(Gates.profile("closeknit")))
        if one["kind"].endswith("AdmissionPolicy")
    ]
    about = [one for one in found if one["metadata"]["name"] == f"closeknit-{job.served.plural}"]
    assert {one["kind"] for one in about} == {"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"}


@pytest.mark.parametrize("job", named(SUSPENDED))
def test_the_controller_may_follow_and_change_it(job: JobKind) -> None:
    verbs = {verb for one in CLUSTER_WIDE if job.served in one.kinds and not one.part for verb in one.verbs}
    assert verbs >= {"get", "list", "watch", "update"}


@pytest.mark.parametrize("job", named(one for one in RUN if not one.served.is_built_in))
def test_the_embedded_host_runs_it(job: JobKind) -> None:
    assert job.served in [getattr(one, "kind", None) for one in standins()]
