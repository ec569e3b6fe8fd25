"""Pods on simulated machines behave as their annotations say."""

from __future__ import annotations

from contract.client import Api
from contract.expect import eventually, gone
from contract.objects import jobs, pods
from servers.cluster import RealCluster
from servers.manifests import is_true

from .objects import job, of_job, template


def test_a_job_of_two_pods_runs_to_completion(cluster: RealCluster, api: Api, space: str) -> None:
    cluster.apply([job("train", space, template(run_time="2s"), completions=2, parallelism=2)])
    eventually(lambda: is_true(api.get(jobs(space, "train")).body, "Complete"))
    found = of_job(api, space, "train")
    assert [one["status"]["phase"] for one in found] == ["Succeeded", "Succeeded"]
    assert len({one["status"]["podIP"] for one in found}) == 2


def test_a_pod_ends_with_its_annotated_exit_code(cluster: RealCluster, api: Api, space: str) -> None:
    cluster.apply([job("train", space, template(run_time="1s", exit_code="7"), backoffLimit=0)])
    eventually(lambda: is_true(api.get(jobs(space, "train")).body, "Failed"))
    (pod,) = of_job(api, space, "train")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7


def test_a_pod_that_fails_before_it_is_done_fails(cluster: RealCluster, api: Api, space: str) -> None:
    cluster.apply([job("train", space, template(run_time="forever", fail_after="1s"), backoffLimit=0)])
    eventually(lambda: is_true(api.get(jobs(space, "train")).body, "Failed"))
    (pod,) = of_job(api, space, "train")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


def test_a_pod_that_is_done_before_it_fails_succeeds(cluster: RealCluster, api: Api, space: str) -> None:
    cluster.apply([job("train", space, template(run_time="1s", fail_after="1m"), backoffLimit=0)])
    eventually(lambda: is_true(api.get(jobs(space, "train")).body, "Complete"))


def test_a_pod_that_fails_and_is_to_be_restarted_runs_again(cluster: RealCluster, api: Api, space: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", **template("OnFailure", run_time="1s", exit_code="3")}
    pod["metadata"] |= {"name": "again", "namespace": space}
    cluster.apply([pod])

    def restarts() -> int:
        states = api.get(pods(space, "again")).body["status"].get("containerStatuses") or [{}]
        return int(states[0].get("restartCount", 0))

    eventually(lambda: restarts() >= 2)
    status = api.get(pods(space, "again")).body["status"]
    assert status["phase"] == "Running"
    assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 3


def test_a_change_of_a_pod_does_not_restart_its_run(cluster: RealCluster, api: Api, space: str) -> None:
    cluster.apply([job("train", space, template(run_time="3s"))])
    eventually(lambda: [one["status"]["phase"] for one in of_job(api, space, "train")] == ["Running"])
    (pod,) = of_job(api, space, "train")
    turns = iter(range(1000))

    def done_while_it_changes() -> bool:
        api.merge(pods(space, pod["metadata"]["name"]), {"metadata": {"labels": {"turn": str(next(turns))}}})
        return is_true(api.get(jobs(space, "train")).body, "Complete")

    eventually(done_while_it_changes)


def test_a_deleted_pod_stops_and_goes_and_its_job_makes_another(cluster: RealCluster, api: Api, space: str) -> None:
    cluster.apply([job("train", space, template(run_time="forever"))])
    eventually(lambda: [one["status"]["phase"] for one in of_job(api, space, "train")] == ["Running"])
    (first,) = of_job(api, space, "train")
    api.delete(pods(space, first["metadata"]["name"]))
    eventually(gone(api, pods(space, first["metadata"]["name"])))
    eventually(lambda: [one["status"]["phase"] for one in of_job(api, space, "train")] == ["Running"])


def test_pods_of_services_stay(cluster: RealCluster, api: Api, space: str) -> None:
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": space},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template("Always")},
    }
    body["spec"]["template"]["metadata"]["labels"] = {"app": "web"}  # type: ignore[index]
    cluster.apply([body])
    assert "successfully rolled out" in cluster.kubectl(
        "-n", space, "rollout", "status", "deployment/web", "--timeout=90s"
    )
