"""KubeRay's RayJob: a RayCluster for the job, and a Job that submits it there.

    "" ──▶ Initializing ──cluster ready──▶ Running ──▶ Complete
     ▲          │                            │  └────▶ Failed, or Retrying with a new cluster and Job
     │          └─────────suspend────────────┤
     └── Suspended ◀── Suspending ◀──────────┘

There is no Ray that reports the state of a job: it succeeds and fails with its submitter. Without one it runs for as
long as the annotations of the RayJob specify, like a pod. Interactive jobs wait forever.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from .....dialects.timestamps import parse, stamp
from ....kinds import JOB, RAY_CLUSTER, RAY_JOB, SERVICE
from ....port import Delete, Raw, Update, key_of
from ...loop import ReconcileAt, Step
from ...store import NAME_TAIL, Store
from ..children import children, condition, deletion, event, is_deleting, number, status_write
from ..controller import Controller, Observation
from ..pod_plan import course, plan_of
from ..settings import StandinSettings
from .ray_parts import PORTS, address, job_service, new_cluster, service_name, submitter

CONTROLLER = "ray.io/kuberay-operator"
COMPONENT = "rayjob-controller"
FINALIZER = "ray.io/rayjob-finalizer"
OF_THIS_RUN = ("jobId", "rayClusterName", "dashboardURL", "jobStatus", "message", "reason", "rayClusterStatus")
SELECTED = "ray.io/cluster"


class RayJobs(Controller):
    kind, watches = RAY_JOB, (RAY_JOB, RAY_CLUSTER, JOB)

    def minds(self, owner: Raw) -> bool:
        return owner["spec"].get("managedBy") in (None, CONTROLLER)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        return Observation(1, self._steps(store, owner, now))

    def _steps(self, store: Store, owner: Raw, now: float) -> Iterator[Step]:
        held = FINALIZER in (owner["metadata"].get("finalizers") or ())
        if is_deleting(owner):
            if held:
                yield _finalized(owner, False)
        elif not held:
            yield _finalized(owner, True)
        else:
            yield from ObservedRayJob(store, owner, now, self.settings).steps()


STANDIN = RayJobs


class ObservedRayJob:
    """The observed state of a RayJob, its cluster and its submitter."""

    def __init__(self, store: Store, job: Raw, now: float, settings: StandinSettings) -> None:
        self.store, self.job, self.now, self.settings = store, job, now, settings
        self.spec: Raw = job["spec"]
        self.name, self.namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        self.status: Raw = {"succeeded": 0, "failed": 0, **(job.get("status") or {})}
        self.events: list[Step] = []
        self.mode = self.spec.get("submissionMode") or "K8sJobMode"
        self.cluster = store.find(RAY_CLUSTER, self.namespace, self.status.get("rayClusterName") or "")
        self.submitter = next(iter(children(store, job, JOB)), None)

    def steps(self) -> Iterator[Step]:
        state = self.status.get("jobDeploymentStatus") or ""
        halts = bool(self.spec.get("suspend"))
        match state:
            case "Complete" | "Failed":
                yield from self._over()
                return
            case "Suspended":
                if not halts:
                    yield from self._begin()
            case "Suspending" | "Retrying":
                yield from self._cleared(state)
            case "" if halts:
                self._state("Suspended")
            case "":
                yield from self._begin()
            case _ if halts:
                self._state("Suspending")
                yield from self._removed()
            case "Running":
                yield from self._followed()
            case _:
                yield from self._awaited()
        yield from self._write()

    def _state(self, state: str) -> None:
        self.status["jobDeploymentStatus"] = state
        self.status.setdefault("startTime", stamp(self.now))

    def _write(self) -> Iterator[Step]:
        if self.cluster is not None and self.status.get("rayClusterName"):
            self.status["rayClusterStatus"] = self.cluster.get("status") or {}
        yield from status_write(RAY_JOB, self.job, self.status)
        yield from self.events

    def _record(self, reason: str, text: str) -> None:
        self.events.append(event(RAY_JOB, self.job, reason, text, self.now, by=COMPONENT))

    # Starting

    def _begin(self) -> Iterator[Step]:
        """Begin a run with a new cluster, unless the job selects an existing one."""
        for part in OF_THIS_RUN:
            self.status.pop(part, None)
        chosen = (self.spec.get("clusterSelector") or {}).get(SELECTED)
        tail = self.store.ids.tail
        self.status["rayClusterName"] = chosen or f"{self.name}-{tail(NAME_TAIL)}"
        self.status["jobId"] = self.spec.get("jobId") or f"{self.name}-{tail(NAME_TAIL)}"
        self.status["startTime"] = stamp(self.now)
        self._state("Initializing")
        self.cluster = None
        yield from self._made_cluster()

    def _made_cluster(self) -> Iterator[Step]:
        if not self.spec.get("clusterSelector"):
            name = self.status["rayClusterName"]
            self._record("CreatedRayCluster", f"Created RayCluster {self.namespace}/{name}")
            yield new_cluster(self.job, name)

    def _awaited(self) -> Iterator[Step]:
        """Wait for the cluster. A selected one is not a child, so its changes add no key: poll it."""
        if self.cluster is None:
            yield from self._made_cluster()
        if self.cluster is None or (self.cluster.get("status") or {}).get("state") != "ready":
            if self.spec.get("clusterSelector"):
                yield ReconcileAt(self.now + 1.0)
            yield from self._late()
            return
        self.status["dashboardURL"] = f"{address(self.cluster)}:{PORTS['dashboard']}"
        if self.store.find(SERVICE, self.namespace, service_name(self.name)) is None:
            yield job_service(self.job, self.cluster)
        if self.mode == "InteractiveMode":
            self._state("Waiting")
            return
        if self.mode == "K8sJobMode" and self.submitter is None:
            self._record("CreatedRayJobSubmitter", f"Created Kubernetes Job {self.namespace}/{self.name}")
            yield submitter(self.job)
        self._state("Running")
        self.status["jobStatus"] = "PENDING"
        self.status["rayJobInfo"] = {"startTime": stamp(self.now)}

    # Running

    def _followed(self) -> Iterator[Step]:
        if self.mode != "K8sJobMode":
            yield from self._timed()
        elif self.submitter is not None:
            self._follow(self.submitter)
        if self.status["jobDeploymentStatus"] == "Running":
            yield from self._late()

    def _follow(self, submitter: Raw) -> None:
        complete, failed = condition(submitter, "Complete"), condition(submitter, "Failed")
        if complete is not None:
            self._end("SUCCEEDED", "Job finished successfully.")
        elif failed is not None:
            why = f"Reason: {failed['reason']}. Message: {failed['message']}"
            self._end("FAILED", f"Job submission has failed. {why}")
        elif (submitter.get("status") or {}).get("ready"):
            self.status["jobStatus"] = "RUNNING"
            self.status["message"] = "Job is currently running."

    def _timed(self) -> Iterator[Step]:
        """A run without a submitter: it ends after the time in its annotations."""
        seen = {"metadata": self.job["metadata"], "spec": {"restartPolicy": "Never"}}
        ahead = course(plan_of(seen, self.settings), 0.5)
        start = parse(self.status["rayJobInfo"]["startTime"])
        self.status["jobStatus"] = "RUNNING"
        self.status["message"] = "Job is currently running."
        if ahead.run is None:
            return
        at = start + (ahead.start or 0.0) + ahead.run
        if at > self.now:
            yield ReconcileAt(at)
        elif ahead.exit_code:
            self._end("FAILED", f"Job entrypoint command failed with exit code {ahead.exit_code}")
        else:
            self._end("SUCCEEDED", "Job finished successfully.")

    def _late(self) -> Iterator[Step]:
        seconds = self.spec.get("activeDeadlineSeconds")
        if seconds is None:
            return
        start = parse(self.status["startTime"])
        if start + seconds > self.now:
            yield ReconcileAt(start + seconds)
            return
        when = datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
        self.status["reason"] = "DeadlineExceeded"
        self.status["message"] = (
            f"The RayJob has passed the activeDeadlineSeconds. StartTime: {when}. ActiveDeadlineSeconds: {seconds}"
        )
        self._failed()

    # The end

    def _end(self, result: str, message: str) -> None:
        self.status |= {"jobStatus": result, "message": message}
        self.status["rayJobInfo"] = {**(self.status.get("rayJobInfo") or {}), "endTime": stamp(self.now)}
        if result == "SUCCEEDED":
            self.status["succeeded"] += 1
            self.status["endTime"] = stamp(self.now)
            self._state("Complete")
            return
        self.status["reason"] = "AppFailed"
        if self.status["failed"] < number(self.spec.get("backoffLimit"), 0):
            self.status["failed"] += 1
            self._state("Retrying")
        else:
            self._failed()

    def _failed(self) -> None:
        self.status["failed"] += 1
        self.status["endTime"] = stamp(self.now)
        self._state("Failed")

    def _over(self) -> Iterator[Step]:
        """Delete the cluster of a finished job after its TTL, if configured; the submitter Job stays."""
        if not self.spec.get("shutdownAfterJobFinishes") or self.spec.get("clusterSelector") or self.cluster is None:
            return
        at = parse(self.status["endTime"]) + number(self.spec.get("ttlSecondsAfterFinished"), 0)
        if at > self.now:
            yield ReconcileAt(at)
        elif not is_deleting(self.cluster):
            self._record("DeletedRayCluster", f"Deleted cluster {self.namespace}/{self.status['rayClusterName']}")
            yield from deletion(RAY_CLUSTER, self.cluster)
            yield from self.events

    def _removed(self) -> Iterator[Step]:
        if self.cluster is not None and not self.spec.get("clusterSelector"):
            yield from deletion(RAY_CLUSTER, self.cluster)
        if self.submitter is not None and not is_deleting(self.submitter):
            yield Delete(key_of(JOB, self.submitter), uid=self.submitter["metadata"]["uid"])

    def _cleared(self, state: str) -> Iterator[Step]:
        """Delete cluster and Job; when both are gone, begin a retry or become Suspended."""
        ours = None if self.spec.get("clusterSelector") else self.cluster
        if ours is not None or self.submitter is not None:
            yield from self._removed()
        elif state == "Retrying" and not self.spec.get("suspend"):
            yield from self._begin()
        else:
            for part in OF_THIS_RUN:
                self.status.pop(part, None)
            self.status["rayJobInfo"] = {}
            self._state("Suspended")


def _finalized(job: Raw, held: bool) -> Update:
    """The job with or without the finalizer that keeps it until its run has been stopped."""
    meta = dict(job["metadata"])
    others = [one for one in meta.pop("finalizers", None) or () if one != FINALIZER]
    if kept := [*others, FINALIZER] if held else others:
        meta["finalizers"] = kept
    return Update(RAY_JOB, {**job, "metadata": meta})
