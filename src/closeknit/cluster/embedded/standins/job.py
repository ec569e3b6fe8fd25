"""The Job controller: pods until enough have succeeded, or too many have failed.

A reconcile reads the job's pods and writes the difference; the status comes last. Every pod has a finalizer until it is
counted, as in Kubernetes, but counting it and removing the finalizer is one step here: `uncounted` is always empty.

    pods ──▶ ended pods: count them, or charge their index                                        job_look
         ──▶ is the outcome decided?                                                              job_outcome
         ──▶ if so:  delete the remaining pods; the job is finished when they are gone
             if not: create pods, delete pods, or back off after failures
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from ...kinds import JOB, POD
from ...port import Change, Delete, Key, Raw, key_of
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import children, controller_of, dispensable_first, family, is_deleting, status_write
from .job_failure import ended_at, pause
from .job_outcome import JobOutcome, deadline, decide
from .job_pods import (
    failed_before,
    ignored_before,
    index_of,
    is_tracked,
    new_pod,
    untracked,
)
from .job_status import finished_at, is_finished, status_of
from .observed_job import ObservedJob, counts_after, counts_when_deleted, look_at
from .pace import ReconcileThrottle, look_key
from .settings import DEFAULTS, StandinSettings

CONTROLLER = "kubernetes.io/job-controller"
AT_ONCE = 500
"""How many pods are created per reconcile; the rest follows immediately."""


class Streak(NamedTuple):
    """The number of consecutive failures, and the time of the last one."""

    length: int = 0
    last: float = 0.0


class Orphan(NamedTuple):
    """A pod whose job is gone."""

    pod: Key


class BatchJobs:
    watches = (JOB, POD)

    def __init__(self, settings: StandinSettings = DEFAULTS) -> None:
        self.settings = settings
        self._pace = ReconcileThrottle()
        self._streaks: dict[str, Streak] = {}

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is JOB:
            if change.type != "DELETED":
                return (change.key,)
            uid = change.object["metadata"]["uid"]
            self._streaks.pop(uid, None)
            return [Orphan(key_of(POD, one)) for one in store.owned(uid, POD)]
        return self._of_pod(store, change)

    def _of_pod(self, store: Store, change: Change) -> Iterator[Hashable]:
        """The keys of a pod change; a pod's job may have been deleted before a restart, unseen here."""
        yield from family(change, JOB)
        if change.type != "DELETED" and is_tracked(change.object) and not _has_job(store, change.object):
            yield Orphan(change.key)

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        if isinstance(key, Orphan):
            yield from _release(store, key.pod)
            return
        assert isinstance(key, Key)
        job = store.find(JOB, key.namespace, key.name)
        if job is None or job["spec"].get("managedBy") not in (None, CONTROLLER):
            return
        if is_finished(job):
            yield from self._finished(store, job, now)
            return
        at = self._pace.wait(look_key(job), now)
        if at is not None:
            yield ReconcileAt(at)
            return
        pods = children(store, job, POD)
        self._pace.looked(look_key(job), len(pods), now)
        yield from self._sync(job, pods, now)

    def _finished(self, store: Store, job: Raw, now: float) -> Iterator[Step]:
        uid = job["metadata"]["uid"]
        self._streaks.pop(uid, None)
        self._pace.looked(look_key(job), 0, now)
        for one in children(store, job, POD):
            if is_tracked(one):
                yield untracked(one)
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is None or is_deleting(job):
            return
        at = finished_at(job) + seconds
        if at > now:
            yield ReconcileAt(at)
        else:
            yield Delete(key_of(JOB, job), uid=uid, propagation="Foreground")

    def _sync(self, job: Raw, pods: list[Raw], now: float) -> Iterator[Step]:
        look = look_at(job, pods, now)
        self._note(look)
        outcome = decide(look)
        if outcome is not None:
            yield from self._wind_up(look, outcome)
        elif job["spec"].get("suspend"):
            yield from _delete_surplus(look, look.active)
        elif not is_deleting(job):
            yield from self._manage(look)
        kept = {id(one) for one in look.held.values()}
        for one in (*look.succeeded, *look.failed):
            if id(one) not in kept:
                yield untracked(one)
        yield from status_write(JOB, job, status_of(look, outcome))
        end = deadline(look)
        if end is not None and outcome is None:
            yield ReconcileAt(end)

    def _wind_up(self, look: ObservedJob, outcome: JobOutcome) -> Iterator[Step]:
        """Delete the pods that still run; they count as failed if the job fails."""
        for index in tuple(look.held):
            look.release(index)
        if outcome.succeeds:
            yield from _delete_surplus(look, look.active)
            return
        for one in look.active:
            yield Delete(key_of(POD, one), uid=one["metadata"]["uid"])
            look.terminating += bool(one["spec"].get("nodeName"))
            if counts_when_deleted(look.spec):
                look.failures += 1
                yield untracked(one)
        look.active = []

    # How many pods

    def _manage(self, look: ObservedJob) -> Iterator[Step]:
        if look.indexed and look.completions is not None:
            top = look.completions
            yield from _delete_surplus(look, [one for one in look.active if not 0 <= index_of(one) < top])
        wanted = _wanted(look)
        surplus = len(look.active) - wanted
        if surplus > 0:
            yield from _delete_surplus(look, dispensable_first(look.active, index_of)[:surplus])
            return
        waits = look.spec.get("podReplacementPolicy") == "Failed"
        missing = wanted - len(look.active) - (look.terminating if waits else 0)
        if missing > AT_ONCE:
            self._pace.looked(look_key(look.job), 0, look.now)
            missing = AT_ONCE
            yield ReconcileAt(look.now)
        if missing <= 0:
            return
        at = self._next_try(look)
        if at > look.now:
            yield ReconcileAt(at)
        elif look.indexed:
            yield from self._more_indexes(look, missing, waits)
        else:
            look.made = missing
            for _ in range(missing):
                yield new_pod(look.job)

    def _more_indexes(self, look: ObservedJob, missing: int, waits: bool) -> Iterator[Step]:
        taken = {index_of(one) for one in look.active} | look.done | look.lost
        if waits:
            taken |= {index_of(one) for one in look.going}
        for index in range(look.completions or 0):
            if missing == 0:
                return
            if index in taken:
                continue
            before = look.held.get(index)
            if before is not None:
                tries = failed_before(before) + ignored_before(before) + 1
                at = ended_at(before, look.now) + pause(tries, self.settings.job_backoff)
                if at > look.now:
                    yield ReconcileAt(at)
                    continue
            counts = counts_after(look, before)
            if before is not None:
                look.release(index)
            yield new_pod(look.job, index, counts)
            look.made += 1
            missing -= 1

    # Backoff

    def _note(self, look: ObservedJob) -> None:
        uid = look.job["metadata"]["uid"]
        if look.succeeded:
            self._streaks.pop(uid, None)
        new = [one for one in look.failed if look.action(one) == "Count"]
        if new and look.per_index is None:
            before = self._streaks.get(uid, Streak())
            last = max(ended_at(one, look.now) for one in new)
            self._streaks[uid] = Streak(before.length + len(new), max(before.last, last))

    def _next_try(self, look: ObservedJob) -> float:
        streak = self._streaks.get(look.job["metadata"]["uid"])
        return look.now if streak is None else streak.last + pause(streak.length, self.settings.job_backoff)


def _wanted(look: ObservedJob) -> int:
    if look.completions is None:
        return len(look.active) if look.successes else look.parallelism
    return max(0, min(look.parallelism, look.completions - look.successes - len(look.lost)))


def _delete_surplus(look: ObservedJob, pods: list[Raw]) -> Iterator[Step]:
    """Delete pods that are not needed, without counting them."""
    if not pods:
        return
    for one in pods:
        if is_tracked(one):
            yield untracked(one)
        yield Delete(key_of(POD, one), uid=one["metadata"]["uid"])
        look.terminating += bool(one["spec"].get("nodeName"))
    gone = {id(one) for one in pods}
    look.active = [one for one in look.active if id(one) not in gone]


def _release(store: Store, key: Key) -> Iterator[Step]:
    """Remove the finalizer of a pod whose job is gone, since it will not be counted."""
    found = store.find(POD, key.namespace, key.name)
    if found is not None and is_tracked(found) and not _has_job(store, found):
        yield untracked(found)


def _has_job(store: Store, pod: Raw) -> bool:
    owner = controller_of(pod)
    job = None if owner is None else store.find(JOB, pod["metadata"]["namespace"], owner["name"])
    return job is not None and owner is not None and job["metadata"]["uid"] == owner["uid"]
