"""The observed state of a Job: its active pods, the ended ones that are not counted yet, and the resulting counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...port import Raw
from . import index_list
from .children import is_deleting, number, phase
from .job_failure import COUNTS, PodFailureAction, verdict
from .job_pods import FAILURES, IGNORED, failed_before, ignored_before, index_of, is_tracked


@dataclass(slots=True)
class ObservedJob:
    """`succeeded` and `failed` are ended pods that were not counted before; `successes` and `failures` include them."""

    job: Raw
    now: float
    indexed: bool
    completions: int | None
    parallelism: int
    per_index: int | None
    """backoffLimitPerIndex"""
    active: list[Raw] = field(default_factory=list)
    terminating: int = 0
    """The number of terminating pods."""
    going: list[Raw] = field(default_factory=list)
    """Terminating pods that are not counted yet."""
    made: int = 0
    """The number of pods that this reconcile creates."""
    succeeded: list[Raw] = field(default_factory=list)
    failed: list[Raw] = field(default_factory=list)
    verdicts: dict[str, PodFailureAction] = field(default_factory=dict)
    """The actions for the failed pods, by uid."""
    done: set[int] = field(default_factory=set)
    """Indexes that succeeded."""
    lost: set[int] = field(default_factory=set)
    """Indexes that failed permanently."""
    held: dict[int, Raw] = field(default_factory=dict)
    """The failed pod of an index that will be retried; it is counted once its successor exists."""
    successes: int = 0
    failures: int = 0

    @property
    def spec(self) -> Raw:
        spec: Raw = self.job["spec"]
        return spec

    @property
    def status(self) -> Raw:
        return self.job.get("status") or {}

    def action(self, pod: Raw) -> str:
        return self.verdicts[pod["metadata"]["uid"]].action

    def release(self, index: int) -> None:
        """Count the held pod of an index."""
        self.failures += self.action(self.held.pop(index)) != "Ignore"


def look_at(job: Raw, pods: list[Raw], now: float) -> ObservedJob:
    spec, status = job["spec"], job.get("status") or {}
    indexed = spec.get("completionMode") == "Indexed"
    completions = spec.get("completions")
    if completions is None and spec.get("parallelism") is None:
        completions = 1
    look = ObservedJob(
        job, now, indexed, completions, number(spec.get("parallelism"), 1), spec.get("backoffLimitPerIndex")
    )
    look.failures = number(status.get("failed"), 0)
    _sort_out(look, pods)
    if indexed:
        _count_indexes(look)
    else:
        look.successes = number(status.get("succeeded"), 0) + len(look.succeeded)
    if look.per_index is None:
        look.failures += sum(one.action != "Ignore" for one in look.verdicts.values())
    else:
        _count_failures_by_index(look)
    return look


def counts_when_deleted(spec: Raw) -> bool:
    """Whether a pod counts as failed when it is deleted, and not only when it has stopped."""
    return spec.get("podReplacementPolicy", "TerminatingOrFailed") != "Failed" and spec.get("podFailurePolicy") is None


def _sort_out(look: ObservedJob, pods: list[Raw]) -> None:
    counts = counts_when_deleted(look.spec)
    for one in pods:
        state, deleting = phase(one), is_deleting(one)
        if deleting and state not in ("Succeeded", "Failed"):
            look.terminating += 1
        if state == "Succeeded":
            if is_tracked(one):
                look.succeeded.append(one)
        elif state == "Failed" or (deleting and counts):
            if is_tracked(one):
                look.failed.append(one)
                look.verdicts[one["metadata"]["uid"]] = verdict(look.job, one) if state == "Failed" else COUNTS
        elif deleting:
            look.going.append(one)
        else:
            look.active.append(one)


def _count_indexes(look: ObservedJob) -> None:
    top = look.completions or 0
    done = index_list.read(look.status.get("completedIndexes"))
    done.update(index_of(one) for one in look.succeeded)
    look.done = {index for index in done if 0 <= index < top}
    look.lost = index_list.read(look.status.get("failedIndexes"))
    look.successes = len(look.done)


def _count_failures_by_index(look: ObservedJob) -> None:
    """Charge each failure to its index, which fails or is retried."""
    assert look.per_index is not None
    running = {index_of(one) for one in look.active}
    for one in sorted(look.failed, key=failed_before, reverse=True):
        index, action = index_of(one), look.action(one)
        if action == "FailIndex" or (action != "Ignore" and failed_before(one) + 1 > look.per_index):
            look.lost.add(index)
            look.failures += 1
        elif index in look.done or index in look.lost or index in running or index in look.held:
            look.failures += action != "Ignore"
        else:
            look.held[index] = one


def counts_after(look: ObservedJob, before: Raw | None) -> dict[str, str]:
    """The annotations of an index's next pod with its failures so far; `before` is the pod that failed last."""
    if look.per_index is None:
        return {}
    if before is None:
        return {FAILURES: "0"}
    ignored = look.action(before) == "Ignore"
    result = {FAILURES: str(failed_before(before) + (not ignored))}
    if ignored or ignored_before(before):
        result[IGNORED] = str(ignored_before(before) + ignored)
    return result
