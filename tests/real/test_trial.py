"""The controller finds out under its own account whether policies are in force."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from closeknit.cluster.kinds import JOB
from contract.client import Api
from contract.expect import accepted, eventually, invalid, make
from contract.objects import path
from servers.real.objects import job, template

from .installation import (
    ACCOUNT,
    HOME,
    NAME,
    ailments,
    await_policies,
    ck,
    controller,
    done,
    findings,
    installed,
    refusals,
    said,
)

Raw = dict[str, Any]
QUEUED = {"kueue.x-k8s.io/queue-name": "team"}
CURRENT = "admission policies are in force and match the configuration"
OTHER = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, pod]}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: closed}
spec: {namespaceSelector: {}, stopPolicy: Hold}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: default}
spec: {clusterQueue: closed}
"""


def queued(name: str, namespace: str = "default") -> Raw:
    body = job(name, namespace, template())
    body["metadata"]["labels"] = dict(QUEUED)
    return body


def event_reasons(api: Api, name: str) -> set[str]:
    """The reasons of an object's events."""
    items = api.get(path("v1/events", "default")).body["items"]
    return {one["reason"] for one in items if one["involvedObject"].get("name") == name}


def test_the_account_finds_them_in_force_and_can_make_no_job() -> None:
    with installed() as cluster:
        await_policies(cluster)
        with controller(cluster) as process:
            eventually(lambda: CURRENT in said(process))
            assert "WARNING" not in said(process).partition(CURRENT)[0]
        assert refusals(cluster) == []
        with closing(Api.from_kubeconfig(cluster.kubeconfig_of(HOME, NAME))) as account:
            invalid(account.post(JOB.path(HOME), queued("mine", HOME)))
            assert account.post(JOB.path("default"), queued("theirs"), dryRun="All").status == 403
        accepted(cluster.api.post(JOB.path(HOME), queued("admins", HOME)), 201)


def test_policies_of_another_configuration_and_deleted_ones_are_reported(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(OTHER)
    with installed(config=config) as cluster:
        await_policies(cluster)
        place = path("v1/configmaps", HOME, f"{NAME}-config")
        text = cluster.api.get(place).body["data"]["controller_manager_config.yaml"].replace(", pod", "")
        accepted(cluster.api.merge(place, {"data": {"controller_manager_config.yaml": text}}))
        with controller(cluster) as process:
            eventually(lambda: "do not match this configuration" in said(process))
            assert any("not those of this version and configuration" in text for _, text in ailments(cluster))
            done(ck(cluster, "install"))
            eventually(lambda: CURRENT in said(process))
            cluster.kubectl("delete", "mutatingadmissionpolicy", "-l", "app.kubernetes.io/part-of=closeknit")
            eventually(lambda: "are no longer in force" in said(process))


def test_without_the_plugin_jobs_are_suspended_when_seen_and_pods_get_an_event() -> None:
    with installed("--disable-admission-plugins=MutatingAdmissionPolicy,ServiceAccount") as cluster:
        cluster.apply(QUEUES)
        with controller(cluster) as process:
            eventually(lambda: "Closeknit's admission policies are not in force: deployment, " in said(process))
            made = make(cluster.api, JOB.path("default"), queued("unheld"))
            assert not made["spec"].get("suspend")
            eventually(lambda: cluster.api.get(JOB.path("default", "unheld")).body["spec"]["suspend"] is True)
            pod = {"metadata": {"name": "free", "labels": QUEUED}, "spec": template()["spec"]}
            make(cluster.api, path("v1/pods", "default"), pod)
            eventually(lambda: "NotQueued" in event_reasons(cluster.api, "free"))
            [found] = [text for check, state, text in findings(cluster) if (check, state) == ("policies", "problem")]
            assert found.startswith("not in force: ")
        assert refusals(cluster) == []


def test_a_revoked_verb_is_reported_and_everything_continues() -> None:
    with installed() as cluster:
        place = path("rbac.authorization.k8s.io/v1/roles", HOME, NAME)
        rules = [one for one in cluster.api.get(place).body["rules"] if one["resources"] != ["jobs"]]
        accepted(cluster.api.merge(place, {"rules": rules}))
        with controller(cluster) as process:
            missing = f"the verb create on jobs.batch in {HOME} is missing, which a dry run needs"
            eventually(lambda: "ERROR" in said(process) and missing in said(process))
        assert ("permissions", f"{ACCOUNT} lacks: create on jobs.batch in {HOME}") in ailments(cluster)
