"""Every kind of job on the embedded host: queued, started on its planned nodes in the order of its ranks, ended.

And put back as it was submitted when it is evicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from closeknit.cluster import kinds
from closeknit.cluster.kinds import kind_of
from host.centre import HOST, RACK, centre
from host.jobs_of_each_kind import CASES, DEPLOYMENT, GROUP, JOB, LEADER_WORKER_SET, POD, STATEFUL_SET, Case
from host.lab import Lab, Raw, condition
from stories.invariants import placed

SUSPENDED = [case for case in CASES if case not in (POD, GROUP, DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET)]


def started(case: Case) -> Lab:
    lab = centre()
    lab.apply(case.manifest)
    lab.advance(10)
    return lab


def planned(workload: Raw, pod_set: str) -> list[str]:
    """Hosts in the order of ranks."""
    [hosts] = [hosts for one, _, hosts in placed(workload) if one["name"] == pod_set]
    return [host for host, count in hosts.items() for _ in range(count)]


def crews(lab: Lab) -> Iterator[tuple[Raw, str, list[Raw]]]:
    """Each workload with each of its pod sets and that pod set's pods."""
    for workload in lab.workloads():
        for one in workload["spec"]["podSets"]:
            name = workload["metadata"]["name"]
            yield workload, one["name"], [pod for pod in lab.pods() if belongs(pod, name, one["name"])]


def belongs(pod: Raw, workload: str, pod_set: str) -> bool:
    meta = pod["metadata"]
    return bool(
        meta["annotations"].get("kueue.x-k8s.io/workload") == workload
        and meta["labels"].get("kueue.x-k8s.io/podset") == pod_set
    )


def rank(pod: Raw, labels: str) -> list[int]:
    return [int(pod["metadata"]["labels"][label]) for label in labels.split(",")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_its_pods_run_where_they_were_planned(case: Case) -> None:
    lab = started(case)
    assert len(lab.pods()) == case.pods
    racks = {node["metadata"]["name"]: node["metadata"]["labels"][RACK] for node in lab.all(kinds.NODE, "")}
    for workload, pod_set, pods in crews(lab):
        assert condition(workload, "Admitted")
        assert condition(workload, "PodsReady")
        assert all(pod["status"]["phase"] == "Running" for pod in pods)
        hosts = [pod["spec"]["nodeName"] for pod in pods]
        assert Counter(hosts) == Counter(planned(workload, pod_set))
        assert all(pod["spec"]["nodeSelector"] == {"pool": "gpu", HOST: pod["spec"]["nodeName"]} for pod in pods)
        assert len({racks[host] for host in hosts}) == 1
    assert sum(len(pods) for *_, pods in crews(lab)) == case.pods


@pytest.mark.parametrize("case", [case for case in CASES if case.ranks], ids=lambda case: case.name)
def test_its_pods_are_in_the_order_of_their_ranks(case: Case) -> None:
    for workload, pod_set, pods in crews(started(case)):
        if all(case.ranks.split(",")[0] in pod["metadata"]["labels"] for pod in pods):
            in_order = sorted(pods, key=lambda pod: rank(pod, case.ranks))
            assert [pod["spec"]["nodeName"] for pod in in_order] == planned(workload, pod_set)


@pytest.mark.parametrize("case", [case for case in CASES if case.completes], ids=lambda case: case.name)
def test_it_completes_and_gives_everything_back(case: Case) -> None:
    lab = started(case)
    lab.advance(120)
    [workload] = lab.workloads()
    assert condition(workload, "Finished")
    assert workload["metadata"].get("finalizers") is None
    assert lab.cluster.control_plane.cache.world.ledger.holdings == {}
    assert [
        usage["resources"][0]["total"] for usage in lab.get(kinds.CLUSTER_QUEUE, "cq")["status"]["flavorsUsage"]
    ] == ["0"]


@pytest.mark.parametrize("case", [case for case in CASES if not case.completes], ids=lambda case: case.name)
def test_it_serves_until_it_is_deleted(case: Case) -> None:
    lab = started(case)
    lab.advance(600)
    assert len(lab.pods()) == case.pods
    assert all(pod["status"]["phase"] == "Running" for pod in lab.pods())
    kind = kind_of(*first(case))
    assert kind is not None
    lab.delete(kind, "default", "one")
    lab.advance(60)
    assert lab.pods() == []
    assert lab.workloads() == []
    assert lab.cluster.control_plane.cache.world.ledger.holdings == {}


def first(case: Case) -> tuple[str, str]:
    """The version and kind of the job itself, which comes last in its manifest."""
    raw = list(yaml.safe_load_all(case.manifest))[-1]
    return raw["apiVersion"], raw["kind"]


@pytest.mark.parametrize("case", SUSPENDED, ids=lambda case: case.name)
def test_an_eviction_puts_it_back_as_it_was_submitted(case: Case) -> None:
    lab = centre()
    submitted = lab.apply(case.manifest)[-1]
    lab.advance(10)
    kind = kind_of(submitted["apiVersion"], submitted["kind"])
    assert kind is not None
    [workload] = lab.workloads()
    running = lab.get(kind, "one")
    assert running["spec"] != submitted["spec"]
    lab.patch(kinds.WORKLOAD, "default", workload["metadata"]["name"], {"spec": {"active": False}})
    lab.advance(60)
    after = lab.get(kind, "one")
    assert after["spec"] == submitted["spec"]
    assert after["metadata"].get("annotations") == submitted["metadata"].get("annotations")
    assert after["metadata"]["labels"] == submitted["metadata"]["labels"]
    assert lab.cluster.control_plane.cache.world.ledger.holdings == {}
    assert not any(pod["status"]["phase"] == "Running" for pod in lab.pods())


@pytest.mark.parametrize("case", SUSPENDED, ids=lambda case: case.name)
def test_after_an_eviction_it_runs_again(case: Case) -> None:
    lab = started(case)
    [workload] = lab.workloads()
    name = workload["metadata"]["name"]
    lab.patch(kinds.WORKLOAD, "default", name, {"spec": {"active": False}})
    lab.advance(60)
    lab.patch(kinds.WORKLOAD, "default", name, {"spec": {"active": True}})
    lab.advance(300)
    [workload] = lab.workloads()
    if case.completes:
        assert condition(workload, "Finished")
    else:
        assert condition(workload, "PodsReady")


def test_a_job_that_names_what_is_not_there_waits_for_it() -> None:
    lab = centre()
    lab.apply(JOB.manifest.replace("queue-name: lq", "queue-name: lq, kueue.x-k8s.io/priority-class: gold"))
    lab.advance(5)
    assert lab.workloads() == []
    warnings = [event["reason"] for event in lab.all(kinds.EVENT) if event["type"] == "Warning"]
    assert warnings == ["WorkloadPriorityClassNotFound"]
    lab.apply("{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: gold}, value: 7}")
    lab.advance(60)
    [workload] = lab.workloads()
    assert workload["spec"]["priority"] == 7
    assert condition(workload, "Finished")


def test_a_job_of_higher_priority_takes_the_place_of_another_which_comes_back() -> None:
    lab = centre()
    large = JOB.manifest.replace("parallelism: 5", "parallelism: 24").replace("completions: 5", "completions: 24")
    lab.apply(large.replace("-required-", "-preferred-"))
    lab.advance(5)
    urgent = JOB.manifest.replace("name: one", "name: two").replace(
        "queue-name: lq", "queue-name: lq, kueue.x-k8s.io/priority-class: high"
    )
    lab.apply(urgent)
    lab.advance(15)
    by_owner = {one["metadata"]["ownerReferences"][0]["name"]: one for one in lab.workloads()}
    assert condition(by_owner["two"], "Admitted")
    assert not condition(by_owner["one"], "Admitted")
    assert condition(by_owner["one"], "Preempted")
    lab.advance(200)
    assert all(condition(one, "Finished") for one in lab.workloads())
