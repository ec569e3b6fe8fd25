"""The CronJob controller: a Job at each time of the schedule.

Of missed times only the last counts, and only within startingDeadlineSeconds. The name of a Job contains its time, so
that none is created twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ....dialects.timestamps import parse, stamp
from ...kinds import CRON_JOB, JOB
from ...port import Change, Create, Delete, Key, Raw, key_of
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import child, children, condition, family, is_deleting, status_write
from .cron_schedule import schedule, zone
from .job_status import finished_at, is_finished

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobs:
    watches = (CRON_JOB, JOB)

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is CRON_JOB or change.kind is JOB:
            return family(change, CRON_JOB)
        return ()

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        assert isinstance(key, Key)
        owner = store.find(CRON_JOB, key.namespace, key.name)
        if owner is None:
            return
        jobs = children(store, owner, JOB)
        status = dict(owner.get("status") or {})
        if not is_deleting(owner):
            yield from _forget(owner, jobs)
            yield from _run(owner, jobs, status, now)
        running = [one for one in jobs if not is_finished(one) and not is_deleting(one)]
        _tell_running(status, running)
        succeeded = [finished_at(one) for one in jobs if is_finished(one) and condition(one, "Complete")]
        if succeeded:
            before = parse(status["lastSuccessfulTime"]) if status.get("lastSuccessfulTime") else 0.0
            status["lastSuccessfulTime"] = stamp(max(*succeeded, before))
        yield from status_write(CRON_JOB, owner, status)


def _run(owner: Raw, jobs: list[Raw], status: Raw, now: float) -> Iterator[Step]:
    spec = owner["spec"]
    if spec.get("suspend"):
        return
    try:
        times, of = schedule(spec["schedule"]), zone(spec.get("timeZone"))
    except ValueError:
        return
    following = times.after(now, of)
    if following is not None:
        yield ReconcileAt(following)
    since = parse(status.get("lastScheduleTime") or owner["metadata"]["creationTimestamp"])
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None:
        since = max(since, now - deadline)
    at = times.until(now, of)
    if at is not None and at > since:
        yield from _start(owner, jobs, status, at)


def _start(owner: Raw, jobs: list[Raw], status: Raw, at: float) -> Iterator[Step]:
    running = [one for one in jobs if not is_finished(one) and not is_deleting(one)]
    policy = owner["spec"].get("concurrencyPolicy", "Allow")
    if running and policy == "Forbid":
        return
    if running and policy == "Replace":
        for one in running:
            yield Delete(key_of(JOB, one), uid=one["metadata"]["uid"], propagation="Background")
    new = _new_job(owner, at)
    name = new.body["metadata"]["name"]
    status["lastScheduleTime"] = stamp(at)
    if all(one["metadata"]["name"] != name for one in jobs):
        yield new


def _new_job(owner: Raw, at: float) -> Create:
    template = owner["spec"]["jobTemplate"]
    return child(
        JOB,
        {"metadata": template.get("metadata"), "spec": template["spec"]},
        CRON_JOB,
        owner,
        name=f"{owner['metadata']['name']}-{int(at) // 60}",
        annotations={SCHEDULED: stamp(at)},
    )


def _forget(owner: Raw, jobs: list[Raw]) -> Iterator[Step]:
    """Delete finished jobs beyond the history limits, the oldest first."""
    for kind, part, usual in (("Complete", "successfulJobsHistoryLimit", 3), ("Failed", "failedJobsHistoryLimit", 1)):
        limit = owner["spec"].get(part)
        done = [one for one in jobs if (found := condition(one, kind)) is not None and found["status"] == "True"]
        done.sort(key=finished_at)
        for one in done[: max(0, len(done) - (usual if limit is None else limit))]:
            if not is_deleting(one):
                yield Delete(key_of(JOB, one), uid=one["metadata"]["uid"], propagation="Background")


def _tell_running(status: Raw, running: list[Raw]) -> None:
    status.pop("active", None)
    if running:
        status["active"] = [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "namespace": one["metadata"]["namespace"],
                "name": one["metadata"]["name"],
                "uid": one["metadata"]["uid"],
            }
            for one in running
        ]
