"""The MPI operator: workers as pods, and a launcher as a Job.

While the MPIJob is suspended, its launcher exists and is suspended too, and there are no workers. The outcome of the
launcher is that of the MPIJob.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .....dialects.timestamps import stamp
from ....kinds import JOB, MPI_JOB, POD, SERVICE
from ....port import Raw, Update
from ...loop import Step
from ...store import Store
from ..children import children, condition, deletion, is_deleting, is_ready, phase, status_write
from ..controller import Controller, Observation
from .kubeflow import History, cleans, is_ours, is_over, is_suspended, replica_status
from .mpi_parts import launcher, relaunched, service, worker, workers

CONTROLLER = "kubeflow.org/mpi-operator"
COMPONENT = "mpi-job-controller"
EVICTED = "Evicted"


class MpiJobs(Controller):
    kind, watches = MPI_JOB, (MPI_JOB, POD, JOB)

    def minds(self, owner: Raw) -> bool:
        return super().minds(owner) and is_ours(owner, CONTROLLER)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        look = ObservedMpiJob(store, owner, now)
        return Observation(len(look.pods), look.steps())


STANDIN = MpiJobs


class ObservedMpiJob:
    """The observed state of an MPIJob, its launcher and its workers."""

    def __init__(self, store: Store, job: Raw, now: float) -> None:
        self.store, self.job, self.now = store, job, now
        meta = job["metadata"]
        self.called = f"MPIJob {meta['namespace']}/{meta['name']}"
        self.status: Raw = dict(job.get("status") or {})
        self.history = History(MPI_JOB, job, now, COMPONENT)
        self.pods = children(store, job, POD)
        self.launcher = next(iter(children(store, job, JOB)), None)

    def steps(self) -> Iterator[Step]:
        if is_over(self.job):
            yield from self._cleaned()
            return
        if self.history.add("Created", True, "MPIJobCreated", f"{self.called} is created."):
            self.history.record("MPIJobCreated", f"{self.called} is created.")
        if self.store.find(SERVICE, self.job["metadata"]["namespace"], self.job["metadata"]["name"]) is None:
            yield service(self.job)
        if is_suspended(self.job):
            yield from self._suspended()
        else:
            yield from self._running()
        yield from self._write()

    def _write(self) -> Iterator[Step]:
        started = [] if self.launcher is None else children(self.store, self.launcher, POD)
        ends: Raw = {} if self.launcher is None else self.launcher.get("status") or {}
        launched = {"active": sum(phase(one) == "Running" for one in started if not is_deleting(one))}
        launched |= {part: ends.get(part, 0) for part in ("succeeded", "failed")}
        over = self.history.holds("Succeeded") or self.history.holds("Failed")
        replicas = {
            "Launcher": {part: count for part, count in launched.items() if count},
            "Worker": {} if over or is_suspended(self.job) else replica_status(self.pods),
        }
        status = {**self.status, "conditions": self.history.list, "replicaStatuses": replicas}
        yield from status_write(MPI_JOB, self.job, status)
        yield from self.history.events

    def _suspended(self) -> Iterator[Step]:
        for one in self.pods:
            yield from deletion(POD, one)
        if self.launcher is None:
            yield launcher(self.job, suspend=True)
        elif not self.launcher["spec"].get("suspend"):
            yield Update(JOB, {**self.launcher, "spec": {**self.launcher["spec"], "suspend": True}})
        if self.history.add("Suspended", True, "MPIJobSuspended", "MPIJob suspended"):
            self.history.record("MPIJobSuspended", "MPIJob suspended")
        self.history.add("Running", False, "MPIJobSuspended", f"{self.called} is suspended.")

    def _running(self) -> Iterator[Step]:
        if self.history.holds("Suspended"):
            self.history.add("Suspended", False, "MPIJobResumed", "MPIJob resumed")
            self.history.record("MPIJobResumed", "MPIJob resumed")
            self.status["startTime"] = stamp(self.now)
        self.status.setdefault("startTime", stamp(self.now))
        names = {one["metadata"]["name"] for one in self.pods}
        wanted = [worker(self.job, index) for index in range(workers(self.job))]
        yield from (one for one in wanted if one.body["metadata"]["name"] not in names)
        if self.launcher is None:
            if self.job["spec"].get("launcherCreationPolicy") != "WaitForWorkersReady" or self._all(is_ready):
                yield launcher(self.job, suspend=False)
        elif self.launcher["spec"].get("suspend"):
            yield relaunched(self.job, self.launcher)
        else:
            self._follow(self.launcher)

    def _all(self, test: Callable[[Raw], bool]) -> bool:
        return sum(map(test, self.pods)) >= workers(self.job)

    def _follow(self, launcher: Raw) -> None:
        """Set the conditions by the state of the launcher."""
        complete, failed = condition(launcher, "Complete"), condition(launcher, "Failed")
        lost = [one for one in self.pods if phase(one) == "Failed" and one["status"].get("reason") == EVICTED]
        if complete is not None:
            text = f"{self.called} successfully completed."
            self._end("Succeeded", "MPIJobSucceeded", text)
            self.status["completionTime"] = launcher["status"].get("completionTime") or stamp(self.now)
        elif failed is not None:
            self._end("Failed", *self._why(launcher, failed))
            self.status["completionTime"] = stamp(self.now)
        elif lost:
            self._end("Failed", "MPIJobEvicted", f"{len(lost)}/{workers(self.job)} workers are evicted")
        elif (launcher.get("status") or {}).get("active") and self._all(lambda one: phase(one) == "Running"):
            started = children(self.store, launcher, POD)
            if any(phase(one) == "Running" for one in started) and self.history.add(
                "Running", True, "MPIJobRunning", f"{self.called} is running."
            ):
                self.history.record("MPIJobRunning", f"{self.called} is running")

    def _why(self, launcher: Raw, failed: Raw) -> tuple[str, str]:
        """The message of the failed launcher Job, then that of its last pod, which is mostly empty."""
        pods = [one for one in children(self.store, launcher, POD) if phase(one) == "Failed"]
        last: Raw = pods[-1]["status"] if pods else {}
        return f"{failed['reason']}/{last.get('reason') or ''}", f"{failed['message']}: {last.get('message') or ''}"

    def _end(self, kind: str, reason: str, text: str) -> None:
        self.history.add(kind, True, reason, text)
        self.history.record(reason, text, warning=kind == "Failed")

    def _cleaned(self) -> Iterator[Step]:
        """Delete the workers of an ended job, which would run forever, as cleanPodPolicy requires."""
        policy = cleans(self.job, "None")
        for one in self.pods:
            if policy == "All" or (policy == "Running" and phase(one) in ("Running", "Pending")):
                yield from deletion(POD, one)
