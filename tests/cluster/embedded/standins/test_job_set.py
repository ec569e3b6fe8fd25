from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.job import BatchJobs
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.operators.job_set import JobSets
from closeknit.cluster.kinds import EVENT, JOB, JOB_SET, POD, SERVICE
from closeknit.cluster.port import Key, Raw
from cluster.embedded.standins.playground import Playground, condition, states, template

RUN, CODE = "closeknit.dev/run-time", "closeknit.dev/exit-code"


def standins() -> list[Any]:
    return [JobSets(), BatchJobs(), Binder(), Kubelet(), GarbageCollector()]


def playground() -> Playground:
    host = Playground(*standins())
    host.node("n1")
    return host


def replicated(name: str, replicas: int = 1, pods: int = 1, notes: dict[str, str] | None = None, **more: Any) -> Raw:
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template(notes or {RUN: "30s"})}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **more}


def job_set(host: Playground, *jobs: Raw, **spec: Any) -> Raw:
    return host.create(JOB_SET, {"metadata": {"name": "js"}, "spec": {"replicatedJobs": list(jobs), **spec}})


def status(host: Playground) -> Raw:
    found: Raw = host.get(JOB_SET, "js")["status"]
    return found


def counts(host: Playground, name: str) -> dict[str, int]:
    """What is not zero."""
    found = next(one for one in status(host)["replicatedJobsStatus"] if one["name"] == name)
    return {key: value for key, value in found.items() if key != "name" and value}


def reasons(host: Playground) -> list[str]:
    """Of the events on the JobSet."""
    return [one["reason"] for one in host.all(EVENT) if one["involvedObject"]["kind"] == "JobSet"]


def suspend(host: Playground, yes: bool) -> None:
    host.patch(JOB_SET, "js", {"spec": {"suspend": yes}})


def test_every_replica_of_every_job_becomes_a_labelled_job() -> None:
    host = playground()
    made = job_set(host, replicated("workers", 2, pods=2), replicated("driver"))
    host.settle()
    assert host.names(JOB) == ["js-workers-0", "js-workers-1", "js-driver-0"]
    marks = {
        "jobset.sigs.k8s.io/jobset-name": "js",
        "jobset.sigs.k8s.io/jobset-uid": made["metadata"]["uid"],
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        "jobset.sigs.k8s.io/replicatedjob-replicas": "2",
        "jobset.sigs.k8s.io/global-replicas": "3",
        "jobset.sigs.k8s.io/group-name": "default",
        "jobset.sigs.k8s.io/group-replicas": "3",
        "jobset.sigs.k8s.io/job-index": "1",
        "jobset.sigs.k8s.io/job-global-index": "1",
        "jobset.sigs.k8s.io/job-group-index": "1",
        "jobset.sigs.k8s.io/job-key": "20dc345bc2e84bd8edbf2a3c1e402ea64730add9",
        "jobset.sigs.k8s.io/restart-attempt": "0",
    }
    job = host.get(JOB, "js-workers-1")
    assert job["metadata"]["labels"] == job["metadata"]["annotations"] == marks
    (owner,) = job["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("JobSet", "js", True)
    pod = next(one for one in host.pods() if one["metadata"]["name"].startswith("js-workers-1-0-"))
    assert marks.items() <= pod["metadata"]["labels"].items()
    assert marks.items() <= pod["metadata"]["annotations"].items()
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("js-workers-1-0", "js")
    assert host.get(JOB, "js-driver-0")["metadata"]["labels"]["jobset.sigs.k8s.io/job-global-index"] == "2"


def test_indexes_of_groups_count_within_the_group() -> None:
    host = playground()
    job_set(host, replicated("a", 2, groupName="g"), replicated("b", groupName="h"), replicated("c", groupName="g"))
    host.settle()
    labels = host.get(JOB, "js-c-0")["metadata"]["labels"]
    assert labels["jobset.sigs.k8s.io/group-replicas"] == "3"
    assert labels["jobset.sigs.k8s.io/job-group-index"] == "2"
    assert labels["jobset.sigs.k8s.io/job-global-index"] == "3"


def test_pods_have_names_by_a_service_unless_that_is_not_wanted() -> None:
    host = playground()
    job_set(host, replicated("a"))
    host.settle()
    service = host.get(SERVICE, "js")["spec"]
    assert service["clusterIP"] == "None"
    assert service["selector"] == {"jobset.sigs.k8s.io/jobset-name": "js"}
    assert service["publishNotReadyAddresses"] is True
    host = playground()
    job_set(host, replicated("a"), network={"enableDNSHostnames": False, "subdomain": "sub"})
    host.settle()
    assert host.names(SERVICE) == []
    assert all("subdomain" not in pod["spec"] for pod in host.pods())


def test_the_pod_that_coordinates_is_known_to_all() -> None:
    host = playground()
    coordinator = {"replicatedJob": "driver", "jobIndex": 0, "podIndex": 0}
    job_set(host, replicated("driver"), replicated("w"), coordinator=coordinator, network={"subdomain": "sub"})
    host.settle()
    for job in host.all(JOB):
        assert job["metadata"]["labels"]["jobset.sigs.k8s.io/coordinator"] == "js-driver-0-0.sub"


def test_it_is_complete_when_all_jobs_are() -> None:
    host = playground()
    job_set(host, replicated("workers", 2, pods=2), replicated("driver", notes={RUN: "60s"}))
    host.run(5)
    assert counts(host, "workers") == {"ready": 2, "active": 2}
    host.run(30)
    assert counts(host, "workers") == {"succeeded": 2}
    assert counts(host, "driver") == {"ready": 1, "active": 1}
    assert states(host.get(JOB_SET, "js")) == {}
    host.run(40)
    assert counts(host, "driver") == {"succeeded": 1}
    assert status(host)["terminalState"] == "Completed"
    assert status(host)["restarts"] == 0
    end = condition(host.get(JOB_SET, "js"), "Completed")
    assert end == {
        "type": "Completed",
        "status": "True",
        "reason": "AllJobsCompleted",
        "message": "jobset completed successfully",
        "lastTransitionTime": "2023-11-14T22:14:21Z",
    }
    assert reasons(host) == ["AllJobsCompleted"]


def test_one_completed_job_may_be_enough_and_the_others_are_deleted() -> None:
    host = playground()
    policy = {"operator": "Any", "targetReplicatedJobs": ["driver"]}
    job_set(host, replicated("driver"), replicated("w", notes={RUN: "forever"}), successPolicy=policy)
    host.run(40)
    assert states(host.get(JOB_SET, "js")) == {"Completed": "True"}
    assert host.names(JOB) == ["js-driver-0"]
    assert counts(host, "w") == {}


def test_a_finished_set_is_deleted_when_its_time_is_up() -> None:
    host = playground()
    job_set(host, replicated("a"), ttlSecondsAfterFinished=10)
    host.run(40)
    assert host.names(JOB_SET) == ["js"]
    host.run(2)
    assert host.names(JOB_SET) == host.names(JOB) == host.names(POD) == []


def test_a_suspended_set_has_suspended_jobs_and_no_pods() -> None:
    host = playground()
    job_set(host, replicated("workers", 2), replicated("driver"), suspend=True)
    host.run(5)
    assert [job["spec"]["suspend"] for job in host.all(JOB)] == [True, True, True]
    assert host.pods() == []
    assert counts(host, "workers") == {"suspended": 2}
    found = condition(host.get(JOB_SET, "js"), "Suspended")
    assert found is not None
    assert (found["status"], found["reason"], found["message"]) == ("True", "SuspendedJobs", "jobset is suspended")


def test_a_resumed_set_updates_its_jobs_from_the_current_templates() -> None:
    host = playground()
    job_set(host, replicated("a", notes={"kept": "1", RUN: "30s"}), suspend=True)
    host.run(5)
    path = "/spec/replicatedJobs/0/template/spec/template"
    changes = [
        {"op": "replace", "path": "/spec/suspend", "value": False},
        {"op": "add", "path": f"{path}/metadata/labels", "value": {"new": "label"}},
        {"op": "replace", "path": f"{path}/metadata/annotations", "value": {"new": "note"}},
        {"op": "add", "path": f"{path}/spec/nodeSelector", "value": {"kubernetes.io/hostname": "n1"}},
        {"op": "add", "path": f"{path}/spec/tolerations", "value": [{"key": "t", "operator": "Exists"}]},
        {"op": "add", "path": f"{path}/spec/schedulingGates", "value": [{"name": "gate/one"}]},
    ]
    host.store.patch(Key(JOB_SET, "default", "js"), changes, "json")
    host.run(1)
    inside = host.get(JOB, "js-a-0")["spec"]["template"]
    assert inside["metadata"]["labels"]["new"] == "label"
    assert inside["metadata"]["annotations"]["new"] == "note"
    assert inside["metadata"]["annotations"]["kept"] == "1"
    assert inside["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "n1"}
    assert inside["spec"]["tolerations"] == [{"key": "t", "operator": "Exists"}]
    assert inside["spec"]["schedulingGates"] == [{"name": "gate/one"}]
    assert states(host.get(JOB_SET, "js")) == {"Suspended": "False"}
    assert reasons(host) == ["SuspendedJobs", "ResumeJobs"]


def test_a_set_that_is_suspended_on_its_way_loses_its_pods_and_starts_over() -> None:
    host = playground()
    job_set(host, replicated("a", pods=2))
    host.run(10)
    suspend(host, True)
    host.run(5)
    assert host.pods() == []
    assert counts(host, "a") == {"suspended": 1}
    suspend(host, False)
    host.run(40)
    assert states(host.get(JOB_SET, "js")) == {"Suspended": "False", "Completed": "True"}


def test_jobs_in_order_start_when_those_before_are_ready() -> None:
    host = playground()
    slow = {RUN: "30s", "closeknit.dev/start-time": "5s"}
    job_set(
        host, replicated("a", notes=slow), replicated("b", notes=slow), startupPolicy={"startupPolicyOrder": "InOrder"}
    )
    host.run(3)
    assert host.names(JOB) == ["js-a-0"]
    assert states(host.get(JOB_SET, "js")) == {"StartupPolicyInProgress": "True"}
    host.run(4)
    assert host.names(JOB) == ["js-a-0", "js-b-0"]
    host.run(5)
    assert states(host.get(JOB_SET, "js")) == {"StartupPolicyInProgress": "False", "StartupPolicyCompleted": "True"}
    found = condition(host.get(JOB_SET, "js"), "StartupPolicyInProgress")
    assert found is not None
    assert found["message"] == "in order startup policy is in progress"
    host.run(60)
    assert states(host.get(JOB_SET, "js"))["Completed"] == "True"


def test_suspended_jobs_in_order_are_all_there_and_resume_one_after_the_other() -> None:
    host = playground()
    slow = {RUN: "30s", "closeknit.dev/start-time": "5s"}
    order = {"startupPolicyOrder": "InOrder"}
    job_set(host, replicated("a", notes=slow), replicated("b", notes=slow), startupPolicy=order, suspend=True)
    host.settle()
    assert host.names(JOB) == ["js-a-0", "js-b-0"]
    suspend(host, False)
    host.run(3)
    assert [job["spec"]["suspend"] for job in host.all(JOB)] == [False, True]
    assert states(host.get(JOB_SET, "js")) == {"Suspended": "True", "StartupPolicyInProgress": "True"}
    host.run(10)
    assert [job["spec"]["suspend"] for job in host.all(JOB)] == [False, False]
    assert states(host.get(JOB_SET, "js")) == {
        "Suspended": "False",
        "StartupPolicyInProgress": "False",
        "StartupPolicyCompleted": "True",
    }


def test_a_job_waits_for_what_it_depends_on() -> None:
    host = playground()
    after = [{"name": "a", "status": "Complete"}]
    job_set(host, replicated("a"), replicated("b", dependsOn=after))
    host.run(20)
    assert host.names(JOB) == ["js-a-0"]
    host.run(15)
    assert host.names(JOB) == ["js-a-0", "js-b-0"]
    host.run(35)
    assert states(host.get(JOB_SET, "js")) == {"Completed": "True"}


def test_a_failed_job_fails_the_set_by_default() -> None:
    host = playground()
    job_set(host, replicated("bad", notes={RUN: "3s", CODE: "3"}), replicated("good", notes={RUN: "forever"}))
    host.run(20)
    found = condition(host.get(JOB_SET, "js"), "Failed")
    assert found is not None
    assert found["reason"] == "FailedJobs"
    assert found["message"] == "jobset failed due to one or more job failures (first failed job: js-bad-0)"
    assert status(host)["terminalState"] == "Failed"
    assert host.names(JOB) == ["js-bad-0"]
    assert counts(host, "bad") == {"failed": 1}


def test_a_failed_job_restarts_the_set_as_often_as_it_may() -> None:
    host = playground()
    job_set(
        host,
        replicated("bad", notes={RUN: "10s", CODE: "3"}),
        replicated("good", notes={RUN: "forever"}),
        failurePolicy={"maxRestarts": 1},
    )
    host.run(5)
    first = {job["metadata"]["uid"] for job in host.all(JOB)}
    host.run(15)
    assert status(host)["restarts"] == status(host)["restartsCountTowardsMax"] == 1
    assert sorted(host.names(JOB)) == ["js-bad-0", "js-good-0"]
    assert not first & {job["metadata"]["uid"] for job in host.all(JOB)}
    for job in host.all(JOB):
        assert job["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1"
    found = condition(host.get(JOB_SET, "js"), "RestartingJobSet")
    assert found is not None
    assert (found["status"], found["reason"], found["message"]) == ("False", "JobsReady", "all jobs are ready")
    host.run(30)
    found = condition(host.get(JOB_SET, "js"), "Failed")
    assert found is not None
    assert found["reason"] == "ReachedMaxRestarts"
    assert found["message"] == "jobset failed due to reaching max number of restarts (first failed job: js-bad-0)"
    assert reasons(host) == ["RestartJobSetFailurePolicyAction", "JobsReady", "ReachedMaxRestarts", "JobSetFailed"]


def test_a_rule_may_fail_the_set_at_once() -> None:
    host = playground()
    rule = {"name": "r", "action": "FailJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]}
    bad = replicated("bad", notes={RUN: "3s", CODE: "3"})
    job_set(host, bad, failurePolicy={"maxRestarts": 3, "rules": [rule]})
    host.run(20)
    found = condition(host.get(JOB_SET, "js"), "Failed")
    assert found is not None
    assert found["reason"] == "FailJobSetFailurePolicyAction"
    assert status(host)["restarts"] == 0


def test_a_rule_may_restart_the_set_without_end_for_some_jobs() -> None:
    host = playground()
    rule = {"name": "again", "action": "RestartJobSetAndIgnoreMaxRestarts", "targetReplicatedJobs": ["bad"]}
    bad = replicated("bad", notes={RUN: "5s", CODE: "3"})
    policy = {"maxRestarts": 0, "restartStrategy": "BlockingRecreate", "rules": [rule]}
    job_set(host, bad, replicated("good", notes={RUN: "forever"}), failurePolicy=policy)
    host.run(60)
    assert status(host)["restarts"] > 3
    assert "restartsCountTowardsMax" not in status(host)
    assert "Failed" not in states(host.get(JOB_SET, "js"))
    found = condition(host.get(JOB_SET, "js"), "RestartingJobSet")
    assert found is not None
    assert found["reason"] in ("FailurePolicy_again", "JobsReady")


def test_a_rule_that_does_not_match_is_skipped() -> None:
    host = playground()
    rules = [
        {"name": "other", "action": "FailJobSet", "targetReplicatedJobs": ["good"]},
        {"name": "words", "action": "FailJobSet", "onJobFailureMessagePatterns": ["^never said$", "["]},
    ]
    bad = replicated("bad", notes={RUN: "3s", CODE: "3"})
    job_set(host, bad, failurePolicy={"maxRestarts": 5, "rules": rules})
    host.run(7)
    assert status(host)["restarts"] == 1


def test_jobs_of_another_manager_are_ignored() -> None:
    host = playground()
    job_set(host, replicated("a"), managedBy="kueue.x-k8s.io/multikueue")
    host.run(5)
    assert host.names(JOB) == []
    assert not host.get(JOB_SET, "js").get("status")


def test_a_deleted_set_takes_all_with_it() -> None:
    host = playground()
    job_set(host, replicated("a", 2))
    host.run(5)
    host.delete(JOB_SET, "js")
    host.run(5)
    assert host.names(JOB) == host.names(POD) == host.names(SERVICE) == []


def test_after_a_restart_of_the_host_it_continues() -> None:
    host = playground()
    job_set(host, replicated("a", 2), replicated("b", dependsOn=[{"name": "a", "status": "Complete"}]))
    host.run(10)
    host.start(standins())
    host.run(25)
    host.start(standins())
    host.run(40)
    assert states(host.get(JOB_SET, "js")) == {"Completed": "True"}
    assert reasons(host) == ["AllJobsCompleted"]


def test_at_rest_nothing_is_written() -> None:
    host = playground()
    job_set(host, replicated("a"), suspend=True)
    host.run(5)
    before = host.store.version
    host.start(standins())
    host.run(1000)
    assert host.store.version == before
