"""Job and JobSet: pods that run to completion, each with an index."""

from __future__ import annotations

from ....model.request import Ranks
from ...field import Field
from .. import keys
from ..topology_request import AnnotationError, parse_int32
from .roles import MAIN, Role, check_names, product

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"


def job(body: Field) -> list[Role]:
    count = pods(body.at("spec"))
    _check_least(body.at("metadata", "annotations", keys.MIN_PARALLELISM), count)
    return [Role(MAIN, count, body.at("spec", "template"), Ranks(COMPLETION_INDEX))]


def pods(spec: Field) -> int:
    """How many pods of a Job run at once; without `completions` nothing bounds its parallelism."""
    parallelism = spec.at("parallelism").count(1)
    return min(parallelism, spec.at("completions").count(parallelism))


def _check_least(least: Field, count: int) -> None:
    """A job may start with fewer pods, but with at least one, and with fewer than all."""
    if not least.given:
        return
    try:
        number = parse_int32(least.text())
    except AnnotationError as error:
        least.wrong(error.text, error.remedy)
        return
    if not 0 < number < count:
        least.wrong(f"is {number}", f"give a number between 0 and {count}, the pods of the job")


def job_set(body: Field) -> list[Role]:
    roles = []
    jobs = body.at("spec", "replicatedJobs")
    if jobs.value in (None, []):
        jobs.wrong("is missing", "give at least one replicated job")
    for one in jobs.items():
        replicas = one.at("replicas")
        ranks = Ranks(COMPLETION_INDEX, JOB_INDEX, replicas.count(1))
        count = product(replicas, pods(one.at("template", "spec")))
        roles.append(Role(one.at("name").text().lower(), count, one.at("template", "spec", "template"), ranks))
    check_names([one.at("name") for one in jobs.items()])
    return roles
