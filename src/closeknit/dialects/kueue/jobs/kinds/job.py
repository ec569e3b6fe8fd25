"""Job: pods that run to completion. It is stopped in steps, since the template of a Job that has started is immutable.

suspend, mark as stopping ──▶ clear the start time ──▶ restore templates and counts, remove the mark
"""

from __future__ import annotations

from collections.abc import Callable

from .....model.request import Ranks
from .....model.shape import whole_number
from .... import cel
from .... import known_fields as known
from ....cel import ANNOTATIONS, IS_UPDATE, PolicyCheck, all_of, any_of, has_note, is_count, negated, note, same, when
from ....field import Field
from ....served import Kind
from ... import keys
from ...topology_request import AnnotationError, parse_int32
from .. import marks
from ..integration import Counts, Integration, JobWrite, Sets, Templates, ended, form, is_suspended, suspended
from ..job_kind import AdmissionHold, JobKind
from ..raw import Raw, at, mapping, number, put, without
from ..roles import MAIN, Role, ValidationRules

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
RANKS = Ranks(COMPLETION_INDEX)
INDEXED = "Indexed"
NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")
SERVER_LABELS = ("batch.kubernetes.io/controller-uid", "controller-uid", *NAME_LABELS)
_MARK = ("metadata", "annotations", marks.STOPPING)


def roles(body: Field) -> list[Role]:
    count = pods_in(body.at("spec"))
    _check_least(body.at("metadata", "annotations", keys.MIN_PARALLELISM), count)
    return [Role(MAIN, count, body.at("spec", "template"), RANKS)]


def pods_in(spec: Field) -> int:
    """How many pods of a Job run at once: its parallelism, bounded by `completions` if that is set."""
    parallelism = spec.at("parallelism").count(1)
    return min(parallelism, spec.at("completions").count(parallelism))


def _check_least(least: Field, count: int) -> None:
    """Check that the minimum is at least one pod, and less than all."""
    if not least.given:
        return
    try:
        number = parse_int32(least.text())
    except AnnotationError as error:
        least.wrong(error.text, error.remedy)
        return
    if not 0 < number < count:
        least.wrong(f"is {number}", f"use a number above 0 and below {count}, the number of pods")


def pods(spec: Raw) -> int:
    """How many pods run at once: the parallelism, bounded by `completions` if that is set."""
    parallelism = number(spec, "parallelism", default=1)
    return min(parallelism, number(spec, "completions", default=parallelism))


def pod_sets(raw: Raw) -> Sets:
    spec = mapping(raw, "spec")
    count = pods(spec)
    return (form(MAIN, count, mapping(spec, "template"), RANKS, least(raw, count)),)


def least(raw: Raw, count: int) -> int | None:
    """The minimum number of pods for partial admission, also of a job that has started with the minimum."""
    fewest = whole_number(str(at(raw, "metadata", "annotations", keys.MIN_PARALLELISM) or ""))
    return fewest if fewest is not None and 0 < fewest <= count else None


def with_templates(raw: Raw, templates: Templates, counts: Counts) -> Raw:
    """Set the template, and the counts if the job allows partial admission."""
    spec = {**mapping(raw, "spec"), "template": _with_server_labels(templates[MAIN], raw)}
    if at(raw, "metadata", "annotations", keys.MIN_PARALLELISM):
        spec["parallelism"] = counts[MAIN]
        if at(raw, "metadata", "annotations", marks.SAME_COMPLETIONS) == "true":
            spec["completions"] = counts[MAIN]
    return {**raw, "spec": spec}


def _with_server_labels(template: Raw, raw: Raw) -> Raw:
    """Add the labels that the API server sets and requires; Workloads that Kueue created lack them."""
    labels, now = mapping(template, "metadata", "labels"), mapping(raw, "spec", "template", "metadata", "labels")
    lost = {key: now[key] for key in SERVER_LABELS if key in now and key not in labels}
    return put(template, ("metadata", "labels"), {**labels, **lost}) if lost else template


def is_active(raw: Raw) -> bool:
    return number(raw, "status", "active") > 0


def pods_ready(raw: Raw) -> bool:
    status = mapping(raw, "status")
    uncounted = len(at(status, "uncountedTerminatedPods", "succeeded") or ())
    return number(status, "succeeded") + number(status, "ready") + uncounted >= pods(mapping(raw, "spec"))


def reclaimable(raw: Raw) -> dict[str, int]:
    """Pods that will not run, since fewer completions are left than pods may run at once."""
    spec = mapping(raw, "spec")
    parallelism = number(spec, "parallelism", default=1)
    ended = terminal(raw)
    if parallelism <= 1 or not ended:
        return {}
    left = max(0, number(spec, "completions", default=parallelism) - ended)
    return {MAIN: parallelism - left} if left < parallelism else {}


def terminal(raw: Raw) -> int:
    """How many completions are done: those that succeeded, and in Indexed mode also those that failed permanently."""
    spec, status = mapping(raw, "spec"), mapping(raw, "status")
    if spec.get("completionMode") != INDEXED:
        return number(status, "succeeded")
    completions = number(spec, "completions")
    spans = [*_spans(status.get("completedIndexes")), *_spans(status.get("failedIndexes"))]
    return _covered(spans, completions)


def _spans(text: object) -> list[tuple[int, int]]:
    """`1,3-5` is [(1, 1), (3, 5)]; unparsable pieces are left out."""
    spans = []
    for piece in text.split(",") if isinstance(text, str) and text else ():
        first, dash, last = piece.partition("-")
        start, end = whole_number(first), whole_number(last if dash else first)
        if start is not None and end is not None:
            spans.append((start, end))
    return spans


def _covered(spans: list[tuple[int, int]], bound: int) -> int:
    """How many distinct indexes below the bound are in any of the spans."""
    total, reached = 0, -1
    for start, end in sorted(spans):
        start, end = max(start, reached + 1), min(end, bound - 1)
        if start <= end:
            total, reached = total + end - start + 1, end
    return total


def stop(raw: Raw, restore: Callable[[Raw], Raw]) -> JobWrite | None:
    """The next step; the API server refuses a new template while the job has a start time or active pods."""
    if not is_suspended(raw):
        return JobWrite(suspended(put(raw, _MARK, "true"), True))
    if at(raw, *_MARK) is None:
        return None
    if at(raw, "status", "startTime") is not None:
        return JobWrite(without(raw, ("status", "startTime")), "status")
    return None if is_active(raw) else JobWrite(_unmarked(restore(raw)))


def _unmarked(raw: Raw) -> Raw:
    plain = without(raw, _MARK)
    return plain if at(plain, *_MARK[:2]) else without(plain, _MARK[:2])


_PODS = cel.at("spec.parallelism", "1")
_PARTIAL, _FEWEST = has_note(keys.MIN_PARALLELISM), note(keys.MIN_PARALLELISM)
_IS_RUNNING = negated(cel.suspended("spec.suspend"))


def _completions() -> tuple[PolicyCheck, ...]:
    """The rules for the annotation that keeps completions equal to parallelism."""
    value, path = note(marks.SAME_COMPLETIONS), f"metadata.annotations[{marks.SAME_COMPLETIONS}]"
    given, yes = has_note(marks.SAME_COMPLETIONS), f"{value} in {cel.texts(cel.YES)}"
    indexed = f'{cel.at("spec.completionMode", cel.text("NonIndexed"))} == "Indexed"'
    equal = f"{cel.at('spec.completions', '-1')} == {_PODS}"
    told = f"must be equal to parallelism if {marks.SAME_COMPLETIONS} is true"
    return (
        PolicyCheck(when(given, f"{value} in {cel.texts((*cel.YES, *cel.NO))}"), path, "must be true or false"),
        PolicyCheck(when(yes, indexed), path, "requires completionMode Indexed"),
        PolicyCheck(when(all_of(yes, indexed), equal), "spec.completions", told),
    )


def _fewer() -> tuple[PolicyCheck, ...]:
    """The rules for the minimum number of pods, checked when that or the parallelism is set."""
    unsaid = all_of(f"{_FEWEST} == {note(keys.MIN_PARALLELISM, 'oldObject')}", same("spec.parallelism"))
    judged = any_of(f"!({IS_UPDATE})", all_of(cel.suspended("spec.suspend"), negated(unsaid)))
    ran = f"{cel.at('spec.suspend', 'false', 'oldObject')} != true"
    return (
        PolicyCheck(
            when(all_of(_PARTIAL, judged), all_of(is_count(_FEWEST), f"int({_FEWEST}) < {_PODS}")),
            f"metadata.annotations[{keys.MIN_PARALLELISM}]",
            "must be above 0 and below parallelism",
        ),
        PolicyCheck(
            when(all_of(IS_UPDATE, _PARTIAL, _IS_RUNNING, ran), same("spec.parallelism")),
            "spec.parallelism",
            "cannot be changed while a job with partial admission runs; stop the job first",
        ),
    )


_COUNT = cel.smaller(_PODS, cel.at("spec.completions", _PODS))

JOB = Integration(
    served=Kind("batch", "v1", "Job", "jobs", categories=("all",)),
    framework="batch/job",
    description="Runs pods until enough of them have succeeded.",
    roles=roles,
    rules=ValidationRules.COUNT | ValidationRules.ELASTIC,
    may_be_elastic=True,
    fields={"spec": known.JOB},
    sets_in=pod_sets,
    with_templates=with_templates,
    finished=ended("Complete", "Failed"),
    is_active=is_active,
    ready_in=pods_ready,
    reclaimable_in=reclaimable,
    stop=stop,
    held=AdmissionHold(
        sets=f"[{cel.one_set('object.?spec.?template', cel.text('spec.template' + ANNOTATIONS), _COUNT)}]",
        checks=(*_completions(), *_fewer()),
        unbounded=all_of(IS_UPDATE, any_of(_PARTIAL, f'{note(keys.ELASTIC)} == "true"')),
    ),
)

CRON_JOB = JobKind(
    served=Kind("batch", "v1", "CronJob", "cronjobs", True, ("cj",), categories=("all",)),
    description="Creates Jobs on a schedule.",
    roles=roles,
    rules=ValidationRules.COUNT | ValidationRules.ELASTIC,
    body=("spec", "jobTemplate"),
    owner=("Job", "batch"),
    fields={"spec": known.CRON_JOB, "spec.jobTemplate": known.TEMPLATE, "spec.jobTemplate.spec": known.JOB},
    between="spec.jobTemplate.metadata",
)
