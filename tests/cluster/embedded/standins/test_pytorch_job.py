from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.operators.pytorch_job import PytorchJobs
from closeknit.cluster.kinds import POD, PYTORCH_JOB, SERVICE
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, condition, states

RUN, CODE = "closeknit.dev/run-time", "closeknit.dev/exit-code"
PREFIX = "training.kubeflow.org/"


def standins() -> list[Any]:
    return [PytorchJobs(), Binder(), Kubelet(), GarbageCollector()]


def playground() -> Playground:
    host = Playground(*standins())
    host.node("n1")
    return host


def replica(replicas: int, notes: dict[str, str] | None = None, **more: Any) -> Raw:
    template = {
        "metadata": {"annotations": notes or {RUN: "30s"}},
        "spec": {"containers": [{"name": "pytorch", "image": "pt:1"}]},
    }
    return {"replicas": replicas, "restartPolicy": "OnFailure", "template": template, **more}


def create(host: Playground, master: Raw | None, worker: Raw | None, policy: Raw | None = None, **spec: Any) -> Raw:
    specs = {kind: one for kind, one in (("Master", master), ("Worker", worker)) if one}
    body = {"runPolicy": policy or {}, "pytorchReplicaSpecs": specs, **spec}
    return host.create(PYTORCH_JOB, {"metadata": {"name": "pt"}, "spec": body})


def suspend(host: Playground, yes: bool) -> None:
    host.patch(PYTORCH_JOB, "pt", {"spec": {"runPolicy": {"suspend": yes}}})


def status(host: Playground) -> Raw:
    found: Raw = host.get(PYTORCH_JOB, "pt")["status"]
    return found


def counts(host: Playground) -> dict[str, dict[str, int]]:
    return {
        kind: {key: value for key, value in one.items() if key != "selector"}
        for kind, one in status(host)["replicaStatuses"].items()
    }


def labels(raw: Raw) -> dict[str, str]:
    return {k.removeprefix(PREFIX): v for k, v in raw["metadata"]["labels"].items() if k.startswith(PREFIX)}


def env(pod: Raw) -> dict[str, str]:
    return {one["name"]: one["value"] for one in pod["spec"]["containers"][0]["env"]}


def test_every_replica_is_a_pod_with_a_service() -> None:
    host = playground()
    create(host, replica(1), replica(2))
    host.run(5)
    names = ["pt-master-0", "pt-worker-0", "pt-worker-1"]
    assert sorted(host.names(POD)) == sorted(host.names(SERVICE)) == names
    known = {"job-name": "pt", "operator-name": "pytorchjob-controller"}
    master, worker = host.get(POD, "pt-master-0"), host.get(POD, "pt-worker-1")
    assert labels(master) == {**known, "replica-type": "master", "replica-index": "0", "job-role": "master"}
    assert labels(worker) == {**known, "replica-type": "worker", "replica-index": "1"}
    assert worker["metadata"]["ownerReferences"][0]["kind"] == "PyTorchJob"
    service = host.get(SERVICE, "pt-worker-1")
    assert labels(service) == labels(worker)
    assert service["spec"]["selector"] == service["metadata"]["labels"]
    assert service["spec"]["ports"][0]["port"] == 23456


def test_pods_know_their_master_and_their_rank() -> None:
    host = playground()
    create(host, replica(1), replica(2), nprocPerNode="4")
    host.run(5)
    assert env(host.get(POD, "pt-worker-1")) == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "23456",
        "PET_MASTER_PORT": "23456",
        "MASTER_ADDR": "pt-master-0",
        "PET_MASTER_ADDR": "pt-master-0",
        "WORLD_SIZE": "3",
        "RANK": "2",
        "PET_NODE_RANK": "2",
        "PET_NPROC_PER_NODE": "4",
        "PET_NNODES": "3",
    }
    assert env(host.get(POD, "pt-master-0"))["RANK"] == "0"
    (port,) = host.get(POD, "pt-master-0")["spec"]["containers"][0]["ports"]
    assert (port["name"], port["containerPort"]) == ("pytorchjob-port", 23456)


def test_it_runs_and_succeeds_with_its_master() -> None:
    host = playground()
    create(host, replica(1), replica(2, {RUN: "10s"}))
    host.run(0.5)
    assert states(host.get(PYTORCH_JOB, "pt")) == {"Created": "True"}
    assert counts(host) == {"Master": {}, "Worker": {}}
    host.run(5)
    assert states(host.get(PYTORCH_JOB, "pt")) == {"Created": "True", "Running": "True"}
    assert counts(host) == {"Master": {"active": 1}, "Worker": {"active": 2}}
    host.run(10)
    assert counts(host) == {"Master": {"active": 1}, "Worker": {"succeeded": 2}}
    host.run(20)
    assert [one["type"] for one in status(host)["conditions"]] == ["Created", "Running", "Succeeded"]
    end = condition(host.get(PYTORCH_JOB, "pt"), "Succeeded")
    assert end is not None
    assert (end["reason"], end["message"]) == ("PyTorchJobSucceeded", "PyTorchJob pt is successfully completed.")
    assert status(host)["completionTime"] == "2023-11-14T22:13:51Z"
    assert len(host.pods()) == 3
    assert status(host)["replicaStatuses"]["Worker"]["selector"] == (
        "training.kubeflow.org/job-name=pt,training.kubeflow.org/operator-name=pytorchjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    )


def test_without_a_master_the_workers_determine_the_outcome() -> None:
    host = playground()
    create(host, None, replica(2))
    host.run(5)
    assert labels(host.get(POD, "pt-worker-0"))["job-role"] == "master"
    assert "MASTER_ADDR" not in env(host.get(POD, "pt-worker-0"))
    found = condition(host.get(PYTORCH_JOB, "pt"), "Running")
    assert found is not None
    assert found["message"] == "PyTorchJob default/pt is running."
    host.run(40)
    end = condition(host.get(PYTORCH_JOB, "pt"), "Succeeded")
    assert end is not None
    assert end["message"] == "PyTorchJob default/pt successfully completed."


def test_a_failed_worker_fails_the_job_and_all_pods_may_be_deleted() -> None:
    host = playground()
    bad = replica(1, {RUN: "3s", CODE: "3"}, restartPolicy="Never")
    create(host, replica(1, {RUN: "forever"}), bad, {"cleanPodPolicy": "All"})
    host.run(20)
    end = condition(host.get(PYTORCH_JOB, "pt"), "Failed")
    assert end is not None
    assert end["reason"] == "PyTorchJobFailed"
    assert end["message"] == "PyTorchJob pt is failed because 1 Worker replica(s) failed."
    assert host.names(POD) == host.names(SERVICE) == []


def test_running_pods_may_be_deleted_at_the_end_and_others_stay() -> None:
    host = playground()
    create(host, replica(1), replica(1, {RUN: "forever"}), {"cleanPodPolicy": "Running"})
    host.run(40)
    assert host.names(POD) == ["pt-master-0"]


def test_a_pod_that_was_killed_from_outside_is_tried_again() -> None:
    host = playground()
    create(host, None, replica(1, {RUN: "5s", CODE: "137"}, restartPolicy="ExitCode"))
    host.run(3)
    before = host.get(POD, "pt-worker-0")["metadata"]["uid"]
    host.run(3.5)
    found = condition(host.get(PYTORCH_JOB, "pt"), "Restarting")
    assert found is not None
    assert found["message"] == "PyTorchJob pt is restarting because 1 Worker replica(s) failed."
    assert "Running" not in states(host.get(PYTORCH_JOB, "pt"))
    host.run(3)
    assert host.get(POD, "pt-worker-0")["metadata"]["uid"] != before
    assert states(host.get(PYTORCH_JOB, "pt")) == {"Created": "True", "Running": "True"}


def test_a_pod_that_failed_by_itself_is_not_tried_again() -> None:
    host = playground()
    create(host, None, replica(1, {RUN: "5s", CODE: "1"}, restartPolicy="ExitCode"))
    host.run(20)
    assert states(host.get(PYTORCH_JOB, "pt"))["Failed"] == "True"


def test_a_job_that_takes_too_long_fails() -> None:
    host = playground()
    create(host, replica(1, {RUN: "forever"}), None, {"activeDeadlineSeconds": 20})
    host.run(30)
    end = condition(host.get(PYTORCH_JOB, "pt"), "Failed")
    assert end is not None
    assert end["message"] == "Job pt has failed because it was active longer than specified deadline"
    assert end["lastTransitionTime"] == "2023-11-14T22:13:40Z"


def test_a_job_whose_containers_restart_too_often_fails() -> None:
    host = playground()
    create(host, replica(1, {RUN: "5s", CODE: "1"}), None, {"backoffLimit": 1})
    host.run(120)
    end = condition(host.get(PYTORCH_JOB, "pt"), "Failed")
    assert end is not None
    assert end["message"] == "Job pt has failed because it has reached the specified backoff limit"


def test_a_finished_job_is_deleted_when_its_time_is_up() -> None:
    host = playground()
    create(host, replica(1), None, {"ttlSecondsAfterFinished": 10})
    host.run(40)
    assert host.names(PYTORCH_JOB) == ["pt"]
    host.run(5)
    assert host.names(PYTORCH_JOB) == host.names(POD) == host.names(SERVICE) == []


def test_a_suspended_job_has_nothing() -> None:
    host = playground()
    create(host, replica(1), replica(2), {"suspend": True})
    host.run(5)
    assert host.names(POD) == host.names(SERVICE) == []
    assert states(host.get(PYTORCH_JOB, "pt")) == {"Created": "True", "Suspended": "True"}
    assert status(host).keys() == {"conditions"}


def test_a_job_may_be_suspended_and_resumed_on_its_way() -> None:
    host = playground()
    create(host, replica(1), replica(2))
    host.run(10)
    suspend(host, True)
    host.run(5)
    assert host.names(POD) == host.names(SERVICE) == []
    assert states(host.get(PYTORCH_JOB, "pt")) == {"Created": "True", "Running": "False", "Suspended": "True"}
    assert [one["type"] for one in status(host)["conditions"]][-1] == "Suspended"
    assert counts(host) == {"Master": {}, "Worker": {}}
    suspend(host, False)
    host.run(5)
    assert states(host.get(PYTORCH_JOB, "pt")) == {"Created": "True", "Suspended": "False", "Running": "True"}
    assert status(host)["startTime"] == "2023-11-14T22:13:35Z"
    host.run(40)
    assert states(host.get(PYTORCH_JOB, "pt"))["Succeeded"] == "True"


def test_after_a_restart_of_the_host_it_continues() -> None:
    host = playground()
    create(host, replica(1), replica(2))
    host.run(10)
    host.start(standins())
    host.run(40)
    assert states(host.get(PYTORCH_JOB, "pt"))["Succeeded"] == "True"
    before = host.store.version
    host.start(standins())
    host.run(1000)
    assert host.store.version == before
