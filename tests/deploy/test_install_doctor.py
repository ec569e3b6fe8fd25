"""What `doctor` finds, one ailment at a time; a healthy installation has none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.deploy import kinds as server_kinds
from closeknit.deploy.bundle import stages
from closeknit.deploy.crds import KUEUE_KINDS
from closeknit.deploy.doctor import Finding, FindingLevel, examine, lease
from closeknit.deploy.objects import InstallOptions
from deploy.server import Server
from deploy.test_install_definitions import endpoints, kueues

Raw = dict[str, Any]
NOW = 1_800_000_000.0
ACCOUNT = "system:serviceaccount:closeknit-system:closeknit-controller"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "PAUSE", 0.0)


def a_lease(name: str, namespace: str, age: float, holder: str = "somebody") -> Raw:
    renewed = datetime.fromtimestamp(NOW - age, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def a_namespace(name: str) -> Raw:
    labels = {"kubernetes.io/metadata.name": name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def node(name: str, **labels: str) -> Raw:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def kueue(kind: str, name: str, **spec: Any) -> Raw:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def healthy(*more: Raw, **how: Any) -> Server:
    server = Server(*(one for stage in stages(InstallOptions()) for one in stage.objects), **how)
    server.add(a_lease("closeknit-controller", "closeknit-system", 2.0))
    server.add(a_namespace("default"))
    server.named(kinds.DEPLOYMENT, "closeknit-controller", "closeknit-system")["status"] = {"readyReplicas": 2}
    for one in more:
        server.add(one)
    return server


def findings(server: Server, wishes: InstallOptions | None = None) -> list[Finding]:
    async def all_of_them() -> list[Finding]:
        found = examine(server, wishes or InstallOptions(), lambda *words: f"closeknit {' '.join(words)}", lambda: NOW)
        return [one async for one in found]

    return asyncio.run(all_of_them())


def ailments(server: Server, wishes: InstallOptions | None = None) -> list[tuple[str, str, str]]:
    """Check, state and the beginning of the text of everything that is not ok."""
    return [
        (one.check, one.state.word, one.text) for one in findings(server, wishes) if one.state is not FindingLevel.OK
    ]


def test_a_healthy_installation_has_no_ailment_and_every_check_says_so() -> None:
    found = findings(healthy())
    assert {one.state for one in found} == {FindingLevel.OK}
    checks = [
        "versions",
        "definitions",
        "policies",
        "permissions",
        "topology",
        "zones",
        "queues",
        "controller",
        "kueue",
        "kinds",
    ]
    assert list(dict.fromkeys(one.check for one in found)) == checks


def test_every_ailment_comes_with_a_remedy() -> None:
    assert [one for one in findings(Server()) if one.state is not FindingLevel.OK and not one.remedy] == []


def test_nothing_installed_is_a_problem() -> None:
    assert ("versions", "problem", "closeknit is not installed in closeknit-system") in ailments(Server())


def test_a_server_without_mutating_policies_loses_the_holding_of_jobs() -> None:
    absent = {*server_kinds.OLDER, *server_kinds.OLDER.values()}
    [(check, state, text)] = ailments(healthy(absent=absent, version="v1.34.1"))
    assert (check, state) == ("versions", "warning")
    assert text.startswith("the server is v1.34.1, without MutatingAdmissionPolicy: the controller suspends jobs")


def test_a_server_that_has_them_in_an_older_version_lacks_nothing() -> None:
    server = healthy(absent=set(server_kinds.OLDER), version="v1.35.0")
    for one in [
        one for stage in stages(InstallOptions()) for one in stage.objects if one["kind"].startswith("Mutating")
    ]:
        server.add({**one, "apiVersion": "admissionregistration.k8s.io/v1beta1"})
    assert ailments(server) == []
    said = [one.text for one in findings(server) if one.check == "versions"]
    assert said[0] == "the server is v1.35.0, with admission policies, mutating ones as v1beta1"


def test_an_installation_of_another_version_is_reported() -> None:
    server = healthy()
    labels = server.named(kinds.DEPLOYMENT, "closeknit-controller", "closeknit-system")["metadata"]["labels"]
    labels["app.kubernetes.io/version"] = "0.0.9"
    assert ailments(server) == [("versions", "warning", "closeknit 0.0.9 is installed")]


def test_a_conversion_webhook_without_endpoints_is_a_problem() -> None:
    server = healthy(kueues(["v1beta2"]))
    [(check, state, text)] = ailments(server)
    assert (check, state) == ("definitions", "problem")
    assert text == (
        "the conversion webhook of workloads.kueue.x-k8s.io calls Service kueue-system/kueue-webhook-service, "
        "which has no endpoints"
    )
    [finding] = [one for one in findings(server) if one.state is FindingLevel.PROBLEM]
    assert "closeknit install --adopt-crds" in finding.remedy


def test_a_conversion_webhook_that_answers_is_none() -> None:
    assert ailments(healthy(kueues(["v1beta2"]), endpoints(["10.0.0.1"]))) == []


def test_objects_that_may_be_stored_in_another_version_are_reported() -> None:
    found = ailments(healthy(kueues(["v1beta1", "v1beta2"]), endpoints(["10.0.0.1"])))
    text = "workloads.kueue.x-k8s.io may hold objects that are stored as v1beta1, v1beta2"
    assert found == [("definitions", "warning", text)]


def test_a_definition_that_does_not_serve_our_version_is_a_problem() -> None:
    old = kueues(["v1beta2"], webhook=False)
    old["spec"]["versions"][1]["served"] = False
    text = "workloads.kueue.x-k8s.io serves v1beta1, not v1beta2"
    assert ailments(healthy(old)) == [("definitions", "problem", text)]


CONVERT = "manifests of older versions: `closeknit convert` rewrites them"


def of_kueue(versions: list[str]) -> Server:
    """All definitions are Kueue's, with these versions."""
    server = healthy()
    for kind in KUEUE_KINDS:
        one = server.named(server_kinds.CRD, kind.resource)
        one["metadata"]["labels"] = {}
        one["spec"]["versions"] = [{"name": name, "served": True, "storage": name == "v1beta2"} for name in versions]
        one["status"] = {"storedVersions": ["v1beta2"], "conditions": [{"type": "Established", "status": "True"}]}
    return server


@pytest.mark.parametrize(
    ("server", "is_told"),
    [(healthy, True), (lambda: of_kueue(["v1beta2"]), True), (lambda: of_kueue(["v1beta1", "v1beta2"]), False)],
    ids=["ours", "adopted", "Kueue's"],
)
def test_where_only_our_version_is_served_the_command_that_converts_others_is_named(
    server: Callable[[], Server], is_told: bool
) -> None:
    [found] = [one for one in findings(server()) if one.check == "definitions"]
    assert found.state is FindingLevel.OK
    assert (CONVERT in found.text) is is_told


def test_a_policy_that_is_gone_is_a_problem() -> None:
    server = healthy()
    del server.objects[server_kinds.MUTATING_BINDING, "", "closeknit-jobs"]
    text = "missing: mutatingadmissionpolicybinding/closeknit-jobs"
    assert ailments(server) == [("policies", "problem", text)]


def test_a_changed_policy_is_reported() -> None:
    server = healthy()
    server.named(server_kinds.VALIDATING_POLICY, "closeknit-jobs")["spec"]["failurePolicy"] = "Ignore"
    text = "not those of this version and configuration: validatingadmissionpolicy/closeknit-jobs"
    assert ailments(server) == [("policies", "warning", text)]


def test_policies_of_another_configuration_are_reported() -> None:
    wishes = replace(InstallOptions(), rules=replace(InstallOptions().rules, all_jobs=True))
    [(check, state, _)] = ailments(healthy(), wishes)
    assert (check, state) == ("policies", "warning")


def test_policies_that_are_there_and_not_in_force_are_a_problem() -> None:
    server = healthy()
    server.suspends = False
    [(check, state, text)] = ailments(server)
    assert (check, state) == ("policies", "problem")
    assert text.startswith("not in force: a Job that names a queue is not suspended at creation in default")


def test_without_jobs_among_the_frameworks_it_is_tried_as_the_controller_does() -> None:
    server = Server()
    server.suspends = False
    wishes = replace(
        InstallOptions(), rules=replace(InstallOptions().rules, frameworks=frozenset({"jobset.x-k8s.io/jobset"}))
    )
    [told] = [text for _, _, text in ailments(server, wishes) if "not in force" in text]
    assert "is not suspended at creation in closeknit-system" in told


def test_without_permission_for_a_dry_run_the_missing_verb_is_named() -> None:
    server = healthy()
    server.denied = {("create", "jobs")}
    [told] = [one for one in findings(server) if one.state is not FindingLevel.OK and one.check == "policies"]
    assert told.state is FindingLevel.WARNING
    assert "the verb create on jobs.batch in default is missing, which a dry run needs" in told.text


def test_a_verb_that_is_missing_is_named() -> None:
    server = healthy()
    server.denied = {("update", "jobs"), ("update", "workloads/status")}
    text = f"{ACCOUNT} lacks: update on jobs.batch, update on workloads.kueue.x-k8s.io/status"
    assert ailments(server) == [("permissions", "problem", text)]


def test_nodes_that_lack_a_level_are_named() -> None:
    server = healthy(
        node("n1", type="gpu", rack="r1"),
        node("n2", type="gpu"),
        kueue("Topology", "t", levels=[{"nodeLabel": "rack"}]),
        kueue("ResourceFlavor", "f", nodeLabels={"type": "gpu"}, topologyName="t"),
    )
    text = "1 of 2 nodes of resourceflavor f lack the label rack: n2"
    assert ailments(server) == [("topology", "warning", text)]


def test_a_flavor_without_nodes_and_one_without_its_topology_are_reported() -> None:
    server = healthy(
        node("n1", type="gpu"),
        kueue("ResourceFlavor", "empty", nodeLabels={"type": "tpu"}),
        kueue("ResourceFlavor", "lost", nodeLabels={"type": "gpu"}, topologyName="t"),
    )
    assert ailments(server) == [
        ("topology", "warning", "resourceflavor empty matches no node: none has type=tpu"),
        ("topology", "problem", "resourceflavor lost names the topology t, which does not exist"),
    ]


def inactive(name: str, reason: str, message: str) -> Raw:
    condition = {"type": "Active", "status": "False", "reason": reason, "message": message}
    return {**kueue("ClusterQueue", name), "status": {"conditions": [condition]}}


def local(name: str, **spec: Any) -> Raw:
    queue = kueue("LocalQueue", name, **spec)
    return {**queue, "metadata": {"name": name, "namespace": "team"}}


def test_queues_that_name_missing_objects_are_reported_with_or_without_a_controller() -> None:
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "gpu", "resources": []}]}]
    server = healthy(
        kueue("ClusterQueue", "bare", resourceGroups=groups),
        local("good", clusterQueue="bare"),
        local("lost", clusterQueue="gone"),
        local("empty"),
    )
    assert [one for one in ailments(server) if one[0] == "queues"] == [
        ("queues", "problem", "clusterqueue bare: there is no ResourceFlavor gpu"),
        ("queues", "problem", "localqueue team/empty: names no ClusterQueue"),
        ("queues", "problem", "localqueue team/lost: there is no ClusterQueue gone"),
    ]


def test_a_stopped_queue_is_reported_with_the_command_that_resumes_it() -> None:
    held = kueue("LocalQueue", "own", clusterQueue="team", stopPolicy="HoldAndDrain")
    held["metadata"]["namespace"] = "default"
    found = findings(healthy(kueue("ClusterQueue", "team", stopPolicy="Hold"), held))
    assert [(one.text, one.remedy) for one in found if one.check == "queues"] == [
        (
            "clusterqueue team is stopped (stopPolicy Hold): it admits nothing",
            "`closeknit queue resume team` resumes it",
        ),
        (
            "localqueue default/own is stopped (stopPolicy HoldAndDrain): it admits nothing",
            "`closeknit queue resume default/own` resumes it",
        ),
    ]


def test_an_inactive_queue_is_reported_unless_it_is_stopped() -> None:
    ending = inactive("ends", "Terminating", "Can't admit new workloads; clusterQueue is terminating")
    ending["metadata"]["deletionTimestamp"] = "2026-11-16T00:00:00Z"
    server = healthy(
        inactive(
            "wrong", "AdmissionCheckInactive", "Can't admit new workloads: references inactive AdmissionCheck(s): a."
        ),
        inactive("rests", "Stopped", "Can't admit new workloads: is stopped."),
        ending,
    )
    assert ailments(server) == [
        (
            "queues",
            "problem",
            "clusterqueue wrong: Can't admit new workloads: references inactive AdmissionCheck(s): a.",
        ),
        ("queues", "warning", "clusterqueue ends is being deleted: it admits nothing, and its workloads keep it"),
    ]


@pytest.mark.parametrize(
    ("ready", "state", "text"),
    [(1, "warning", "1 of 2 replicas are ready"), (0, "problem", "none of 2 replicas is ready")],
)
def test_replicas_that_are_not_ready_are_reported(ready: int, state: str, text: str) -> None:
    server = healthy()
    server.named(kinds.DEPLOYMENT, "closeknit-controller", "closeknit-system")["status"] = {"readyReplicas": ready}
    assert ailments(server) == [
        ("controller", state, f"deployment closeknit-system/closeknit-controller: {text}"),
    ]


def test_a_lease_that_is_not_renewed_has_no_leader() -> None:
    server = healthy(a_lease("closeknit-controller", "closeknit-system", 100.0))
    text = "no leader: the Lease closeknit-system/closeknit-controller is not renewed"
    assert ailments(server) == [("controller", "problem", text)]


@pytest.mark.parametrize(("age", "runs"), [(3.0, True), (100.0, False)])
def test_kueue_beside_us_is_a_problem_as_long_as_it_renews_its_lease(age: float, runs: bool) -> None:
    server = healthy(a_lease("c1f6bfd2.kueue.x-k8s.io", "kueue-system", age, "kueue-0"))
    text = "Kueue runs too: kueue-0 renews the Lease kueue-system/c1f6bfd2.kueue.x-k8s.io"
    assert ailments(server) == ([("kueue", "problem", text)] if runs else [])


@pytest.mark.parametrize(
    ("service", "groups", "told"),
    [
        ("kueue-webhook-service", ["batch"], True),
        ("hooks", ["kueue.x-k8s.io"], True),
        ("hooks", ["batch"], False),
    ],
)
def test_a_webhook_that_kueue_left_behind_is_a_problem(service: str, groups: list[str], told: bool) -> None:
    hook = {
        "clientConfig": {"service": {"namespace": "system", "name": service}},
        "rules": [{"apiGroups": groups, "resources": ["jobs"]}],
    }
    left = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "left"},
        "webhooks": [hook],
    }
    name = "validatingwebhookconfiguration left"
    text = f"{name} calls Service system/{service}, which has no endpoints: it rejects objects"
    assert ailments(healthy(left)) == ([("kueue", "problem", text)] if told else [])


def test_kinds_that_are_not_served_are_no_problem() -> None:
    server = healthy(absent={kinds.JOB_SET})
    [finding] = [one for one in findings(server) if one.check == "kinds"]
    assert (finding.state, finding.text) == (
        FindingLevel.OK,
        "not served, so what needs them is disabled: jobsets.jobset.x-k8s.io",
    )
