"""The JobSet controller: Jobs that start, stop, fail and end together.

    jobs of this attempt ──▶ one failed?    fail, or another attempt: all Jobs are created again    job_set_failure
                         ──▶ enough done?   completed; the Jobs that still run are deleted
                         ──▶ else           a Service, the Jobs in their order, suspended or resumed

A label of each Job has its attempt; Jobs of earlier attempts are deleted. Left out are exclusive placement, restarts of
single Jobs or in place, and volume claims.
"""

from __future__ import annotations

from collections.abc import Iterator

from .....dialects.timestamps import parse
from ....kinds import JOB, JOB_SET, SERVICE
from ....port import Delete, Raw, key_of
from ...loop import ReconcileAt, Step
from ...store import Store
from ..children import children, holds, is_deleting, number, status_write
from ..conditions import Conditions
from ..controller import Controller, Observation
from ..job_status import is_finished
from .job_set_counts import Counts, counted
from .job_set_failure import FailurePolicyAction, verdict
from .job_set_jobs import (
    attempt_of,
    job_name,
    new_job,
    replicas,
    replicated_jobs,
    replicated_of,
    resumed,
    service,
    subdomain,
    suspended,
)

CONTROLLER = "jobset.sigs.k8s.io/jobset-controller"
COMPONENT = "jobset"
DONE = "jobset completed successfully"
ENDS = ("Completed", "Failed")


class JobSets(Controller):
    kind, watches = JOB_SET, (JOB_SET, JOB)

    def minds(self, owner: Raw) -> bool:
        return super().minds(owner) and owner["spec"].get("managedBy") in (None, CONTROLLER)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        look = ObservedJobSet(store, owner, now)
        return Observation(len(look.jobs), look.steps())


STANDIN = JobSets


class ObservedJobSet:
    """The observed state of a JobSet and its Jobs, and the steps to take."""

    def __init__(self, store: Store, job_set: Raw, now: float) -> None:
        self.store, self.job_set, self.now = store, job_set, now
        self.spec: Raw = job_set["spec"]
        self.namespace: str = job_set["metadata"]["namespace"]
        self.status: Raw = {"restarts": 0, **(job_set.get("status") or {})}
        self.conditions = Conditions(JOB_SET, job_set, now, COMPONENT)
        self.every = children(store, job_set, JOB)
        self.attempt: int = self.status["restarts"]
        self.jobs = [one for one in self.every if attempt_of(one) == self.attempt and not is_deleting(one)]
        self.by_name: dict[str, list[Raw]] = {one["name"]: [] for one in replicated_jobs(job_set)}
        for job in self.jobs:
            self.by_name.setdefault(replicated_of(job), []).append(job)
        self.counts = {name: counted(jobs) for name, jobs in self.by_name.items()}

    def steps(self) -> Iterator[Step]:
        for job in self.every:
            if attempt_of(job) < self.attempt:
                yield from removed(job)
        if any(holds(self.job_set, end) for end in ENDS):
            yield from self._over()
        elif judged := verdict(self.spec, self.status, self.jobs):
            self._failed(judged)
        elif self._succeeded():
            self._end("Completed", "AllJobsCompleted", DONE)
        else:
            yield from self._going()
        yield from self._write()

    def _write(self) -> Iterator[Step]:
        names = [one["name"] for one in replicated_jobs(self.job_set)]
        states = [{"name": name, **self.counts[name]._asdict()} for name in names]
        yield from status_write(
            JOB_SET, self.job_set, self.conditions.into({**self.status, "replicatedJobsStatus": states})
        )
        yield from self.conditions.events

    # The end

    def _over(self) -> Iterator[Step]:
        for job in self.jobs:
            if not is_finished(job):
                yield from removed(job)
        seconds = self.spec.get("ttlSecondsAfterFinished")
        if seconds is None:
            return
        end = next(one for kind in ENDS if (one := self.conditions.find(kind)))
        at = parse(end["lastTransitionTime"]) + seconds
        if at > self.now:
            yield ReconcileAt(at)
        else:
            yield Delete(key_of(JOB_SET, self.job_set), uid=self.job_set["metadata"]["uid"], propagation="Foreground")

    def _succeeded(self) -> bool:
        policy = self.spec.get("successPolicy") or {}
        targets = policy.get("targetReplicatedJobs") or list(self.by_name)
        done = sum(self.counts[name].succeeded for name in targets if name in self.counts)
        if policy.get("operator") == "Any":
            return done > 0
        return done >= sum(replicas(one) for one in replicated_jobs(self.job_set) if one["name"] in targets)

    def _end(self, kind: str, reason: str, message: str) -> None:
        self.status = {**self.status, "terminalState": kind}
        self.conditions.set(kind, True, reason, message)
        self.conditions.record(reason, message, warning=kind == "Failed")
        why, text = ("JobSetFailed", "jobset failed") if kind == "Failed" else ("JobSetCompleted", DONE)
        self._restarted(why, text)

    def _failed(self, judged: FailurePolicyAction) -> None:
        if not judged.restarts:
            self._end("Failed", judged.reason, judged.message)
            return
        self.status = {**self.status, "restarts": self.attempt + 1}
        if judged.counts:
            self.status["restartsCountTowardsMax"] = number(self.status.get("restartsCountTowardsMax"), 0) + 1
        self.conditions.set("RestartingJobSet", True, judged.reason, judged.message)
        self.conditions.record(judged.action, judged.message, warning=True)

    def _restarted(self, reason: str, message: str) -> None:
        if self.conditions.find("RestartingJobSet") is not None and self.conditions.set(
            "RestartingJobSet", False, reason, message
        ):
            self.conditions.record(reason, message)

    # Running

    def _going(self) -> Iterator[Step]:
        if (name := subdomain(self.job_set)) and self.store.find(SERVICE, self.namespace, name) is None:
            yield service(self.job_set)
        halts = bool(self.spec.get("suspend"))
        blocks = (self.spec.get("failurePolicy") or {}).get("restartStrategy") == "BlockingRecreate"
        if blocks and len(self.every) > len(self.jobs):
            return
        held_up = False
        for replicated in replicated_jobs(self.job_set):
            if halts or (not held_up and self._may_start(replicated)):
                yield from self._set_going(replicated, halts)
            held_up = held_up or self._holds_up(replicated)
        self._report(halts, held_up)

    def _set_going(self, replicated: Raw, halts: bool) -> Iterator[Step]:
        has = {job["metadata"]["name"]: job for job in self.by_name[replicated["name"]]}
        for index in range(replicas(replicated)):
            name = job_name(self.job_set, replicated, index)
            job = has.get(name)
            if job is not None:
                if not is_finished(job):
                    yield from suspended(job) if halts else resumed(job, replicated)
            elif self._may_start(replicated) and self.store.find(JOB, self.namespace, name) is None:
                yield new_job(self.job_set, replicated, index, self.attempt, suspend=halts)

    def _may_start(self, replicated: Raw) -> bool:
        """Whether all its dependencies are ready or complete."""
        for one in replicated.get("dependsOn") or ():
            counts = self.counts.get(one["name"], Counts())
            needed = next(
                (replicas(other) for other in replicated_jobs(self.job_set) if other["name"] == one["name"]), 0
            )
            if (counts.succeeded if one.get("status") == "Complete" else counts.started) < needed:
                return False
        return True

    def _holds_up(self, replicated: Raw) -> bool:
        """Whether later replicated jobs have to wait, because not all of its Jobs have started."""
        if (self.spec.get("startupPolicy") or {}).get("startupPolicyOrder") != "InOrder" or self.spec.get("suspend"):
            return False
        if self.counts[replicated["name"]].started >= replicas(replicated):
            return False
        return not (self.conditions.holds("StartupPolicyCompleted") and self._all_run())

    def _all_run(self) -> bool:
        return all(
            len(self.by_name[one["name"]]) - self.counts[one["name"]].suspended >= replicas(one)
            for one in replicated_jobs(self.job_set)
        )

    def _report(self, halts: bool, held_up: bool) -> None:
        update, record = self.conditions.set, self.conditions.record
        if halts:
            if update("Suspended", True, "SuspendedJobs", "jobset is suspended"):
                record("SuspendedJobs", "jobset is suspended")
            self._restarted("JobSetSuspended", "jobset is suspended")
            return
        if held_up:
            reason, message = "InOrderStartupPolicyInProgress", "in order startup policy is in progress"
            if update("StartupPolicyInProgress", True, reason, message):
                record(reason, message)
            self.conditions.clear("StartupPolicyCompleted")
            return
        if self.conditions.clear("StartupPolicyInProgress"):
            reason, message = "InOrderStartupPolicyCompleted", "in order startup policy has completed"
            update("StartupPolicyCompleted", True, reason, message)
            record(reason, message)
        if self.conditions.holds("Suspended"):
            update("Suspended", False, "ResumeJobs", "jobset is resumed")
            record("ResumeJobs", "jobset is resumed")
        if all(self.counts[one["name"]].started >= replicas(one) for one in replicated_jobs(self.job_set)):
            self._restarted("JobsReady", "all jobs are ready")


def removed(job: Raw) -> Iterator[Step]:
    """Delete a Job and its pods in the foreground, so that its name is free only afterwards."""
    if not is_deleting(job):
        yield Delete(key_of(JOB, job), uid=job["metadata"]["uid"], propagation="Foreground")
