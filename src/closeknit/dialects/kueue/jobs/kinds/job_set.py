"""JobSet: several Jobs that belong together, each with a number of replicas."""

from __future__ import annotations

from .....model.request import Ranks
from .... import cel
from .... import known_fields as known
from ....cel import ANNOTATIONS
from ....field import Field
from ....served import Kind
from ..integration import Counts, Integration, Templates, ended
from ..job_kind import AGE, ALL_RULES, AdmissionHold, Column
from ..raw import Raw, at, items, mapping, number, put
from ..roles import Role, check_names, product
from .job import COMPLETION_INDEX, pods, pods_in

JOB_INDEX = "jobset.sigs.k8s.io/job-index"
_TEMPLATE = ("template", "spec", "template")


def roles(body: Field) -> list[Role]:
    found = []
    jobs = body.at("spec", "replicatedJobs")
    if jobs.value in (None, []):
        jobs.wrong("is missing", "add at least one replicated job")
    for one in jobs.items():
        replicas = one.at("replicas")
        ranks = Ranks(COMPLETION_INDEX, JOB_INDEX, replicas.count(1))
        count = product(replicas, pods_in(one.at("template", "spec")))
        found.append(Role(one.at("name").text().lower(), count, one.at(*_TEMPLATE), ranks))
    check_names([one.at("name") for one in jobs.items()])
    return found


def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    jobs = [put(one, _TEMPLATE, templates[one["name"].lower()]) for one in items(raw, "spec", "replicatedJobs")]
    return put(raw, ("spec", "replicatedJobs"), jobs)


def is_active(raw: Raw) -> bool:
    return any(number(one, "active") for one in items(raw, "status", "replicatedJobsStatus"))


def pods_ready(raw: Raw) -> bool:
    """Whether every replica of every job is ready or has succeeded."""
    wanted = sum(number(one, "replicas", default=1) for one in items(raw, "spec", "replicatedJobs"))
    statuses = items(raw, "status", "replicatedJobsStatus")
    return sum(number(one, "ready") + number(one, "succeeded") for one in statuses) == wanted


def reclaimable(raw: Raw) -> dict[str, int]:
    """The pods of replicas that succeeded."""
    succeeded = {at(one, "name"): number(one, "succeeded") for one in items(raw, "status", "replicatedJobsStatus")}
    done = {}
    for one in items(raw, "spec", "replicatedJobs"):
        replicas = succeeded.get(one["name"], 0)
        if 0 < replicas <= number(one, "replicas", default=1):
            done[one["name"].lower()] = replicas * pods(mapping(one, "template", "spec"))
    return done


def _sets() -> str:
    pods = cel.at("template.spec.parallelism", "1", "j")
    count = f"{cel.at('replicas', '1', 'j')} * {cel.smaller(pods, cel.at('template.spec.completions', pods, 'j'))}"
    path = f'"spec.replicatedJobs[" + string(i) + {cel.text("].template.spec.template" + ANNOTATIONS)}'
    one = cel.one_set("j.?template.?spec.?template", path, count)
    return f"{cel.at('spec.replicatedJobs', '[]')}.transformList(i, j, {one})"


JOB_SET = Integration(
    served=Kind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    framework="jobset.x-k8s.io/jobset",
    description="Several Jobs that run as one.",
    roles=roles,
    rules=ALL_RULES,
    fields={
        "spec": known.JOB_SET,
        "spec.replicatedJobs[]": known.REPLICATED_JOB,
        "spec.replicatedJobs[].template": known.TEMPLATE,
        "spec.replicatedJobs[].template.spec": known.JOB,
    },
    between="spec.replicatedJobs[].template.metadata",
    columns=(
        Column("TerminalState", "status.terminalState"),
        Column("Restarts", "status.restarts"),
        Column("Completed", "status.conditions", condition="Completed"),
        Column("Suspended", "spec.suspend"),
        AGE,
    ),
    with_templates=with_templates,
    finished=ended("Completed", "Failed"),
    is_active=is_active,
    ready_in=pods_ready,
    reclaimable_in=reclaimable,
    held=AdmissionHold(sets=_sets()),
)
