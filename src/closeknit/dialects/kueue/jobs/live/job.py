"""Job: pods that run to completion. It is stopped in steps, since Kubernetes takes no new template from one that ran.

suspended, marked as stopping ──▶ its start time is forgotten ──▶ templates and counts as submitted, the mark gone
"""

from __future__ import annotations

from collections.abc import Callable

from .....model.request import Ranks
from .....model.shape import whole_number
from ... import keys
from .. import marks
from ..batch import COMPLETION_INDEX
from ..integration import Counts, Finished, Integration, Sets, Step, Templates, form
from ..raw import Raw, at, condition, mapping, number, put, without
from ..roles import MAIN

RANKS = Ranks(COMPLETION_INDEX)
INDEXED = "Indexed"
SERVER_LABELS = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
)
_MARK = ("metadata", "annotations", marks.STOPPING)


def is_suspended(raw: Raw) -> bool:
    return at(raw, "spec", "suspend") is True


def suspended(raw: Raw, yes: bool) -> Raw:
    return put(raw, ("spec", "suspend"), yes)


def pods(spec: Raw) -> int:
    """How many pods run at once; without `completions` nothing bounds the parallelism."""
    parallelism = number(spec, "parallelism", default=1)
    return min(parallelism, number(spec, "completions", default=parallelism))


def pod_sets(raw: Raw) -> Sets:
    spec = mapping(raw, "spec")
    count = pods(spec)
    return (form(MAIN, count, mapping(spec, "template"), RANKS, least(raw, count)),)


def least(raw: Raw, count: int) -> int | None:
    """With how few pods it may start. It is said even of a job that did start with as few."""
    fewest = whole_number(str(at(raw, "metadata", "annotations", keys.MIN_PARALLELISM) or ""))
    return fewest if fewest is not None and 0 < fewest <= count else None


def with_templates(raw: Raw, templates: Templates, counts: Counts) -> Raw:
    """Counts are put back only where the job may start with fewer pods."""
    spec = {**mapping(raw, "spec"), "template": _with_server_labels(templates[MAIN], raw)}
    if at(raw, "metadata", "annotations", keys.MIN_PARALLELISM):
        spec["parallelism"] = counts[MAIN]
        if at(raw, "metadata", "annotations", marks.SAME_COMPLETIONS) == "true":
            spec["completions"] = counts[MAIN]
    return {**raw, "spec": spec}


def _with_server_labels(template: Raw, raw: Raw) -> Raw:
    """With the labels that the server gave the job's pods and insists on; Workloads that Kueue made lack them."""
    labels, now = mapping(template, "metadata", "labels"), mapping(raw, "spec", "template", "metadata", "labels")
    lost = {key: now[key] for key in SERVER_LABELS if key in now and key not in labels}
    return put(template, ("metadata", "labels"), {**labels, **lost}) if lost else template


def finished(raw: Raw) -> Finished | None:
    end = condition(raw, "Complete", "Failed")
    return None if end is None else Finished(end["type"] == "Complete", end.get("message") or "")


def is_active(raw: Raw) -> bool:
    return number(raw, "status", "active") > 0


def pods_ready(raw: Raw) -> bool:
    status = mapping(raw, "status")
    uncounted = len(at(status, "uncountedTerminatedPods", "succeeded") or ())
    return number(status, "succeeded") + number(status, "ready") + uncounted >= pods(mapping(raw, "spec"))


def reclaimable(raw: Raw) -> dict[str, int]:
    """Pods whose turn will not come any more: fewer completions are left than pods may run."""
    spec = mapping(raw, "spec")
    parallelism = number(spec, "parallelism", default=1)
    ended = terminal(raw)
    if parallelism <= 1 or not ended:
        return {}
    left = max(0, number(spec, "completions", default=parallelism) - ended)
    return {MAIN: parallelism - left} if left < parallelism else {}


def terminal(raw: Raw) -> int:
    """How many completions are over: those that succeeded; where pods have an index, those that failed for good too."""
    spec, status = mapping(raw, "spec"), mapping(raw, "status")
    if spec.get("completionMode") != INDEXED:
        return number(status, "succeeded")
    completions = number(spec, "completions")
    spans = [*_spans(status.get("completedIndexes")), *_spans(status.get("failedIndexes"))]
    return _covered(spans, completions)


def _spans(text: object) -> list[tuple[int, int]]:
    """`1,3-5` is [(1, 1), (3, 5)]; what cannot be read is left out."""
    spans = []
    for piece in text.split(",") if isinstance(text, str) and text else ():
        first, dash, last = piece.partition("-")
        start, end = whole_number(first), whole_number(last if dash else first)
        if start is not None and end is not None:
            spans.append((start, end))
    return spans


def _covered(spans: list[tuple[int, int]], bound: int) -> int:
    """How many different indexes below the bound are in any of the spans."""
    total, reached = 0, -1
    for start, end in sorted(spans):
        start, end = max(start, reached + 1), min(end, bound - 1)
        if start <= end:
            total, reached = total + end - start + 1, end
    return total


def stop(raw: Raw, restore: Callable[[Raw], Raw]) -> Step | None:
    """Nobody may change the template of a job that has a start time, or pods that were not told to go yet."""
    if not is_suspended(raw):
        return Step(suspended(put(raw, _MARK, "true"), True))
    if at(raw, *_MARK) is None:
        return None
    if at(raw, "status", "startTime") is not None:
        return Step(without(raw, ("status", "startTime")), "status")
    return None if is_active(raw) else Step(_unmarked(restore(raw)))


def _unmarked(raw: Raw) -> Raw:
    plain = without(raw, _MARK)
    return plain if at(plain, *_MARK[:2]) else without(plain, _MARK[:2])


JOB = Integration(
    "batch",
    "Job",
    "batch/job",
    is_suspended,
    suspended,
    pod_sets,
    with_templates,
    finished,
    is_active,
    pods_ready,
    reclaimable,
    stop=stop,
    may_be_elastic=True,
)
