"""The trainer: renders a TrainJob with its runtime as a JobSet of the same name, and reports the JobSet's state.

The patches of all managers, including the control plane's, are merged in. The JobSet is updated while it is suspended;
once it runs it is only suspended. Initializers stay as in the runtime.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from .....dialects.kueue.jobs.train_job import runtime_of
from .....dialects.timestamps import parse
from ....kinds import CLUSTER_TRAINING_RUNTIME, JOB_SET, TRAIN_JOB, TRAINING_RUNTIME
from ....port import Change, Key, Raw, Update
from ...loop import ReconcileAt, Step
from ...store import Store
from ..children import children, deletion, holds, status_write
from ..conditions import Conditions
from ..controller import Controller, Observation
from ..settings import DEFAULTS, StandinSettings
from .train_parts import job_set, refreshed, template

CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
COMPONENT = "trainer-controller-manager"
RUNTIMES = {one.kind: one for one in (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)}
COUNTS = ("name", "ready", "succeeded", "failed", "active", "suspended")


class TrainJobs(Controller):
    kind, watches = TRAIN_JOB, (TRAIN_JOB, TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME, JOB_SET)

    def __init__(self, settings: StandinSettings = DEFAULTS) -> None:
        super().__init__(settings)
        self._waiting: dict[Key, dict[Key, None]] = {}
        """Jobs that wait for a runtime, by its key."""

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is TRAINING_RUNTIME or change.kind is CLUSTER_TRAINING_RUNTIME:
            return () if change.type == "DELETED" else tuple(self._waiting.pop(change.key, ()))
        return super().concerns(store, change)

    def minds(self, owner: Raw) -> bool:
        over = holds(owner, "Complete") or holds(owner, "Failed")
        return super().minds(owner) and not over and owner["spec"].get("managedBy") in (None, CONTROLLER)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        return Observation(1, self._steps(store, owner, now))

    def _steps(self, store: Store, found: Raw, now: float) -> Iterator[Step]:
        conditions = Conditions(TRAIN_JOB, found, now, COMPONENT)
        child = next(iter(children(store, found, JOB_SET)), None)
        late = self._deadline(found, now)
        if late is not None and late <= now:
            text = "TrainJob exceeded its active deadline"
            conditions.set("Failed", True, "DeadlineExceeded", text)
            conditions.record("DeadlineExceeded", text, warning=True)
            yield from () if child is None else deletion(JOB_SET, child)
        else:
            yield from () if late is None else (ReconcileAt(late),)
            yield from self._made(store, found, child)
            self._report(found, child, conditions)
        yield from self._write(found, child, conditions)

    def _made(self, store: Store, job: Raw, child: Raw | None) -> Iterator[Step]:
        halts = bool(job["spec"].get("suspend"))
        if child is not None and not child["spec"].get("suspend"):
            if halts:
                yield Update(JOB_SET, {**child, "spec": {**child["spec"], "suspend": True}})
            return
        runtime = self._runtime(store, job)
        if runtime is None:
            return
        wanted = template(job, runtime)
        if child is None:
            yield job_set(job, wanted, suspend=halts)
        else:
            yield refreshed(child, wanted, suspend=halts)

    def _runtime(self, store: Store, job: Raw) -> Raw | None:
        wanted = runtime_of(job)
        kind = RUNTIMES.get(wanted.kind)
        if kind is None:
            return None
        found = store.find(kind, wanted.namespace, wanted.name)
        if found is None:
            meta = job["metadata"]
            me = Key(TRAIN_JOB, meta["namespace"], meta["name"])
            self._waiting.setdefault(Key(kind, wanted.namespace, wanted.name), {})[me] = None
        return found

    def _report(self, job: Raw, child: Raw | None, conditions: Conditions) -> None:
        """Set the TrainJob's conditions by those of its JobSet."""
        if job["spec"].get("suspend"):
            conditions.set("Suspended", True, "Suspended", "TrainJob is suspended")
        elif conditions.holds("Suspended"):
            conditions.set("Suspended", False, "Resumed", "TrainJob is resumed")
        for kind, ours in (("Completed", "Complete"), ("Failed", "Failed")):
            found = None if child is None else Conditions(JOB_SET, child, conditions.now, COMPONENT).find(kind)
            if found is not None and found["status"] == "True":
                conditions.set(ours, True, found["reason"], found["message"])

    def _write(self, job: Raw, child: Raw | None, conditions: Conditions) -> Iterator[Step]:
        status: Raw = dict(job.get("status") or {})
        states = (child or {}).get("status", {}).get("replicatedJobsStatus")
        if states:
            status["jobsStatus"] = [{part: one.get(part, 0) for part in COUNTS} for one in states]
        status = conditions.into(status)
        if status:
            yield from status_write(TRAIN_JOB, job, status)
        yield from conditions.events

    def _deadline(self, job: Raw, now: float) -> float | None:
        """The time of activeDeadlineSeconds, from the creation or the last resume."""
        seconds = job["spec"].get("activeDeadlineSeconds")
        if not seconds or job["spec"].get("suspend"):
            return None
        suspended = Conditions(TRAIN_JOB, job, now, COMPONENT).find("Suspended")
        if suspended is not None and suspended["status"] == "True":
            return now + float(seconds)
        since = job["metadata"]["creationTimestamp"] if suspended is None else suspended["lastTransitionTime"]
        return parse(since) + float(seconds)


STANDIN = TrainJobs
