"""The training operator's PyTorchJob: a master and workers, each a pod of its own with a Service.

The job runs, succeeds and fails with its master, or without a master with its workers. A pod that failed permanently
fails the job; with restart policy ExitCode a pod that was killed by a signal is created again. Elastic jobs are run
like others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .....dialects.timestamps import parse, stamp
from ....kinds import POD, PYTORCH_JOB, SERVICE
from ....port import Delete, Raw, key_of
from ...loop import ReconcileAt, Step
from ...store import Store
from ..children import children, deletion, number, phase, status_write
from ..controller import Controller, Observation
from ..job_failure import ended_at
from .kubeflow import REPLICA_TYPE, History, cleans, is_ours, is_over, is_suspended, replica_status
from .pytorch_parts import MASTER, WORKER, labels, new_pod, new_service, places, replicas, restart_policy, specs

CONTROLLER = "kubeflow.org/training-operator"
COMPONENT = "pytorchjob-controller"
PASSING = 128
"""From this exit code on a container was killed by a signal, and is retried."""
PAUSE = 1.0
"""Seconds between the end of a pod and its replacement."""


class PytorchJobs(Controller):
    kind, watches = PYTORCH_JOB, (PYTORCH_JOB, POD)

    def minds(self, owner: Raw) -> bool:
        return super().minds(owner) and is_ours(owner, CONTROLLER)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        look = ObservedPytorchJob(store, owner, now)
        return Observation(len(look.pods), look.steps())


STANDIN = PytorchJobs


class ObservedPytorchJob:
    """The observed state of a PyTorchJob and its pods."""

    def __init__(self, store: Store, job: Raw, now: float) -> None:
        self.store, self.job, self.now = store, job, now
        self.name: str = job["metadata"]["name"]
        self.called = f"PyTorchJob {self.name}"
        self.policy: Raw = job["spec"].get("runPolicy") or {}
        self.status: Raw = dict(job.get("status") or {})
        self.history = History(PYTORCH_JOB, job, now, COMPONENT)
        self.pods = children(store, job, POD)

    def steps(self) -> Iterator[Step]:
        if is_over(self.job):
            yield from self._over()
            return
        self.history.add("Created", True, "PyTorchJobCreated", f"{self.called} is created.")
        if is_suspended(self.job):
            yield from self._suspended()
        else:
            yield from self._running()
        yield from status_write(PYTORCH_JOB, self.job, {**self.status, "conditions": self.history.list})
        yield from self.history.events

    def _of(self, kind: str) -> list[Raw]:
        return [one for one in self.pods if (one["metadata"].get("labels") or {}).get(REPLICA_TYPE) == kind.lower()]

    def _count(self, counted: bool) -> dict[str, Raw]:
        states = {}
        for kind in specs(self.job):
            selector = ",".join(f"{key}={value}" for key, value in sorted(labels(self.job, kind).items()))
            states[kind] = {"selector": selector, **(replica_status(self._of(kind)) if counted else {})}
        self.status["replicaStatuses"] = states
        return states

    # Suspended

    def _suspended(self) -> Iterator[Step]:
        yield from self._removed(self.pods)
        if "startTime" in self.status:
            self._count(counted=False)
        text = f"{self.called} is suspended."
        if self.history.holds("Running"):
            self.history.add("Running", False, "PyTorchJobSuspended", text)
        if self.history.add("Suspended", True, "PyTorchJobSuspended", text):
            self.history.record("PyTorchJobSuspended", text)

    def _removed(self, pods: Iterable[Raw]) -> Iterator[Step]:
        """Delete pods and their Services, which have the same names."""
        for one in pods:
            yield from deletion(POD, one)
            meta = one["metadata"]
            service = self.store.find(SERVICE, meta["namespace"], meta["name"])
            if service is not None:
                yield from deletion(SERVICE, service)

    # Running

    def _running(self) -> Iterator[Step]:
        if self.history.holds("Suspended"):
            text = f"{self.called} is resumed."
            self.history.add("Suspended", False, "PyTorchJobResumed", text)
            self.history.record("PyTorchJobResumed", text)
            self.status["startTime"] = stamp(self.now)
        self.status.setdefault("startTime", stamp(self.now))
        states = self._count(counted=True)
        if why := self._overdue():
            self._end("Failed", f"Job {self.name} has failed because it {why}")
            return
        yield from self._deadline()
        yield from self._made()
        retries = list(self._retries())
        yield from self._retried(retries)
        self._evaluate(states, {id(one) for one in retries})

    def _made(self) -> Iterator[Step]:
        namespace = self.job["metadata"]["namespace"]
        for kind, index in places(self.job):
            service, pod = new_service(self.job, kind, index), f"{self.name}-{kind.lower()}-{index}"
            if self.store.find(POD, namespace, pod) is None:
                yield new_pod(self.job, kind, index)
            if self.store.find(SERVICE, namespace, pod) is None:
                yield service

    def _retries(self) -> Iterator[Raw]:
        """Failed pods that will be created again."""
        for kind, spec in specs(self.job).items():
            if restart_policy(spec) == "ExitCode":
                yield from (one for one in self._of(kind) if phase(one) == "Failed" and exit_code(one) >= PASSING)

    def _retried(self, pods: list[Raw]) -> Iterator[Step]:
        for one in pods:
            at = ended_at(one, self.now) + PAUSE
            if at > self.now:
                yield ReconcileAt(at)
            else:
                yield from deletion(POD, one)

    def _evaluate(self, states: dict[str, Raw], retried: set[int]) -> None:
        """Set the conditions. The first replica type determines success; any type can fail the job."""
        first = next(iter(states), MASTER)
        for kind, state in states.items():
            failed = [one for one in self._of(kind) if phase(one) == "Failed"]
            if any(id(one) in retried for one in failed):
                text = f"{self.called} is restarting because {len(failed)} {kind} replica(s) failed."
                if self.history.add("Restarting", True, "PyTorchJobRestarting", text):
                    self.history.record("PyTorchJobRestarting", text, warning=True)
                return
            if failed:
                self._end("Failed", f"{self.called} is failed because {len(failed)} {kind} replica(s) failed.")
                return
            if kind == first and self._has_succeeded(kind, state):
                return

    def _has_succeeded(self, kind: str, state: Raw) -> bool:
        """Whether the job has succeeded. The messages of a job without a master have its namespace."""
        called, done = self.called, "is successfully completed."
        if kind == WORKER:
            called, done = f"PyTorchJob {self.job['metadata']['namespace']}/{self.name}", "successfully completed."
        if state.get("succeeded", 0) >= replicas(specs(self.job)[kind]):
            self._end("Succeeded", f"{called} {done}")
            return True
        if state.get("active"):
            self.history.add("Running", True, "PyTorchJobRunning", f"{called} is running.")
        return False

    def _overdue(self) -> str:
        """Why the job has exceeded its deadline or backoff limit; empty if it has not."""
        limit, seconds = self.policy.get("backoffLimit"), self.policy.get("activeDeadlineSeconds")
        if seconds is not None and self.now >= parse(self.status["startTime"]) + seconds:
            return "was active longer than specified deadline"
        if limit is None:
            return ""
        tries = sum(number(one.get("restartCount"), 0) for pod in self.pods for one in statuses(pod))
        return "has reached the specified backoff limit" if tries and tries >= limit else ""

    def _deadline(self) -> Iterator[Step]:
        if (seconds := self.policy.get("activeDeadlineSeconds")) is not None:
            yield ReconcileAt(parse(self.status["startTime"]) + seconds)

    # The end

    def _end(self, kind: str, text: str) -> None:
        self.history.add(kind, True, f"PyTorchJob{kind}", text)
        self.history.record(f"PyTorchJob{kind}", text)
        self.status["completionTime"] = stamp(self.now)

    def _over(self) -> Iterator[Step]:
        policy = cleans(self.job, "None")
        if policy != "None":
            yield from self._removed(
                one for one in self.pods if policy == "All" or phase(one) in ("Running", "Pending")
            )
        seconds = self.policy.get("ttlSecondsAfterFinished")
        if seconds is None:
            return
        at = self.history.ended_at() + seconds
        if at > self.now:
            yield ReconcileAt(at)
        else:
            yield Delete(key_of(PYTORCH_JOB, self.job), uid=self.job["metadata"]["uid"])


def statuses(pod: Raw) -> list[Raw]:
    return (pod.get("status") or {}).get("containerStatuses") or []


def exit_code(pod: Raw) -> int:
    """The exit code of the first failed container; 0 if there is none."""
    codes = (number(((one.get("state") or {}).get("terminated") or {}).get("exitCode"), 0) for one in statuses(pod))
    return next((code for code in codes if code), 0)
