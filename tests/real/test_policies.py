"""Policies on a real server: when they are in force, in which order, what they accept, what is left without them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from closeknit.cluster.kinds import (
    DEPLOYMENT,
    JOB,
    JOB_SET,
    LEADER_WORKER_SET,
    MPI_JOB,
    POD,
    STATEFUL_SET,
    TRAIN_JOB,
    WORKLOAD_PRIORITY_CLASS,
    Kind,
)
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.deploy.crds import definitions
from closeknit.deploy.policies import AdmissionSettings, InForce, policies, policies_work
from closeknit.dialects.kueue.jobs.injection import Info
from closeknit.dialects.kueue.jobs.kinds import LIVE, Integration
from closeknit.dialects.kueue.jobs.kinds.pod import let_go
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.model.gates import ALL_GATES, Gates
from closeknit.model.shape import Toleration
from contract.client import Api
from contract.expect import accepted, eventually, gone, invalid, make, namespace
from corpus.job_objects import RULED, SUSPEND, TEMPLATES, reach
from servers.cluster import RealCluster
from servers.manifests import address, define
from servers.policies import install, remove

from .policed import CLASS, QUEUE, Raw, body_of, create, gates, labels, policed, queued, tried

TEAM = {QUEUE: "team"}
INFO = Info(
    "",
    4,
    {"kueue.x-k8s.io/podset": "main"},
    {"kueue.x-k8s.io/workload": "w", "kueue.x-k8s.io/podset-unconstrained-topology": "true"},
    {"pool": "a"},
    (Toleration("pool", "Equal", "a", "NoSchedule", None),),
    ("kueue.x-k8s.io/topology",),
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    with policed() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def api(cluster: RealCluster) -> Api:
    return cluster.api


@pytest.fixture
def space(api: Api) -> Iterator[str]:
    with namespace(api) as name:
        yield name


def asked(kubeconfig: Path, space: str = "default") -> InForce:
    async def ask() -> InForce:
        async with Client(read_config([kubeconfig])) as client:
            return await policies_work(client, space)

    return asyncio.run(ask())


def test_a_dry_run_shows_whether_policies_are_in_force(cluster: RealCluster) -> None:
    found = asked(cluster.kubeconfig)
    assert (found.works, found.known) == (True, True)
    left_alone = asked(cluster.kubeconfig, "kube-system")
    assert (left_alone.works, left_alone.known) == (False, True)


def test_without_permission_to_create_jobs_it_is_unknown(cluster: RealCluster, api: Api, space: str) -> None:
    make(api, f"/api/v1/namespaces/{space}/serviceaccounts", {"metadata": {"name": "poor"}})
    found = asked(cluster.kubeconfig_of(space, "poor"), space)
    assert (found.works, found.known) == (True, False)
    assert f"the verb create on jobs.batch in {space} is missing" in found.why


def test_kinds_are_served_where_the_plug_in_is_off_and_do_nothing() -> None:
    flags = {"kube-apiserver": ["--disable-admission-plugins=MutatingAdmissionPolicy,ServiceAccount"]}
    with RealCluster((), flags=flags) as cluster:
        define(cluster.api, definitions())
        for one in policies(AdmissionSettings()):
            accepted(cluster.api.apply(address(cluster.api, one), one, "test"), 201)
        found = asked(cluster.kubeconfig)
        assert (found.works, found.known) == (False, True)


def test_until_its_kinds_are_discovered_jobs_wait_and_other_objects_can_be_created() -> None:
    """A server that has cached discovery notices new kinds up to 30 s late."""
    with RealCluster(()) as cluster, namespace(cluster.api) as space:
        install(cluster.api)
        for kind in (JOB, POD, DEPLOYMENT, STATEFUL_SET):
            tried(cluster.api, kind, space)
        assert tried(cluster.api, JOB, space, TEAM)["spec"]["suspend"] is True


def test_a_static_pod_is_left_alone(api: Api) -> None:
    with queued(api, JOB) as space:
        body = body_of(POD, "x", nodeName="n")
        body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
        made = accepted(api.post(POD.path(space), body, dryRun="All"), 201)
        assert QUEUE not in labels(made)
        assert gates(made) == []


@pytest.mark.parametrize("named", [{}, TEAM], ids=["default queue", "named queue"])
def test_a_pod_of_a_daemon_set_is_left_alone(api: Api, named: Raw) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
    with queued(api, JOB) as space:
        body = body_of(POD, "x", named)
        body["metadata"]["ownerReferences"] = [owner]
        made = accepted(api.post(POD.path(space), body, dryRun="All"), 201)
        assert labels(made).get(QUEUE, "") == named.get(QUEUE, "")
        assert gates(made) == []
        assert "finalizers" not in made["metadata"]


def variants() -> Iterator[AdmissionSettings]:
    yield AdmissionSettings(all_jobs=True)
    yield AdmissionSettings(gates=Gates.profile("kueue"))
    yield AdmissionSettings(gates=Gates(frozenset()))
    yield AdmissionSettings(gates=Gates(frozenset(ALL_GATES)))
    for framework in ("batch/job", "pod", "deployment", "statefulset", "ray.io/rayjob", "kubeflow.org/mpijob"):
        yield AdmissionSettings(frameworks=frozenset({framework}))


def test_a_server_takes_them_whatever_the_settings(api: Api) -> None:
    for settings in variants():
        for one in policies(settings):
            answer = api.apply(address(api, one), one, "variant", force=True, dryRun="All")
            assert answer.status in (200, 201), answer.body


def test_all_jobs_wait_where_that_is_wanted(api: Api, space: str) -> None:
    found = install(api, replace(AdmissionSettings(), all_jobs=True))
    try:
        assert tried(api, JOB, space)["spec"]["suspend"] is True
        assert gates(tried(api, POD, space)) == ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"]
    finally:
        remove(api, found)
        install(api)
    assert tried(api, JOB, space)["spec"]["suspend"] is False


def test_the_order_in_which_policies_run_does_not_matter(api: Api) -> None:
    """A server orders policies randomly whenever one of them changes."""
    name = WORKLOAD_PRIORITY_CLASS.path("", "default")
    kind = {"apiVersion": WORKLOAD_PRIORITY_CLASS.api_version, "kind": WORKLOAD_PRIORITY_CLASS.kind}
    make(api, WORKLOAD_PRIORITY_CLASS.path(), {**kind, "metadata": {"name": "default"}, "value": 1})
    both = {QUEUE: "default", CLASS: "default"}
    with queued(api, JOB) as space:
        eventually(lambda: CLASS in labels(tried(api, JOB, space)))
        for _ in range(6):
            install(api)
            for one in (JOB, DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET, POD):
                raw = tried(api, one, space)
                assert both.items() <= labels(raw).items(), one
            for one in (DEPLOYMENT, LEADER_WORKER_SET):
                template = reach(tried(api, one, space), TEMPLATES[one][-1])
                assert both.items() <= labels(template).items(), one
            assert tried(api, JOB, space)["spec"]["suspend"] is True
            assert len(gates(tried(api, POD, space))) == 2
    api.delete(name)


@pytest.mark.parametrize("kind", SUSPEND, ids=lambda kind: kind.kind)
def test_what_the_controller_writes_to_start_and_stop_a_job_is_taken(api: Api, space: str, kind: Kind) -> None:
    integration = LIVE[kind.group, kind.kind]
    runtime = {"metadata": {"name": "torch"}, "spec": {"template": {"spec": {"replicatedJobs": [trainer()]}}}}
    raw = create(api, kind, space, "x", TEAM)
    assert integration.is_suspended(raw)
    workload = {
        "spec": {
            "podSets": [
                {"name": one.name, "template": one.template, "count": one.count}
                for one in integration.pod_sets(raw, runtime)
            ]
        }
    }
    infos = [replace(INFO, name=one.name, count=one.count) for one in integration.pod_sets(raw, runtime)]
    running = started(integration, raw, infos, runtime)
    assert isinstance(running, dict)
    stored = accepted(api.put(kind.path(space, "x"), running))
    assert not integration.is_suspended(stored)
    assert '"pool": "a"' in str(stored).replace("'", '"')
    stopped = at_rest(api, integration, kind, stored, workload, runtime)
    assert integration.is_suspended(stopped)
    assert "'pool': 'a'" not in str(stopped["spec"])


def at_rest(api: Api, integration: Integration, kind: Kind, raw: Raw, workload: Raw, runtime: Raw) -> Raw:
    """The job once the control plane has nothing left to write."""
    for _ in range(5):
        step = stopping(integration, raw, workload, runtime)
        if step is None:
            return raw
        where = kind.path(raw["metadata"]["namespace"], raw["metadata"]["name"], step.subresource)
        raw = accepted(api.put(where, step.body))
    raise AssertionError("it does not come to rest")


def trainer() -> Raw:
    pod = {"spec": {"containers": [{"name": "node", "image": "i:1"}]}}
    return {"name": "node", "template": {"spec": {"template": pod}}}


def test_a_pod_is_ungated_and_finishes(api: Api, space: str) -> None:
    pod = create(api, POD, space, "x", TEAM)
    assert gates(pod) == ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"]
    integration = LIVE["", "Pod"]
    running = started(integration, pod, [replace(INFO, name="main", count=1, annotations={})])
    assert isinstance(running, dict)
    pod = accepted(api.put(POD.path(space, "x"), running))
    assert gates(pod) == ["kueue.x-k8s.io/topology"]
    pod = accepted(api.merge(POD.path(space, "x"), {"spec": {"schedulingGates": None}}))
    assert gates(pod) == []
    api.delete(POD.path(space, "x"), {"gracePeriodSeconds": 0})
    waiting = api.get(POD.path(space, "x")).body
    assert waiting["metadata"]["finalizers"] == ["kueue.x-k8s.io/managed"]
    accepted(api.put(POD.path(space, "x"), let_go(waiting)))
    eventually(gone(api, POD.path(space, "x")))


def test_an_invalid_existing_object_can_still_be_deleted(api: Api, space: str) -> None:
    wrong = {QUEUE: "Team"}
    remove(api, found := install(api))
    create(api, JOB, space, "old", wrong)
    install(api)
    invalid(api.post(JOB.path(space), body_of(JOB, "new", wrong)))
    held = accepted(api.merge(JOB.path(space, "old"), {"metadata": {"finalizers": ["example.com/x"]}}))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": held["metadata"]["uid"]}
    accepted(api.merge(JOB.path(space, "old"), {"metadata": {"ownerReferences": [owner]}}))
    invalid(api.merge(JOB.path(space, "old"), {"metadata": {"labels": {"a": "b"}}}))
    accepted(api.delete(JOB.path(space, "old"), {"propagationPolicy": "Background"}))
    accepted(api.merge(JOB.path(space, "old"), {"metadata": {"labels": {"a": "b"}, "finalizers": None}}))
    eventually(gone(api, JOB.path(space, "old")))
    assert found


def test_without_policies_everything_can_be_made_changed_and_deleted(api: Api, space: str) -> None:
    for kind in (JOB, POD, DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET):
        create(api, kind, space, "held", TEAM)
    remove(api, install(api))
    try:
        for kind in (JOB, POD, DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET):
            create(api, kind, space, "free", TEAM)
            accepted(api.merge(kind.path(space, "held"), {"metadata": {"labels": {QUEUE: None}, "finalizers": None}}))
            for name in ("held", "free"):
                options = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
                assert api.delete(kind.path(space, name), options).status == 200
                eventually(gone(api, kind.path(space, name)))
    finally:
        install(api)


def told_of(api: Api, space: str, kind: Kind, at: str, key: str) -> list[str]:
    """The warnings on creating an object with this annotation there."""
    raw = body_of(kind, "warned", TEAM)
    reach(raw, at).setdefault("metadata", {})["annotations"] = {key: "true"}
    answer = api.post(kind.path(space), raw, dryRun="All")
    assert answer.status == 201, answer.body
    return [one for one in answer.warnings if "spelling" in one]


WRONG, RIGHT = "kueue.x-k8s.io/podset-requird-topology", "kueue.x-k8s.io/podset-unconstrained-topology"


@pytest.mark.parametrize("kind", [*RULED, POD, DEPLOYMENT, STATEFUL_SET], ids=lambda kind: kind.kind)
def test_a_misspelt_key_gets_a_warning_and_nothing_is_refused_for_it(api: Api, space: str, kind: Kind) -> None:
    template = TEMPLATES[kind][-1]
    (said,) = told_of(api, space, kind, template, WRONG)
    assert f"annotations[{WRONG}]: is not a known key; the keys are kueue.x-k8s.io/podset-" in said
    assert told_of(api, space, kind, template, RIGHT) == []


@pytest.mark.parametrize(
    ("kind", "at"),
    [
        (JOB_SET, "spec.replicatedJobs.1.template"),
        *((kind, "") for kind in (*RULED, DEPLOYMENT, STATEFUL_SET, TRAIN_JOB)),
    ],
    ids=lambda one: one.kind if isinstance(one, Kind) else one,
)
def test_a_key_that_is_not_on_the_pod_template_gets_a_warning(api: Api, space: str, kind: Kind, at: str) -> None:
    (said,) = told_of(api, space, kind, at, RIGHT)
    where = "spec.replicatedJobs[1].template.metadata" if at else " metadata"
    assert f"{where}.annotations[{RIGHT}]: is ignored there; put it on the pod template" in said


def test_a_spec_that_is_not_a_mapping_is_refused_by_its_schema(api: Api, space: str) -> None:
    inner = {MPI_JOB: {"mpiReplicaSpecs": [1]}, LEADER_WORKER_SET: {"leaderWorkerTemplate": [1]}}
    for kind in (one for one in (*SUSPEND, LEADER_WORKER_SET) if not one.is_built_in):
        for spec in ("text", [1], 5, inner.get(kind, "text")):
            body = {**body_of(kind, "x", TEAM), "spec": spec}
            answer = api.post(kind.path(space), body, dryRun="All")
            assert answer.status in (400, 422), answer.body
            assert "Policy" not in answer.body["message"], answer.body["message"]
