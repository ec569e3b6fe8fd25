from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.standins import index_list
from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.kinds import JOB, NODE, POD
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, condition, states

INDEX = "batch.kubernetes.io/job-completion-index"
TEN_SECONDS = {"closeknit.dev/run-time": "10s"}
FAILING = {"closeknit.dev/run-time": "10s", "closeknit.dev/exit-code": "1"}


def playground() -> Playground:
    host = Playground(BatchJobs(), Binder(), Kubelet())
    host.node("n1")
    return host


def status(host: Playground, name: str = "j") -> Raw:
    found: Raw = host.get(JOB, name)["status"]
    return found


def reason(host: Playground, kind: str) -> tuple[str, str]:
    found = condition(host.get(JOB, "j"), kind)
    assert found is not None
    assert found["status"] == "True"
    return found["reason"], found["message"]


def counts(host: Playground) -> dict[str, Any]:
    wanted = ("active", "ready", "succeeded", "failed", "terminating")
    return {part: value for part, value in status(host).items() if part in wanted and value}


def test_a_job_of_one_pod_runs_through() -> None:
    host = playground()
    job = host.job("j", TEN_SECONDS)
    host.settle()
    (pod,) = host.pods()
    assert pod["metadata"]["name"].startswith("j-")
    assert len(pod["metadata"]["name"]) == len("j-") + 5
    assert pod["metadata"]["generateName"] == "j-"
    assert pod["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": job["metadata"]["uid"],
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": job["metadata"]["uid"],
        "job-name": "j",
    }
    assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert pod["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "j",
            "uid": job["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert status(host) == {
        "startTime": "2023-11-14T22:13:20Z",
        "active": 1,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "ready": 0,
    }
    host.run(5)
    assert counts(host) == {"active": 1, "ready": 1}
    host.run(6)
    assert counts(host) == {"succeeded": 1}
    assert states(host.get(JOB, "j")) == {"SuccessCriteriaMet": "True", "Complete": "True"}
    assert reason(host, "Complete") == ("CompletionsReached", "Reached expected number of succeeded pods")
    assert status(host)["completionTime"] == "2023-11-14T22:13:31Z"
    (pod,) = host.pods()
    assert "finalizers" not in pod["metadata"]


def test_a_pod_of_no_time_costs_few_writes() -> None:
    host = playground()
    host.job("j", {"closeknit.dev/start-time": "0s", "closeknit.dev/run-time": "0s"})
    before = host.store.version
    host.settle()
    assert "completionTime" in status(host)
    # the pod, active, bound, ended, counted, complete
    assert host.store.version - before == 6


def test_parallelism_bounds_what_runs_at_once() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, parallelism=2, completions=5)
    host.run(5)
    assert counts(host) == {"active": 2, "ready": 2}
    host.run(11)
    assert counts(host) == {"active": 2, "ready": 2, "succeeded": 2}
    host.run(11)
    assert counts(host) == {"active": 1, "ready": 1, "succeeded": 4}
    host.run(11)
    assert counts(host) == {"succeeded": 5}


def test_an_indexed_job_gives_every_pod_its_index() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, parallelism=2, completions=3, completionMode="Indexed")
    host.settle()
    assert [pod["metadata"]["name"][:4] for pod in host.pods()] == ["j-0-", "j-1-"]
    pod = host.pods()[1]
    assert pod["metadata"]["annotations"][INDEX] == "1"
    assert pod["metadata"]["labels"][INDEX] == "1"
    assert pod["spec"]["hostname"] == "j-1"
    assert pod["spec"]["containers"][0]["env"] == [
        {
            "name": "JOB_COMPLETION_INDEX",
            "valueFrom": {
                "fieldRef": {
                    "apiVersion": "v1",
                    "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']",
                }
            },
        }
    ]
    assert "failedIndexes" not in status(host)
    host.run(12)
    assert status(host)["completedIndexes"] == "0,1"
    assert [pod["metadata"]["annotations"][INDEX] for pod in host.pods()] == ["0", "1", "2"]
    host.run(12)
    assert status(host)["completedIndexes"] == "0-2"
    assert reason(host, "Complete")[0] == "CompletionsReached"


def test_a_work_queue_is_done_when_one_succeeded_and_all_ended() -> None:
    host = playground()
    host.job("j", {"closeknit.dev/run-time": "20s±50%"}, parallelism=3)
    host.run(40)
    assert counts(host) == {"succeeded": 3}
    assert len(host.pods()) == 3
    assert "completionTime" in status(host)


def test_a_failed_pod_is_replaced_after_a_pause_that_doubles() -> None:
    host = playground()
    host.job("j", FAILING, backoffLimit=2)
    host.run(12)  # fails at 11 s
    assert counts(host) == {"failed": 1}
    host.run(8.9)
    assert len(host.pods()) == 1
    host.run(0.2)  # 10 s later there is another, which fails at 32 s
    assert counts(host) == {"active": 1, "failed": 1}
    host.run(31)
    assert counts(host) == {"failed": 2, "active": 1}
    host.run(12)
    assert counts(host) == {"failed": 3}
    assert reason(host, "Failed") == ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert reason(host, "FailureTarget")[0] == "BackoffLimitExceeded"


def test_a_job_that_fails_removes_what_still_runs_before_it_has_failed() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, parallelism=2, completions=2, backoffLimit=0)
    host.run(5)
    host.patch(POD, host.pods()[0]["metadata"]["name"], {"status": {"phase": "Failed"}}, "status")
    host.settle()
    assert states(host.get(JOB, "j")) == {"FailureTarget": "True"}
    assert counts(host) == {"failed": 2, "terminating": 1}
    host.run(2)
    assert counts(host) == {"failed": 2}
    assert states(host.get(JOB, "j")) == {"FailureTarget": "True", "Failed": "True"}
    assert len(host.pods()) == 1


def test_restarts_count_towards_the_limit() -> None:
    host = playground()
    host.create(
        JOB,
        {
            "metadata": {"name": "j"},
            "spec": {
                "backoffLimit": 2,
                "template": {
                    "metadata": {"annotations": FAILING},
                    "spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "x"}]},
                },
            },
        },
    )
    host.run(100)
    assert reason(host, "Failed")[0] == "BackoffLimitExceeded"


def test_a_job_that_takes_too_long_fails() -> None:
    host = playground()
    host.job("j", {"closeknit.dev/run-time": "forever"}, activeDeadlineSeconds=30)
    host.run(29)
    assert counts(host) == {"active": 1, "ready": 1}
    host.run(3)
    assert reason(host, "Failed") == ("DeadlineExceeded", "Job was active longer than specified deadline")
    assert host.pods() == []


def test_a_suspended_job_has_no_pods_and_starts_when_it_is_resumed() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, suspend=True)
    host.run(100)
    assert host.pods() == []
    suspended = condition(host.get(JOB, "j"), "Suspended")
    assert suspended is not None
    assert (suspended["status"], suspended["reason"], suspended["message"]) == ("True", "JobSuspended", "Job suspended")
    assert "startTime" not in status(host)
    host.patch(JOB, "j", {"spec": {"suspend": False}})
    host.settle()
    resumed = condition(host.get(JOB, "j"), "Suspended")
    assert resumed is not None
    assert (resumed["status"], resumed["reason"]) == ("False", "JobResumed")
    assert status(host)["startTime"] == "2023-11-14T22:15:00Z"
    host.run(12)
    assert counts(host) == {"succeeded": 1}


def test_suspending_removes_the_pods_and_counts_none_as_failed() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, parallelism=2, completions=2)
    host.run(5)
    host.patch(JOB, "j", {"spec": {"suspend": True}})
    host.settle()
    assert counts(host) == {"terminating": 2}
    assert all("finalizers" not in pod["metadata"] for pod in host.pods())
    host.run(2)
    assert host.pods() == []
    assert counts(host) == {}
    assert "startTime" not in status(host)
    host.patch(JOB, "j", {"spec": {"suspend": False}})
    host.run(12)
    assert counts(host) == {"succeeded": 2}


def test_lower_parallelism_deletes_pods_without_counting_them_as_failed() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, parallelism=4, completions=8)
    host.run(5)
    host.patch(JOB, "j", {"spec": {"parallelism": 1}})
    host.run(2)
    assert counts(host) == {"active": 1, "ready": 1}


def test_an_elastic_indexed_job_loses_its_highest_indexes() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, parallelism=4, completions=4, completionMode="Indexed")
    host.run(5)
    host.patch(JOB, "j", {"spec": {"parallelism": 2, "completions": 2}})
    host.run(2)
    assert sorted(pod["metadata"]["annotations"][INDEX] for pod in host.pods()) == ["0", "1"]


def fail_index(host: Playground, index: str) -> None:
    for pod in host.pods():
        if pod["metadata"]["annotations"][INDEX] == index and pod["status"]["phase"] == "Running":
            host.patch(POD, pod["metadata"]["name"], {"status": {"phase": "Failed"}}, "status")


def test_each_index_has_its_own_limit() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, parallelism=2, completions=2, completionMode="Indexed", backoffLimitPerIndex=1)
    host.run(5)
    assert status(host)["failedIndexes"] == ""
    fail_index(host, "1")
    host.settle()
    assert counts(host) == {"active": 1, "ready": 1}
    host.run(9)
    assert status(host)["completedIndexes"] == "0"
    host.run(3)
    again = next(pod for pod in host.pods() if pod["status"]["phase"] == "Running")
    assert again["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    assert counts(host) == {"active": 1, "ready": 1, "succeeded": 1, "failed": 1}
    fail_index(host, "1")
    host.settle()
    assert status(host)["failedIndexes"] == "1"
    assert counts(host) == {"succeeded": 1, "failed": 2}
    assert reason(host, "Failed") == ("FailedIndexes", "Job has failed indexes")


def test_too_many_failed_indexes_end_the_job() -> None:
    host = playground()
    host.job(
        "j",
        {"closeknit.dev/run-time": "forever"},
        parallelism=3,
        completions=3,
        completionMode="Indexed",
        backoffLimitPerIndex=0,
        maxFailedIndexes=1,
    )
    host.run(5)
    fail_index(host, "0")
    host.settle()
    assert states(host.get(JOB, "j")) == {}
    fail_index(host, "2")
    host.run(2)
    assert reason(host, "Failed") == (
        "MaxFailedIndexesExceeded",
        "Job has exceeded the specified maximal number of failed indexes",
    )


def policy(action: str, **rule: Any) -> Raw:
    return {"rules": [{"action": action, **rule}]}


def exits_with(host: Playground, code: int) -> None:
    notes = {"closeknit.dev/run-time": "10s", "closeknit.dev/exit-code": str(code)}
    rule = {"onExitCodes": {"operator": "In", "values": [42]}}
    host.job("j", notes, backoffLimit=1, podFailurePolicy=policy("FailJob", **rule))


def test_an_exit_code_can_fail_the_job_at_once() -> None:
    host = playground()
    exits_with(host, 42)
    host.run(12)
    name = host.pods()[0]["metadata"]["name"]
    assert reason(host, "Failed") == (
        "PodFailurePolicy",
        f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0",
    )


def test_other_exit_codes_count() -> None:
    host = playground()
    exits_with(host, 41)
    host.run(12)
    assert counts(host) == {"failed": 1}
    assert states(host.get(JOB, "j")) == {}


def test_a_disruption_can_be_ignored() -> None:
    host = playground()
    rule = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    host.job("j", TEN_SECONDS, backoffLimit=0, podFailurePolicy=policy("Ignore", **rule))
    host.run(5)
    name = host.pods()[0]["metadata"]["name"]
    pod = host.get(POD, name)
    conditions = [*pod["status"]["conditions"], {"type": "DisruptionTarget", "status": "True"}]
    host.patch(POD, name, {"status": {"conditions": conditions}}, "status")
    host.delete(POD, name)
    host.settle()
    assert counts(host) == {"terminating": 1}
    host.run(12.5)
    assert counts(host) == {"succeeded": 1}


def test_with_replacement_policy_failed_a_deleted_pod_is_replaced_when_it_has_stopped() -> None:
    host = playground()
    host.job("j", {"closeknit.dev/run-time": "forever"}, podReplacementPolicy="Failed")
    host.run(5)
    host.delete(POD, host.pods()[0]["metadata"]["name"])
    host.run(0.5)
    assert counts(host) == {"terminating": 1}
    host.run(1)
    assert counts(host) == {"failed": 1}
    host.run(15)
    assert counts(host) == {"active": 1, "ready": 1, "failed": 1}


def test_a_success_policy_ends_the_job_early() -> None:
    host = playground()
    host.job(
        "j",
        {"closeknit.dev/run-time": "forever"},
        parallelism=2,
        completions=2,
        completionMode="Indexed",
        successPolicy={"rules": [{"succeededIndexes": "0"}]},
    )
    host.run(5)
    host.patch(POD, host.pods()[0]["metadata"]["name"], {"status": {"phase": "Succeeded"}}, "status")
    host.settle()
    assert states(host.get(JOB, "j")) == {"SuccessCriteriaMet": "True"}
    assert counts(host) == {"succeeded": 1, "terminating": 1}
    host.run(2)
    assert reason(host, "Complete") == ("SuccessPolicy", "Matched rules at index 0")
    assert counts(host) == {"succeeded": 1}


def test_a_finished_job_is_deleted_after_its_time() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, ttlSecondsAfterFinished=60)
    host.run(70)
    assert host.find(JOB, "j") is not None
    host.run(2)
    assert "deletionTimestamp" in host.get(JOB, "j")["metadata"]
    assert host.get(JOB, "j")["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_a_job_of_another_manager_is_ignored() -> None:
    host = playground()
    host.job("j", managedBy="kueue.x-k8s.io/multikueue")
    host.run(100)
    assert host.pods() == []


def test_pods_of_a_deleted_job_lose_their_finalizer() -> None:
    host = playground()
    host.job("j", {"closeknit.dev/run-time": "forever"})
    host.run(5)
    host.delete(JOB, "j")
    host.settle()
    (pod,) = host.pods()
    assert "finalizers" not in pod["metadata"]


def test_a_large_job_is_throttled_in_proportion_to_its_size() -> None:
    host = Playground(BatchJobs(), Binder(), Kubelet())
    for number in range(10):
        host.node(f"n{number}", cpu="1000", pods="1000")
    host.job("j", {"closeknit.dev/run-time": "1s"}, parallelism=500, completions=500, completionMode="Indexed")
    host.run(10)
    assert counts(host) == {"succeeded": 500}
    assert status(host)["completedIndexes"] == "0-499"


def test_work_continues_after_a_restart() -> None:
    host = playground()
    host.job("j", TEN_SECONDS, parallelism=2, completions=4, completionMode="Indexed")
    host.run(12)
    host.start([BatchJobs(), Binder(), Kubelet()])
    host.run(12)
    assert counts(host) == {"succeeded": 4}
    assert len(host.pods()) == 4


def test_a_pod_lost_with_its_node_counts_as_failed_and_is_replaced() -> None:
    host = playground()
    host.job("j", TEN_SECONDS)
    host.run(5)
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}})
    lost = host.pods()[0]["metadata"]["name"]
    host.delete(POD, lost)
    host.settle()
    assert counts(host) == {"failed": 1, "terminating": 1}
    assert "finalizers" not in host.get(POD, lost)["metadata"]
    host.node("n2")
    host.run(30)
    assert counts(host) == {"failed": 1, "terminating": 1, "active": 1}


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        (set(), ""),
        ({0}, "0"),
        ({0, 1}, "0,1"),
        ({0, 1, 2}, "0-2"),
        ({0, 2, 3, 4, 7, 8}, "0,2-4,7,8"),
    ],
)
def test_indexes_are_written_as_in_kubernetes(indexes: set[int], text: str) -> None:
    assert index_list.write(indexes) == text
    assert index_list.read(text) == indexes
