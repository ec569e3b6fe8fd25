from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.operators.mpi_job import MpiJobs
from closeknit.cluster.kinds import EVENT, JOB, MPI_JOB, POD, SERVICE
from closeknit.cluster.port import Key, Raw
from cluster.embedded.standins.playground import Playground, condition, states

RUN, CODE = "closeknit.dev/run-time", "closeknit.dev/exit-code"
PREFIX = "training.kubeflow.org/"


def standins() -> list[Any]:
    return [MpiJobs(), BatchJobs(), Binder(), Kubelet(), GarbageCollector()]


def playground() -> Playground:
    host = Playground(*standins())
    host.node("n1")
    return host


def pods(name: str, notes: dict[str, str] | None = None, **spec: Any) -> Raw:
    return {
        "metadata": {"annotations": notes or {}},
        "spec": {"containers": [{"name": name, "image": "mpi:1"}], **spec},
    }


def create(host: Playground, workers: int = 2, notes: dict[str, str] | None = None, **spec: Any) -> Raw:
    """A job whose launcher has these annotations."""
    policy = {"cleanPodPolicy": "Running", **spec.pop("runPolicy", {})}
    launcher = {"replicas": 1, "template": pods("l", notes or {RUN: "30s"}), **spec.pop("launcher", {})}
    specs = {"Launcher": launcher, "Worker": {"replicas": workers, "template": pods("w")}}
    return host.create(
        MPI_JOB, {"metadata": {"name": "pi"}, "spec": {"runPolicy": policy, "mpiReplicaSpecs": specs, **spec}}
    )


def suspend(host: Playground, yes: bool) -> None:
    host.patch(MPI_JOB, "pi", {"spec": {"runPolicy": {"suspend": yes}}})


def status(host: Playground) -> Raw:
    found: Raw = host.get(MPI_JOB, "pi")["status"]
    return found


def labels(raw: Raw) -> dict[str, str]:
    return {k.removeprefix(PREFIX): v for k, v in raw["metadata"]["labels"].items() if k.startswith(PREFIX)}


def launcher_pod(host: Playground) -> Raw:
    return next(pod for pod in host.pods() if pod["metadata"]["name"].startswith("pi-launcher-"))


def test_a_job_is_a_launcher_with_workers() -> None:
    host = playground()
    create(host)
    host.run(5)
    worker, launcher = host.get(POD, "pi-worker-1"), launcher_pod(host)
    assert labels(worker) == {
        "job-name": "pi",
        "job-role": "worker",
        "operator-name": "mpi-operator",
        "replica-index": "1",
    }
    assert labels(launcher) == {"job-name": "pi", "job-role": "launcher", "operator-name": "mpi-operator"}
    assert worker["metadata"]["ownerReferences"][0]["kind"] == "MPIJob"
    assert launcher["metadata"]["ownerReferences"][0]["name"] == "pi-launcher"
    assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("pi-worker-1", "pi")
    assert (launcher["spec"]["hostname"], launcher["spec"]["subdomain"]) == ("pi-launcher", "pi")
    assert (worker["spec"]["restartPolicy"], launcher["spec"]["restartPolicy"]) == ("Never", "OnFailure")


def test_pods_find_each_other_by_a_service() -> None:
    host = playground()
    create(host)
    host.run(5)
    assert host.get(SERVICE, "pi")["spec"]["selector"] == {
        PREFIX + "job-name": "pi",
        PREFIX + "operator-name": "mpi-operator",
    }


def test_a_launcher_that_works_is_rank_0() -> None:
    host = playground()
    create(host, runLauncherAsWorker=True)
    host.run(5)
    assert labels(launcher_pod(host))["replica-index"] == "0"
    assert [labels(host.get(POD, f"pi-worker-{index}"))["replica-index"] for index in (0, 1)] == ["1", "2"]


def test_it_runs_when_all_run_and_succeeds_with_its_launcher() -> None:
    host = playground()
    create(host)
    host.run(0.5)
    assert states(host.get(MPI_JOB, "pi")) == {"Created": "True"}
    assert status(host)["replicaStatuses"] == {"Launcher": {}, "Worker": {}}
    host.run(5)
    assert states(host.get(MPI_JOB, "pi")) == {"Created": "True", "Running": "True"}
    assert status(host)["replicaStatuses"] == {"Launcher": {"active": 1}, "Worker": {"active": 2}}
    host.run(40)
    assert [one["type"] for one in status(host)["conditions"]] == ["Created", "Running", "Succeeded"]
    assert states(host.get(MPI_JOB, "pi")) == {"Created": "True", "Running": "False", "Succeeded": "True"}
    end = condition(host.get(MPI_JOB, "pi"), "Succeeded")
    assert end is not None
    assert (end["reason"], end["message"]) == ("MPIJobSucceeded", "MPIJob default/pi successfully completed.")
    assert status(host)["replicaStatuses"] == {"Launcher": {"succeeded": 1}, "Worker": {}}
    assert status(host)["completionTime"] == "2023-11-14T22:13:51Z"
    assert [pod["metadata"]["name"][:11] for pod in host.pods()] == ["pi-launcher"]


def test_workers_are_there_until_the_launcher_is_done() -> None:
    host = playground()
    create(host, notes={RUN: "10m"})
    host.run(500)
    assert status(host)["replicaStatuses"]["Worker"] == {"active": 2}


def test_pods_may_be_kept_after_the_end() -> None:
    host = playground()
    create(host, runPolicy={"cleanPodPolicy": "None"})
    host.run(60)
    assert sorted(host.names(POD))[1:] == ["pi-worker-0", "pi-worker-1"]


def test_it_fails_with_its_launcher() -> None:
    host = playground()
    create(host, notes={RUN: "3s", CODE: "3"}, runPolicy={"backoffLimit": 0}, launcher={"restartPolicy": "Never"})
    host.run(20)
    end = condition(host.get(MPI_JOB, "pi"), "Failed")
    assert end is not None
    assert end["reason"] == "BackoffLimitExceeded/"
    assert end["message"] == "Job has reached the specified backoff limit: "
    assert status(host)["replicaStatuses"]["Launcher"] == {"failed": 1}


def test_the_launcher_may_wait_for_the_workers() -> None:
    host = playground()
    create(host, launcherCreationPolicy="WaitForWorkersReady")
    host.run(0.5)
    assert host.names(JOB) == []
    host.run(2)
    assert host.names(JOB) == ["pi-launcher"]


def test_a_suspended_job_has_a_suspended_launcher_and_no_pods() -> None:
    host = playground()
    create(host, runPolicy={"suspend": True})
    host.run(5)
    assert host.pods() == []
    assert host.get(JOB, "pi-launcher")["spec"]["suspend"] is True
    assert states(host.get(MPI_JOB, "pi")) == {"Created": "True", "Suspended": "True", "Running": "False"}
    assert "startTime" not in status(host)


def test_a_job_may_be_suspended_and_resumed_on_its_way() -> None:
    host = playground()
    create(host)
    host.run(10)
    suspend(host, True)
    host.run(5)
    assert host.pods() == []
    assert status(host)["replicaStatuses"] == {"Launcher": {}, "Worker": {}}
    suspend(host, False)
    host.run(5)
    assert states(host.get(MPI_JOB, "pi")) == {"Created": "True", "Suspended": "False", "Running": "True"}
    assert status(host)["startTime"] == "2023-11-14T22:13:35Z"
    host.run(40)
    assert states(host.get(MPI_JOB, "pi"))["Succeeded"] == "True"
    told = [one["reason"] for one in host.all(EVENT) if one["involvedObject"]["kind"] == "MPIJob"]
    assert told == [
        "MPIJobCreated",
        "MPIJobRunning",
        "MPIJobSuspended",
        "MPIJobResumed",
        "MPIJobRunning",
        "MPIJobSucceeded",
    ]


def test_a_resumed_launcher_has_the_current_scheduling_fields() -> None:
    host = playground()
    create(
        host,
        runPolicy={"suspend": True},
        launcher={"template": pods("l", {"old": "1"}, nodeSelector={"old": "1"}, tolerations=[{"key": "old"}])},
    )
    host.run(5)
    path = "/spec/mpiReplicaSpecs/Launcher/template"
    changes = [
        {"op": "add", "path": "/spec/runPolicy/suspend", "value": False},
        {"op": "replace", "path": f"{path}/metadata/annotations", "value": {"new": "2"}},
        {"op": "replace", "path": f"{path}/spec/nodeSelector", "value": {"kubernetes.io/hostname": "n1"}},
        {"op": "replace", "path": f"{path}/spec/tolerations", "value": [{"key": "new", "operator": "Exists"}]},
    ]
    host.store.patch(Key(MPI_JOB, "default", "pi"), changes, "json")
    host.run(1)
    inside = host.get(JOB, "pi-launcher")["spec"]["template"]
    assert inside["metadata"]["annotations"] == {"old": "1", "new": "2"}
    assert inside["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "n1"}
    assert inside["spec"]["tolerations"] == [{"key": "new", "operator": "Exists"}]
    assert len(host.pods()) == 3


def test_a_lost_worker_is_created_again() -> None:
    host = playground()
    create(host, notes={RUN: "5m"})
    host.run(5)
    before = host.get(POD, "pi-worker-0")["metadata"]["uid"]
    host.delete(POD, "pi-worker-0")
    host.run(5)
    assert host.get(POD, "pi-worker-0")["metadata"]["uid"] != before
    assert status(host)["replicaStatuses"]["Worker"] == {"active": 2}


def test_an_evicted_worker_fails_the_job() -> None:
    host = playground()
    create(host, notes={RUN: "5m"})
    host.run(5)
    host.patch(POD, "pi-worker-0", {"status": {"phase": "Failed", "reason": "Evicted"}}, "status")
    host.run(1)
    end = condition(host.get(MPI_JOB, "pi"), "Failed")
    assert end is not None
    assert (end["reason"], end["message"]) == ("MPIJobEvicted", "1/2 workers are evicted")


def test_jobs_of_another_manager_are_ignored() -> None:
    host = playground()
    create(host, runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"})
    host.run(5)
    assert host.pods() == []


def test_after_a_restart_of_the_host_it_continues() -> None:
    host = playground()
    create(host)
    host.run(10)
    host.start(standins())
    host.run(40)
    assert states(host.get(MPI_JOB, "pi"))["Succeeded"] == "True"
    before = host.store.version
    host.start(standins())
    host.run(1000)
    assert host.store.version == before
