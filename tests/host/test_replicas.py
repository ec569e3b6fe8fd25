"""Replicas of a JobSet on the embedded host: each in its own rack, also after a failure; apart; in an order."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.errors import Refused
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from host.centre import BLOCK, QUEUES, RACK, centre
from host.lab import Lab, Raw, condition
from host.test_node_failure import PAUSE, evictions, fail

PER_REPLICA, SPREAD = "closeknit.dev/podset-per-replica", "closeknit.dev/podset-spread-topology"
ORDER, REQUIRED = "closeknit.dev/placement-order", "kueue.x-k8s.io/podset-required-topology"
REPLICA, INDEX = "jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-completion-index"
Notes = Mapping[str, str]
EACH = {REQUIRED: RACK, PER_REPLICA: "true"}


def replicated(name: str, replicas: int, pods: int, notes: Notes, selector: Notes | None = None) -> Raw:
    """A replicated job whose pods take one CPU."""
    container = {"name": "main", "image": "example", "resources": {"requests": {"cpu": "1"}}}
    pod = {"restartPolicy": "Never", "containers": [container], "nodeSelector": dict(selector or {})}
    template = {"metadata": {"annotations": {"closeknit.dev/run-time": "1h", **notes}}, "spec": pod}
    job = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
    return {"name": name, "replicas": replicas, "template": {"spec": job}}


def job_set(*jobs: Raw, notes: Notes | None = None) -> Raw:
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": "train",
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": "lq"},
            "annotations": dict(notes or {}),
        },
        "spec": {"replicatedJobs": list(jobs)},
    }


def running(raw: Raw, cpu: int = 4, options: EmbeddedOptions | None = None) -> Lab:
    lab = centre(Lab(options), cpu)
    lab.create(raw)
    lab.advance(10)
    return lab


def domains(lab: Lab, level: str = RACK) -> dict[str, set[str]]:
    """The domains of each replica's running pods."""
    found: dict[str, set[str]] = {}
    for pod in lab.pods():
        if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
            node = lab.get(kinds.NODE, pod["spec"]["nodeName"])
            found.setdefault(pod["metadata"]["labels"][REPLICA], set()).add(node["metadata"]["labels"][level])
    return found


def ranks(lab: Lab, size: int) -> set[int]:
    """The ranks of the running pods, each of which is that of its index in its replica of `size` pods."""
    found = set()
    for pod in lab.pods():
        if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
            labels = pod["metadata"]["labels"]
            found.add(int(labels["closeknit.dev/rank"]))
            assert int(labels["closeknit.dev/rank"]) == size * int(labels[REPLICA]) + int(labels[INDEX])
    return found


def test_three_replicas_of_twelve_run_in_three_racks() -> None:
    lab = running(job_set(replicated("w", 3, 12, EACH)))
    assert ranks(lab, 12) == set(range(36))
    assert sorted(map(sorted, domains(lab).values())) == [["r0"], ["r1"], ["r2"]]


def test_without_the_annotation_or_the_gate_thirty_six_pods_in_one_rack_wait() -> None:
    off = EmbeddedOptions(gates=Gates.profile("closeknit", {"PlacementPerReplica": False}), seed=1)
    for lab in (
        running(job_set(replicated("w", 3, 12, {REQUIRED: RACK}))),
        running(job_set(replicated("w", 3, 12, EACH)), options=off),
    ):
        assert not lab.pods()
        assert not condition(lab.workloads()[0], "Admitted")


def test_a_killed_node_is_replaced_in_the_rack_of_its_replica() -> None:
    lab = running(job_set(replicated("w", 3, 8, EACH)))
    before = domains(lab)
    fail(lab, *(_host(lab, replica) for replica in ("0", "2")))
    lab.advance(PAUSE)
    assert ranks(lab, 8) == set(range(24))
    assert domains(lab) == before
    assert evictions(lab.workloads()[0]) == {}


def _host(lab: Lab, replica: str) -> str:
    pods = (pod for pod in lab.pods() if pod["metadata"]["labels"][REPLICA] == replica)
    name: str = next(pods)["spec"]["nodeName"]
    return name


def test_replicas_apart_run_in_different_blocks() -> None:
    together = running(job_set(replicated("w", 2, 4, EACH)))
    assert set().union(*domains(together, BLOCK).values()) == {"b0"}
    apart = running(job_set(replicated("w", 2, 4, {**EACH, SPREAD: BLOCK})))
    assert sorted(map(sorted, domains(apart, BLOCK).values())) == [["b0"], ["b1"]]


@pytest.mark.parametrize("on_job", [False, True], ids=["on the template", "on the job"])
def test_the_order_is_that_of_the_job(on_job: bool) -> None:
    lab = running(job_set(replicated("a", 1, 2, {REQUIRED: RACK})))
    assert domains(lab) == {"0": {"r0"}}
    second = job_set(replicated("b", 1, 2, {REQUIRED: RACK, **({} if on_job else {ORDER: "spread"})}))
    second["metadata"] |= {"name": "other", "annotations": {ORDER: "spread"} if on_job else {}}
    lab.create(second)
    lab.advance(10)
    racks = {pod["metadata"]["labels"]["closeknit.dev/domain.topology-rack"] for pod in lab.pods()}
    assert racks == {"r0", "r1"}


@pytest.mark.parametrize(
    ("notes", "key", "text"),
    [
        ({**EACH, PER_REPLICA: "yes"}, PER_REPLICA, 'use "true" or "false"'),
        ({REQUIRED: RACK, SPREAD: RACK}, SPREAD, f'add {PER_REPLICA}: "true", or remove it'),
        ({REQUIRED: RACK, ORDER: "random"}, ORDER, "use binpack or spread"),
        ({PER_REPLICA: "true"}, PER_REPLICA, f"add {REQUIRED}"),
        (
            {**EACH, "kueue.x-k8s.io/podset-slice-required-topology": RACK, "kueue.x-k8s.io/podset-slice-size": "3"},
            "kueue.x-k8s.io/podset-slice-size",
            "replicas of 4 pods do not divide into slices of 3",
        ),
    ],
)
def test_a_mistake_in_the_annotations_is_refused_at_creation(notes: Notes, key: str, text: str) -> None:
    lab = centre(Lab())
    with pytest.raises(Refused) as refused:
        lab.create(job_set(replicated("w", 3, 4, notes)))
    assert f"spec.replicatedJobs[0].template.spec.template.metadata.annotations[{key}]" in str(refused.value)
    assert text in str(refused.value)
    assert not lab.all(kinds.JOB_SET)


def two_hosts(options: EmbeddedOptions | None = None) -> Lab:
    """A host for 8 pods, with a label, and one for 9."""
    lab = Lab(options)
    for name, cpu, kind in (("s", "8", "special"), ("h", "9", "plain")):
        labels = {"kubernetes.io/hostname": name, BLOCK: "b", RACK: "r", "pool": "gpu", "kind": kind}
        room = {"cpu": cpu, "memory": "64Gi", "pods": "32"}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"allocatable": room, "capacity": room, "conditions": [ready]}
        lab.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status})
    lab.apply(QUEUES)
    lab.settle()
    return lab


def test_a_job_before_one_that_selects_the_tighter_host_leaves_it_to_that_one() -> None:
    on_host = {REQUIRED: "kubernetes.io/hostname"}
    raw = job_set(replicated("any", 1, 8, on_host), replicated("special", 1, 8, on_host, {"kind": "special"}))
    ours, kueue = two_hosts(), two_hosts(EmbeddedOptions(gates=Gates.profile("kueue"), seed=1))
    for lab in (ours, kueue):
        lab.create(raw)
        lab.advance(10)
    hosts = {
        (pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"], pod["spec"]["nodeName"])
        for pod in ours.pods()
    }
    assert hosts == {("any", "h"), ("special", "s")}
    assert condition(ours.workloads()[0], "PodsReady")
    assert not kueue.pods()
